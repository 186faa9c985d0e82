"""Writes deliveries into the database: whose they are, whether they are new, which attempt they belong to."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import blake2b
from typing import Any

import numpy as np
from sqlalchemy import Connection, Table, bindparam, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from holter.server.models import (
    AcceptedBatch,
    Attempt,
    LogEntry,
    Project,
    Run,
    SeriesRow,
    SourceCursor,
    WriterRow,
)
from holter.server.store.block import Block, block_of, encode_body, encode_entry
from holter.server.store.intake import Parcel, labels_text
from holter.server.store.state import AttemptFacts, RunState, known, load, state_json, take_in
from holter.server.store.values import Commit, Receipt
from holter.types import Batch, Cursor

_LIVE_WITHIN = 300.0
_REMEMBERED_SERIES = 200_000  # of all remembered runs together
_LEAST_TICK = 1e-6  # news must be later than what was news before, even where the clock stands still

# made once: composing a statement costs as much as running it
_REVISION = select(Run.revision).where(Run.id == bindparam("run")).with_for_update()
_HAD = select(AcceptedBatch.digest).where(
    AcceptedBatch.run_id == bindparam("run"), AcceptedBatch.digest.in_(bindparam("digests", expanding=True))
)
_RUN_IS = update(Run).where(Run.id == bindparam("run"))


class Ledger:
    """The state of the runs written lately, and the statements that write.

    After an exception the transaction must be rolled back and `forget` called: the state would be ahead.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._runs: OrderedDict[tuple[str, str], RunState] = OrderedDict()

    def forget(self) -> None:
        """Load everything anew when it is needed."""
        self._runs.clear()

    def write(self, connection: Connection, parcels: Sequence[Parcel]) -> tuple[list[Receipt], list[Commit]]:
        """Write deliveries within a transaction; receipts in their order."""
        receipts: list[Receipt | None] = [None] * len(parcels)
        commits: list[Commit] = []
        by_run: dict[tuple[str, str], list[int]] = {}
        for index, one in enumerate(parcels):
            by_run.setdefault((one.delivery.project, one.delivery.run), []).append(index)
        for (project, name), indexes in sorted(by_run.items()):  # sorted: two servers lock in one order
            run = self._run(connection, project, name)
            turn = _Turn(connection, run, self._clock())
            for index, receipt in zip(indexes, turn.write([parcels[at] for at in indexes]), strict=True):
                receipts[index] = receipt
            commits += turn.commits
        written = [receipt for receipt in receipts if receipt is not None]
        # a batch that comes again must not take its source's cursor back with it
        cursors = [
            one.delivery.cursor
            for one, receipt in zip(parcels, written, strict=True)
            if one.delivery.cursor is not None and not receipt.duplicate
        ]
        save_cursors(connection, cursors, self._clock())
        return written, commits

    def _run(self, connection: Connection, project: str, name: str) -> RunState:
        run = self._runs.pop((project, name), None)
        if run is not None and connection.scalar(_REVISION, {"run": run.id}) != run.revision:
            run = None  # another server has written
        if run is None:
            run = load(connection, project, name) or _create(connection, project, name, self._clock())
            self._make_room(1 + len(run.ids))
        self._runs[project, name] = run
        return run

    def _make_room(self, size: int) -> None:
        """Forget the runs that were not written for the longest time, where there are too many series."""
        held = size + sum(1 + len(run.ids) for run in self._runs.values())
        while self._runs and held > _REMEMBERED_SERIES:
            _, run = self._runs.popitem(last=False)
            held -= 1 + len(run.ids)


