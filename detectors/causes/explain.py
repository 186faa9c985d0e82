"""Adds the probable causes to findings, and names a clear cause first in summary and advice.

A cause is searched among the steps around the onset, with points up to the detection only: once a finding was
reported, its causes do not change. Findings that were explained in an earlier pass are not explained again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from holter.detectors.causes.candidate import Candidate, CauseThresholds, rank
from holter.detectors.causes.changed_settings import changed_settings
from holter.detectors.causes.logged_changes import (
    CAUSE_ROLES,
    CauseCode,
    LoggedChangeThresholds,
    find_logged_changes,
)
from holter.detectors.causes.restart import change_candidate, restart_candidate
from holter.detectors.causes.symptom import SymptomThresholds, symptom_of
from holter.detectors.causes.words import distance_text
from holter.detectors.findings import title_of
from holter.detectors.findings.finding_type import in_sentence
from holter.detectors.incremental import Checkpoint, IncrementalState, ScanCheckpoints
from holter.detectors.loss.messages import EXPECTED_RISE_ADVICE
from holter.detectors.positions import Position, rows_up_to
from holter.roles import ROLE_TITLES, Role, role_of
from holter.types import Cause, Finding, Kind, RunData, SeriesKey, Severity

_LOSS_SYMPTOMS = frozenset(
    {
        Kind.SPIKE_FAST,
        Kind.SPIKE_SLOW,
        Kind.SPIKE_UNRECOVERED,
        Kind.DIVERGENCE,
        Kind.OUTLIER_BATCH,
        Kind.NONFINITE,
        Kind.HIDDEN_NONFINITE,
        Kind.RESUME_ARTIFACT,
        Kind.LOSS_SCALE_COLLAPSE,
        Kind.METRIC_COLLAPSE,
        Kind.MIXTURE_SHIFT,
    }
)
_SPEED_SYMPTOMS = frozenset({Kind.THROUGHPUT_REGRESSION, Kind.COMM_SLOWDOWN})
_CAUSES_OF_SPEED = frozenset({CauseCode.BATCH_SIZE, CauseCode.SEQUENCE_LENGTH, CauseCode.PRECISION})
_OF_OTHER_FINDINGS = {
    Kind.STRAGGLER: CauseCode.SLOW_RANK,
    Kind.COMM_SLOWDOWN: CauseCode.SLOW_COLLECTIVES,
    Kind.GPU_FAULT: CauseCode.GPU_FAULT,
}
_NEEDS_CHECKPOINT = frozenset({Kind.SPIKE_SLOW, Kind.SPIKE_UNRECOVERED, Kind.DIVERGENCE, Kind.NONFINITE})
_BATCHES = frozenset({"skip_from", "skip_until"})
"""Evidence about batches to skip, which are innocent where something else is the cause."""


@dataclass(frozen=True, kw_only=True)
class _AllThresholds:
    symptom: SymptomThresholds = SymptomThresholds()
    change: LoggedChangeThresholds = LoggedChangeThresholds()
    cause: CauseThresholds = CauseThresholds()


_THRESHOLDS = _AllThresholds()


class _Explained(NamedTuple):
    """A finding as it was, its causes, and the finding with them."""

    before: Finding
    causes: tuple[Cause, ...]
    after: Finding


_Place = tuple[str, object, int, int, int, bool]
"""What the causes of a finding depend on besides the run: series, position, whether it is about speed."""


def explain_findings(
    findings: Sequence[Finding], run: RunData, state: IncrementalState, *, all_findings: Sequence[Finding]
) -> list[Finding]:
    """The findings with their causes. `all_findings`: those that may be causes of others."""
    if not any(each.kind in _LOSS_SYMPTOMS | _SPEED_SYMPTOMS or _named_cause(each) for each in findings):
        return list(findings)
    explainer = _Explainer(run, state, all_findings)
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        explained = [explainer.explain(finding) for finding in findings]
    explainer.save()
    return explained


class _Explainer:
    """One pass over the findings of a run."""

    def __init__(self, run: RunData, state: IncrementalState, all_findings: Sequence[Finding]) -> None:
        self._run = run
        self._all = all_findings
        keys = [key for key in sorted(run.series) if role_of(key) is not Role.OTHER and key.rank is None]
        self._series = [run.series[key] for key in keys]
        self._candidates = [each for each in self._series if role_of(each.key) in CAUSE_ROLES]
        self._checkpoints: ScanCheckpoints[tuple[object, Mapping[_Place, _Explained]]] = state.checkpoints(
            "causes", self._series
        )
        checkpoint = self._checkpoints.latest(self._series)
        known = checkpoint is not None and checkpoint.state[0] == run.config
        self._known = dict(checkpoint.state[1]) if checkpoint is not None and known else {}
        self._upto: Position | None = checkpoint.upto if checkpoint is not None and known else None
        self._new: dict[_Place, _Explained] = {}

    def explain(self, finding: Finding) -> Finding:
        """The finding with its causes."""
        if (cause := _named_cause(finding)) is not None:
            return self._explain_by_finding(finding, cause)
        of_speed = finding.kind in _SPEED_SYMPTOMS
        if not of_speed and finding.kind not in _LOSS_SYMPTOMS:
            return finding
        place = (
            str(finding.metric),
            finding.labels,
            finding.attempt,
            finding.start_step,
            finding.detected_step,
            of_speed,
        )
        known = self._known.get(place)
        if known is not None and (known.before is finding or known.before == finding):
            return known.after
        causes = known.causes if known is not None else self._causes(finding, of_speed=of_speed)
        after = with_causes(finding, causes)
        self._new[place] = _Explained(finding, causes, after)
        position = (finding.attempt, finding.detected_step)
        self._upto = position if self._upto is None else max(self._upto, position)
        return after

    def save(self) -> None:
        """Store what was explained for the next pass."""
        if self._new and self._upto is not None:
            rows = tuple(rows_up_to(each, self._upto) for each in self._series)
            explained = {**self._known, **self._new}
            self._checkpoints.save(Checkpoint((self._run.config, explained), rows, upto=self._upto))

    def _causes(self, finding: Finding, *, of_speed: bool) -> tuple[Cause, ...]:
        symptom = symptom_of(finding, self._run, _THRESHOLDS.symptom)
        examined = [each for each in self._candidates if each.key.metric != finding.metric]
        changes = list(find_logged_changes(examined, symptom, _THRESHOLDS.change))
        if of_speed:
            changes = [change for change in changes if change.code in _CAUSES_OF_SPEED]
        with_restart = [change for change in changes if change.at_restart]
        settings = changed_settings(self._run.config, finding.attempt, of_speed=of_speed)
        restart = restart_candidate(
            symptom, with_restart, settings, _THRESHOLDS.cause, has_settings=bool(self._run.config)
        )
        candidates: list[Candidate] = [] if restart is None else [restart]
        candidates += [
            change_candidate(change, symptom, _THRESHOLDS.cause)
            for change in changes
            if restart is None or not change.at_restart
        ]
        return rank(candidates, finding.attempt, _THRESHOLDS.cause)

    def _explain_by_finding(self, finding: Finding, reference: Mapping[str, object]) -> Finding:
        """A finding that names another one as its cause."""
        other = next((each for each in self._all if each.as_reference() == reference), None)
        if other is None or other.kind not in _OF_OTHER_FINDINGS:
            return finding
        symptom = symptom_of(finding, self._run, _THRESHOLDS.symptom)
        cause = Cause(
            code=_OF_OTHER_FINDINGS[other.kind].value,
            title=_title_of_finding(other),
            sentence=other.summary.split(". ")[0].removesuffix("."),
            advice=other.advice.removesuffix("."),
            score=round(min(other.confidence, 0.999), 3),
            is_clear=True,
            attempt=other.attempt,
            step=other.start_step,
            metric=str(other.metric),
            labels=other.labels,
            evidence_for=(distance_text(other.start_step, symptom),),
        )
        return with_causes(finding, (cause,))


def _named_cause(finding: Finding) -> Mapping[str, object] | None:
    """The finding that inhibition has named as the cause."""
    reference = finding.evidence.get("because_of")
    return reference if isinstance(reference, Mapping) else None


def _title_of_finding(finding: Finding) -> str:
    if finding.kind is Kind.STRAGGLER:
        hosts = finding.evidence.get("hosts")
        where = f" on {hosts[0]}" if isinstance(hosts, list) and len(hosts) == 1 else ""
        return f"Slow rank {dict(finding.labels).get('rank', '')}{where}"
    return title_of(finding.kind)


def with_causes(finding: Finding, causes: tuple[Cause, ...]) -> Finding:
    """The finding with its causes; those that are clear come first in its summary, with their advice."""
    if not causes:
        return finding
    clear = [cause for cause in causes if cause.is_clear]
    if not clear or _says_its_cause(finding, clear):
        return replace(finding, causes=causes)
    evidence = finding.evidence
    if all(cause.code != CauseCode.MIXTURE for cause in clear):
        evidence = {name: value for name, value in evidence.items() if name not in _BATCHES}
    return replace(
        finding,
        causes=causes,
        summary=f"{_joined(clear)}; the {_noun(finding)} followed. {finding.summary}",
        advice=_advice(finding, clear),
        evidence=evidence,
    )


def _says_its_cause(finding: Finding, clear: Sequence[Cause]) -> bool:
    """Whether the words of the finding's detector name the cause already."""
    if finding.kind is Kind.MIXTURE_SHIFT:
        return True
    if finding.kind is Kind.RESUME_ARTIFACT:
        is_plain = all(cause.code == CauseCode.RESTART for cause in clear)
        return is_plain or "learning_rate_found" in finding.evidence
    return False


