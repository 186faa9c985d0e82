"""The analysis loop over the real store and the real detectors, in both databases."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Engine, delete, select, update
from sqlalchemy.orm import Session

from holter.server.alerting import IncidentStore
from holter.server.alerting.routing import ChannelPolicy
from holter.server.analysis import MAX_LIVE_DELAY, STALE_AFTER, AnalysisWorker, RunStatus, failed_analyses
from holter.server.models.alerting import AnalysisRow, IncidentRow, NotificationRow
from holter.server.models.points import LogEntry, RunRecord
from holter.server.store import Store
from holter.server.store.read.changes_since import ReadPosition, RunChanges, SeriesSelector
from holter.tuning import PlannedEvent, Tuning
from holter.types import Batch, Column, Delivery, SeriesKey
from tests.support.alerting import Clock, default_policy

BEGIN = 1_700_000_000.0
DROP = 800
"""The step from which the run below is slower by a fifth, for good."""


def seconds_per_step(steps: int) -> Any:
    """A second and a little noise, then a quarter more."""
    noise = np.random.default_rng(7).normal(0, 0.01, 5000)[:steps]
    return np.where(np.arange(steps) < DROP, 1.0, 1.25) + noise


def part(
    first: int, last: int, *, end: float | None = None, run: str = "104b", clock: bool = True
) -> Delivery:
    """Steps `first` to `last` (excluded) of the run; its last point is logged at `end`."""
    spent = seconds_per_step(last)
    times = np.cumsum(spent)
    times = (BEGIN + times if end is None else end - times[-1] + times)[first:]
    return Delivery(
        project="llm",
        run=run,
        writer="node0",
        batch_id=f"{first}-{last}",
        batch=Batch(
            steps=np.arange(first, last),
            times=times if clock else np.full(last - first, np.nan),
            columns=(Column(key=SeriesKey("step_time"), values=spent[first:]),),
        ),
    )


@pytest.fixture
def clock() -> Clock:
    return Clock(BEGIN)


@pytest.fixture
def store(engine: Engine, clock: Clock) -> Iterator[Store]:
    store = Store(engine, clock=clock)
    store.start()
    yield store
    store.close()


def incidents_of(engine: Engine) -> list[IncidentRow]:
    with Session(engine) as session:
        return list(session.scalars(select(IncidentRow).order_by(IncidentRow.id)))


def notification_reasons(engine: Engine) -> list[str]:
    with Session(engine) as session:
        return list(session.scalars(select(NotificationRow.reason).order_by(NotificationRow.id)))


@pytest.fixture
def incidents(engine: Engine, clock: Clock) -> IncidentStore:
    return IncidentStore(engine, policy=default_policy(ChannelPolicy(name="slack")), clock=clock)


@pytest.fixture
def loop(engine: Engine, store: Store, incidents: IncidentStore, clock: Clock) -> AnalysisWorker:
    return AnalysisWorker(engine, store, incidents, clock=clock)


def deliver(store: Store, clock: Clock, first: int, last: int, **options: Any) -> int:
    """A part of the run arrives as it is logged; the run's number."""
    delivery = part(first, last, **options)
    if options.get("clock", True):
        clock.now = float(delivery.batch.times[-1]) + 0.5
    return store.accept(delivery).run_id


def test_a_live_run_that_slows_down_opens_one_incident_and_tells_once(
    engine: Engine, store: Store, loop: AnalysisWorker, clock: Clock
) -> None:
    for first in range(0, 1200, 100):
        loop.analyze(deliver(store, clock, first, first + 100))
    [incident] = incidents_of(engine)
    assert (incident.kind, incident.state) == ("throughput_regression", "open")
    assert abs(incident.start_step - DROP) <= 8
    assert incident.start_time == pytest.approx(BEGIN + DROP, abs=15)
    assert notification_reasons(engine)[0] == "opened"
    assert notification_reasons(engine).count("opened") == 1


