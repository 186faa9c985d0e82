"""Incidents in both databases: changes, history, notifications, two passes at once."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest
from sqlalchemy import Engine, select, update
from sqlalchemy.orm import Session

from holter.server.alerting import Incident, IncidentStore, UnknownIncidentError, read_incident
from holter.server.alerting.routing import ChannelPolicy
from holter.server.models.alerting import IncidentRow, NotificationRow
from holter.server.schemas.incidents import incident_view
from holter.types import Kind, Severity, labels_of
from tests.support.alerting import SPIKE, Clock, add_run, default_policy, make_candidate
from tests.support.receivers import RATE_JUMP

POLICY = default_policy(ChannelPolicy(name="slack"), ChannelPolicy(name="pager", minimum=Severity.CRITICAL))


@pytest.fixture
def incidents(engine: Engine, clock: Clock) -> IncidentStore:
    return IncidentStore(engine, policy=POLICY, clock=clock)


def notifications(engine: Engine) -> list[tuple[str, str]]:
    with Session(engine) as session:
        rows = session.scalars(select(NotificationRow).order_by(NotificationRow.id)).all()
    return [(row.channel, row.reason) for row in rows]


def types(incident: Incident) -> list[str]:
    return [entry.type.value for entry in incident.history]


def test_causes_are_stored_and_a_second_pass_changes_nothing(
    engine: Engine, incidents: IncidentStore, run_id: int
) -> None:
    [opened] = incidents.update_run(run_id, [make_candidate(causes=(RATE_JUMP,))])
    with Session(engine) as session:
        stored = read_incident(session, opened.id)
    assert stored.finding.causes == (RATE_JUMP,)
    assert incident_view(stored)["causes"] == [RATE_JUMP.as_json()]
    assert incidents.update_run(run_id, [make_candidate(causes=(RATE_JUMP,))]) == []


def test_an_incident_from_before_causes_were_stored_has_none(
    engine: Engine, incidents: IncidentStore, run_id: int
) -> None:
    [opened] = incidents.update_run(run_id, [make_candidate()])
    with Session(engine) as session, session.begin():
        session.execute(update(IncidentRow).values(causes=None))
    with Session(engine) as session:
        assert read_incident(session, opened.id).finding.causes == ()


def test_an_incident_lives_from_opening_to_recovery(
    engine: Engine, incidents: IncidentStore, run_id: int, clock: Clock
) -> None:
    [opened] = incidents.update_run(run_id, [make_candidate()])
    clock.now += 60
    [worse] = incidents.update_run(run_id, [make_candidate(kind=Kind.DIVERGENCE, severity=Severity.CRITICAL)])
    clock.now += 60
    [ended] = incidents.update_run(
        run_id, [make_candidate(kind=Kind.SPIKE_SLOW, severity=Severity.CRITICAL, end_step=1890)]
    )
    assert opened.id == worse.id == ended.id
    assert [one.state for one in (opened, worse, ended)] == ["open", "open", "recovered"]
    assert types(ended) == ["opened", "reclassified", "escalated", "reclassified", "recovered"]
    assert ended.history[1].detail == {"from": "spike_fast", "to": "divergence"}
    assert (ended.opened_at, ended.recovered_at) == (1_700_000_100.0, 1_700_000_220.0)
    assert notifications(engine) == [
        ("slack", "opened"),
        ("slack", "escalated"),
        ("pager", "escalated"),
        ("slack", "recovered"),
        ("pager", "recovered"),
    ]


def test_the_json_has_the_finding_and_its_state(incidents: IncidentStore, run_id: int) -> None:
    evidence = {"peak": np.float64(4.02), "worst": np.nan, "ranks": np.array([3, 5])}
    [incident] = incidents.update_run(
        run_id, [make_candidate(labels=labels_of({"rank": 3}), evidence=evidence)]
    )
    shown = incident_view(incident)
    assert {name: shown[name] for name in ("kind", "metric", "labels", "start_step", "end_step")} == {
        "kind": "spike_fast",
        "metric": "loss",
        "labels": {"rank": 3},
        "start_step": 1514,
        "end_step": None,
    }
    assert shown["evidence"] == {"peak": 4.02, "worst": "NaN", "ranks": [3, 5]}
    assert (shown["run_id"], shown["run"], shown["project"]) == ("id-104b", "104b", "llm")
    assert (shown["state"], shown["acknowledged_at"], shown["start_time"]) == ("open", None, 1_700_000_000.0)
    assert json.loads(json.dumps(shown, allow_nan=False)) == shown


def test_the_same_candidates_twice_write_nothing(
    engine: Engine, incidents: IncidentStore, run_id: int
) -> None:
    evidence = {"values": (1.0, 2.0), "noise": np.float32(0.25), 7: "keys become texts"}
    incidents.update_run(run_id, [make_candidate(evidence=evidence)])
    assert incidents.update_run(run_id, [make_candidate(evidence=evidence)]) == []
    assert IncidentStore(engine, policy=POLICY).update_run(run_id, [make_candidate(evidence=evidence)]) == []
    assert notifications(engine) == [("slack", "opened")]


def test_runs_do_not_share_incidents(engine: Engine, incidents: IncidentStore, run_id: int) -> None:
    incidents.update_run(run_id, [make_candidate()])
    [other] = incidents.update_run(add_run(engine, "7b"), [make_candidate()])
    assert (other.run and other.run.name, types(other)) == ("7b", ["opened"])


def test_an_imported_run_notifies_nobody_until_it_is_live(
    engine: Engine, incidents: IncidentStore, run_id: int
) -> None:
    long_ago, still_on = make_candidate(end_step=1530), make_candidate(start_step=9000)
    incidents.update_run(run_id, [long_ago, still_on], live=False)
    assert notifications(engine) == []
    assert incidents.update_run(run_id, [long_ago, still_on], live=True) == []
    assert notifications(engine) == [("slack", "opened")]


def test_information_opens_closed_and_notifies_nobody(
    engine: Engine, incidents: IncidentStore, run_id: int
) -> None:
    [info] = incidents.update_run(run_id, [make_candidate(kind=Kind.SUDDEN_DROP, severity=Severity.INFO)])
    assert (info.state, types(info)) == ("closed", ["opened"])
    assert notifications(engine) == []


def test_a_person_acknowledges_comments_and_closes(
    engine: Engine, incidents: IncidentStore, run_id: int, clock: Clock
) -> None:
    [opened] = incidents.update_run(run_id, [make_candidate()])
    clock.now += 30
    acknowledged = incidents.acknowledge(opened.id, by="ann")
    assert (acknowledged.acknowledged_by, acknowledged.acknowledged_at) == ("ann", clock.now)
    assert incidents.acknowledge(opened.id, by="bob").acknowledged_by == "ann"
    assert incidents.unacknowledge(opened.id).acknowledged_at is None
    incidents.comment(opened.id, " The batch of 03:12. ", by="bob")
    closed = incidents.close(opened.id, by="ann", text="rolled back")
    assert (closed.state, closed.closed_at) == ("closed", clock.now)
    assert types(closed) == ["opened", "acknowledged", "unacknowledged", "comment", "closed"]
    assert [(entry.by, entry.text) for entry in closed.history[3:]] == [
        ("bob", "The batch of 03:12."),
        ("ann", "rolled back"),
    ]
    assert notifications(engine) == [("slack", "opened"), ("slack", "closed")]


def test_a_persons_decision_outlasts_the_next_pass(incidents: IncidentStore, run_id: int) -> None:
    [opened] = incidents.update_run(run_id, [make_candidate()])
    incidents.close(opened.id, by="ann")
    assert incidents.update_run(run_id, [make_candidate()]) == []
    incidents.reopen(opened.id, by="bob")
    assert incidents.update_run(run_id, []) == []
    [ended] = incidents.update_run(run_id, [make_candidate(end_step=1600)])
    assert ended.state == "recovered"
    assert incidents.reopen(opened.id, by="ann").state == "open"
    assert incidents.update_run(run_id, [make_candidate(end_step=1600)]) == []


def test_what_is_unknown_or_empty_is_refused(incidents: IncidentStore, run_id: int, engine: Engine) -> None:
    [opened] = incidents.update_run(run_id, [make_candidate()])
    with pytest.raises(ValueError, match="needs text"):
        incidents.comment(opened.id, "  ")
    for act in (incidents.acknowledge, incidents.close, incidents.reopen):
        with pytest.raises(UnknownIncidentError, match="no incident 99999"):
            act(99999)
    with Session(engine) as session, pytest.raises(UnknownIncidentError):
        read_incident(session, 99999)


def test_listeners_hear_what_is_durable_and_cannot_harm(
    engine: Engine, incidents: IncidentStore, run_id: int, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[str] = []

    def read_back(incident: Incident) -> None:
        with Session(engine) as session:
            heard.append(read_incident(session, incident.id).state)

    def fail(incident: Incident) -> None:
        raise RuntimeError("a page went away")

    incidents.on_change(fail)
    incidents.on_change(read_back)
    [opened] = incidents.update_run(run_id, [make_candidate()])
    incidents.close(opened.id)
    assert heard == ["open", "closed"]
    assert "a listener failed" in caplog.text


def test_two_passes_at_once_make_one_incident(engine: Engine, run_id: int) -> None:
    candidates = [make_candidate(SPIKE, start_step=step) for step in range(1000, 1100, 10)]
    failures: list[Exception] = []

    def update() -> None:
        try:
            for _ in range(5):
                IncidentStore(engine, policy=POLICY).update_run(run_id, candidates)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=update) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with Session(engine) as session:
        assert len(session.scalars(select(IncidentRow)).all()) == len(candidates)
    assert notifications(engine) == [("slack", "opened")] * len(candidates)


def test_names_of_any_length_are_recognised(incidents: IncidentStore, run_id: int) -> None:
    long = make_candidate(metric="m" * 400, labels=labels_of({"dataset": "d" * 300}), fingerprint="x" * 1000)
    incidents.update_run(run_id, [long])
    assert incidents.update_run(run_id, [long]) == []
