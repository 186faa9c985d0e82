"""Incidents in both databases: changes, history, notifications, two passes at once."""

from __future__ import annotations

import json
import threading
from dataclasses import replace

import numpy as np
import pytest
from sqlalchemy import Engine, select, update
from sqlalchemy.orm import Session

from holter.server.alerting import Incident, IncidentStore, UnknownIncidentError, read_incident
from holter.server.alerting.incident_rows import read_incidents_of_run
from holter.server.alerting.routing import ChannelPolicy
from holter.server.models.alerting import IncidentRow, NotificationRow
from holter.server.schemas.incidents import incident_view
from holter.types import Finding, Kind, Severity, labels_of
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


def test_listeners_hear_of_agents_and_of_data_that_does_not_come(
    incidents: IncidentStore, run_id: int
) -> None:
    heard: list[tuple[str, str]] = []
    incidents.on_change(lambda incident: heard.append((incident.finding.kind, incident.state)))
    for end_step in (None, 1):
        incidents.update_missing_data(run_id, make_candidate(kind=Kind.NO_DATA, end_step=end_step))
        silent = make_candidate(kind=Kind.AGENT_SILENT, end_step=end_step)
        incidents.update_agents(lambda _, silent=silent: [silent])
    assert heard == [
        ("no_data", "open"), ("agent_silent", "open"),
        ("no_data", "recovered"), ("agent_silent", "recovered"),
    ]  # fmt: skip


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


def user_alert(title: str = "Checkpoint failed", text: str = "No space left.", attempt: int = 0) -> Finding:
    evidence = {"title": title, "text": text}
    return replace(SPIKE, kind=Kind.USER_ALERT, attempt=attempt, evidence=evidence)


def test_an_alert_of_the_program_is_one_incident_however_often_it_is_sent(
    engine: Engine, incidents: IncidentStore, run_id: int, clock: Clock
) -> None:
    heard: list[int] = []
    incidents.on_change(lambda incident: heard.append(incident.id))
    first = incidents.open_user_alert(run_id, user_alert())
    clock.now += 10
    assert incidents.open_user_alert(run_id, user_alert()) == first
    others = [
        incidents.open_user_alert(run_id, user_alert(title="Another")),
        incidents.open_user_alert(run_id, user_alert(text="Another")),
        incidents.open_user_alert(run_id, user_alert(attempt=1)),
        incidents.open_user_alert(add_run(engine, "another"), user_alert()),
    ]
    assert len({first.id, *(each.id for each in others)}) == 5
    assert heard == [first.id, *(each.id for each in others)]
    assert (first.start_time, types(first)) == (clock.now - 10, ["opened"])
    assert notifications(engine) == [("slack", "opened")] * 5


def test_an_analysis_leaves_alerts_of_the_program_alone(incidents: IncidentStore, run_id: int) -> None:
    incidents.open_user_alert(run_id, user_alert())
    assert incidents.update_run(run_id, []) == []


def test_what_is_final_neither_opens_nor_changes_nor_vanishes(incidents: IncidentStore, run_id: int) -> None:
    [known] = incidents.update_run(run_id, [make_candidate()])

    def final(finding: Finding) -> bool:
        return finding.start_step < 5000

    assert incidents.update_run(run_id, [], final=final) == []
    news = [make_candidate(start_step=100), make_candidate(end_step=1600), make_candidate(start_step=9000)]
    [opened] = incidents.update_run(run_id, news, final=final)
    assert opened.finding.start_step == 9000
    [withdrawn] = incidents.update_run(run_id, [make_candidate(start_step=9000)])
    assert withdrawn.id == known.id


def test_a_second_click_changes_nothing(incidents: IncidentStore, run_id: int, clock: Clock) -> None:
    [opened] = incidents.update_run(run_id, [make_candidate()])
    acts = (
        (incidents.unacknowledge, False), (incidents.reopen, False), (incidents.unmute, False),
        (incidents.acknowledge, True), (incidents.acknowledge, False), (incidents.unacknowledge, True),
        (incidents.close, True), (incidents.close, False), (incidents.reopen, True),
    )  # fmt: skip
    known = opened
    for act, changed in acts:
        clock.now += 1
        found = act(opened.id, by="ann")
        assert (found != known) is changed, act
        assert found.updated_at == (clock.now if changed else known.updated_at)
        known = found
    assert (known.acknowledged_at, known.acknowledged_by, known.closed_at) == (None, None, None)
    assert known.history[-1].by == "ann"
    assert incidents.close(opened.id).history[-1].by == "someone"


