"""A run that arrives in the store portion by portion, from one source, once."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Engine, delete, insert, select

from holter.server.database import reading, writing
from holter.server.models import AcceptedBatch, RunRecord, UnreadableRow
from holter.server.store import RateLimitError, Receipt, Store, StoreBusyError
from holter.server.store.keys import LIMITS, batch_digest, check_name
from holter.server.store.write.sql import create_run, find_run
from holter.types import Batch, Delivery

PORTION = 250_000
"""Points that are stored, then compacted, at a time: a log that has grown takes more memory to compact."""

_LONGEST_PLACE = 200
_SOURCE = "holter import"
_UNFINISHED = "not all of the run has arrived: the same import, given again, goes on"
_PATIENCE = 20  # tries, each of 30 seconds, while the store has no room


def _unwatched(_run_id: int) -> AbstractContextManager[object]:
    return nullcontext()


@dataclass(frozen=True, kw_only=True, slots=True)
class Into:
    """Where imports go: a store that runs, and its database. `apart` keeps others from judging a run that is
    not whole yet, for as long as its context lasts."""

    engine: Engine
    store: Store
    clock: Callable[[], float] = time.time
    apart: Callable[[int], AbstractContextManager[object]] = _unwatched


@dataclass(frozen=True, kw_only=True, slots=True)
class Imported:
    """How far a run has come. `points`: new ones so far; `known`: those found there that are the same.

    `whole`: everything is in the store. `duplicate`: it was before, and nothing changed.
    """

    project: str
    run: str
    run_id: str
    points: int = 0
    known: int = 0
    whole: bool = False
    duplicate: bool = False


class Arriving:
    """The run that a source is in the store, known by a key among those of its batches; see `arrive`."""

    def __init__(self, into: Into, project: str, run: str, source: str, *, id: int, fresh: bool) -> None:
        self._into, self._source = into, source
        self._waiting, self._begun = 0, False
        self.project, self.run, self.id, self.fresh = project, run, id, fresh
        with reading(into.engine) as connection:
            self._public_id = connection.scalar(select(RunRecord.public_id).where(RunRecord.id == id)) or ""

    def had(self, part: str) -> bool:
        """Whether a part of the source is in the run."""
        with reading(self._into.engine) as connection:
            return _is_noted(connection, self.id, self._key(part))

    def whole(self, connection: Connection, part: str | None = None) -> None:
        """Everything has arrived; what knows that again is called `part`."""
        connection.execute(delete(UnreadableRow).where(*self._unfinished))
        if part is not None:
            _note(connection, self.id, self._key(part))

    def take(self, batch: Batch, part: str) -> Receipt:
        """Store a batch, however long the store asks to wait. Raises ValueError where not all is taken."""
        if not self._begun:
            self._begin()
        delivery = Delivery(
            project=self.project, run=self.run, writer=f"import:{self._source}"[: LIMITS["writer"]],
            batch_id=self._key(part), batch=batch,
        )  # fmt: skip
        receipt = self._accepted(delivery)
        if receipt.refused:
            raise ValueError("; ".join(refusal.reason for refusal in receipt.refused))
        self._waiting += batch.points
        if self._waiting >= PORTION:
            self.compact()
        return receipt

    def compact(self) -> None:
        """Make chunks of what the log has of the run."""
        self._into.store.compact(self.id)
        self._waiting = 0

    def so_far(
        self, points: int, known: int = 0, *, whole: bool = False, duplicate: bool = False
    ) -> Imported:
        """What to tell."""
        return Imported(
            project=self.project, run=self.run, run_id=self._public_id, points=points, known=known,
            whole=whole, duplicate=duplicate,
        )  # fmt: skip

    def _begin(self) -> None:
        """Until everything has arrived, the run says so, whatever becomes of this process."""
        self._begun = True
        with writing(self._into.engine) as connection:
            if connection.scalar(select(UnreadableRow.id).where(*self._unfinished)) is None:
                row = {"run_id": self.id, "source": _SOURCE, "place": self._source[:_LONGEST_PLACE]}
                row |= {"reason": _UNFINISHED, "seen_at": self._into.clock()}
                connection.execute(insert(UnreadableRow).values(row))

    @property
    def _unfinished(self) -> tuple[ColumnElement[bool], ...]:
        return UnreadableRow.run_id == self.id, UnreadableRow.source == _SOURCE

    def _accepted(self, delivery: Delivery) -> Receipt:
        tries = 0
        while True:
            try:
                return self._into.store.accept(delivery)
            except RateLimitError as error:  # the project's quota is kept, and nothing is lost by it
                time.sleep(error.seconds)
            except StoreBusyError:
                tries += 1
                if tries == _PATIENCE:
                    raise

    def _key(self, part: str) -> str:
        return f"import:{self._source}:{part}"


def arrive(into: Into, project: str, run: str, source: str) -> Arriving | None:
    """The run of that name, made where there is none; None where the one that is there is not of this source.

    Raises ValueError where the names cannot be kept.
    """
    for what, name in (("project", project), ("run", run)):
        check_name(what, name)
        if not name:
            raise ValueError(f"{what} is empty")
    key = f"import:{source}"
    with writing(into.engine) as connection:
        found = find_run(connection, project, run)
        if found is not None:
            ours = _is_noted(connection, found, key)
            return Arriving(into, project, run, source, id=found, fresh=False) if ours else None
        made = create_run(connection, project, run, into.clock()).id
        _note(connection, made, key)
    return Arriving(into, project, run, source, id=made, fresh=True)


def _is_noted(connection: Connection, run_id: int, key: str) -> bool:
    query = select(AcceptedBatch.run_id).where(AcceptedBatch.run_id == run_id)
    return connection.scalar(query.where(AcceptedBatch.digest == batch_digest(key))) is not None


def _note(connection: Connection, run_id: int, key: str) -> None:
    connection.execute(insert(AcceptedBatch).values(run_id=run_id, digest=batch_digest(key)))
