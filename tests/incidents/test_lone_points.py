"""A single point that is hardly beyond the noise notifies nobody before the next ones show what it was."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from holter.server.alerting import IncidentStore
from holter.server.alerting.routing import ChannelPolicy
from holter.server.analysis import AnalysisWorker
from holter.server.models.alerting import NotificationRow
from holter.server.store import Store
from holter.types import Batch, Column, Delivery, FloatArray, SeriesKey
from tests.support.alerting import Clock, default_policy

BEGIN = 1_700_000_000.0
KNOWN = 400


@pytest.fixture
def clock() -> Clock:
    return Clock(BEGIN)


@pytest.fixture
def store(engine: Engine, clock: Clock) -> Iterator[Store]:
    store = Store(engine, clock=clock)
    store.start()
    yield store
    store.close()


@pytest.mark.parametrize(
    ("latest", "notified"),
    [
        ((2.5,), []),
        ((2.5, 2.0), []),
        ((2.5, 2.0, 2.01, 1.99, 2.0), []),
        ((2.5, 2.5), ["opened"]),
        ((2.5, 2.45, 2.4, 2.35), ["opened"]),
        ((2.5, float("nan")), ["opened"]),
        ((9.0,), ["opened"]),  # no noise reaches so far
    ],
)
def test_a_lone_point_waits_for_the_next_ones(
    engine: Engine, store: Store, clock: Clock, latest: tuple[float, ...], notified: list[str]
) -> None:
    incidents = IncidentStore(engine, policy=default_policy(ChannelPolicy(name="slack")), clock=clock)
    analysis = AnalysisWorker(engine, store, incidents, clock=clock)
    healthy = 2 + np.random.default_rng(0).normal(0, 0.02, KNOWN)
    values = np.concatenate((healthy, latest))
    for first, last in [(0, KNOWN), *((step, step + 1) for step in range(KNOWN, len(values)))]:
        analysis.analyze(store.accept(part(clock, values, first, last)).run_id)
    with Session(engine) as session:
        reasons = list(session.scalars(select(NotificationRow.reason).order_by(NotificationRow.id)))
    assert reasons[:1] == notified


def part(clock: Clock, values: FloatArray, first: int, last: int) -> Delivery:
    """The points from `first` to `last` (excluded), five seconds apart; the last one is logged now."""
    steps = np.arange(first, last)
    clock.now = BEGIN + 5.0 * last
    columns = (Column(key=SeriesKey("loss"), values=values[first:last]),)
    batch = Batch(steps=steps, times=BEGIN + 5.0 * steps.astype(np.float64), columns=columns)
    return Delivery(project="llm", run="7b", writer="node0", batch_id=str(first), batch=batch)
