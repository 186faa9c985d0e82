"""Incidents of one event: which belong together, and the one step that is safe to go back to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from holter.server.alerting.incident import Incident, IncidentState
from holter.server.alerting.incident_groups import group_incidents
from holter.types import Cause, Finding, Kind, Severity


def incident(number: int, kind: Kind, start: int, end: int | None = None, **more: Any) -> Incident:
    state = more.pop("state", IncidentState.OPEN if end is None else IncidentState.RECOVERED)
    values = {"attempt": 0, "severity": Severity.CRITICAL, "evidence": {}, "causes": (), "advice": ""} | more
    finding = Finding(
        kind=kind,
        metric="loss",
        start_step=start,
        end_step=end,
        detected_step=start + 5,
        confidence=0.9,
        summary="",
        **values,
    )
    return Incident(
        id=number,
        fingerprint=str(number),
        run=None,
        finding=finding,
        state=state,
        start_time=None,
        opened_at=0.0,
        updated_at=0.0,
    )


def numbers(*incidents: Incident) -> list[list[int]]:
    return [[each.id for each in group.incidents] for group in group_incidents(incidents)]


def test_a_loss_that_rises_and_becomes_nan_is_one_event_with_the_earliest_safe_step() -> None:
    spike = incident(1, Kind.SPIKE_UNRECOVERED, 2001, evidence={"rollback_upto": 1901})
    (group,) = group_incidents([incident(2, Kind.NONFINITE, 2300), spike])
    assert [each.id for each in group.incidents] == [1, 2]
    assert group.rollback_step == 1901


def test_the_advice_about_an_event_names_no_other_step_than_the_safe_one() -> None:
    spike = incident(1, Kind.SPIKE_UNRECOVERED, 2001, evidence={"rollback_upto": 1901}, advice="Watch it.")
    (group,) = group_incidents([spike, incident(2, Kind.NONFINITE, 2300, advice="Back to 2,299.")])
    assert group.advice == "Stop the run and go back to a checkpoint from step 1,901 or earlier."
    (named,) = group_incidents([incident(1, Kind.NONFINITE, 2300, advice="Load one from before 2,300.")])
    assert named.advice == "Load one from before 2,300."


def test_the_safe_step_of_overfitting_is_that_of_the_best_evaluation() -> None:
    advice = "The model overfits: keep the checkpoint of step 250, and train for fewer epochs."
    overfits = incident(1, Kind.DIVERGENCE, 500, evidence={"lowest_step": 250}, advice=advice)
    (group,) = group_incidents([overfits])
    assert (group.rollback_step, group.advice) == (250, advice)


def test_what_may_not_have_harmed_the_weights_asks_for_no_rollback() -> None:
    """A gradient norm that explodes alone, and an evaluation that is worse while the training is not."""
    norm = incident(1, Kind.DIVERGENCE, 1724, advice="Look at the clipping.")
    evaluation = incident(
        2, Kind.SPIKE_UNRECOVERED, 9000, evidence={"cause": "evaluation"}, advice="Check the evaluation."
    )
    for each in (norm, evaluation):
        (group,) = group_incidents([each])
        assert (group.rollback_step, group.advice) == (None, each.finding.advice)


def test_a_loss_that_became_nan_is_no_longer_watched() -> None:
    advice = "Watch the loss; if it does not come back, roll back to the latest checkpoint up to step 1,901."
    rise = incident(
        1,
        Kind.SPIKE_SLOW,
        2001,
        evidence={"rollback_upto": 1901},
        advice=advice,
        severity=Severity.WARNING,
    )
    (alone,) = group_incidents([rise])
    assert alone.advice == advice
    (group,) = group_incidents([rise, incident(2, Kind.NONFINITE, 2300, advice="Back to 2,299.")])
    assert group.advice == "Stop the run and go back to a checkpoint from step 1,901 or earlier."


def test_a_clear_cause_before_the_onset_moves_the_safe_step_back() -> None:
    cause = Cause(
        code="learning_rate", title="", sentence="", advice="", score=0.9, attempt=0, step=1500, is_clear=True
    )
    (group,) = group_incidents([incident(1, Kind.NONFINITE, 2000, causes=(cause,))])
    assert group.rollback_step == 1499
    unclear = replace(cause, is_clear=False)
    (group,) = group_incidents([incident(1, Kind.NONFINITE, 2000, causes=(unclear,))])
    assert group.rollback_step == 1999


def test_what_begins_long_after_the_end_of_the_other_is_an_event_of_its_own() -> None:
    ended = incident(1, Kind.SPIKE_SLOW, 100, 400)
    assert numbers(ended, incident(2, Kind.NONFINITE, 450)) == [[1, 2]]
    assert numbers(ended, incident(2, Kind.NONFINITE, 5000)) == [[1], [2]]


def test_loss_and_speed_and_different_attempts_are_different_events() -> None:
    spike = incident(1, Kind.SPIKE_UNRECOVERED, 100)
    assert numbers(spike, incident(2, Kind.STRAGGLER, 120)) == [[1], [2]]
    assert numbers(spike, incident(2, Kind.NONFINITE, 120, attempt=1)) == [[1], [2]]


def test_a_run_that_falls_silent_after_a_nan_belongs_to_it_but_not_to_a_spike() -> None:
    stall = incident(2, Kind.STALL, 300)
    assert numbers(incident(1, Kind.NONFINITE, 200), stall) == [[1, 2]]
    assert numbers(incident(1, Kind.SPIKE_UNRECOVERED, 200), stall) == [[1], [2]]


def test_incidents_for_information_do_not_extend_an_event() -> None:
    usual = incident(1, Kind.OUTLIER_BATCH, 100, severity=Severity.INFO)
    assert numbers(usual, incident(2, Kind.SPIKE_SLOW, 150)) == [[1], [2]]


def test_an_incident_that_names_another_in_its_evidence_is_linked_to_it() -> None:
    rank = incident(1, Kind.STRAGGLER, 100)
    reference = {"kind": "straggler", "attempt": 0, "start_step": 100}
    assert numbers(rank, incident(2, Kind.STALL, 9000, evidence={"because_of": reference})) == [[1, 2]]


def test_nothing_that_is_over_asks_for_a_rollback() -> None:
    (group,) = group_incidents([incident(1, Kind.SPIKE_SLOW, 100, 400)])
    assert group.rollback_step is None
    (group,) = group_incidents([incident(1, Kind.NONFINITE, 100, state=IncidentState.CLOSED)])
    assert group.rollback_step is None