class _Turn:
    """One transaction's deliveries into one run."""

    def __init__(self, connection: Connection, run: RunState, now: float) -> None:
        self._connection = connection
        self._run = run
        self._now = now
        self._entries: list[dict[str, Any]] = []
        self._touched: set[int] = set()
        self.commits: list[Commit] = []

    def write(self, parcels: Sequence[Parcel]) -> list[Receipt]:
        run = self._run
        before = state_json(run.attempts)
        fresh = self._fresh(parcels)
        self._add_series([parcels[at] for at in fresh])
        receipts = [self._receipt(one, fresh=at in fresh) for at, one in enumerate(parcels)]
        if not fresh:
            return receipts
        keys = [{"run_id": run.id, "digest": parcels[at].digest} for at in fresh]
        self._connection.execute(insert(AcceptedBatch), keys)
        if self._entries:
            self._connection.execute(insert(LogEntry), self._entries)
            self._save_attempts()
            self._save_writers({parcels[at].delivery.writer for at in fresh})
        self._save_run(before)
        return receipts

    def _fresh(self, parcels: Sequence[Parcel]) -> dict[int, bytes]:
        """Where those deliveries stand that the run has not had yet."""
        asked = {"run": self._run.id, "digests": [one.digest for one in parcels]}
        had = set(self._connection.scalars(_HAD, asked))
        fresh: dict[int, bytes] = {}
        for at, one in enumerate(parcels):
            if one.digest not in had:
                had.add(one.digest)
                fresh[at] = one.digest
        return fresh

    def _add_series(self, parcels: Sequence[Parcel]) -> None:
        keys = {column.key for one in parcels for column in one.batch.columns} - self._run.places.keys()
        if not keys:
            return
        missing = sorted(keys)
        rows = [
            {"run_id": self._run.id, "metric": key.metric, "labels": labels_text(key.labels)}
            for key in missing
        ]
        statement = insert(SeriesRow).returning(SeriesRow.id, sort_by_parameter_order=True)
        self._run.add_series(missing, self._connection.scalars(statement, rows))

    def _receipt(self, one: Parcel, *, fresh: bool) -> Receipt:
        run, writer = self._run, one.delivery.writer
        if fresh and one.block is not None:
            attempt = self._append(one)
        elif writer in run.attempts.writers:
            attempt = run.attempts.writers[writer].attempt
        else:
            attempt = max(run.attempts.started, default=0)
        return Receipt(
            run_id=run.id,
            public_id=run.public_id,
            attempt=attempt,
            accepted=one.points,
            duplicate=not fresh,
        )

    def _append(self, one: Parcel) -> int:
        """Put a delivery's points into the log; the attempt of its last row."""
        pieces = self._run.attempts.split(one.delivery.writer, one.batch)
        for attempt, piece in pieces:
            whole = piece is one.batch and one.block is not None
            block = (
                one.block if whole and one.block is not None else block_of(piece, range(len(piece.columns)))
            )
            if len(block.counts):
                self._append_piece(attempt, piece, block, one.body if whole else encode_body(block))
        return pieces[-1][0]

    def _append_piece(self, attempt: int, piece: Batch, block: Block, body: bytes) -> None:
        run = self._run
        places = np.array([run.places[column.key] for column in piece.columns], dtype=np.int64)
        ids = np.array([run.ids[place] for place in places.tolist()], dtype=np.int64)
        self._entries.append(
            {
                "run_id": run.id,
                "attempt": attempt,
                "step_min": int(piece.steps.min()),
                "step_max": int(piece.steps.max()),
                "points": len(block.values),
                "payload": encode_entry(ids, body),
            }
        )
        take_in(run, attempt, places, block)
        facts = run.facts.setdefault(attempt, AttemptFacts())
        facts.add(piece.times, len(block.values))
        facts.name = facts.name or piece.attempt
        self._touched.add(attempt)
        last_time = known(float(piece.times[-1]))
        self.commits.append(
            Commit(
                run_id=run.id,
                attempt=attempt,
                last_step=int(piece.steps[-1]),
                last_time=last_time,
                points=len(block.values),
                live=last_time is not None and abs(self._now - last_time) < _LIVE_WITHIN,
            )
        )

    def _save_attempts(self) -> None:
        rows = []
        for number in sorted(self._touched):
            facts = self._run.facts[number]
            first_step, last_step = self._run.progress[number].span()
            rows.append(
                {
                    "run_id": self._run.id,
                    "number": number,
                    "name": facts.name,
                    "first_step": first_step,
                    "last_step": last_step,
                    "first_time": known(facts.first_time),
                    "last_time": known(facts.last_time),
                    "points": facts.points,
                }
            )
        upsert(self._connection, Attempt.__table__, ("run_id", "number"), rows)

    def _save_writers(self, names: set[str]) -> None:
        writers = self._run.attempts.writers
        rows = [
            {"run_id": self._run.id, "name": name, "state": writers[name].to_json()}
            for name in sorted(names & writers.keys())
        ]
        upsert(self._connection, WriterRow.__table__, ("run_id", "name"), rows)

    def _save_run(self, before: dict[str, Any]) -> None:
        run, state = self._run, state_json(self._run.attempts)
        run.revision += 1
        run.updated_at = max(self._now, run.updated_at + _LEAST_TICK)
        values: dict[str, Any] = {"revision": run.revision, "updated_at": run.updated_at}
        if state != before:
            values["attempt_state"] = state
        if len(state["started"]) > len(before["started"]):
            values["finished_at"] = None  # a run that is launched again is not finished any more
        self._connection.execute(_RUN_IS, {"run": run.id} | values)


def save_cursors(connection: Connection, cursors: Sequence[Cursor], now: float) -> None:
    """Remember how far sources have been read; of several cursors of a source the last one."""
    newest = {cursor.source: cursor for cursor in cursors}
    rows = [
        {
            "source": one.source,
            "format": one.format,
            "offset": one.offset,
            "identity": one.identity,
            "state": dict(one.state),
            "updated_at": now,
        }
        for _, one in sorted(newest.items())
    ]
    upsert(connection, SourceCursor.__table__, ("source",), rows)


def _create(connection: Connection, project: str, name: str, now: float) -> RunState:
    project_id = connection.scalar(select(Project.id).where(Project.name == project))
    if project_id is None:
        row = {"name": project, "created_at": now}
        project_id = connection.scalar(insert(Project).values(row).returning(Project.id))
    # made of the names, so that addresses stay the same when a database is built anew
    public_id = blake2b(f"{len(project)}/{project}/{name}".encode(), digest_size=6).hexdigest()
    row = {
        "public_id": public_id,
        "project_id": project_id,
        "name": name,
        "created_at": now,
        "updated_at": now,
        "config": {},
        "attempt_state": {},
        "revision": 0,
    }
    connection.execute(insert(Run).values(row))
    run = load(connection, project, name)
    assert run is not None
    return run


@cache
def _upsert_statement(dialect: str, table: Table, key: tuple[str, ...]) -> Any:
    statement: Any = sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)
    others = [column.name for column in table.columns if column.name not in key and not column.primary_key]
    changes = {name: statement.excluded[name] for name in others}
    return statement.on_conflict_do_update(index_elements=list(key), set_=changes)


def upsert(connection: Connection, table: Any, key: tuple[str, ...], rows: list[dict[str, Any]]) -> None:
    """Insert rows, or change those that have the same key."""
    if rows:
        connection.execute(_upsert_statement(connection.dialect.name, table, key), rows)
