"""What is remembered for readers is what a reader without memory finds, whoever wrote meanwhile."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, func, select

from holter.server.database import reading, writing
from holter.server.models import Chunk
from holter.server.store import Store
from holter.server.store.cache import LruCache
from holter.server.store.compaction.summary import load_summary, rebuild_summary
from holter.server.store.read.snapshot import RunSnapshot
from holter.types import Batch, Column, Delivery, SeriesKey
from tests.support.stored_runs import newest_by_key

KEYS = [SeriesKey("loss"), SeriesKey("lr")]
NUMBERS = count()

places = st.tuples(
    st.integers(0, 2),  # attempt
    st.sampled_from([0, 50, 900, 3_000, 40_000, -70_000]),
    st.sampled_from([1, 30, 400, 2_500, 35_000]),
    st.sampled_from([1, 2]),  # every so many steps
    st.sampled_from([KEYS, KEYS[:1], KEYS[1:]]),
)


def deliver(store: Store, run: str, place: tuple[int, int, int, int, list[SeriesKey]], number: int) -> int:
    attempt, start, rows, every, keys = place
    random = np.random.default_rng(number)
    steps = start + every * np.arange(rows)
    values = np.where(random.random(rows) < 0.02, np.nan, random.normal(size=rows))
    columns = tuple(Column(key=key, values=values * (1 + at)) for at, key in enumerate(keys))
    batch = Batch(steps=steps, times=steps * 0.1 + attempt, columns=columns, attempt=str(attempt))
    delivery = Delivery(project="p", run=run, writer="w", batch_id=str(number), batch=batch)
    return store.accept(delivery).run_id


def seen(store: Store, run_id: int) -> list[Any]:
    """Everything that readers are given, as values that can be compared."""
    found: list[Any] = [
        sorted(map(repr, store.series(run_id))),
        sorted(map(repr, newest_by_key(store, run_id).items())),
    ]
    for key, series in store.read(run_id).items():
        columns = (series.attempt, series.step, series.time, series.value)
        found.append((key, *(column.tobytes() for column in columns)))
    for wanted in ({}, {"from_step": 100, "to_step": 5_000}, {"points": 12}):
        for drawn in store.chart(run_id, KEYS, **wanted):
            found.append((drawn.key, drawn.count, repr(drawn.nonfinite), drawn.nonfinite_count))
            for one in drawn.segments:
                band = () if one.band is None else (one.band.step, one.band.minimum, one.band.mean)
                columns = (one.step, one.time, one.value, *band)
                found.append((one.attempt, one.ghost, *(column.tobytes() for column in columns)))
    return found


@pytest.mark.slow
@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(st.one_of(places, places, st.sampled_from(["compact", "renew", "restart"])), max_size=10))
def test_cached_reads_equal_stored_data(engine: Engine, actions: list[Any]) -> None:
    run = f"run-{next(NUMBERS)}"
    store, reader = Store(engine), Store(engine)  # the reader hears of nothing, as another server would not
    store.start()
    try:
        run_id = deliver(store, run, (0, 0, 10, 1, KEYS), 0)
        for number, action in enumerate(actions, start=1):
            if action == "compact":
                store.compact(run_id)
            elif action == "renew":
                with writing(engine) as connection:
                    rebuild_summary(connection, run_id)
            elif action == "restart":
                store.close()
                store = Store(engine)
                store.start()
            else:
                deliver(store, run, action, number)
            expected = seen(Store(engine), run_id)
            assert seen(store, run_id) == seen(reader, run_id) == expected
        assert store.check() == []
    finally:
        store.close()


def test_rebuilt_summary_equals_the_stored_one(store: Store, engine: Engine) -> None:
    for number, start in enumerate((0, 40_000, 80_000, 20_000)):
        run_id = deliver(store, "run", (0, start, 35_000, 1, KEYS), number)
        deliver(store, "run", (1, start, 60, 1, KEYS[:1]), 10 + number)
        store.compact()
    with writing(engine) as connection:
        before = load_summary(RunSnapshot(connection, run_id))
        rebuild_summary(connection, run_id)
    with reading(engine) as connection:
        after = load_summary(RunSnapshot(connection, run_id))
    assert after.generation == before.generation + 1
    for kept, found in zip((*before.chunks, *before.log), (*after.chunks, *after.log), strict=True):
        assert kept.tobytes() == found.tobytes()


def test_late_points_go_into_the_chunks_they_belong_to(store: Store) -> None:
    deliver(store, "run", (0, 0, 35_000, 2, KEYS[:1]), 0)
    store.compact()
    deliver(store, "run", (0, 1, 400, 2, KEYS[:1]), 1)
    run_id = deliver(store, "run", (0, 69_990, 400, 1, KEYS[:1]), 2)
    (before,) = store.series(run_id)
    store.compact()
    (after,) = store.series(run_id)
    assert before == after
    assert after.points == 35_000 + 400 + 400
    assert store.check() == []


@pytest.mark.slow
def test_thousands_of_series_become_chunks_in_several_transactions(store: Store, engine: Engine) -> None:
    rows, series = 300, 3_000
    values = np.random.default_rng(0).normal(size=(series, rows))
    columns = tuple(Column(key=SeriesKey(f"m{n:04}"), values=values[n]) for n in range(series))
    batch = Batch(steps=np.arange(rows), times=np.arange(rows) * 1.0, columns=columns, attempt="0")
    one = Delivery(project="p", run="wide", writer="w", batch_id="1", batch=batch)
    run_id = store.accept(one).run_id
    store.compact(run_id)  # unless the store has done it by now
    with reading(engine) as connection:
        assert load_summary(RunSnapshot(connection, run_id)).generation == 2
        assert RunSnapshot(connection, run_id).log() == {}
        assert connection.scalar(select(func.count(Chunk.id))) == series
    found = [one.value.tobytes() for one in store.read(run_id).values()]
    assert found == [row.tobytes() for row in values]
    assert store.check() == []


def test_cache_evicts_least_recently_used_entries() -> None:
    memory = LruCache(100_000)
    memory.put("a", 1, 40_000)
    memory.put("b", 2, 40_000)
    assert memory.get("a") == 1
    memory.put("c", 3, 40_000)
    assert (memory.get("a"), memory.get("b"), memory.get("c")) == (1, None, 3)
    memory.put("a", 4, 60_000)
    assert memory.get("a") is None, "most of the room is not given to one"
    assert 40_000 < memory.size < 41_000
    for number in range(1000):
        memory.put(number, (), 0)
    assert memory.get(0) is None, "nothing is remembered for nothing"
