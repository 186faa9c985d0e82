"""What is written is read back bit for bit, however writing, compaction and restarts interleave."""

from __future__ import annotations

from itertools import count
from math import isnan

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from holter.server.store import Store
from holter.types import Batch, Column, Delivery, SeriesKey
from tests.support.point_model import Point, PointModel, points_of_series
from tests.support.stored_runs import newest_by_key

KEYS = [SeriesKey("loss"), SeriesKey("lr"), SeriesKey("time", (("rank", "1"),))]
NUMBERS = count()


@st.composite
def batches(draw: st.DrawFn) -> tuple[int, Batch]:
    """A batch of an attempt: dense or sparse, in order or not, with odd values among them."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows = draw(st.sampled_from([1, 2, 40, 300, 700, 17_000]))
    start = draw(st.sampled_from([0, 0, 100, 350, -(2**62), 2**62]))
    steps = np.arange(start, start + rows, dtype=np.int64)
    order = draw(st.sampled_from(["as logged", "as logged", "as logged", "shuffled", "repeated"]))
    if order != "as logged":
        steps = random.permutation(steps) if order == "shuffled" else steps[random.integers(0, rows, rows)]
    times = np.where(random.random(rows) < 0.1, np.nan, random.normal(1.7e9, 1e3, rows))
    columns = []
    for key in draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=3, unique=True)):
        sparse = draw(st.booleans())
        at = np.sort(random.choice(rows, max(1, rows // 3), replace=False)) if sparse else None
        values = odd(random, rows if at is None else len(at), narrow=draw(st.booleans()))
        columns.append(Column(key=key, values=values, rows=at))
    attempt = draw(st.integers(0, 2))
    return attempt, Batch(steps=steps, times=times, columns=tuple(columns), attempt=str(attempt))


def odd(random: np.random.Generator, size: int, *, narrow: bool) -> np.ndarray:
    values = random.normal(0, 1, size)
    if narrow:
        return values.astype(np.float32).astype(np.float64)
    # any bits at all: every NaN, denormals, infinities
    wild = random.integers(-(2**63), 2**63 - 1, size, dtype=np.int64).view(np.float64)
    return np.where(random.random(size) < 0.05, wild, values)


def stored(store: Store, run_id: int) -> dict[SeriesKey, list[Point]]:
    return {key: points_of_series(series) for key, series in store.read(run_id).items()}


def check_summaries(store: Store, run_id: int, model: PointModel) -> None:
    points, newest = model.points(), newest_by_key(store, run_id)
    for summary in store.series(run_id):
        mine = points[summary.key]
        values = np.array([np.frombuffer(value)[0] for *_, value in mine])
        finite = values[np.isfinite(values)]
        assert summary.points == len(mine)
        assert summary.nonfinite == len(values) - len(finite)
        assert summary.minimum == (finite.min() if len(finite) else None)
        assert summary.maximum == (finite.max() if len(finite) else None)
        assert (summary.first_step, summary.last_step) == (min(step for _, step, *_ in mine), mine[-1][1])
        attempt, step, time, value = newest[summary.key]
        assert (attempt, step, np.float64(value).tobytes()) == (*mine[-1][:2], mine[-1][3])
        assert isnan(time) or np.float64(time).tobytes() == mine[-1][2]


@pytest.mark.slow
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    st.lists(st.one_of(batches(), st.sampled_from(["again", "compact", "restart"])), min_size=1, max_size=8)
)
def test_written_points_are_read_back_bit_for_bit(
    engine: Engine, actions: list[tuple[int, Batch] | str]
) -> None:
    run, model, delivered = f"run-{next(NUMBERS)}", PointModel(), []
    store = Store(engine)
    store.start()
    run_id = None
    try:
        for action in actions:
            if action == "compact":
                store.compact(run_id)
            elif action == "restart":
                store.close()
                store = Store(engine)
                store.start()
            elif action == "again":
                for one in delivered:
                    assert store.accept(one).duplicate
            else:
                attempt, batch = action
                one = Delivery(project="p", run=run, writer="w", batch_id=str(len(delivered)), batch=batch)
                delivered.append(one)
                run_id = store.accept(one).run_id
                model.add(attempt, batch)
            if run_id is not None:
                assert stored(store, run_id) == model.points()
        if run_id is not None:
            check_summaries(store, run_id, model)
            assert store.check() == []
    finally:
        store.close()