def _joined(clear: Sequence[Cause]) -> str:
    first, *others = (cause.sentence for cause in clear)
    return " and ".join([first, *(f"{text[:1].lower()}{text[1:]}" for text in others)])


def _noun(finding: Finding) -> str:
    """What followed the cause, by the role of the finding's series."""
    if finding.kind is Kind.STALL:
        return "stall"
    role = role_of(SeriesKey(finding.metric, finding.labels))
    return "loss" if role is Role.DATASET_LOSS else in_sentence(ROLE_TITLES.get(role, "change"))


def _advice(finding: Finding, clear: Sequence[Cause]) -> str:
    """What to do about the cause, and where to go back to where the symptom asks for that."""
    if finding.advice == EXPECTED_RISE_ADVICE:
        return finding.advice
    what = "; ".join([clear[0].advice, *(f"{c.advice[:1].lower()}{c.advice[1:]}" for c in clear[1:])])
    if finding.kind in _SPEED_SYMPTOMS or finding.kind is Kind.STALL:
        return f"{what}."
    first = min(cause.step for cause in clear)
    checkpoint = f"a checkpoint from before step {min(first, finding.start_step):,}"
    if finding.end_step is not None:
        return f"{what}. Nothing else to do: the {_noun(finding)} is back."
    if finding.severity is Severity.INFO:
        return f"{what}. Nothing else to do now: noise may explain the {_noun(finding)}."
    if finding.kind in _NEEDS_CHECKPOINT:
        return f"{what}; then go back to {checkpoint}. The batches are probably not the cause."
    return f"{what}; if the {_noun(finding)} does not come back, go back to {checkpoint}."
