"""Clocks that jump: the server's for a moment or for good, and those of the machines that log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine, select

from holter.server.alerting import IncidentStore
from holter.server.analysis import MAX_LIVE_DELAY, AnalysisWorker, RunStatus
from holter.server.clock import JUMP_HOLD_SECONDS, JUMP_SECONDS, Clock, uptime
from holter.server.database import reading
from holter.server.maintenance.worker import MIN_STABLE_CLOCK, MaintenanceWorker
from holter.server.models import AnalysisRow, RunRecord
from holter.server.store import Store
from holter.server.store.rate_limit import PointRateLimiter
from holter.settings.projects import QuotaSettings, RetentionSettings
from holter.types import Batch, Column, Delivery, SeriesKey
from tests.support.waiting import wait_for

HOUR, DAY = 3600.0, 86_400.0
LOSS = SeriesKey("loss")


class Machine:
    """A machine whose clock may be set to anything, and whose time goes on when it is told to."""

    def __init__(self, now: float = 1.8e9) -> None:
        self.up, self.ahead, self.begun = 1000.0, 0.0, now

    def wall(self) -> float:
        return self.begun + self.up + self.ahead

    def clock(self) -> Clock:
        return Clock(wall=self.wall, uptime=lambda: self.up)


def test_short_clock_jump_is_ignored_and_lasting_one_followed() -> None:
    machine = Machine()
    clock = machine.clock()
    for jump in (DAY, -HOUR):
        before = clock()
        machine.ahead += jump
        machine.up += 10
        assert clock() == pytest.approx(before + 10)
        machine.ahead -= jump
        machine.up += 10
        assert clock() == machine.wall()
        machine.ahead += jump
        clock()
        machine.up += JUMP_HOLD_SECONDS
        assert clock() == machine.wall()
        assert clock.settled() == 0
        machine.up += 20
        assert clock.settled() == 20


def test_slow_clock_correction_is_followed_at_once() -> None:
    machine = Machine()
    clock = machine.clock()
    for _ in range(1000):
        machine.up += 1
        machine.ahead += 0.9 * JUMP_SECONDS
        assert clock() == pytest.approx(machine.wall())
    assert clock.settled() == 1000


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(-DAY, DAY)), max_size=50))
def test_clock_is_right_soon_after_the_last_jump(
    moves: list[tuple[float, float]],
) -> None:
    machine = Machine()
    clock = machine.clock()
    for seconds, jump in moves:
        machine.up += seconds
        machine.ahead += jump
        clock()
    machine.up += JUMP_HOLD_SECONDS + 1
    assert clock() == pytest.approx(machine.wall(), abs=1e-3)


def test_the_time_since_the_start_counts_what_nobody_can_set() -> None:
    began = uptime()
    time.sleep(0.02)
    assert 0.01 < uptime() - began < 60


def delivery(number: int, times: np.ndarray | None = None, *, run: str = "r") -> Delivery:
    steps = np.arange(number * 10, number * 10 + 10)
    when = steps * 1.0 if times is None else times
    batch = Batch(steps=steps, times=when, columns=(Column(key=LOSS, values=np.cos(steps)),))
    return Delivery(project="p", run=run, writer="w", batch_id=str(number), batch=batch)


@pytest.fixture
def now() -> list[float]:
    """The store's clock, to be set."""
    return [1.8e9]


@pytest.fixture
def clocked(engine: Engine, now: list[float]) -> Iterator[Store]:
    store = Store(engine, clock=lambda: now[0])
    store.start()
    yield store
    store.close()


def run_row(engine: Engine) -> RunRecord:
    with reading(engine) as connection:
        row: RunRecord = connection.execute(
            select(RunRecord.id, RunRecord.revision, RunRecord.updated_at, RunRecord.created_at)
        ).one()
    return row


def test_updates_increase_whatever_the_clock_does(clocked: Store, engine: Engine, now: list[float]) -> None:
    before = 0.0
    for number, moment in enumerate([0, HOUR, HOUR, 0, -1, DAY, DAY, 0, 0, 1]):
        now[0] = 1.8e9 + moment
        receipt = clocked.accept(delivery(number))
        assert (receipt.attempt, receipt.duplicate) == (0, False)
        row = run_row(engine)
        assert row.revision == number + 1
        assert row.updated_at != before
        assert abs(row.updated_at - now[0]) <= 1.001
        before = row.updated_at
        assert clocked.accept(delivery(number)).duplicate
    assert len(clocked.read(receipt.run_id)[LOSS]) == 100
    assert clocked.check() == []


