"""Stores a run that arrives in portions from one source, exactly once."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import BinaryIO

from sqlalchemy import ColumnElement, Connection, Engine, delete, insert, select

from holter.server.database import reading, writing
from holter.server.import_export.read_file import FileContent, read_file
from holter.server.models import AcceptedBatch, RunRecord, UnreadableRow
from holter.server.store import RateLimitError, Receipt, Store, StoreBusyError
from holter.server.store.keys import LIMITS, batch_digest, check_name
from holter.server.store.write.sql import create_run, find_run
from holter.types import Batch, Delivery

IMPORT_BATCH_POINTS = 250_000
"""Points that are stored and then compacted at a time: compacting a larger log takes more memory."""

_MAX_LOCATION_LENGTH = 200
_SOURCE = "holter import"
_UNFINISHED = "the run was not imported completely: repeat the same import to continue"
_MAX_TRIES = 20  # of 30 seconds each, while the store is busy


def _not_excluded(_run_id: int) -> AbstractContextManager[object]:
    return nullcontext()


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportContext:
    """The running store that receives imports, and its database.

    `exclude` keeps a run from being analysed while its context lasts, since it is incomplete. `read` reads a
    file: here, or in another process.
    """

    engine: Engine
    store: Store
    clock: Callable[[], float] = time.time
    exclude: Callable[[int], AbstractContextManager[object]] = _not_excluded
    read: Callable[[BinaryIO], FileContent] = read_file


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportProgress:
    """Progress of an import: `points` are the new ones so far, `known` those that were stored already.

    `whole`: the run is complete. `duplicate`: it was complete before, and nothing changed.
    """

    project: str
    run: str
    run_id: str
    points: int = 0
    known: int = 0
    whole: bool = False
    duplicate: bool = False


class ImportedRun:
    """The run of an import source, identified by a key among those of its batches; see `open_import`."""

    def __init__(
        self, context: ImportContext, project: str, run: str, source: str, *, id: int, is_new: bool
    ) -> None:
        self._context, self._source = context, source
        self._uncompacted, self._is_marked = 0, False
        self.project, self.run, self.id, self.is_new = project, run, id, is_new
        with reading(context.engine) as connection:
            self._public_id = connection.scalar(select(RunRecord.public_id).where(RunRecord.id == id)) or ""

    def has_part(self, part: str) -> bool:
        """Whether a part of the source is in the run."""
        with reading(self._context.engine) as connection:
            return _has_key(connection, self.id, self._key(part))

    def mark_complete(self, connection: Connection, part: str | None = None) -> None:
        """Remove the mark of an incomplete run, and add the key of `part`."""
        connection.execute(delete(UnreadableRow).where(*self._unfinished_condition))
        if part is not None:
            _add_key(connection, self.id, self._key(part))

    def store_batch(self, batch: Batch, part: str) -> Receipt:
        """Store a batch, waiting as long as the store asks. Raises ValueError where series are refused."""
        if not self._is_marked:
            self._mark_unfinished()
        delivery = Delivery(
            project=self.project, run=self.run, writer=f"import:{self._source}"[: LIMITS["writer"]],
            batch_id=self._key(part), batch=batch,
        )  # fmt: skip
        receipt = self._accept(delivery)
        if receipt.refused:
            raise ValueError("; ".join(refusal.reason for refusal in receipt.refused))
        self._uncompacted += batch.points
        if self._uncompacted >= IMPORT_BATCH_POINTS:
            self.compact()
        return receipt

    def compact(self) -> None:
        """Compact the log of the run."""
        self._context.store.compact(self.id)
        self._uncompacted = 0

    def progress(
        self, points: int, known: int = 0, *, whole: bool = False, duplicate: bool = False
    ) -> ImportProgress:
        """Return the progress to report."""
        return ImportProgress(
            project=self.project, run=self.run, run_id=self._public_id, points=points, known=known,
            whole=whole, duplicate=duplicate,
        )  # fmt: skip

    def _mark_unfinished(self) -> None:
        """Mark the run as incomplete until everything has arrived, whatever happens to this process."""
        self._is_marked = True
        with writing(self._context.engine) as connection:
            if connection.scalar(select(UnreadableRow.id).where(*self._unfinished_condition)) is None:
                row = {"run_id": self.id, "source": _SOURCE, "place": self._source[:_MAX_LOCATION_LENGTH]}
                row |= {"reason": _UNFINISHED, "seen_at": self._context.clock()}
                connection.execute(insert(UnreadableRow).values(row))

    @property
    def _unfinished_condition(self) -> tuple[ColumnElement[bool], ...]:
        return UnreadableRow.run_id == self.id, UnreadableRow.source == _SOURCE

    def _accept(self, delivery: Delivery) -> Receipt:
        tries = 0
        while True:
            try:
                return self._context.store.accept(delivery)
            except RateLimitError as error:  # the quota is respected, and nothing is lost
                time.sleep(error.seconds)
            except StoreBusyError:
                tries += 1
                if tries == _MAX_TRIES:
                    raise

    def _key(self, part: str) -> str:
        return f"import:{self._source}:{part}"


def open_import(context: ImportContext, project: str, run: str, source: str) -> ImportedRun | None:
    """Return the run of that name, created if missing; None if an existing run is not from this source.

    Raises ValueError for invalid names.
    """
    for what, name in (("project", project), ("run", run)):
        check_name(what, name)
        if not name:
            raise ValueError(f"{what} is empty")
    key = f"import:{source}"
    with writing(context.engine) as connection:
        run_id = find_run(connection, project, run)
        if run_id is not None:
            is_ours = _has_key(connection, run_id, key)
            return ImportedRun(context, project, run, source, id=run_id, is_new=False) if is_ours else None
        run_id_new = create_run(connection, project, run, context.clock()).id
        _add_key(connection, run_id_new, key)
    return ImportedRun(context, project, run, source, id=run_id_new, is_new=True)


def _has_key(connection: Connection, run_id: int, key: str) -> bool:
    query = select(AcceptedBatch.run_id).where(AcceptedBatch.run_id == run_id)
    return connection.scalar(query.where(AcceptedBatch.digest == batch_digest(key))) is not None


def _add_key(connection: Connection, run_id: int, key: str) -> None:
    connection.execute(insert(AcceptedBatch).values(run_id=run_id, digest=batch_digest(key)))