def test_an_event_that_is_planned_during_a_pass_opens_no_incident(
    engine: Engine, store: Store, incidents: IncidentStore, clock: Clock
) -> None:
    planned = Tuning(expected=[PlannedEvent(kind="throughput_regression", from_step=DROP - 50)])
    answers = iter([Tuning(), planned])  # the plan is stored after the pass has read the tuning
    loop = AnalysisWorker(engine, store, incidents, tuning=lambda _: next(answers, planned), clock=clock)
    loop.analyze(deliver(store, clock, 0, 1200))
    assert incidents_of(engine) == []


def test_a_run_of_last_month_is_analysed_without_notification(
    engine: Engine, store: Store, loop: AnalysisWorker, clock: Clock
) -> None:
    clock.now = BEGIN + 30 * 86_400
    loop.analyze(store.accept(part(0, 1200)).run_id)
    assert [incident.kind for incident in incidents_of(engine)] == ["throughput_regression"]
    assert notification_reasons(engine) == []


def test_a_run_that_catches_up_tells_of_what_is_still_open(
    engine: Engine, store: Store, loop: AnalysisWorker, clock: Clock
) -> None:
    clock.now = BEGIN + 4000
    loop.analyze(store.accept(part(0, 1000)).run_id)
    assert notification_reasons(engine) == []
    loop.analyze(deliver(store, clock, 1000, 2200))
    assert notification_reasons(engine) == ["opened"]


@pytest.mark.parametrize("metric", ["completions/clipped_ratio", "actor/pg_clipfrac", "eval_runtime"])
def test_what_detectors_read_by_its_name_opens_an_incident_next_to_other_series(
    engine: Engine, store: Store, loop: AnalysisWorker, clock: Clock, metric: str
) -> None:
    low, high = (1.0, 12.0) if metric == "eval_runtime" else (0.2, 1.0)
    delivery = part(0, 200)
    values = np.where(np.arange(200) < 100, low, high)
    columns = (*delivery.batch.columns, Column(key=SeriesKey(metric), values=values))
    clock.now = float(delivery.batch.times[-1])
    run_id = store.accept(replace(delivery, batch=replace(delivery.batch, columns=columns))).run_id
    loop.analyze(run_id)
    (incident,) = incidents_of(engine)
    assert incident.metric == metric


def test_a_silent_run_stalls_and_recovers_when_it_goes_on(
    engine: Engine, store: Store, loop: AnalysisWorker, clock: Clock
) -> None:
    run_id = deliver(store, clock, 0, 500)
    clock.now += 300
    assert loop.analyze(run_id) == []
    clock.now += 600
    [stall] = loop.analyze(run_id)
    assert (stall.finding.kind, stall.state, stall.finding.severity) == ("stall", "open", "critical")
    late = part(500, 600, end=clock.now)
    [recovered] = loop.analyze(store.accept(late).run_id)
    assert (recovered.id, recovered.state) == (stall.id, "recovered")
    assert notification_reasons(engine) == ["opened", "recovered"]


def test_a_finished_run_does_not_stall(
    engine: Engine, store: Store, loop: AnalysisWorker, clock: Clock
) -> None:
    run_id = deliver(store, clock, 0, 500)
    clock.now += 900
    [stall] = loop.analyze(run_id)
    with Session(engine) as session, session.begin():
        session.execute(update(RunRecord).values(finished_at=clock.now))
    [withdrawn] = loop.analyze(run_id)
    assert (withdrawn.id, withdrawn.state) == (stall.id, "closed")
    assert withdrawn.history[-1].text == "The run is finished."


def test_a_node_whose_clock_is_wrong_does_not_look_stalled(
    store: Store, loop: AnalysisWorker, clock: Clock
) -> None:
    delivery = part(0, 500)
    clock.now = float(delivery.batch.times[-1]) + MAX_LIVE_DELAY - 60
    assert loop.analyze(store.accept(delivery).run_id) == []


