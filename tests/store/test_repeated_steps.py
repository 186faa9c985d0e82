"""Several points at one step: all are stored, in order; a point that is delivered again is stored once."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, func, select

from holter.server.models import LogEntry
from holter.server.store import Store
from holter.server.store.encoding.chunk import MAX_CHUNK_POINTS
from holter.types import Batch, Column, Delivery, DenseColumns, SeriesKey, SeriesLayout
from tests.support.point_model import Point, PointModel, points_of_series
from tests.support.stored_runs import newest_by_key

LOSS, NORM = SeriesKey("loss"), SeriesKey("grad_norm")
LAYOUT = SeriesLayout([LOSS, NORM])
NUMBERS = count()


def send(store: Store, run: str, batch: Batch, *, writer: str = "w") -> tuple[int, int]:
    """Deliver a batch under a new key; returns the run's id, and how many points were accepted."""
    delivery = Delivery(project="p", run=run, writer=writer, batch_id=f"batch {next(NUMBERS)}", batch=batch)
    receipt = store.accept(delivery)
    return receipt.run_id, receipt.accepted


def losses(steps: Any, times: Any, values: Any, *, attempt: str | None = "0") -> Batch:
    return Batch(
        steps=np.asarray(steps),
        times=np.asarray(times, dtype=np.float64),
        columns=(Column(key=LOSS, values=np.asarray(values, dtype=np.float64)),),
        attempt=attempt,
    )


def stored(store: Store, run_id: int) -> dict[SeriesKey, list[Point]]:
    return {key: points_of_series(series) for key, series in store.read(run_id).items()}


def test_three_points_of_a_step_are_accepted_and_stored(store: Store) -> None:
    run_id, accepted = send(store, "run", losses([5, 5, 5], [1, 2, 3], [0.3, 0.1, 0.2], attempt=None))
    series = store.read(run_id)[LOSS]
    assert (accepted, series.value.tolist(), series.attempt.tolist()) == (3, [0.3, 0.1, 0.2], [0, 0, 0])
    assert newest_by_key(store, run_id)[LOSS] == (0, 5, 3.0, 0.2)


def test_points_without_a_clock_are_in_the_order_in_which_they_were_written(store: Store) -> None:
    run_id, _ = send(store, "run", losses([5, 5], [np.nan] * 2, [0.3, 0.1]))
    send(store, "run", losses([5], [np.nan], [0.2]))
    assert store.read(run_id)[LOSS].value.tolist() == [0.3, 0.1, 0.2]
    store.compact()
    assert store.read(run_id)[LOSS].value.tolist() == [0.3, 0.1, 0.2]
    assert newest_by_key(store, run_id)[LOSS][3] == 0.2


def test_accepted_counts_repeats_within_a_batch_once(store: Store) -> None:
    run_id, accepted = send(store, "run", losses([5, 5, 5, 6], [1, 1, 1, 2], [0.3, 0.3, 0.2, 0.1]))
    assert accepted == len(store.read(run_id)[LOSS]) == 3


def test_repeats_in_different_attempts_are_both_stored(store: Store) -> None:
    batch = losses([5, 6, 7, 5, 6, 6], [np.nan] * 6, [1, 1, 1, 1, 1, 1], attempt=None)
    run_id, accepted = send(store, "run", batch)
    assert accepted == len(store.read(run_id)[LOSS]) == 5
    assert store.read(run_id)[LOSS].attempt.tolist() == [0, 0, 0, 1, 1]


@pytest.mark.parametrize("compacting", [False, True])
def test_four_calls_a_step_are_four_points_however_flushes_cut_them(store: Store, compacting: bool) -> None:
    steps = np.repeat(np.arange(3_000), 4)
    times = 0.25 * np.arange(len(steps))
    values = np.random.default_rng(1).normal(size=(2, len(steps)))
    for start in range(0, len(steps), 2_499):
        part = slice(start, start + 2_499)
        columns = DenseColumns(LAYOUT, np.ascontiguousarray(values[:, part]))
        run_id, _ = send(store, "run", Batch(steps=steps[part], times=times[part], columns=columns))
        if compacting:
            store.compact()
        series = store.read(run_id)
        assert [series[LOSS].value.tolist(), series[NORM].value.tolist()] == [
            column[: part.stop].tolist() for column in values
        ]
        assert [summary.points for summary in store.series(run_id)] == [len(series[LOSS])] * 2
        assert newest_by_key(store, run_id)[LOSS][3] == series[LOSS].value[-1]
    assert store.check() == []
    assert [one.number for one in store.attempts(run_id)] == [0]
    (drawn,) = store.chart(run_id, [LOSS], points=200_000)
    assert drawn.segments[0].value.tolist() == values[0].tolist()


def test_a_late_point_of_a_chunk_s_last_step_joins_the_chunk(store: Store, engine: Engine) -> None:
    steps = np.arange(3_000)
    run_id, _ = send(store, "run", losses(steps, steps, np.zeros(3_000)))
    store.compact()
    send(store, "run", losses([2_999], [9_999], [0.5]))
    store.compact()
    with engine.connect() as connection:
        assert connection.scalar(select(func.count()).select_from(LogEntry)) == 0
    assert store.read(run_id)[LOSS].value.tolist()[-3:] == [0.0, 0.0, 0.5]