def test_a_person_is_asked_to_work_on_it_and_mutes_it(
    incidents: IncidentStore, run_id: int, clock: Clock
) -> None:
    [opened] = incidents.update_run(run_id, [make_candidate()])
    asked = incidents.assign(opened.id, "bob", by="ann")
    assert (asked.assignee, asked.history[-1].text) == ("bob", "to bob")
    nobody = incidents.assign(opened.id, None)
    assert (nobody.assignee, nobody.history[-1].text) == (None, "to nobody")
    silence = incidents.mute(opened.id, seconds=60, by="ann", comment="known")
    assert (silence.created_by, silence.comment, silence.ends_at) == ("ann", "known", clock.now + 60)
    muted = incidents.comment(opened.id, "so it is").mute(clock.now)
    assert muted is not None
    assert (muted.by, muted.detail) == ("ann", {"until": clock.now + 60})
    until_recovered = incidents.mute(opened.id, seconds=None)
    assert (until_recovered.created_by, until_recovered.id == silence.id) == ("someone", False)
    muted = incidents.comment(opened.id, "longer").mute(clock.now)
    assert muted is not None
    assert muted.detail == {"until": None}
    assert incidents.unmute(opened.id).mute(clock.now) is None


def test_what_people_do_with_an_incident_of_an_imported_run_notifies_nobody(
    engine: Engine, incidents: IncidentStore, run_id: int
) -> None:
    [ended] = incidents.update_run(run_id, [make_candidate(end_step=1600)], live=False)
    incidents.reopen(ended.id, by="ann")
    assert notifications(engine) == []


def test_times_of_states_are_those_of_the_first_change(
    incidents: IncidentStore, run_id: int, clock: Clock
) -> None:
    began = clock.now
    [opened] = incidents.update_run(run_id, [make_candidate()])
    clock.now += 10
    [ended] = incidents.update_run(run_id, [make_candidate(end_step=1600)])
    clock.now += 10
    [developed] = incidents.update_run(run_id, [make_candidate(end_step=1600, confidence=0.8)])
    assert (developed.recovered_at, developed.updated_at) == (ended.recovered_at, clock.now)
    closed = incidents.close(opened.id)
    clock.now += 10
    [same] = incidents.update_run(run_id, [make_candidate(end_step=1600, confidence=0.7)])
    assert (same.closed_at, same.recovered_at) == (closed.closed_at, began + 10)
    worse = {"severity": Severity.CRITICAL}
    [again] = incidents.update_run(run_id, [make_candidate(end_step=1700, **worse)])
    assert (again.state, again.closed_at) == ("recovered", None)
    [open_again] = incidents.update_run(run_id, [make_candidate(**worse)])
    assert (open_again.state, open_again.recovered_at, open_again.opened_at) == ("open", None, began)


def test_a_time_that_is_not_known_is_none_and_the_next_pass_finds_it_again(
    incidents: IncidentStore, run_id: int
) -> None:
    timeless = replace(make_candidate(), start_time=float("nan"))
    [opened] = incidents.update_run(run_id, [timeless])
    assert opened.start_time is None
    assert incidents.update_run(run_id, [timeless]) == []


def test_incidents_of_earlier_versions_are_recognised(
    engine: Engine, incidents: IncidentStore, run_id: int
) -> None:
    """BLAKE2b of 16 bytes, as `b2sum -l 128` prints it, of the fingerprint's text."""
    incidents.update_run(run_id, [make_candidate(fingerprint="loss|1514")])
    with Session(engine) as session:
        [row] = session.scalars(select(IncidentRow)).all()
        assert row.fingerprint == "07a6a11a46eed154993d197398983837"


def test_incidents_of_a_run_are_in_the_order_in_which_they_were_opened(
    engine: Engine, incidents: IncidentStore, run_id: int
) -> None:
    steps = [3000, 1000, 2000]
    for known in range(1, 4):
        incidents.update_run(run_id, [make_candidate(start_step=step) for step in steps[:known]])
    incidents.update_run(add_run(engine, "another"), [make_candidate()])
    with Session(engine) as session:
        found = read_incidents_of_run(session, run_id)
    assert [each.finding.start_step for each in found] == steps
