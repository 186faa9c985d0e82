"""Imports exported files into the store: once, as a run of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import msgspec
from sqlalchemy import Connection, Engine, insert, select

from holter.server.database import reading, writing
from holter.server.exchange.about import restore
from holter.server.exchange.reading import Head, read_file
from holter.server.exchange.rows import Rows, batches
from holter.server.models import AcceptedBatch, Project, Run
from holter.server.store import Store, StoreError
from holter.server.store.intake import digest_of
from holter.types import Batch, Delivery

_PROJECT = "default"
_COMPACTED = 250_000  # points


class ImportRefusedError(ValueError):
    """A file cannot be imported, and why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Imported:
    """A file is in the store. `duplicate`: it was before, and nothing changed."""

    project: str
    run: str
    public_id: str
    points: int
    duplicate: bool


def import_file(
    engine: Engine,
    store: Store,
    path: Path,
    *,
    project: str | None = None,
    run: str | None = None,
    clock: Callable[[], float],
) -> Imported:
    """Store what a file holds as a run, named as the file says or as it is told. The store is running.

    A file is known by its content: a second import changes nothing, one that was cut short goes on. Raises
    ImportRefusedError where the file cannot be read, or another run has that name.
    """
    try:
        content = _digest(path)
        about, rows = read_file(path)
        project = project or (_PROJECT if about is None else about["project"])
        run = run or (path.name.partition(".")[0] if about is None else about["name"])
        task = _Task(engine, store, content, project, run)
        known = task.known()
        if known is not None and task.had("whole", known):
            return task.result(0, duplicate=True)
        points = task.store_points(_each(rows), known)
        task.finish(about, clock())
        return task.result(points, duplicate=False)
    except ImportRefusedError as error:
        raise ImportRefusedError(f"{path}: {error}") from error
    except OSError as error:
        raise ImportRefusedError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        reason = (
            "it is no file of holter export, nor of another tracker (packed ones are to be unpacked first)"
        )
        raise ImportRefusedError(f"{path}: {reason}") from error
    except (StoreError, ValueError, OverflowError, LookupError, msgspec.MsgspecError) as error:
        raise ImportRefusedError(f"{path} cannot be imported: {error}") from error


def _digest(path: Path) -> str:
    """What recognises a file's content."""
    found = blake2b(digest_size=16)
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            found.update(part)
    return found.hexdigest()


def _each(rows: Iterator[Rows]) -> Iterator[tuple[int, Batch]]:
    for portion in rows:
        yield from batches(portion)


@dataclass(frozen=True, slots=True)
class _Task:
    engine: Engine
    store: Store
    content: str
    project: str
    run: str

    def known(self) -> int | None:
        """The run of that name, if there is one."""
        query = select(Run.id).join(Project).where(Project.name == self.project, Run.name == self.run)
        with reading(self.engine) as connection:
            return connection.scalar(query)

    def had(self, part: str, run_id: int) -> bool:
        """Whether a part of the file is in the run."""
        query = select(AcceptedBatch.run_id).where(AcceptedBatch.run_id == run_id)
        with reading(self.engine) as connection:
            digest = digest_of(self._batch_id(part))
            return connection.scalar(query.where(AcceptedBatch.digest == digest)) is not None

    def store_points(self, parts: Iterator[tuple[int, Batch]], known: int | None) -> int:
        """Store batch by batch; how many points."""
        points = waiting = 0
        for index, (attempt, batch) in enumerate(parts):
            if index == 0 and known is not None and not self.had("0", known):
                raise ImportRefusedError(
                    f"there is a run {self.project}/{self.run} already: give it another name with --run"
                )
            delivery = Delivery(
                project=self.project, run=self.run, writer=f"import:{self.content}",
                batch_id=self._batch_id(str(index)), batch=batch,
            )  # fmt: skip
            receipt = self.store.accept(delivery)
            if receipt.attempt != attempt and not receipt.duplicate:
                raise ImportRefusedError(f"attempt {attempt} would become attempt {receipt.attempt}")
            points += batch.points
            waiting += batch.points
            if waiting >= _COMPACTED:  # a log that has grown takes more memory to compact
                self.store.compact(receipt.run_id)
                waiting = 0
        if not points:
            raise ImportRefusedError("it holds no points")
        return points

    def finish(self, about: Head | None, now: float) -> None:
        """Say of the run what the file says of it, and that it is whole."""
        run_id = self.known()
        assert run_id is not None
        self.store.compact(run_id)
        with writing(self.engine) as connection:
            if about is not None:
                restore(connection, run_id, about, now)
            self._mark(connection, run_id)

    def _mark(self, connection: Connection, run_id: int) -> None:
        row = {"run_id": run_id, "digest": digest_of(self._batch_id("whole"))}
        connection.execute(insert(AcceptedBatch).values(row))

    def result(self, points: int, *, duplicate: bool) -> Imported:
        """What to tell."""
        query = select(Run.public_id).join(Project).where(Project.name == self.project, Run.name == self.run)
        with reading(self.engine) as connection:
            public_id = connection.scalar(query) or ""
        return Imported(
            project=self.project, run=self.run, public_id=public_id, points=points, duplicate=duplicate
        )  # fmt: skip

    def _batch_id(self, part: str) -> str:
        return f"import:{self.content}:{part}"
