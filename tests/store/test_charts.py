"""Charts: real points only, no extreme lost, ghosts apart, whatever part of the curve is shown."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from holter.attempts.superseded import AttemptSpan, superseded_points
from holter.server.store import ReducedSeries, Store
from holter.types import Batch, Column, Delivery, Series, SeriesKey

LOSS, SPARSE = SeriesKey("loss"), SeriesKey("eval")


def deliver(store: Store, run: str, attempt: int, steps: np.ndarray, values: np.ndarray, number: int) -> int:
    at = np.arange(0, len(steps), 50)
    columns = (Column(key=LOSS, values=values), Column(key=SPARSE, values=values[at], rows=at))
    batch = Batch(steps=steps, times=steps * 2.0, columns=columns, attempt=str(attempt))
    return store.accept(
        Delivery(project="p", run=run, writer="w", batch_id=f"{attempt}.{number}", batch=batch)
    ).run_id


def curve(random: np.random.Generator, size: int) -> np.ndarray:
    values = np.cumsum(random.normal(0, 1, size))
    values[random.integers(0, size, 5)] *= 100
    bad = random.integers(0, size, 20)
    values[bad] = random.choice([np.nan, np.inf, -np.inf], 20)
    return values


def rollbacks(store: Store, run: str) -> int:
    """A run rolled back twice, with late and repeated points, in log and chunks."""
    random = np.random.default_rng(7)
    number = 0
    for attempt, (first, last) in enumerate([(0, 40_000), (30_000, 60_000), (50_000, 70_000)]):
        steps = np.arange(first, last)
        for part in np.array_split(steps, 5):
            run_id = deliver(store, run, attempt, part, curve(random, len(part)), number)
            number += 1
            if number % 4 == 0:
                store.compact()
        late = np.arange(first + 100, first + 150)
        deliver(store, run, attempt, late, curve(random, len(late)), number)
        number += 1
    return run_id


def holds(drawn: ReducedSeries, real: Series, spans: list[AttemptSpan], points: int) -> None:
    """What is drawn is true of the real points."""
    finite = np.isfinite(real.value)
    ghost = superseded_points(real.attempt, real.step, spans)
    assert drawn.count == len(real)
    assert drawn.nonfinite_count == int((~finite).sum())
    listed = zip(real.attempt[~finite].tolist(), real.step[~finite].tolist(), strict=True)
    assert [place[:2] for place in drawn.nonfinite] == list(listed)[:1000]
    seen = 0
    for segment in drawn.segments:
        mine = finite & (real.attempt == segment.attempt) & (ghost == segment.ghost)
        mine &= (real.step >= segment.step[0]) & (real.step <= segment.step[-1])
        step, value, time = real.step[mine], real.value[mine], real.time[mine]
        drawn_points = list(zip(segment.step, segment.time, segment.value, strict=True))
        assert [point[:2] for point in drawn_points] == sorted(point[:2] for point in drawn_points)
        assert set(drawn_points) <= set(zip(step, time, value, strict=True))
        seen += len(step)
        if segment.band is None:
            assert len(step) == len(drawn_points)
            continue
        starts = np.searchsorted(step, segment.band.step)
        assert starts[0] == 0
        assert np.minimum.reduceat(value, starts).tolist() == segment.band.minimum.tolist()
        assert np.maximum.reduceat(value, starts).tolist() == segment.band.maximum.tolist()
        sizes = np.diff(starts, append=len(step))
        assert np.allclose(np.add.reduceat(value, starts) / sizes, segment.band.mean)
        assert set(segment.band.minimum) | set(segment.band.maximum) <= set(segment.value)
        assert len(segment.step) <= points + 4
    assert seen == int(finite.sum()), "a segment leaves out points"


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    window=st.one_of(
        st.just((None, None)),
        st.tuples(st.integers(-10, 70_010), st.integers(-10, 70_010)).map(sorted).map(tuple),
    ),
    points=st.sampled_from([2, 10, 25, 200, 1000, 200_000]),
)
def test_chart_matches_the_stored_points(
    store: Store, window: tuple[int | None, int | None], points: int
) -> None:
    known = _RUNS.get(id(store))
    if known is None:
        _RUNS.clear()
        known = _RUNS[id(store)] = rollbacks(store, "run")
    spans = [AttemptSpan(one.number, one.first_step, one.last_step) for one in store.attempts(known)]
    real = store.read(known, from_step=window[0], to_step=window[1])
    drawn = store.chart(known, [LOSS, SPARSE], from_step=window[0], to_step=window[1], points=points)
    assert [one.key for one in drawn] == [SPARSE, LOSS]
    for one in drawn:
        holds(one, real[one.key], spans, points)


_RUNS: dict[int, int] = {}


def test_short_series_is_not_reduced(store: Store) -> None:
    run = deliver(store, "run", 0, np.arange(1000), np.arange(1000.0), 0)
    (drawn,) = store.chart(run, [LOSS])
    assert not drawn.reduced
    assert drawn.segments[0].value.tolist() == list(range(1000))
    assert drawn.segments[0].band is None


def test_ghosts_are_segments_of_their_own(store: Store) -> None:
    deliver(store, "run", 0, np.arange(0, 100), np.zeros(100), 0)
    run = deliver(store, "run", 1, np.arange(50, 60), np.ones(10), 1)
    (drawn,) = store.chart(run, [LOSS])
    parts = [(one.attempt, one.ghost, one.step[0], one.step[-1]) for one in drawn.segments]
    assert parts == [(0, False, 0, 49), (0, True, 50, 99), (1, False, 50, 59)]


def test_a_series_of_nothing_but_nan_has_no_segments(store: Store) -> None:
    run = deliver(store, "run", 0, np.arange(30_000), np.full(30_000, np.nan), 0)
    store.compact()
    (drawn,) = store.chart(run, [LOSS], points=10)
    assert (drawn.segments, drawn.count, drawn.nonfinite_count) == ([], 30_000, 30_000)
    assert len(drawn.nonfinite) == 1000


def test_series_that_the_run_does_not_have_are_left_out(store: Store) -> None:
    run = deliver(store, "run", 0, np.arange(3), np.zeros(3), 0)
    assert store.chart(run, [SeriesKey("absent")]) == []
    assert [one.segments for one in store.chart(run, [LOSS], from_step=100)] == [[]]


def test_extreme_values_do_not_overflow_the_mean(sqlite_engine: Engine) -> None:
    store = Store(sqlite_engine)
    store.start()
    values = np.tile([1.7e308, 1.6e308], 5000)
    run = deliver(store, "run", 0, np.arange(10_000), values, 0)
    for _ in range(2):
        (drawn,) = store.chart(run, [LOSS], points=4)
        band = drawn.segments[0].band
        assert band is not None
        assert np.allclose(band.mean, 1.65e308)
        store.compact()
    store.close()
