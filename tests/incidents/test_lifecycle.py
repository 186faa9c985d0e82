"""What an analysis pass changes in a run's incidents: each case is a sentence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holter.server.alerting.incident import EventType, HistoryEntry, Incident, IncidentState
from holter.server.alerting.lifecycle import IncidentCandidate, changes
from holter.tuning import PlannedEvent
from holter.types import Finding, Kind, Severity

SPIKE = Finding(
    kind=Kind.SPIKE_FAST,
    metric="loss",
    attempt=0,
    start_step=1514,
    detected_step=1517,
    severity=Severity.WARNING,
    confidence=0.9,
    summary="Loss rose.",
    advice="Nothing yet.",
)
SLOW = replace(SPIKE, kind=Kind.SPIKE_SLOW)
DIVERGED = replace(SPIKE, kind=Kind.DIVERGENCE, severity=Severity.CRITICAL)
ENDED = replace(SPIKE, end_step=1560)
INFO = replace(SPIKE, kind=Kind.OUTLIER_BATCH, severity=Severity.INFO)
SHORT = replace(INFO, end_step=1515)
STALL = replace(SPIKE, kind=Kind.STALL)


def known(
    finding: Finding,
    state: IncidentState,
    decision: EventType | None = None,
    *,
    number: int = 1,
    fingerprint: str = "f",
) -> Incident:
    """A stored incident; `decision`: how a person changed its state last."""
    history = () if decision is None else (HistoryEntry(type=decision, at=1.0, by="ann"),)
    return Incident(
        id=number,
        fingerprint=fingerprint,
        run=None,
        finding=finding,
        state=state,
        start_time=None,
        opened_at=1.0,
        updated_at=1.0,
        history=history,
    )


class Case(NamedTuple):
    sentence: str
    before: Incident | None
    found: Finding | None
    state: IncidentState | None
    events: set[EventType]
    over: bool = False


CASES = [
    Case("something new opens", None, SPIKE, IncidentState.OPEN, {EventType.OPENED}),
    Case(
        "what began and ended between two passes opens and recovers",
        None,
        ENDED,
        IncidentState.RECOVERED,
        {EventType.OPENED, EventType.RECOVERED},
    ),
    Case("information is closed from the start", None, INFO, IncidentState.CLOSED, {EventType.OPENED}),
    Case("the same finding changes nothing", known(SPIKE, IncidentState.OPEN), SPIKE, None, set()),
    Case(
        "numbers that develop are no event",
        known(SPIKE, IncidentState.OPEN),
        replace(SPIKE, confidence=0.95),
        IncidentState.OPEN,
        set(),
    ),
    Case(
        "another kind is a reclassification",
        known(SPIKE, IncidentState.OPEN),
        SLOW,
        IncidentState.OPEN,
        {EventType.RECLASSIFIED},
    ),
    Case(
        "another and worse kind escalates",
        known(SPIKE, IncidentState.OPEN),
        DIVERGED,
        IncidentState.OPEN,
        {EventType.RECLASSIFIED, EventType.ESCALATED},
    ),
    Case(
        "a milder kind eases",
        known(DIVERGED, IncidentState.OPEN),
        SPIKE,
        IncidentState.OPEN,
        {EventType.RECLASSIFIED, EventType.EASED},
    ),
    Case(
        "a known end recovers",
        known(SPIKE, IncidentState.OPEN),
        ENDED,
        IncidentState.RECOVERED,
        {EventType.RECOVERED},
    ),
    Case(
        "an end that was none opens again",
        known(ENDED, IncidentState.RECOVERED),
        SPIKE,
        IncidentState.OPEN,
        {EventType.REOPENED},
    ),
    Case(
        "what turns out to be information closes by itself",
        known(SPIKE, IncidentState.OPEN),
        INFO,
        IncidentState.CLOSED,
        {EventType.RECLASSIFIED, EventType.EASED, EventType.CLOSED},
    ),
    Case(
        "what was open and is over has recovered, be it information now",
        known(DIVERGED, IncidentState.OPEN),
        SHORT,
        IncidentState.RECOVERED,
        {EventType.RECLASSIFIED, EventType.EASED, EventType.RECOVERED},
    ),
    Case("and stays so", known(SHORT, IncidentState.RECOVERED), SHORT, None, set()),
    Case(
        "information that turns out to be more opens for the first time",
        known(INFO, IncidentState.CLOSED),
        SLOW,
        IncidentState.OPEN,
        {EventType.RECLASSIFIED, EventType.ESCALATED, EventType.OPENED},
    ),
    Case(
        "what Holter closed as information opens again",
        replace(known(INFO, IncidentState.CLOSED), history=(HistoryEntry(type=EventType.CLOSED, at=1.0),)),
        SLOW,
        IncidentState.OPEN,
        {EventType.RECLASSIFIED, EventType.ESCALATED, EventType.REOPENED},
    ),
    Case(
        "what a person closed stays closed while it continues",
        known(SPIKE, IncidentState.CLOSED, EventType.CLOSED),
        SLOW,
        IncidentState.CLOSED,
        {EventType.RECLASSIFIED},
    ),
    Case(
        "what a person closed opens again when it gets worse",
        known(SPIKE, IncidentState.CLOSED, EventType.CLOSED),
        DIVERGED,
        IncidentState.OPEN,
        {EventType.RECLASSIFIED, EventType.ESCALATED, EventType.REOPENED},
    ),
    Case(
        "what a person reopened stays open",
        known(ENDED, IncidentState.OPEN, EventType.REOPENED),
        ENDED,
        None,
        set(),
    ),
    Case(
        "what a person reopened recovers at its new end",
        known(SPIKE, IncidentState.OPEN, EventType.REOPENED),
        ENDED,
        IncidentState.RECOVERED,
        {EventType.RECOVERED},
    ),
    Case(
        "what is no longer found is withdrawn",
        known(SPIKE, IncidentState.OPEN),
        None,
        IncidentState.CLOSED,
        {EventType.WITHDRAWN},
    ),
    Case(
        "what a person reopened is not withdrawn",
        known(SPIKE, IncidentState.OPEN, EventType.REOPENED),
        None,
        None,
        set(),
    ),
    Case("what has recovered need not be found", known(ENDED, IncidentState.RECOVERED), None, None, set()),
    Case(
        "a stall that is over has recovered",
        known(STALL, IncidentState.OPEN),
        None,
        IncidentState.RECOVERED,
        {EventType.RECOVERED},
    ),
    Case(
        "a stall of a run that is finished was none",
        known(STALL, IncidentState.OPEN),
        None,
        IncidentState.CLOSED,
        {EventType.WITHDRAWN},
        over=True,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[case.sentence for case in CASES])
def test_a_pass_changes_what_it_should(case: Case) -> None:
    before = [] if case.before is None else [case.before]
    now = [] if case.found is None else [IncidentCandidate(finding=case.found, fingerprint="f")]
    result = changes(before, now, over=case.over)
    if case.state is None:
        assert result == []
        return
    [change] = result
    assert change.state is case.state
    assert change.events == case.events
    assert (change.incident, change.candidate) == (case.before, now[0] if now else None)


def test_what_a_rollback_replaced_has_recovered_and_stays_so() -> None:
    replaced = IncidentCandidate(finding=DIVERGED, fingerprint="f", replaced_by=1)
    [change] = changes([known(DIVERGED, IncidentState.OPEN)], [replaced])
    assert (change.state, change.events) == (IncidentState.RECOVERED, {EventType.RECOVERED})
    assert change.lines[0].text == "Attempt 1 resumed from before this step and has passed it."
    assert changes([known(DIVERGED, IncidentState.RECOVERED)], [replaced]) == []
    [imported] = changes([], [replaced])
    assert imported.events == {EventType.OPENED, EventType.RECOVERED}


@pytest.mark.parametrize(
    ("first_planned", "reason"),
    [
        (1514, "This was planned: data switch"),
        (1517, "This was planned: data switch"),  # the start may be estimated too early, up to the detection
        (1518, "With all points seen and with the current detection settings, this is no longer detected."),
    ],
)
def test_a_plan_explains_what_was_detected_within_it(first_planned: int, reason: str) -> None:
    plan = PlannedEvent(kind="spike_fast", from_step=first_planned, to_step=1600, note="data switch")
    [change] = changes([known(SPIKE, IncidentState.OPEN)], [], planned=[plan])
    assert (change.state, change.lines[0].text) == (IncidentState.CLOSED, reason)


def test_a_plan_that_begins_after_it_was_detected_explains_nothing() -> None:
    at_once = known(replace(SPIKE, detected_step=SPIKE.start_step), IncidentState.OPEN)
    for first_planned, planned in ((1514, True), (1515, False)):
        plan = PlannedEvent(kind="spike_fast", from_step=first_planned, to_step=1600)
        [change] = changes([at_once], [], planned=[plan])
        assert (change.lines[0].text == "This was planned.") is planned


def test_a_planned_event_is_withdrawn_although_its_points_are_downsampled() -> None:
    plan = PlannedEvent(kind="spike_fast", from_step=1500, to_step=1600)
    before = known(SPIKE, IncidentState.OPEN)
    [change] = changes([before], [], planned=[plan], onset_final=lambda _: True)
    assert change.events == {EventType.WITHDRAWN}
    assert changes([before], [], onset_final=lambda _: True) == []


def test_a_planned_stall_was_planned_although_the_run_continues() -> None:
    plan = PlannedEvent(kind="stall", from_step=1500, to_step=1600, note="maintenance")
    [change] = changes([known(STALL, IncidentState.OPEN)], [], planned=[plan])
    assert (change.state, change.lines[0].text) == (IncidentState.CLOSED, "This was planned: maintenance")
    [finished] = changes([known(STALL, IncidentState.OPEN)], [], over=True)
    assert finished.lines[0].text == "The run is finished."


def test_what_nobody_waits_for_closes_with_its_own_reason() -> None:
    left = IncidentCandidate(
        finding=replace(ENDED, summary="The agent was removed."), fingerprint="f", abandoned=True
    )
    [change] = changes([known(SPIKE, IncidentState.OPEN)], [left])
    assert (change.state, change.events) == (IncidentState.CLOSED, {EventType.CLOSED})
    assert change.lines[-1].text == "The agent was removed."
    information = IncidentCandidate(finding=INFO, fingerprint="f")
    [eased] = changes([known(SPIKE, IncidentState.OPEN)], [information])
    assert eased.lines[-1].text == "For information only: nobody needs to act."


def test_what_ended_before_it_was_replaced_recovered_at_its_end() -> None:
    both = IncidentCandidate(finding=ENDED, fingerprint="f", replaced_by=1)
    [change] = changes([known(SPIKE, IncidentState.OPEN)], [both])
    assert (change.lines[0].text, change.lines[0].detail) == (ENDED.summary, {"end_step": 1560})


def test_a_time_that_became_known_changes_an_incident_without_a_line_of_history() -> None:
    timed = IncidentCandidate(finding=SPIKE, fingerprint="f", start_time=1000.0)
    before = known(SPIKE, IncidentState.OPEN)
    [change] = changes([before], [timed])
    assert (change.candidate, change.lines) == (timed, ())
    assert changes([replace(before, start_time=1000.0)], [timed]) == []


def test_what_was_closed_and_is_downsampled_changes_with_its_kind_only() -> None:
    before = known(ENDED, IncidentState.RECOVERED)
    for finding, events in ((replace(ENDED, kind=Kind.SPIKE_SLOW), {EventType.RECLASSIFIED}), (ENDED, None)):
        candidate = IncidentCandidate(finding=finding, fingerprint="f")
        found = changes([before], [candidate], onset_final=lambda _: True)
        assert [change.events for change in found] == ([] if events is None else [events])


def test_of_two_events_where_late_points_moved_one_the_other_is_new() -> None:
    near = [
        IncidentCandidate(finding=replace(SPIKE, start_step=step), fingerprint=f"g{step}")
        for step in (1512, 1511)
    ]
    moved, opened = changes([known(SPIKE, IncidentState.OPEN)], near)
    assert (moved.events, opened.events) == ({EventType.MOVED}, {EventType.OPENED})
    assert opened.incident is None


def test_events_that_did_not_move_do_not_hide_one_that_did() -> None:
    other = replace(SPIKE, start_step=3000, detected_step=3003)
    before = [
        known(SPIKE, IncidentState.OPEN),
        known(other, IncidentState.OPEN, number=2, fingerprint="h"),
    ]
    news = [
        IncidentCandidate(finding=SPIKE, fingerprint="f"),
        IncidentCandidate(finding=replace(other, start_step=2998), fingerprint="i"),
    ]
    [change] = changes(before, news)
    assert (change.incident, change.events) == (before[1], {EventType.MOVED})
    assert change.lines[0].detail == {"from_step": 3000, "to_step": 2998, "from": "loss", "to": "loss"}


def test_a_kind_and_a_severity_that_change_at_once_are_described_once() -> None:
    worse = replace(DIVERGED, summary="It diverged.")
    [change] = changes(
        [known(SPIKE, IncidentState.OPEN)], [IncidentCandidate(finding=worse, fingerprint="f")]
    )
    assert [line.text for line in change.lines] == ["It diverged.", ""]
    only_worse = replace(SPIKE, severity=Severity.CRITICAL, summary="It rose further.")
    [change] = changes(
        [known(SPIKE, IncidentState.OPEN)], [IncidentCandidate(finding=only_worse, fingerprint="f")]
    )
    assert [(line.type, line.text) for line in change.lines] == [(EventType.ESCALATED, "It rose further.")]


def test_an_event_that_late_points_move_stays_one_incident() -> None:
    moved = IncidentCandidate(finding=replace(SPIKE, start_step=1512), fingerprint="g")
    [change] = changes([known(SPIKE, IncidentState.OPEN)], [moved])
    assert change.incident is not None
    assert change.events == {EventType.MOVED}
    assert change.state is IncidentState.OPEN


def test_two_events_at_other_steps_are_two_incidents() -> None:
    other = IncidentCandidate(finding=replace(SPIKE, start_step=3000, detected_step=3003), fingerprint="g")
    result = changes(
        [known(SPIKE, IncidentState.OPEN)], [IncidentCandidate(finding=SPIKE, fingerprint="f"), other]
    )
    assert [change.events for change in result] == [{EventType.OPENED}]


def test_the_same_steps_of_another_attempt_are_another_incident() -> None:
    again = IncidentCandidate(finding=replace(SPIKE, attempt=1), fingerprint="g")
    before = known(SPIKE, IncidentState.OPEN)
    opened, vanished = changes([before], [again])
    assert (opened.incident, opened.events) == (None, {EventType.OPENED})
    assert (vanished.incident, vanished.events) == (before, {EventType.WITHDRAWN})


@pytest.mark.parametrize(
    ("moved", "one_event"),
    [
        ({"start_step": 1512}, True),
        ({"detected_step": 1519}, True),
        ({"start_step": 1512, "detected_step": 1519}, False),
        ({"start_step": 1512, "metric": "val_loss"}, True),
        ({"start_step": 1512, "kind": Kind.DIVERGENCE}, True),
        ({"start_step": 1512, "kind": Kind.DIVERGENCE, "metric": "val_loss"}, False),
        ({"start_step": 1512, "kind": Kind.DIVERGENCE, "labels": (("rank", "1"),)}, False),
        ({"start_step": 1512, "attempt": 1}, False),
    ],
)
def test_an_event_is_recognised_by_attempt_one_of_its_steps_and_its_metric_or_kind(
    moved: dict[str, Any], one_event: bool
) -> None:
    candidate = IncidentCandidate(finding=replace(SPIKE, **moved), fingerprint="g")
    result = changes([known(SPIKE, IncidentState.OPEN)], [candidate])
    assert (len(result) == 1) is one_event


def test_one_event_found_twice_is_one_incident() -> None:
    twice = [
        IncidentCandidate(finding=SPIKE, fingerprint="f"),
        IncidentCandidate(finding=SLOW, fingerprint="f"),
    ]
    [change] = changes([], twice)
    assert change.candidate == twice[0]


FINDINGS = st.builds(
    replace,
    st.just(SPIKE),
    kind=st.sampled_from(list(Kind)),
    severity=st.sampled_from(list(Severity)),
    start_step=st.integers(0, 3),
    detected_step=st.integers(0, 3),
    end_step=st.none() | st.integers(3, 5),
)


@given(st.lists(st.lists(FINDINGS, max_size=4), max_size=5))
def test_the_same_candidates_twice_change_nothing_more(passes: list[list[Finding]]) -> None:
    stored: dict[int, Incident] = {}
    for findings in passes:
        now = [IncidentCandidate(finding=one, fingerprint=str(one.start_step)) for one in findings]
        for change in changes(list(stored.values()), now):
            number = change.incident.id if change.incident else len(stored)
            before = change.incident.finding if change.incident else None
            finding = change.candidate.finding if change.candidate else before
            assert finding is not None
            fingerprint = change.candidate.fingerprint if change.candidate else stored[number].fingerprint
            stored[number] = known(finding, change.state, number=number, fingerprint=fingerprint)
        assert changes(list(stored.values()), now) == []
        assert len({one.fingerprint for one in stored.values()}) == len(stored)


def test_a_final_onset_neither_opens_nor_vanishes_but_develops() -> None:
    def upto(finding: Finding) -> bool:
        return finding.detected_step <= 2000

    later = replace(SPIKE, start_step=1990, detected_step=2001)
    numbers = replace(ENDED, confidence=0.8)

    def after(before: Incident | None, found: Finding | None) -> list[IncidentState]:
        stored = [] if before is None else [before]
        news = [] if found is None else [IncidentCandidate(finding=found, fingerprint="f")]
        return [one.state for one in changes(stored, news, onset_final=upto)]

    assert after(None, SPIKE) == []
    assert after(None, later) == [IncidentState.OPEN]
    assert after(known(SPIKE, IncidentState.OPEN), None) == []
    assert after(known(later, IncidentState.OPEN), None) == [IncidentState.CLOSED]
    assert after(known(SPIKE, IncidentState.OPEN), ENDED) == [IncidentState.RECOVERED]
    assert after(known(SPIKE, IncidentState.OPEN), DIVERGED) == [IncidentState.OPEN]
    assert after(known(ENDED, IncidentState.RECOVERED), numbers) == []
    assert after(known(SPIKE, IncidentState.OPEN), replace(SPIKE, confidence=0.8)) == [IncidentState.OPEN]
