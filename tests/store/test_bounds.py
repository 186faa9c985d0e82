"""Memory is bounded: what the writer remembers of runs, what waits, and which shapes are recognised."""

from __future__ import annotations

import tracemalloc
from functools import partial

import numpy as np
import pytest
from sqlalchemy import Engine

from holter.server.database import writing
from holter.server.ingest_http.json_body import LayoutCache
from holter.server.ingest_http.memory_budget import MemoryBudget, MemoryBudgetError
from holter.server.store import usage as usages
from holter.server.store.usage import StorageUsage
from holter.server.store.write.batch_writer import BatchWriter
from holter.server.store.write.encode import encode_delivery
from holter.settings.projects import QuotaSettings
from holter.types import Batch, Delivery, DenseColumns, Labels, SeriesLayout

NONE: Labels = ()


def delivery(run: int, shape: SeriesLayout, step: int = 0) -> Delivery:
    columns = DenseColumns(shape, np.ones((len(shape.keys), 1)))
    batch = Batch(steps=np.array([step]), times=np.array([1.0]), columns=columns)
    return Delivery(project="p", run=f"run-{run}", writer="w", batch_id=str(step), batch=batch)


def names(count: int, word: str = "m") -> tuple[str, ...]:
    return tuple(f"{word}/{number}" for number in range(count))


def test_run_cache_is_bounded_and_exact(
    sqlite_engine: Engine,
) -> None:
    usage = StorageUsage(sqlite_engine)
    ledger = BatchWriter(lambda: 1.0, lambda _: QuotaSettings(), usage, max_bytes=2**20)
    shape = LayoutCache().find(names(300), NONE)
    for step in range(2):
        for run in range(0, 100, 10):
            group = [encode_delivery(delivery(one, shape, step)) for one in range(run, run + 10)]
            with writing(sqlite_engine) as connection:
                receipts, _ = ledger.write(connection, group)
            assert not any(one.duplicate for one in receipts)
            assert ledger.cached_bytes <= 2**20
    with writing(sqlite_engine) as connection:
        again, _ = ledger.write(connection, [encode_delivery(delivery(0, shape, 1))])
    usage.close()
    assert again[0].duplicate


@pytest.mark.slow
def test_a_run_takes_no_more_memory_than_is_counted_for_it(sqlite_engine: Engine) -> None:
    usage = StorageUsage(sqlite_engine)
    ledger = BatchWriter(lambda: 1.0, lambda _: QuotaSettings(), usage)
    shape = LayoutCache().find(names(300), NONE)
    write = partial(_write, sqlite_engine, ledger, shape)
    write(range(20))  # what is made once
    tracemalloc.start()
    counted, before = ledger.cached_bytes, tracemalloc.get_traced_memory()[0]
    write(range(20, 120))
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    usage.close()
    assert taken <= ledger.cached_bytes - counted
    assert (ledger.cached_bytes - counted) / 100 < 150_000  # 2,000 such runs are remembered at once


def _write(engine: Engine, ledger: BatchWriter, shape: SeriesLayout, runs: range) -> None:
    for run in runs:
        with writing(engine) as connection:
            ledger.write(connection, [encode_delivery(delivery(run, shape))])


def test_layout_cache_is_bounded_in_bytes() -> None:
    shapes = LayoutCache(max_bytes=100_000)
    first = shapes.find(names(100), NONE)
    shapes.add(first)
    assert shapes.find(names(100), NONE) is first
    for number in range(50):
        shapes.add(shapes.find(names(100, f"word{number}"), NONE))
        assert shapes.cached_bytes <= 100_000
    assert shapes.find(names(100), NONE) is not first
    assert not shapes.is_valid(first)
    shapes.add(shapes.find(names(10_000), NONE))  # larger than all of it
    assert shapes.cached_bytes <= 100_000


def test_memory_budget_is_shared_but_one_body_always_fits() -> None:
    room = MemoryBudget(1000)
    large, other = room.share(), room.share()
    with large:
        large.grow(5000)
        with other, pytest.raises(MemoryBudgetError):
            other.grow(1)
    assert room.used == 0
    one, other = room.share(), room.share()
    with one, other:
        one.grow(600)
        with pytest.raises(MemoryBudgetError):
            other.grow(600)
        other.grow(400)
    assert room.used == 0


def test_usage_cache_evicts_inactive_projects(sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usages, "_MAX_PROJECTS", 10)
    usage = StorageUsage(sqlite_engine)
    for number in range(100):
        usage.refusal(f"project {number}", 1)
        usage.add(f"project {number}", 5)
    assert len(usage._projects) == 10
    assert usage.refusal("project 99", 1) is not None
    usage.close()
