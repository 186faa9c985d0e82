"""The store of points: batches in, series and charts out."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from concurrent.futures import Future
from pathlib import Path

from sqlalchemy import Connection, Engine, func, insert, select, update

from holter.attempts.config import ConfigByAttempt
from holter.server.database import reading, writing
from holter.server.models import Project, RunRecord, SourceCursor, UnreadableRow
from holter.server.store.cache import LruCache
from holter.server.store.check import find_problems
from holter.server.store.compaction.worker import Compactor
from holter.server.store.file_lock import FileLock
from holter.server.store.keys import check_name, storable_text
from holter.server.store.rate_limit import PointRateLimiter
from holter.server.store.read import series as whole
from holter.server.store.read import summaries
from holter.server.store.read.changes_since import ReadPosition, RunChanges, SeriesSelector, read_changes
from holter.server.store.read.chart import read_chart
from holter.server.store.read.latest import read_newest_points
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
    SeriesSummary,
)
from holter.server.store.usage import StorageUsage
from holter.server.store.write.batch_writer import BatchWriter
from holter.server.store.write.encode import encode_delivery
from holter.server.store.write.sql import save_cursors
from holter.server.store.writer import ReceiptFuture, WriterThread
from holter.settings.projects import QuotaSettings
from holter.types import Cursor, Delivery, Series, SeriesKey, Unreadable

_ANYTHING = (
    update(Project)
    .where(Project.id == select(func.min(Project.id)).scalar_subquery())
    .values(created_at=Project.created_at)
)
_REMEMBERED = 64 * 2**20  # bytes of what was worked out for readers


class Store:
    """Points of all runs in one database.

    Reading needs no start. Whatever is read is one moment of the database; stored bytes that are damaged
    raise CorruptDataError. Threads may share a store.
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
        self._rates = PointRateLimiter(quota)
        self._usage = StorageUsage(engine)
        self._memory = LruCache(_REMEMBERED)
        self._lock: FileLock | None = None
        self._writer = WriterThread(engine, BatchWriter(clock, quota, self._usage))
        self._compactor = Compactor(engine, self._recall)
        self._writer.listen(self._compactor.on_commit)
        self.rewrite_lock = self._compactor.rewrite_lock  # whoever exchanges chunks holds it meanwhile

    def start(self) -> None:
        """Begin to accept and to compact. Raises StoreLockedError if another server has the file."""
        if self._engine.dialect.name == "sqlite":
            self._lock = FileLock(Path(str(self._engine.url.database)))
        try:
            self._compactor.start()
        except BaseException:
            self._release()
            raise
        self._writer.start()

    def publish_address(self, address: str) -> None:
        """Tell whoever finds the file in use where its server can be asked."""
        if self._lock is not None:
            self._lock.publish_address(address)

    def close(self) -> None:
        """Write what waits, end the threads, let go of the file."""
        self._rates.close()
        if self._writer.close():
            self._compactor.close()
        self._usage.close()
        self._release()

    def _recall(self, run_id: int) -> None:
        """Have at hand what people ask of a run first: its series in numbers."""
        with reading(self._engine) as connection:
            load_run_stats(connection, [run_id], self._memory)

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def accept(self, delivery: Delivery, *, timeout: float = 30) -> Receipt:
        """Store a delivery; returns once it is durable.

        Raises ValueError where it is malformed, StoreBusyError when there is no room for it in time, and
        RateError when the project sends more than its quota for longer than that.
        """
        ready = encode_delivery(delivery)
        self._rates.wait(delivery.project, ready.points, timeout)
        reply: Future[Receipt] = Future()
        self._writer.put(ready, reply, timeout=timeout)
        return reply.result()

    def submit(self, delivery: Delivery) -> Future[Receipt]:
        """As `accept`, without waiting: the receipt comes when it is durable, the errors come at once."""
        reply: Future[Receipt] = Future()
        self.send(delivery, reply)
        return reply

    def send(self, delivery: Delivery, reply: ReceiptFuture) -> None:
        """As `submit`, with the outcome to `reply`, from the writer's thread: that must be quick."""
        ready = encode_delivery(delivery)
        self._rates.wait(delivery.project, ready.points, 0)
        self._writer.put(ready, reply, timeout=0)

    def check_writable(self) -> None:
        """Whether points could be stored now. Raises SQLAlchemyError where not; blocks for the database."""
        if self._writer.last_error is None:
            with self._engine.connect() as connection:
                connection.execute(select(1))
        else:  # it may answer and yet keep nothing
            with writing(self._engine) as connection:
                connection.execute(_ANYTHING)
            self._writer.last_error = None

    def on_commit(self, listener: Callable[[Commit], None]) -> None:
        """Call `listener` after each durable commit, in the writer's thread: it must be quick."""
        self._writer.listen(listener)

    def report_unreadable(self, unreadable: Unreadable, *, cursor: Cursor | None = None) -> None:
        """Remember a place in a source that could not be read, once, and how far the source has been read."""
        check_name("source", unreadable.source)
        row = {
            "source": unreadable.source,
            "place": storable_text(unreadable.location)[:200],
            "reason": storable_text(unreadable.reason),
        }
        same = select(UnreadableRow.id).where(*(getattr(UnreadableRow, name) == row[name] for name in row))
        whose = (
            select(RunRecord.id)
            .join(Project)
            .where(Project.name == unreadable.project, RunRecord.name == unreadable.run)
        )
        with writing(self._engine) as connection:
            if connection.scalar(same) is None:
                extra = {"run_id": connection.scalar(whose), "seen_at": self._clock()}
                connection.execute(insert(UnreadableRow).values(row | extra))
            save_cursors(connection, [cursor] if cursor else [], self._clock())

    def cursor(self, source: str) -> Cursor | None:
        """How far a source has been read, None if never."""
        names = ("source", "format", "offset", "identity", "state")
        query = select(*(getattr(SourceCursor, name) for name in names)).where(SourceCursor.source == source)
        with reading(self._engine) as connection:
            row = connection.execute(query).one_or_none()
        return None if row is None else Cursor(**row._mapping)

    def save_cursor(self, cursor: Cursor) -> None:
        """Remember progress in a source that brought no points."""
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
        """Every point of these series (None: of all) within the steps, both ends included.

        Series that the run does not have are left out; one without points in the range is empty. Arrays
        are read-only; in an attempt a step stands once, with its newest write.
        """
        with reading(self._engine) as connection:
            return whole.read_series(self._snapshot(connection, run_id), keys, StepRange(from_step, to_step))

    def changes_since(
        self,
        run_id: int,
        since: ReadPosition | None,
        chosen: SeriesSelector,
        *,
        begin: tuple[int, int] | None = None,
    ) -> RunChanges:
        """What has come to the chosen series of a run since a place (None: everything), and the new place.

        `begin`: where all is asked for, chunks that end before this attempt and step may be left out.
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
        """These series as a chart of about `points` points each draws them, in the order of their keys.

        A series with few points comes whole; else as real points, the extremes of every bucket among
        them, and a band. Series that the run does not have are left out.
        """
        with reading(self._engine) as connection:
            snapshot = self._snapshot(connection, run_id)
            return list(read_chart(snapshot, keys, StepRange(from_step, to_step), points, self._memory))

    def series(self, run_id: int) -> list[SeriesSummary]:
        """The run's series in numbers, in the order of their keys."""
        with reading(self._engine) as connection:
            return list(summaries.read_series_summaries(self._snapshot(connection, run_id), self._memory))

    def overviews(self, run_ids: Collection[int]) -> dict[int, RunOverview]:
        """Runs at a glance, those that there are: in as many statements for many as for one."""
        with reading(self._engine) as connection:
            return summaries.read_run_overviews(connection, run_ids, self._memory)

    def attempts(self, run_id: int) -> list[AttemptSummary]:
        """The run's attempts in numbers, in their order."""
        with reading(self._engine) as connection:
            return summaries.read_attempts(connection, run_id)

    def config(self, run_id: int) -> ConfigByAttempt:
        """What the run's logs say of its launches, by attempt, in the order of the keys."""
        with reading(self._engine) as connection:
            return read_config(connection, run_id, self._memory)

    def newest_points(self, run_id: int) -> NewestPoints:
        """The newest point of each of the run's series, in the order of their keys."""
        with reading(self._engine) as connection:
            return read_newest_points(self._snapshot(connection, run_id), self._memory)

    def _snapshot(self, connection: Connection, run_id: int) -> RunSnapshot:
        return RunSnapshot(connection, run_id, self._memory)

    def compact(self, run_id: int | None = None) -> int:
        """Compact the log of a run, or of all, now; how many chunks were written."""
        return self._compactor.compact(run_id)

    def check(self) -> list[str]:
        """What is damaged, in sentences; empty when every checksum and count holds."""
        with reading(self._engine) as connection:
            return list(find_problems(connection))
