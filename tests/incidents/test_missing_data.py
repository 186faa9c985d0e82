"""Data that was promised and never came, in both databases: runs that were announced, agents, silent runs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from holter.server.agents import AgentRegistry, AgentReport
from holter.server.alerting import Incident, IncidentStore, read_incidents
from holter.server.alerting.agent_monitor import AgentMonitor
from holter.server.alerting.messages import title_line
from holter.server.analysis import missing_data_monitor
from holter.server.analysis.missing_data_monitor import MissingDataMonitor
from holter.server.models import IncidentRow, RunRecord
from holter.server.run_details import RunDetailStore
from holter.server.store import Store
from holter.settings.alerting import NoDataSettings
from holter.tuning import PlannedChange, PlannedEvent, Tuning
from holter.types import Batch, Column, ConfigKey, Delivery, Kind, SeriesKey
from tests.support.alerting import Alerting, Clock, channels_at, headlines
from tests.support.machine_speed import is_within
from tests.support.receivers import SlackServer

HOUR = 3600.0


class Watched:
    """A store, a monitor with a clock that the test moves, and runs that log into it."""

    def __init__(self, engine: Engine, clock: Clock, incidents: IncidentStore) -> None:
        self.engine, self.clock = engine, clock
        self.incidents = incidents
        self.store = Store(engine, clock=clock)
        self.store.start()
        self.tuning = Tuning()
        self.monitor = self.new_monitor()
        self._batches = 0

    def new_monitor(self) -> MissingDataMonitor:
        return MissingDataMonitor(
            self.engine, self.incidents, NoDataSettings(), tuning=lambda _: self.tuning, clock=self.clock
        )

    def announce(self, run: str = "7b") -> None:
        """A client creates the run and states its configuration."""
        config = {ConfigKey("lr"): 0.001}
        self._accept(run, Batch(steps=np.arange(0), times=np.empty(0), columns=(), config=config))

    def log(self, *values: float, run: str = "7b", has_clock: bool = False, finished: bool = False) -> None:
        steps = 10 * self._batches + np.arange(len(values))
        times = np.full(len(values), self.clock.now if has_clock else np.nan)
        column = Column(key=SeriesKey("tokens_per_second"), values=np.array(values))
        self._accept(run, Batch(steps=steps, times=times, columns=(column,)), finished=finished)

    def _accept(self, run: str, batch: Batch, **options: Any) -> None:
        self._batches += 1
        self.store.accept(
            Delivery(project="llm", run=run, writer="w", batch_id=str(self._batches), batch=batch, **options)
        )

    def run_id(self, run: str = "7b") -> int:
        with Session(self.engine) as session:
            return session.scalars(select(RunRecord.id).where(RunRecord.name == run)).one()

    def pass_by(self, seconds: float) -> None:
        end = self.clock.now + seconds
        while self.clock.now < end:
            self.clock.now += min(900, end - self.clock.now)
            self.monitor.check()

    def stored(self) -> list[Incident]:
        with Session(self.engine) as session:
            rows = session.scalars(select(IncidentRow).order_by(IncidentRow.id)).all()
            return read_incidents(session, rows)

    def states(self) -> list[tuple[str, str]]:
        return [(incident.finding.kind.value, incident.state.value) for incident in self.stored()]


@pytest.fixture(autouse=True)
def rare_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(missing_data_monitor, "_LONGEST_GAP", 1000.0)


@pytest.fixture
def alerting(engine: Engine, clock: Clock, slack: SlackServer) -> Alerting:
    return Alerting(engine, clock, channels_at(slack, settle=0))


@pytest.fixture
def watched(engine: Engine, clock: Clock, alerting: Alerting) -> Iterator[Watched]:
    watched = Watched(engine, clock, alerting.incidents)
    yield watched
    watched.store.close()


def test_an_announced_run_without_a_point_is_an_incident_until_the_first_one_comes(
    watched: Watched, alerting: Alerting, slack: SlackServer
) -> None:
    watched.announce()
    watched.pass_by(HOUR)
    assert watched.states() == []
    watched.pass_by(HOUR)
    [incident] = watched.stored()
    assert title_line(incident) == "No data in 7b"
    assert incident.finding.summary == "It was announced, but no point came within 60 min."
    alerting.send_due()
    assert headlines(slack) == ["No data in 7b"]
    watched.log(2.5)
    watched.pass_by(100)
    [incident] = watched.stored()
    assert (incident.state.value, incident.finding.summary) == (
        "recovered",
        "The first points came after 120 min.",
    )
    watched.log(2.5, finished=True)
    watched.pass_by(5 * HOUR)
    assert watched.states() == [("no_data", "recovered")]


def test_zero_is_data(watched: Watched) -> None:
    watched.announce()
    for _ in range(36):
        watched.log(0.0, has_clock=True)
        watched.pass_by(600)
    assert watched.states() == []


@pytest.mark.parametrize("ended", ["finished", "deleted"])
def test_a_run_that_ends_without_a_point_closes_its_incident(watched: Watched, ended: str) -> None:
    watched.announce()
    watched.pass_by(2 * HOUR)
    with Session(watched.engine) as session, session.begin():
        run = session.get_one(RunRecord, watched.run_id())
        setattr(run, f"{ended}_at", watched.clock.now)
    watched.pass_by(100)
    assert watched.states() == [("no_data", "closed")]


def test_a_run_without_a_clock_that_falls_silent_is_an_incident(watched: Watched) -> None:
    for _ in range(20):
        watched.log(1.0)
        watched.pass_by(100)
    watched.pass_by(HOUR)
    [incident] = watched.stored()
    assert incident.finding.summary == "No point came for 60 min after step 190."
    watched.log(0.0)
    watched.pass_by(100)
    assert watched.states() == [("no_data", "recovered")]


def test_a_slow_run_may_be_silent_for_longer(watched: Watched) -> None:
    for _ in range(4):
        watched.log(1.0)
        watched.pass_by(HOUR)
    watched.pass_by(18 * HOUR)
    assert watched.states() == []


def test_a_run_with_a_clock_is_left_to_the_detection_of_stalls(watched: Watched) -> None:
    for _ in range(20):
        watched.log(1.0, has_clock=True)
        watched.pass_by(100)
    watched.pass_by(3 * HOUR)
    assert watched.states() == []


def test_silence_counts_only_while_the_server_was_running(watched: Watched) -> None:
    watched.announce()
    watched.clock.now += 3 * HOUR  # the server was down
    watched.monitor = watched.new_monitor()
    watched.pass_by(HOUR)
    assert watched.states() == []
    watched.pass_by(200)
    assert watched.states() == [("no_data", "open")]


def test_a_planned_maintenance_and_an_ignored_kind_excuse_it(watched: Watched) -> None:
    watched.announce()
    for tuning in (
        Tuning(expected=[PlannedEvent(what=PlannedChange.MAINTENANCE, to_step=100)]),
        Tuning(ignore=frozenset({Kind.NO_DATA})),
    ):
        watched.tuning = tuning
        watched.pass_by(2 * HOUR)
        assert watched.states() == []


def test_a_parent_of_other_runs_needs_no_points(watched: Watched) -> None:
    watched.announce("sweep")
    watched.log(1.0, run="child", has_clock=True, finished=True)
    details = RunDetailStore(watched.engine, clock=watched.clock)
    details.update(watched.run_id("child"), parent_run="sweep")
    watched.pass_by(2 * HOUR)
    assert watched.states() == []


def test_what_a_person_closed_stays_closed_and_is_opened_once(watched: Watched) -> None:
    watched.announce()
    watched.pass_by(2 * HOUR)
    watched.incidents.close(watched.stored()[0].id, by="ana")
    watched.pass_by(2 * HOUR)
    assert watched.states() == [("no_data", "closed")]


def test_an_analysis_pass_leaves_it_alone(watched: Watched) -> None:
    watched.announce()
    watched.pass_by(2 * HOUR)
    watched.incidents.update_run(watched.run_id(), [])
    assert watched.states() == [("no_data", "open")]


class Agents:
    """An agent that reports every minute, and its monitor."""

    def __init__(self, engine: Engine, clock: Clock, alerting: Alerting) -> None:
        self.registry = AgentRegistry(engine, clock=clock)
        self.monitor = AgentMonitor(self.registry, alerting.incidents, clock=clock)
        self.clock = clock

    def report(self, seconds: float, **fields: Any) -> None:
        for _ in range(round(seconds / 60)):
            self.clock.now += 60
            report = {"agent": "n17:1", "host": "n17", "paths": ["/logs/*.jsonl"], "project": "llm", **fields}
            self.registry.record(AgentReport(**report))
            self.monitor.check()


@pytest.fixture
def agents(engine: Engine, clock: Clock, alerting: Alerting) -> Agents:
    return Agents(engine, clock, alerting)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"files": 0}, "0 files found."),
        ({"files": 3, "unreadable": 7}, "3 files found, 7 places unreadable."),
    ],
)
def test_an_agent_that_reads_no_point_is_an_incident_until_it_does(
    agents: Agents, watched: Watched, alerting: Alerting, slack: SlackServer, fields: Any, why: str
) -> None:
    agents.report(HOUR, **fields)
    assert watched.states() == []
    agents.report(300, **fields)
    [incident] = watched.stored()
    assert incident.finding.summary == f"Agent on n17 reports, but read no point within 60 min: {why}"
    alerting.send_due()
    assert headlines(slack) == ["No data on n17"]
    agents.report(60, files=1, points=4)
    assert watched.states() == [("no_data", "recovered")]


@pytest.mark.parametrize("fields", [{"files": 5}, {"points": 1}, {"ended": True}, {"kind": "pipe"}], ids=str)
def test_an_agent_with_nothing_to_read_is_none(agents: Agents, watched: Watched, fields: Any) -> None:
    agents.report(2 * HOUR, **fields)
    assert watched.states() == []


def test_an_agent_that_ends_closes_its_incident(agents: Agents, watched: Watched) -> None:
    agents.report(2 * HOUR)
    agents.report(60, ended=True)
    assert watched.states() == [("no_data", "closed")]


def test_the_check_is_quick_with_thousands_of_runs(watched: Watched) -> None:
    with Session(watched.engine) as session, session.begin():
        watched.log(1.0, run="first", has_clock=True)
        project = session.scalars(select(RunRecord.project_id)).first()
        assert project is not None
        at = watched.clock.now
        session.add_all(
            RunRecord(public_id=f"{n:x}", project_id=project, name=f"r{n}", created_at=at, updated_at=at)
            for n in range(2000)
        )
    began = time.thread_time()
    watched.monitor.check()
    assert is_within(time.thread_time() - began, 2)
