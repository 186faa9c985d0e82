"""A run in memory that grows by its news is the run as the store reads it, whatever came in which order."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Collection, Iterator

import numpy as np
import pytest
from sqlalchemy import Engine

from holter.attempts.step_values import last_of_each_step
from holter.detectors import find
from holter.server.analysis.run_cache import CachedRun, RunCache, memory_size
from holter.server.store import Store
from holter.server.store.encoding.block import SeriesPoints
from holter.server.store.read.changes_since import ReadPosition, RunChanges
from holter.types import RunData, Series, SeriesKey
from tests.support.stored_runs import deliver

LOSS, NORM = SeriesKey("loss"), SeriesKey("grad_norm")


@pytest.fixture
def store(engine: Engine) -> Iterator[Store]:
    store = Store(engine)
    store.start()
    yield store
    store.close()


def every(keys: Collection[SeriesKey]) -> Collection[SeriesKey]:
    return keys


def grow(run: CachedRun, store: Store, run_id: int) -> bool:
    return run.update(store.changes_since(run_id, run.position, every))


def assert_same(run: CachedRun, store: Store, run_id: int) -> None:
    read = {key: last_of_each_step(series) for key, series in store.read(run_id).items()}
    assert run.series.keys() == read.keys()
    for key, one in run.series.items():
        for name in ("attempt", "step", "time", "value"):
            np.testing.assert_array_equal(getattr(one, name), getattr(read[key], name), f"{key} {name}")


@pytest.mark.parametrize("seed", range(3))
def test_whatever_comes_the_run_in_memory_is_the_run_in_the_store(store: Store, seed: int) -> None:
    rng = np.random.default_rng(seed)
    run, run_id, last = CachedRun(), 0, [0, 0]
    for number in range(40):
        attempt = int(rng.random() < (0.7 if number > 20 else 0.0))
        first = max(0, last[attempt] + int(rng.choice([0, 0, 0, 3, -20])))
        steps = np.arange(first, first + int(rng.integers(1, 40)))
        last[attempt] = max(last[attempt], int(steps[-1]) + 1)
        run_id = deliver(store, number, steps, attempt=attempt, norm=rng.random() < 0.6)
        if rng.random() < 0.2:
            store.compact(run_id)
        if rng.random() < 0.6:
            assert grow(run, store, run_id)
            assert_same(run, store, run_id)
        if rng.random() < 0.1:
            store.compact(run_id)
    grow(run, store, run_id)
    assert_same(run, store, run_id)
    assert not grow(run, store, run_id)


def test_what_was_seen_before_does_not_change_while_the_run_grows(store: Store) -> None:
    run, seen = CachedRun(), []
    for number in range(40):
        run_id = deliver(store, number, np.arange(10 * number, 10 * number + 10))
        grow(run, store, run_id)
        seen.append((run.series[LOSS], run.series[LOSS].value.copy()))
    deliver(store, 99, np.arange(50))
    grow(run, store, run_id)
    for series, values in seen:
        np.testing.assert_array_equal(series.value, values)
        with pytest.raises(ValueError, match="read-only"):
            series.value[0] = 1.0


def test_rows_that_changed_are_told_to_what_detectors_remember(store: Store) -> None:
    run, changed = CachedRun(), []
    run.detector_state.mark_changed = lambda key, row: changed.append((key, row))  # type: ignore[method-assign]
    run_id = deliver(store, 0, np.arange(100), norm=False)
    grow(run, store, run_id)
    deliver(store, 1, np.arange(100, 110), norm=False)
    grow(run, store, run_id)
    assert changed == []
    deliver(store, 2, np.arange(60, 70), norm=False)
    grow(run, store, run_id)
    assert changed == [(LOSS, 60)]
    store.compact(run_id)
    grow(run, store, run_id)
    assert changed == [(LOSS, 60)]


def test_runs_that_nobody_asked_for_make_room(store: Store) -> None:
    runs = RunCache(limit=3 * 28 * 1000)
    ids = [deliver(store, 0, np.arange(1000), norm=False, run=f"run {number}") for number in range(5)]
    for run_id in ids:
        grow(runs.get(run_id), store, run_id)
        runs.measure(run_id)
    kept = [run_id for run_id in ids if runs.get(run_id).position is not None]
    assert kept == ids[2:]


def test_what_detectors_remember_takes_room_too(store: Store) -> None:
    ids = [deliver(store, 0, np.arange(300), run=f"run {number}") for number in range(8)]

    def kept(limit: int, *, looks: bool) -> int:
        runs = RunCache(limit)
        for run_id in ids:
            run = runs.get(run_id)
            grow(run, store, run_id)
            if looks:
                find(RunData(series=run.series), state=run.detector_state)
            runs.measure(run_id)
            assert runs.size <= limit
        return sum(runs.get(run_id).position is not None for run_id in ids)

    assert kept(8 * 25_000, looks=False) == len(ids)
    assert kept(8 * 25_000, looks=True) < len(ids)


@pytest.mark.slow
def test_a_run_weighs_what_it_takes() -> None:
    def looked_at() -> CachedRun:
        run = CachedRun()
        for begin in range(0, 3000, 500):
            steps = np.arange(begin, begin + 500)
            points = SeriesPoints(steps, 1e9 + steps, np.cos(steps))
            run.update(RunChanges(ReadPosition(begin, {}), {LOSS: {0: points}, NORM: {0: points}}, None))
            find(RunData(series=run.series), state=run.detector_state)
        return run

    looked_at()  # what is made once for all runs
    gc.collect()
    tracemalloc.start()
    try:
        runs = [looked_at() for _ in range(5)]
        gc.collect()
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert sum(map(memory_size, runs)) == pytest.approx(taken, rel=0.25)


def test_a_run_that_is_forgotten_takes_nothing(store: Store) -> None:
    runs = RunCache(limit=2**20)
    run_id = deliver(store, 0, np.arange(1000))
    for _ in range(3):
        grow(runs.get(run_id), store, run_id)
        runs.measure(run_id)
        assert runs.size > 32 * 1000
        runs.forget(run_id)
        assert runs.size == 0


def test_one_run_is_kept_however_large(store: Store) -> None:
    runs = RunCache(limit=1)
    run_id = deliver(store, 0, np.arange(1000))
    grow(runs.get(run_id), store, run_id)
    runs.measure(run_id)
    assert runs.get(run_id).position is not None


def test_series_that_are_not_chosen_are_not_kept(store: Store) -> None:
    def losses(keys: Collection[SeriesKey]) -> list[SeriesKey]:
        return [key for key in keys if key.metric == "loss"]

    run = CachedRun()
    for number in range(3):
        run_id = deliver(store, number, np.arange(10 * number, 10 * number + 10))
        run.update(store.changes_since(run_id, run.position, losses))
    assert [key.metric for key in run.series] == ["loss"]
    one: Series = run.series[LOSS]
    assert len(one) == 30


def test_runs_without_a_point_have_their_weight_too() -> None:
    runs = RunCache(50_000)
    for number in range(1000):
        runs.get(number)
        runs.measure(number)
    assert 0 < runs.size <= 50_000
    assert len(runs._runs) < 200