def test_a_run_is_live_again_with_its_first_news_after_the_clock_was_a_day_ahead(
    clocked: Store, engine: Engine, now: list[float]
) -> None:
    for number, ahead in enumerate([0.0, DAY, 0.0]):
        now[0] = 1.8e9 + number + ahead
        clocked.accept(delivery(number, np.full(10, 1.8e9 + number)))
    row = run_row(engine)
    standing = RunStatus(
        created_at=row.created_at, updated_at=row.updated_at, last_time=1.8e9 + 2, finished_at=None
    )
    assert standing.is_live(now[0])
    assert standing.log_time(now[0]) == 1.8e9 + 2


def test_points_after_a_clock_reset_are_analysed(clocked: Store, engine: Engine, now: list[float]) -> None:
    def look() -> AnalysisWorker:
        return AnalysisWorker(engine, clocked, IncidentStore(engine), clock=lambda: now[0])

    now[0] += DAY + 2 * MAX_LIVE_DELAY
    run_id = clocked.accept(delivery(0)).run_id
    look().analyze(run_id)
    now[0] -= DAY
    clocked.accept(delivery(1))
    now[0] += 3 * DAY  # so long ago that it is looked at for its news alone
    loop = look()
    loop.start()
    try:
        wait_for(lambda: _seen(engine) == run_row(engine).updated_at)
    finally:
        loop.close()


def _seen(engine: Engine) -> float | None:
    with reading(engine) as connection:
        seen: float | None = connection.scalar(select(AnalysisRow.seen_at))
    return seen


@pytest.mark.parametrize("jump", [-HOUR, DAY, -30 * DAY])
def test_wall_times_that_jump_make_no_attempt_of_steps_that_go_on(clocked: Store, jump: float) -> None:
    for number in range(6):
        shift = jump if number in (2, 3) else 0.0
        receipt = clocked.accept(delivery(number, 1.8e9 + np.arange(10) + number * 10 + shift))
        assert receipt.attempt == 0
    series = clocked.read(receipt.run_id)[LOSS]
    assert series.step.tolist() == list(range(60))
    assert series.time[25] == 1.8e9 + 25 + jump


def test_quotas_know_no_wall_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = PointRateLimiter(lambda _: QuotaSettings(max_points_per_second=1000, burst_seconds=1))
    rates.wait("p", 500, 0)
    monkeypatch.setattr(time, "time", lambda: 0.0)
    rates.wait("p", 400, 0)


def keeper_on(engine: Engine, clock: Clock) -> MaintenanceWorker:
    return MaintenanceWorker(engine, lambda _: RetentionSettings(delete_after_days=30), clock=clock)


def stays(engine: Engine) -> bool:
    with reading(engine) as connection:
        return connection.scalar(select(RunRecord.id)) is not None


def round_of(engine: Engine, clock: Clock, until: Callable[[], bool] = lambda: True) -> None:
    """One round of a keeper that is begun and closed."""
    keeper = keeper_on(engine, clock)
    keeper.start()
    wait_for(until)
    keeper.close()


def test_nothing_is_deleted_by_a_clock_that_jumped_ahead(
    clocked: Store, engine: Engine, now: list[float]
) -> None:
    machine = Machine(now[0])
    clock = machine.clock()
    clocked.accept(delivery(0))
    machine.up += MIN_STABLE_CLOCK
    machine.ahead = 365 * DAY
    round_of(engine, clock)
    assert stays(engine)
    machine.up += (
        JUMP_HOLD_SECONDS  # and stays there: so it is believed, but not yet with what cannot be undone
    )
    clock()
    machine.up += MIN_STABLE_CLOCK / 2
    round_of(engine, clock)
    assert stays(engine)
    machine.up += MIN_STABLE_CLOCK
    round_of(engine, clock, lambda: not stays(engine))
