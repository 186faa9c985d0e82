"""Writes deliveries into the database: whose they are, whether they are new, which attempt they belong to."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence

from sqlalchemy import Connection

from holter.server.store.types import Commit, Receipt
from holter.server.store.usage import Usage
from holter.server.store.write import sql
from holter.server.store.write.encode import Parcel
from holter.server.store.write.run_state import RunState, load
from holter.server.store.write.run_write import Turn
from holter.settings.projects import QuotaSettings

REMEMBERED_BYTES = 256 * 2**20  # of all remembered runs together
Name = tuple[str, str]


class Ledger:
    """The state of the runs written lately, in a bounded number of bytes.

    After an exception the transaction must be rolled back and `forget` called: the state would be ahead.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        quota: Callable[[str], QuotaSettings],
        usage: Usage,
        *,
        most: int = REMEMBERED_BYTES,
    ) -> None:
        self._clock = clock
        self._quota = quota
        self._usage = usage
        self._most = most
        self._runs: OrderedDict[Name, RunState] = OrderedDict()
        self._sizes: dict[Name, int] = {}
        self.held = 0  # bytes, about

    def forget(self) -> None:
        """Load everything anew when it is needed."""
        self._runs.clear()
        self._sizes.clear()
        self.held = 0

    def write(self, connection: Connection, parcels: Sequence[Parcel]) -> tuple[list[Receipt], list[Commit]]:
        """Write deliveries within a transaction; receipts in their order."""
        now = self._clock()
        by_run: dict[Name, list[int]] = {}
        for index, one in enumerate(parcels):
            by_run.setdefault((one.delivery.project, one.delivery.run), []).append(index)
        held = self._held(connection, by_run, now)
        turns = {name: self._turn(name, run, now) for name, run in held.items()}
        for name, turn in turns.items():
            turn.parcels = [parcels[index] for index in by_run[name]]
        fresh = sql.note_batches(connection, turns.values())
        given: dict[int, Receipt] = {}
        for name, turn in turns.items():
            given.update(zip(by_run[name], turn.take(fresh), strict=True))
        sql.save(connection, list(turns.values()), now)
        receipts = [given[index] for index in range(len(parcels))]
        # a batch that comes again must not take its source's cursor back with it
        cursors = [
            one.delivery.cursor
            for one, receipt in zip(parcels, receipts, strict=True)
            if one.delivery.cursor is not None and not receipt.duplicate
        ]
        sql.save_cursors(connection, cursors, now)
        self._settle(turns)
        return receipts, [commit for turn in turns.values() for commit in turn.commits]

    def _turn(self, name: Name, run: RunState, now: float) -> Turn:
        quota = self._quota(name[0])
        full = self._usage.refusal(name[0], quota.max_bytes)
        return Turn(run=run, now=now, most_series=quota.max_series_per_run, full=full)

    def _held(self, connection: Connection, names: Iterable[Name], now: float) -> dict[Name, RunState]:
        """The runs of these names, ours alone until the end of the transaction; made where there is none."""
        names = sorted(names)  # two servers make them in one order
        ids: dict[Name, int] = {}  # of those that others may write into as well
        for name in names:
            if (held := self._runs.get(name)) is not None:
                ids[name] = held.id
            elif (found := sql.find(connection, *name)) is not None:
                ids[name] = found
            else:
                self._runs[name] = sql.create(connection, *name, now)
        revisions = sql.lock(connection, ids.values()) if ids else {}
        for name, run_id in ids.items():
            run = self._runs.get(name)
            if run_id not in revisions:  # deleted while we remembered it
                found = sql.find(connection, *name)
                self._runs[name] = load(connection, found) if found else sql.create(connection, *name, now)
            elif run is None or run.revision != revisions[run_id]:  # another server has written
                self._runs[name] = load(connection, run_id)
        return {name: self._runs[name] for name in names}

    def _settle(self, turns: dict[Name, Turn]) -> None:
        """Count what is remembered, and forget the runs that were not written for the longest time."""
        for name, turn in turns.items():
            self._runs.move_to_end(name)
            self._usage.add(name[0], sum(len(entry.body) for entry in turn.entries))
            size = turn.run.size
            self.held += size - self._sizes.get(name, 0)
            self._sizes[name] = size
        while self.held > self._most and len(self._runs) > 1:
            name, _ = self._runs.popitem(last=False)
            self.held -= self._sizes.pop(name, 0)