def run_status(**changes: Any) -> RunStatus:
    values = {"created_at": 0.0, "updated_at": 1000.0, "last_time": 999.0, "finished_at": None}
    return RunStatus(**{**values, **changes})


@pytest.mark.parametrize(
    ("sentence", "run", "now", "live", "looked_at"),
    [
        ("points that arrive as they are logged", run_status(), 1005.0, True, 1004.0),
        ("a silence counts from the arrival", run_status(last_time=700.0), 1100.0, True, 800.0),
        ("points of long ago", run_status(last_time=50.0), 1005.0, False, None),
        ("points of the future", run_status(last_time=5000.0), 1005.0, False, None),
        ("nothing for longer than a day", run_status(), 1001.0 + STALE_AFTER, False, None),
        ("a finished run", run_status(finished_at=1001.0), 1005.0, True, None),
        ("no clock, and growing", run_status(last_time=None), 1005.0, True, None),
        ("no clock, and all at once", run_status(last_time=None, created_at=999.0), 1005.0, False, None),
    ],
)
def test_whether_a_run_is_live(
    sentence: str, run: RunStatus, now: float, live: bool, looked_at: float | None
) -> None:
    assert (run.is_live(now), run.log_time(now)) == (live, looked_at)


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> float:
    """Seconds until it is so."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < seconds, "it did not happen in time"
        time.sleep(0.02)
    return time.monotonic() - began


class CountingStore:
    """The store, counting how often a run is read; `delay` makes a look cost something."""

    def __init__(self, store: Store, delay: float = 0.0) -> None:
        self.store = store
        self.reads: list[int] = []
        self.began: list[float] = []
        self.delay = delay
        self.on_commit = store.on_commit
        self.config = store.config

    def changes_since(
        self, run_id: int, since: ReadPosition | None, chosen: SeriesSelector, **more: Any
    ) -> RunChanges:
        self.reads.append(run_id)
        self.began.append(time.monotonic())
        time.sleep(self.delay)
        return self.store.changes_since(run_id, since, chosen, **more)


@pytest.fixture
def start(engine: Engine, incidents: IncidentStore, clock: Clock) -> Iterator[Callable[..., AnalysisWorker]]:
    """Starts analysis loops, and closes them."""
    loops: list[AnalysisWorker] = []

    def start(store: Any) -> AnalysisWorker:
        loops.append(AnalysisWorker(engine, store, incidents, clock=clock))
        loops[-1].start()
        return loops[-1]

    yield start
    for one in loops:
        one.close()


def test_an_incident_opens_by_itself_after_its_point(
    engine: Engine, store: Store, clock: Clock, start: Callable[..., AnalysisWorker]
) -> None:
    start(store)
    for first in range(0, 800, 100):
        deliver(store, clock, first, first + 100)
    time.sleep(0.3)
    deliver(store, clock, 800, 830)
    wait_for(lambda: bool(incidents_of(engine)))


@pytest.mark.slow
def test_a_busy_run_rests_longer_than_its_passes_take(
    store: Store, clock: Clock, start: Callable[..., AnalysisWorker]
) -> None:
    counting = CountingStore(store, delay=0.3)
    start(counting)
    first = 0
    while len(counting.reads) < 3:
        deliver(store, clock, first, first + 5)
        first += 5
        time.sleep(0.02)
    _, rest = (later - earlier for earlier, later in pairwise(counting.began[:3]))
    assert rest >= (1 + 1 / 0.8) * 0.3 - 0.01  # the largest share of a core that passes may take


def test_a_busy_run_does_not_keep_others_waiting(
    engine: Engine, store: Store, clock: Clock, start: Callable[..., AnalysisWorker]
) -> None:
    counting = CountingStore(store, delay=0.05)
    start(counting)
    busy = deliver(store, clock, 0, 800)
    quiet = {deliver(store, clock, 0, 900, run=f"quiet-{number}") for number in range(5)}
    for first in range(800, 1000, 20):
        deliver(store, clock, first, first + 20)
    wait_for(lambda: quiet | {busy} <= set(counting.reads))


def test_a_restart_covers_what_came_meanwhile_and_repeats_nothing(
    engine: Engine, store: Store, clock: Clock, start: Callable[..., AnalysisWorker]
) -> None:
    first = start(store)
    deliver(store, clock, 0, 900)
    wait_for(lambda: len(incidents_of(engine)) == 1)
    wait_for(lambda: _seen(engine) == 1)
    first.close()
    before = notification_reasons(engine)
    deliver(store, clock, 0, 900, run="arrived-meanwhile")
    counting = CountingStore(store)
    second = start(counting)
    wait_for(lambda: len(incidents_of(engine)) == 2)
    second.close()
    assert notification_reasons(engine) == [*before, "opened"]


def _seen(engine: Engine) -> int:
    with Session(engine) as session:
        query = (
            select(AnalysisRow)
            .join(RunRecord, RunRecord.id == AnalysisRow.run_id)
            .where(AnalysisRow.seen_at >= RunRecord.updated_at)
        )
        return len(session.scalars(query).all())


def test_a_look_that_a_kill_interrupted_is_made_again(
    engine: Engine, store: Store, clock: Clock, loop: AnalysisWorker, start: Callable[..., AnalysisWorker]
) -> None:
    run_id = deliver(store, clock, 0, 900)
    loop.analyze(run_id)
    with Session(engine) as session, session.begin():
        session.execute(delete(AnalysisRow))  # killed after the incidents were written, before the look was
    start(store)
    wait_for(lambda: _seen(engine) == 1)
    assert len(incidents_of(engine)) == 1
    assert notification_reasons(engine) == ["opened"]


def test_a_pass_over_a_part_of_a_run_is_not_recorded_over_its_import(
    engine: Engine, store: Store, clock: Clock, loop: AnalysisWorker
) -> None:
    run_id = deliver(store, clock, 0, 900)
    loop.analyze(run_id)  # finished, and not recorded yet
    with loop.deferred(run_id), Session(engine) as session, session.begin():
        seen_at = session.get_one(RunRecord, run_id).updated_at
        session.add(AnalysisRow(run_id=run_id, seen_at=seen_at, looked_at=7.0, cost=0.0))
    deliver(store, clock, 0, 900, run="later")
    loop.start()
    wait_for(lambda: _seen(engine) == 2)  # passes are recorded in order
    loop.close()
    with Session(engine) as session:
        assert session.get_one(AnalysisRow, run_id).looked_at == 7.0


def test_a_run_whose_points_are_damaged_is_reported_and_stops_no_other(
    engine: Engine,
    store: Store,
    clock: Clock,
    start: Callable[..., AnalysisWorker],
    caplog: pytest.LogCaptureFixture,
) -> None:
    damaged = deliver(store, clock, 0, 900, run="damaged")
    with Session(engine) as session, session.begin():
        entry = session.scalar(select(LogEntry).where(LogEntry.run_id == damaged))
        assert entry is not None
        entry.payload = entry.payload[:-3] + b"xyz"
    start(store)
    deliver(store, clock, 0, 900, run="sound")
    wait_for(lambda: len(incidents_of(engine)) == 1)
    wait_for(lambda: bool(failed_analyses(engine)))
    ((run, reason),) = failed_analyses(engine).items()
    assert run.endswith("/damaged")
    assert "CorruptDataError" in reason
    assert f"the analysis of run {damaged} failed" in caplog.text


def test_closing_ends_the_thread_at_once(store: Store, start: Callable[..., AnalysisWorker]) -> None:
    loop = start(store)
    began = time.monotonic()
    loop.close()
    assert time.monotonic() - began < 30
    loop.close()
