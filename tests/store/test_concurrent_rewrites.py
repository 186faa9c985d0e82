"""Compaction beside another process: what was planned on rows that have changed since is not applied."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from sqlalchemy import Connection, Engine, func, select

from holter.server.database import reading, writing
from holter.server.models import Chunk, LogEntry, Timeline
from holter.server.store import Store
from holter.server.store.compaction import compaction as module
from holter.server.store.compaction.summary import rebuild_summary
from holter.server.store.encoding.chunk import MAX_CHUNK_POINTS
from holter.server.store.errors import ConcurrentRewriteError
from holter.server.store.read.snapshot import RunSnapshot
from holter.types import Batch, Column, Delivery, SeriesKey
from tests.support.stored_runs import running_store

LOSS = SeriesKey("loss")


def send(store: Store, first: int, size: int) -> int:
    steps = np.arange(first, first + size)
    batch = Batch(steps=steps, times=steps * 1.0, columns=(Column(key=LOSS, values=np.sin(steps)),))
    delivery = Delivery(project="p", run="run", writer="w", batch_id=f"{first}", batch=batch)
    return store.accept(delivery).run_id


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Does something once, after compaction has read and before it writes."""

    def arrange(action: Callable[[], object]) -> None:
        @contextmanager
        def interrupted(engine: Engine) -> Iterator[Connection]:
            monkeypatch.setattr(module, "writing", writing)
            action()
            with writing(engine) as connection:
                yield connection

        monkeypatch.setattr(module, "writing", interrupted)

    return arrange


@pytest.mark.parametrize("size", [100, 4000], ids=["log", "chunks"])
@pytest.mark.parametrize("compacted", [False, True], ids=["first", "later"])
def test_a_rewrite_that_another_one_has_overtaken_changes_nothing(
    size: int, compacted: bool, sqlite_engine: Engine, between: Callable[[Callable[[], object]], None]
) -> None:
    with running_store(sqlite_engine) as store:
        run_id = send(store, 0, size)
        if compacted:
            store.compact()
            send(store, size, size)
        end = size * (1 + compacted)

        def overtake() -> None:
            send(store, end, size)
            module.compact(sqlite_engine, run_id)

        between(overtake)
        with pytest.raises(ConcurrentRewriteError):
            module.compact(sqlite_engine, run_id)
        assert store.read(run_id)[LOSS].step.tolist() == list(range(end + size))
        assert store.check() == []


def test_chunks_that_are_gone_already_are_not_replaced(sqlite_engine: Engine) -> None:
    with running_store(sqlite_engine) as store:
        run_id = send(store, 0, 4000)
        store.compact()
        with reading(sqlite_engine) as connection:
            rows = RunSnapshot(connection, run_id).chunks()
        with pytest.raises(ConcurrentRewriteError), writing(sqlite_engine) as connection:
            module.delete_chunks(connection, [*rows, rows[0]._replace(id=rows[0].id + 1000)])
        assert store.read(run_id)[LOSS].step.tolist() == list(range(4000))
        with writing(sqlite_engine) as connection:
            module.delete_chunks(connection, rows)
        with reading(sqlite_engine) as connection:
            assert connection.scalar(select(func.count()).select_from(Timeline)) == 0


def test_a_store_that_was_overtaken_reads_again_and_finishes(
    sqlite_engine: Engine, between: Callable[[Callable[[], object]], None]
) -> None:
    with running_store(sqlite_engine) as store:
        run_id = send(store, 0, 4000)
        between(lambda: (module.compact(sqlite_engine, run_id), send(store, 4000, 4000)))
        store.compact()
        assert store.read(run_id)[LOSS].step.tolist() == list(range(8000))
        with reading(sqlite_engine) as connection:
            assert connection.scalar(select(func.count()).select_from(LogEntry)) == 0
        assert store.check() == []


def test_a_compacted_log_is_not_compacted_again(sqlite_engine: Engine) -> None:
    with running_store(sqlite_engine) as store:
        run_id = send(store, 0, 4000)
        assert module.compact(sqlite_engine, run_id) == 1
        assert module.compact(sqlite_engine, run_id) == 0
        with reading(sqlite_engine) as connection:
            assert connection.scalar(select(func.count()).select_from(LogEntry)) == 0
        send(store, 4000, 40)  # stays in the log, since it is short
        module.compact(sqlite_engine, run_id)
        send(store, 2000, 2040)  # late ones are repeats of stored ones
        module.compact(sqlite_engine, run_id)
        assert store.read(run_id)[LOSS].step.tolist() == list(range(4040))
        assert store.check() == []


def test_a_compaction_that_is_stopped_leaves_all_points_and_is_made_up_for(sqlite_engine: Engine) -> None:
    with running_store(sqlite_engine) as store:
        run_id = send(store, 0, 4000)
        before = store.read(run_id)[LOSS]
        with pytest.raises(module.CompactionStoppedError):
            module.compact(sqlite_engine, run_id, lambda: True)
        assert store.check() == []
        assert store.read(run_id)[LOSS].value.tobytes() == before.value.tobytes()
        assert module.compact(sqlite_engine, run_id, lambda: False) == 1
        assert store.read(run_id)[LOSS].value.tobytes() == before.value.tobytes()


def test_a_summary_computed_again_is_a_rewrite_that_others_notice(
    sqlite_engine: Engine, between: Callable[[Callable[[], object]], None]
) -> None:
    with running_store(sqlite_engine) as store:
        run_id = send(store, 0, 4000)

        def rebuild() -> None:
            with writing(sqlite_engine) as connection:
                rebuild_summary(connection, run_id)

        between(rebuild)
        with pytest.raises(ConcurrentRewriteError):
            module.compact(sqlite_engine, run_id)


def test_more_series_than_one_transaction_compacts_are_compacted_in_several(
    sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MAX_CHUNKS_PER_PASS", 2)
    steps = np.arange(4000)
    columns = [Column(key=SeriesKey(f"loss_{number}"), values=np.sin(steps + number)) for number in range(5)]
    batch = Batch(steps=steps, times=steps * 1.0, columns=columns)
    with running_store(sqlite_engine) as store:
        run_id = store.accept(Delivery(project="p", run="run", writer="w", batch_id="1", batch=batch)).run_id
        assert module.compact(sqlite_engine, run_id) == 5
        with reading(sqlite_engine) as connection:
            assert connection.scalar(select(func.count()).select_from(LogEntry)) == 0
        assert store.check() == []


def test_new_points_fill_whole_chunks_first(sqlite_engine: Engine) -> None:
    with running_store(sqlite_engine) as store:
        run_id = send(store, 0, MAX_CHUNK_POINTS + 7_232)
        module.compact(sqlite_engine, run_id)
        with reading(sqlite_engine) as connection:
            sizes = connection.scalars(select(Chunk.points).order_by(Chunk.step_min)).all()
        assert sizes == [MAX_CHUNK_POINTS, 7_232]
