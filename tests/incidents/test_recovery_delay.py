"""A curve on its way back turns more than once: each recovery is recorded, and sent once it has lasted."""

from __future__ import annotations

import numpy as np
import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from holter.cli.demo.runs import RecordedAttempt, load_runs
from holter.detectors import find, fingerprint
from holter.server.alerting import IncidentCandidate
from holter.server.models.alerting import IncidentEventRow
from holter.types import Kind, RunData, Series, SeriesKey, Severity
from tests.support.alerting import SPIKE, Alerting, Clock, channels_at, headlines, make_candidate
from tests.support.receivers import SlackServer


@pytest.fixture
def alerting(engine: Engine, clock: Clock, slack: SlackServer) -> Alerting:
    return Alerting(engine, clock, channels_at(slack, calm=300))


def seen(launch: RecordedAttempt, step: int) -> list[IncidentCandidate]:
    """What is found when the run has come to a step."""
    rows = slice(0, int(np.searchsorted(launch.steps, step, side="right")))
    series = {
        (key := SeriesKey(tag)): Series(
            key=key,
            attempt=np.zeros(len(launch.steps[rows]), np.int64),
            step=np.asarray(launch.steps[rows], np.int64),
            time=np.asarray(launch.times[rows], float),
            value=np.asarray(values[rows], float),
        )
        for tag, values in launch.columns.items()
    }
    return [
        IncidentCandidate(finding=one, fingerprint=fingerprint(one)) for one in find(RunData(series=series))
    ]


@pytest.mark.slow
def test_the_slow_spike_of_the_demo_recovers_once_for_those_who_are_notified(
    alerting: Alerting, slack: SlackServer, run_id: int, clock: Clock, engine: Engine
) -> None:
    (run,) = load_runs(["slow-spike"])
    (attempt,) = run.attempts
    begin = clock.now
    for step in (1310, 1315, 1330, 1355, 1415, 1600, *range(1755, 1811, 5), 2400, 2851):
        clock.now = begin + float(attempt.times[step])
        alerting.incidents.update_run(run_id, seen(attempt, step))
        alerting.send_due()
    with Session(engine) as session:
        turns = [one.type for one in session.query(IncidentEventRow).order_by(IncidentEventRow.id)]
    found_so = [one for one in turns if one in {"recovered", "reopened"}]
    assert found_so == ["recovered"], "a return counts once its whole window has passed"
    clock.now += 301
    alerting.send_due()
    titles = [line.partition(" in ")[0] for line in headlines(slack)]
    assert titles == [
        "Learning rate rise, then loss spike",
        "Recovered: learning rate rise, then slow loss spike",
    ]
    assert "needed 226 steps" in str(slack.payloads[-1])


def test_reopening_after_a_sent_recovery_is_sent(
    alerting: Alerting, slack: SlackServer, run_id: int, clock: Clock
) -> None:
    for end in (None, 1600, None):
        alerting.incidents.update_run(run_id, [make_candidate(end_step=end)])
        clock.now += 301
        alerting.send_due()
    assert [line.partition(":")[0] for line in headlines(slack)] == [
        "Loss spike in 104b at step 1,514", "Recovered", "Reopened",
    ]  # fmt: skip


def test_an_escalation_on_the_way_back_is_sent_at_once(
    alerting: Alerting, slack: SlackServer, run_id: int, clock: Clock
) -> None:
    alerting.incidents.update_run(run_id, [make_candidate()])
    clock.now += 6
    alerting.send_due()
    alerting.incidents.update_run(run_id, [make_candidate(end_step=1600)])
    clock.now += 60
    alerting.send_due()
    alerting.incidents.update_run(run_id, [make_candidate(kind=Kind.DIVERGENCE, severity=Severity.CRITICAL)])
    clock.now += 6
    alerting.send_due()
    assert [line.partition(":")[0] for line in headlines(slack)][1:] == ["Severity raised"]


def test_reopening_by_a_person_is_sent(
    alerting: Alerting, slack: SlackServer, run_id: int, clock: Clock
) -> None:
    alerting.incidents.update_run(run_id, [make_candidate()])
    clock.now += 6
    alerting.send_due()
    (one,) = alerting.incidents.update_run(run_id, [make_candidate(end_step=1600)])
    alerting.incidents.reopen(one.id, by="ann", text="not over")
    clock.now += 6
    alerting.send_due()
    assert headlines(slack)[1].startswith("Reopened:")
    assert SPIKE.summary in str(slack.payloads[1])