def test_few_points_from_a_chunk_s_last_step_on_join_the_chunk(store: Store, engine: Engine) -> None:
    steps = np.arange(3_000)
    run_id, _ = send(store, "run", losses(steps, steps, np.zeros(3_000)))
    store.compact()
    send(store, "run", losses([2_999, 3_000, 3_001], [9_999, 10_000, 10_001], [0.5, 0.6, 0.7]))
    store.compact()
    with engine.connect() as connection:
        assert connection.scalar(select(func.count()).select_from(LogEntry)) == 0
    assert store.read(run_id)[LOSS].value.tolist()[-4:] == [0.0, 0.5, 0.6, 0.7]


def test_a_step_with_more_points_than_a_chunk_is_one_chunk(store: Store) -> None:
    size = MAX_CHUNK_POINTS + 5_000
    steps = np.concatenate((np.arange(3_000), np.full(size, 3_000), np.arange(3_001, 6_001)))
    values = np.random.default_rng(2).normal(size=len(steps))
    run_id, accepted = send(store, "run", losses(steps, np.arange(len(steps)), values))
    for _ in range(2):
        store.compact()
        assert accepted == len(steps)
        assert store.read(run_id)[LOSS].value.tolist() == values.tolist()
        assert len(store.read(run_id, from_step=3_000, to_step=3_000)[LOSS]) == size
        assert store.check() == []
        (drawn,) = store.chart(run_id, [LOSS], points=100)
        assert drawn.count == len(steps)
        band = drawn.segments[0].band
        assert band is not None
        assert (band.minimum.min(), band.maximum.max()) == (values.min(), values.max())
        send(store, "run", losses(steps[2_000:9_000], np.arange(2_000, 9_000), values[2_000:9_000]))


@st.composite
def logged_rows(draw: st.DrawFn) -> list[tuple[int, float, float]]:
    """Rows of one writer: steps that repeat, wall times that may be equal or missing."""
    rows = draw(st.integers(1, 60))
    every = draw(st.sampled_from([1, 2, 4, 30]))
    clock = draw(st.sampled_from(["fine", "coarse", "none"]))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    times = {
        "fine": np.arange(rows) * 0.5,
        "coarse": np.arange(rows) // 3 * 1.0,
        "none": np.full(rows, np.nan),
    }
    values = random.choice([0.5, 0.25, np.nan, -0.0, 0.0, np.inf], rows)
    return list(zip((np.arange(rows) // every).tolist(), times[clock].tolist(), values.tolist(), strict=True))


cuts = st.tuples(st.integers(0, 60), st.integers(1, 25))  # first row and number of rows of a delivery
actions = st.lists(
    st.one_of(cuts, cuts, cuts, st.sampled_from(["compact", "restart"])), min_size=1, max_size=14
)


@pytest.mark.slow
@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(logged_rows(), actions, st.booleans())
def test_every_distinct_point_is_stored_once_whatever_is_delivered_again(
    engine: Engine, rows: list[tuple[int, float, float]], actions: list[Any], dense: bool
) -> None:
    """Parts of a log in any order, overlapping, some of them again, with compaction at any moment."""
    run, model, run_id = f"run-{next(NUMBERS)}", PointModel(), None
    # enough other points that compaction makes chunks of the series
    filler = np.arange(100, 2_400)
    store = Store(engine)
    store.start()
    try:
        for action in [("filler"), *actions]:
            if action == "compact":
                store.compact(run_id)
                continue
            if action == "restart":
                store.close()
                store = Store(engine)
                store.start()
                continue
            if action == "filler":
                steps, times, values = filler, filler * 1.0, filler * 1.0
            else:
                part = rows[action[0] % len(rows) :][: action[1]]
                steps, times, values = (np.array(column) for column in zip(*part, strict=True))
            matrix = np.stack((values, values * 2)).astype(np.float64)
            keys = (LOSS, NORM)
            columns: Any = DenseColumns(LAYOUT, matrix)
            if not dense:
                columns = tuple(
                    Column(key=key, values=column, rows=np.arange(len(steps)))
                    for key, column in zip(keys, matrix, strict=True)
                )
            batch = Batch(
                steps=steps.astype(np.int64), times=times.astype(np.float64), columns=columns, attempt="0"
            )
            run_id, _ = send(store, run, batch)
            model.add(0, batch)
            expected = model.points()
            assert stored(store, run_id) == expected
            assert {summary.key: summary.points for summary in store.series(run_id)} == {
                key: len(points) for key, points in expected.items()
            }
            for key, (attempt, step, _, value) in newest_by_key(store, run_id).items():
                assert (attempt, step, np.float64(value).tobytes()) == (
                    *expected[key][-1][:2],
                    expected[key][-1][3],
                )
        assert store.check() == []
    finally:
        store.close()
