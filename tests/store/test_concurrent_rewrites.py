"""Compaction beside another process: what was planned on rows that have changed since is not applied."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from sqlalchemy import Connection, Engine, func, select

from holter.server.database import reading, writing
from holter.server.models import LogEntry
from holter.server.store import Store
from holter.server.store.compaction import compaction as module
from holter.server.store.errors import ConcurrentRewriteError
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
