"""Writes a group of deliveries in one transaction: idempotency, attempts, quotas, cursors."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence

from sqlalchemy import Connection

from holter.server.store.types import Commit, Receipt
from holter.server.store.usage import StorageUsage
from holter.server.store.write import sql
from holter.server.store.write.encode import EncodedDelivery
from holter.server.store.write.run_state import RunState, load_run_state
from holter.server.store.write.run_write import RunWrite
from holter.settings.projects import QuotaSettings

MAX_CACHED_BYTES = 256 * 2**20  # all cached runs together
RunName = tuple[str, str]


class BatchWriter:
    """Writes deliveries, caching the state of recently written runs within a number of bytes.

    After an exception the caller rolls back the transaction and calls `clear`, since the cache is ahead of
    the database then.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        quota: Callable[[str], QuotaSettings],
        usage: StorageUsage,
        *,
        max_bytes: int = MAX_CACHED_BYTES,
    ) -> None:
        self._clock = clock
        self._quota = quota
        self._usage = usage
        self._max_bytes = max_bytes
        self._runs: OrderedDict[RunName, RunState] = OrderedDict()
        self._cached_sizes: dict[RunName, int] = {}
        self.cached_bytes = 0  # approximate

    def clear(self) -> None:
        """Drop the cache, so that every run is loaded again when it is needed."""
        self._runs.clear()
        self._cached_sizes.clear()
        self.cached_bytes = 0

    def write(
        self, connection: Connection, deliveries: Sequence[EncodedDelivery]
    ) -> tuple[list[Receipt], list[Commit]]:
        """Write deliveries within a transaction; returns receipts in their order, and the commits to
        announce.
        """
        now = self._clock()
        by_run: dict[RunName, list[int]] = {}
        for index, encoded in enumerate(deliveries):
            by_run.setdefault((encoded.delivery.project, encoded.delivery.run), []).append(index)
        run_states = self._locked_runs(connection, by_run, now)
        run_writes = {name: self._run_write(name, run, now) for name, run in run_states.items()}
        for name, run_write in run_writes.items():
            run_write.deliveries = [deliveries[index] for index in by_run[name]]
        fresh = sql.insert_batch_keys(connection, run_writes.values())
        receipt_by_index: dict[int, Receipt] = {}
        for name, run_write in run_writes.items():
            receipt_by_index.update(zip(by_run[name], run_write.apply(fresh), strict=True))
        sql.save_run_writes(connection, list(run_writes.values()), now)
        receipts = [receipt_by_index[index] for index in range(len(deliveries))]
        # a repeated batch must not reset its source's cursor
        cursors = [
            encoded.delivery.cursor
            for encoded, receipt in zip(deliveries, receipts, strict=True)
            if encoded.delivery.cursor is not None and not receipt.duplicate
        ]
        sql.save_cursors(connection, cursors, now)
        self._update_cache(run_writes)
        return receipts, [commit for run_write in run_writes.values() for commit in run_write.commits]

    def _run_write(self, name: RunName, run: RunState, now: float) -> RunWrite:
        quota = self._quota(name[0])
        quota_refusal = self._usage.refusal(name[0], quota.max_bytes)
        return RunWrite(run=run, now=now, max_series=quota.max_series_per_run, quota_refusal=quota_refusal)

    def _locked_runs(
        self, connection: Connection, names: Iterable[RunName], now: float
    ) -> dict[RunName, RunState]:
        """Return the runs of these names, created if missing, locked until the end of the transaction."""
        names = sorted(names)  # sorted, so that two servers create them in the same order
        ids: dict[RunName, int] = {}  # runs that other servers may write to as well
        for name in names:
            if (cached_run := self._runs.get(name)) is not None:
                ids[name] = cached_run.id
            elif (run_id := sql.find_run(connection, *name)) is not None:
                ids[name] = run_id
            else:
                self._runs[name] = sql.create_run(connection, *name, now)
        revisions = sql.lock_runs(connection, ids.values()) if ids else {}
        for name, run_id in ids.items():
            run = self._runs.get(name)
            if run_id not in revisions:  # deleted since it was cached
                run_id = sql.find_run(connection, *name)
                self._runs[name] = (
                    load_run_state(connection, run_id) if run_id else sql.create_run(connection, *name, now)
                )
            elif run is None or run.revision != revisions[run_id]:  # another server wrote to it
                self._runs[name] = load_run_state(connection, run_id)
        return {name: self._runs[name] for name in names}

    def _update_cache(self, run_writes: dict[RunName, RunWrite]) -> None:
        """Update the sizes of cached runs, and evict the least recently written runs above the limit."""
        for name, run_write in run_writes.items():
            self._runs.move_to_end(name)
            self._usage.add(name[0], sum(len(entry.body) for entry in run_write.entries))
            size = run_write.run.size
            self.cached_bytes += size - self._cached_sizes.get(name, 0)
            self._cached_sizes[name] = size
        while self.cached_bytes > self._max_bytes and len(self._runs) > 1:
            name, _ = self._runs.popitem(last=False)
            self.cached_bytes -= self._cached_sizes.pop(name, 0)
