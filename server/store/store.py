"""The store of points: accepts batches, answers queries of series and charts."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from concurrent.futures import Future
from pathlib import Path

from sqlalchemy import Connection, Engine, func, insert, select, update

from holter.attempts.config import ConfigByAttempt
from holter.attempts.environment import environment_of, without_environment
from holter.server.database import reading, writing
from holter.server.models import Project, RunRecord, SourceCursor, UnreadableRow
from holter.server.store.cache import LruCache
from holter.server.store.check import find_problems
from holter.server.store.compaction.worker import Compactor
from holter.server.store.errors import StoreClosedError
from holter.server.store.file_lock import FileLock
from holter.server.store.keys import check_name, storable_text
from holter.server.store.rate_limit import PointRateLimiter
from holter.server.store.read import series as full_series
from holter.server.store.read import summaries
from holter.server.store.read.changes_since import ReadPosition, RunChanges, SeriesSelector, read_changes
from holter.server.store.read.chart import read_chart
from holter.server.store.read.latest import read_newest_points
from holter.server.store.read.memory import ReadMemory
from holter.server.store.read.snapshot import RunSnapshot, StepRange
from holter.server.store.read.stats_cache import load_run_stats
from holter.server.store.run_config import read_config
from holter.server.store.types import (
    AttemptSummary,
    Commit,
    NewestPoints,
    Receipt,
    ReducedSeries,
    RunOverview,
    SeriesRange,
    SeriesSummary,
)
from holter.server.store.usage import StorageUsage
from holter.server.store.write.batch_writer import BatchWriter
from holter.server.store.write.encode import encode_delivery
from holter.server.store.write.sql import save_cursors
from holter.server.store.writer import ReceiptFuture, WriterThread
from holter.settings.projects import QuotaSettings
from holter.types import Cursor, Delivery, Series, SeriesKey, Unreadable

_PROBE_WRITE = (
    update(Project)
    .where(Project.id == select(func.min(Project.id)).scalar_subquery())
    .values(created_at=Project.created_at)
)
_CACHE_BYTES = 64 * 2**20  # bytes of cached query results


class Store:
    """Points of all runs in one database.

    Queries need no start. Each query sees one snapshot of the database; damaged bytes raise CorruptDataError.
    Threads may share a store.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        clock: Callable[[], float] = time.time,
        quota: Callable[[str], QuotaSettings] = lambda _project: QuotaSettings(),
    ) -> None:
        self._engine = engine
        self._clock = clock
        self._rate_limiter = PointRateLimiter(quota)
        self._usage = StorageUsage(engine)
        self._cache = LruCache(_CACHE_BYTES)
        self._lock: FileLock | None = None
        self._stopping = False
        self._writer_thread = WriterThread(engine, BatchWriter(clock, quota, self._usage))
        self._compactor = Compactor(engine, self._warm_cache)
        self._writer_thread.listen(self._compactor.on_commit)
        self.rewrite_lock = self._compactor.rewrite_lock  # held by whoever rewrites chunks

    def start(self) -> None:
        """Start accepting and compacting. Raises StoreLockedError if another server uses the file."""
        if self._engine.dialect.name == "sqlite":
            self._lock = FileLock(Path(str(self._engine.url.database)))
        try:
            self._compactor.start()
        except BaseException:
            self._release()
            raise
        self._writer_thread.start()

    def publish_address(self, address: str) -> None:
        """Record where the server listens, for processes that find the database file in use."""
        if self._lock is not None:
            self._lock.publish_address(address)

    def begin_to_stop(self) -> None:
        """Let compaction and charts end soon, since the store is about to be closed.

        Points are still accepted. Whoever reads a chart gets StoreClosedError.
        """
        self._stopping = True
        self._compactor.stop()

    def check_open(self) -> None:
        """Raise StoreClosedError once the store is about to be closed: long work for a reader ends there."""
        if self._stopping:
            raise StoreClosedError("the server is stopping")

    def close(self, *, compaction_seconds: float | None = None) -> None:
        """Write what is queued, stop the threads, release the file.

        Compaction that takes longer than `compaction_seconds` to stop goes on until the process ends, which
        undoes what it has not committed; no other server can use the file until then.
        """
        self._rate_limiter.close()
        compaction_ended = True
        if self._writer_thread.close():
            compaction_ended = self._compactor.close(compaction_seconds)
        self._usage.close()
        if compaction_ended:
            self._release()

    def _warm_cache(self, run_id: int) -> None:
        """Load the statistics of a run, which readers request first, into the cache."""
        with reading(self._engine) as connection:
            load_run_stats(connection, [run_id], self._cache)

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def accept(self, delivery: Delivery, *, timeout: float = 30) -> Receipt:
        """Store a delivery; returns once it is durable.

        Raises ValueError where it is malformed, StoreBusyError when the queue stays full until the timeout,
        and RateLimitError when the project exceeds its rate for longer than that.
        """
        encoded = encode_delivery(delivery)
        self._rate_limiter.wait(delivery.project, encoded.points, timeout)
        reply: Future[Receipt] = Future()
        self._writer_thread.put(encoded, reply, timeout=timeout)
        return reply.result()

    def submit(self, delivery: Delivery) -> Future[Receipt]:
        """Like `accept`, without waiting: returns a future of the receipt; other errors are raised at
        once.
        """
        reply: Future[Receipt] = Future()
        self.send(delivery, reply)
        return reply

    def send(self, delivery: Delivery, reply: ReceiptFuture) -> None:
        """Like `submit`, resolving `reply` in the writer's thread, which must be fast."""
        encoded = encode_delivery(delivery)
        self._rate_limiter.wait(delivery.project, encoded.points, 0)
        self._writer_thread.put(encoded, reply, timeout=0)

    def check_writable(self) -> None:
        """Check whether points can be stored now. Blocks; raises SQLAlchemyError where they cannot."""
        if self._writer_thread.last_error is None:
            with self._engine.connect() as connection:
                connection.execute(select(1))
        else:  # after an error reads may work while writes fail
            with writing(self._engine) as connection:
                connection.execute(_PROBE_WRITE)
            self._writer_thread.last_error = None

    def on_commit(self, listener: Callable[[Commit], None]) -> None:
        """Call `listener` after each durable commit, in the writer's thread: it must be fast."""
        self._writer_thread.listen(listener)

    def report_unreadable(self, unreadable: Unreadable, *, cursor: Cursor | None = None) -> None:
        """Store once that a location in a source is unreadable, and how far the source has been read."""
        check_name("source", unreadable.source)
        row = {
            "source": unreadable.source,
            "place": storable_text(unreadable.location)[:200],
            "reason": storable_text(unreadable.reason),
        }
        existing = select(UnreadableRow.id).where(
            *(getattr(UnreadableRow, name) == row[name] for name in row)
        )
        run_query = (
            select(RunRecord.id)
            .join(Project)
            .where(Project.name == unreadable.project, RunRecord.name == unreadable.run)
        )
        with writing(self._engine) as connection:
            if connection.scalar(existing) is None:
                more_columns = {"run_id": connection.scalar(run_query), "seen_at": self._clock()}
                connection.execute(insert(UnreadableRow).values(row | more_columns))
            save_cursors(connection, [cursor] if cursor else [], self._clock())

    def cursor(self, source: str) -> Cursor | None:
        """Return how far a source has been read, None if never."""
        names = ("source", "format", "offset", "identity", "state")
        query = select(*(getattr(SourceCursor, name) for name in names)).where(SourceCursor.source == source)
        with reading(self._engine) as connection:
            row = connection.execute(query).one_or_none()
        return None if row is None else Cursor(**row._mapping)

    def save_cursor(self, cursor: Cursor) -> None:
        """Store progress in a source that brought no points."""
        check_name("source", cursor.source)
        with writing(self._engine) as connection:
            save_cursors(connection, [cursor], self._clock())

    def read(
        self,
        run_id: int,
        keys: Collection[SeriesKey] | None = None,
        *,
        from_step: int | None = None,
        to_step: int | None = None,
    ) -> dict[SeriesKey, Series]:
        """Return every point of these series (None: all) within the steps, both ends included.

        Missing series are left out; a series without points in the range is empty. Arrays are read-only.
        Points are ordered by attempt, step and time; a step may have several.
        """
        with reading(self._engine) as connection:
            return full_series.read_series(
                self._snapshot(connection, run_id), keys, StepRange(from_step, to_step)
            )

    def read_values(self, run_id: int, key: SeriesKey, memory: ReadMemory | None = None) -> Series:
        """Return every point of one series without its time, which is NaN: in half the time of `read`.

        With `memory` the points are valid until the next series is read into it.
        """
        with reading(self._engine) as connection:
            snapshot = RunSnapshot(connection, run_id, self._cache, times=False, memory=memory)
            series = full_series.read_steps_and_values(snapshot, key)
        return self.read(run_id, [key])[key] if series is None else series

    def changes_since(
        self,
        run_id: int,
        since: ReadPosition | None,
        chosen: SeriesSelector,
        *,
        begin: tuple[int, int] | None = None,
    ) -> RunChanges:
        """Return what was added to the chosen series of a run since a position (None: everything).

        `begin`: in a full read, chunks that end before this attempt and step may be left out.
        """
        with reading(self._engine) as connection:
            return read_changes(self._snapshot(connection, run_id), since, chosen, begin)

    def chart(
        self,
        run_id: int,
        keys: Collection[SeriesKey],
        *,
        from_step: int | None = None,
        to_step: int | None = None,
        points: int = 1000,
    ) -> list[ReducedSeries]:
        """Return these series reduced to about `points` points each for a chart, in key order.

        Short series are complete; others consist of real points, among them the extremes of every bucket, and
        a band. Missing series are left out. Raises StoreClosedError when the store is about to be closed.
        """
        with reading(self._engine) as connection:
            snapshot = self._snapshot(connection, run_id)
            chart = []
            for series in read_chart(snapshot, keys, StepRange(from_step, to_step), points, self._cache):
                self.check_open()
                chart.append(series)
            return chart

    def series(self, run_id: int) -> list[SeriesSummary]:
        """Return summaries of the run's series, in key order."""
        with reading(self._engine) as connection:
            return list(summaries.read_series_summaries(self._snapshot(connection, run_id), self._cache))

    def overviews(self, run_ids: Collection[int]) -> dict[int, RunOverview]:
        """Return overviews of the runs that exist, in a constant number of statements."""
        with reading(self._engine) as connection:
            return summaries.read_run_overviews(connection, run_ids, self._cache)

    def series_ranges(self, run_ids: Collection[int]) -> dict[int, list[SeriesRange]]:
        """Return newest value and extremes of all series of the runs that exist, in key order."""
        with reading(self._engine) as connection:
            return summaries.read_series_ranges(connection, run_ids, self._cache)

    def attempts(self, run_id: int) -> list[AttemptSummary]:
        """Return summaries of the run's attempts, in their order."""
        with reading(self._engine) as connection:
            return summaries.read_attempts(connection, run_id)

    def config(self, run_id: int) -> ConfigByAttempt:
        """Return the launch configuration that the run's logs state, by setting and attempt, sorted."""
        return without_environment(self._stated_settings(run_id))

    def environment(self, run_id: int) -> ConfigByAttempt:
        """Return the environment of the run's launches, by name and attempt, sorted."""
        return environment_of(self._stated_settings(run_id))

    def _stated_settings(self, run_id: int) -> ConfigByAttempt:
        with reading(self._engine) as connection:
            return read_config(connection, run_id, self._cache)

    def newest_points(self, run_id: int) -> NewestPoints:
        """Return the newest point of each of the run's series, in key order."""
        with reading(self._engine) as connection:
            return read_newest_points(self._snapshot(connection, run_id), self._cache)

    def _snapshot(self, connection: Connection, run_id: int) -> RunSnapshot:
        return RunSnapshot(connection, run_id, self._cache)

    def compact(self, run_id: int | None = None) -> int:
        """Compact the log of a run, or of all, now; returns the number of chunks written."""
        return self._compactor.compact(run_id)

    def check(self) -> list[str]:
        """Return a sentence for everything that is damaged; empty if all checksums and counts match."""
        with reading(self._engine) as connection:
            return list(find_problems(connection))
