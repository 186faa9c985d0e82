"""Groups incidents of a run that belong to one event, and finds one step that is safe to go back to. Pure.

Two findings that detection reports separately can be one event: a loss that rises at step 2,001 and becomes
NaN at 2,300 has one beginning, and a checkpoint from between the two is already broken.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import inf

from holter.server.alerting.incident import Incident
from holter.types import Finding, Kind, Severity

NEAR_STEPS = 100
"""Steps after the end of an incident within which the next one still belongs to the same event."""
_TRAINING = frozenset(
    {
        Kind.SPIKE_FAST,
        Kind.SPIKE_SLOW,
        Kind.SPIKE_UNRECOVERED,
        Kind.DIVERGENCE,
        Kind.NONFINITE,
        Kind.HIDDEN_NONFINITE,
        Kind.RESUME_ARTIFACT,
        Kind.REPEATED_DATA,
        Kind.LOSS_SCALE_COLLAPSE,
        Kind.MIXTURE_SHIFT,
        Kind.SUDDEN_DROP,
        Kind.OUTLIER_BATCH,
        Kind.METRIC_COLLAPSE,
    }
)
_SPEED = frozenset(
    {Kind.THROUGHPUT_REGRESSION, Kind.STRAGGLER, Kind.COMM_SLOWDOWN, Kind.GPU_FAULT, Kind.DESYNC}
)
_ENDS_IN_STALL = frozenset({Kind.NONFINITE, Kind.DESYNC, Kind.GPU_FAULT, Kind.MEMORY_LEAK})
"""Kinds after which a run that falls silent has probably ended because of them."""
_NEEDS_ROLLBACK = frozenset(
    {
        Kind.SPIKE_SLOW,
        Kind.SPIKE_UNRECOVERED,
        Kind.DIVERGENCE,
        Kind.NONFINITE,
        Kind.HIDDEN_NONFINITE,
        Kind.LOSS_SCALE_COLLAPSE,
    }
)
"""Kinds that leave broken or worse weights while they last."""


@dataclass(slots=True)
class IncidentGroup:
    """Incidents of one event, in the order of their first steps: the first is the cause of the others."""

    incidents: list[Incident] = field(default_factory=list)

    @property
    def first(self) -> Incident:
        """The incident that began first."""
        return self.incidents[0]

    @property
    def severity(self) -> Severity:
        """The highest severity."""
        return max((each.finding.severity for each in self.incidents), key=lambda each: each.rank)

    @property
    def most_severe(self) -> Incident:
        """The first of the open incidents of the highest severity; of all incidents, if none is open."""
        candidates = [each for each in self.incidents if each.is_open] or self.incidents
        return max(candidates, key=lambda each: each.finding.severity.rank)

    @property
    def is_open(self) -> bool:
        """Whether one of the incidents is open."""
        return any(each.is_open for each in self.incidents)

    @property
    def rollback_step(self) -> int | None:
        """The newest step whose checkpoint is safe, None where nothing asks for a rollback.

        It is the earliest of all that the incidents and their clear causes name: what one of them calls safe
        can be broken by the other.
        """
        if not any(each.is_open and _needs_rollback(each.finding) for each in self.incidents):
            return None
        return max(0, min(_last_safe_step(each.finding) for each in self.incidents))

    @property
    def advice(self) -> str:
        """What to do about all of them: it names no other step to go back to than the safe one.

        The first of the most severe open ones gives it: a loss that is NaN is no longer watched.
        """
        step, worst = self.rollback_step, self.most_severe.finding
        if step is None:
            return self.first.finding.advice
        if any(f"{named:,}" in worst.advice for named in (step, step + 1)):
            return worst.advice
        clear = [cause.advice for cause in self.first.finding.causes if cause.is_clear]
        rollback = f"Stop the run and go back to a checkpoint from step {step:,} or earlier."
        return " ".join([rollback, *(f"{advice}." for advice in clear)])


def group_incidents(incidents: Iterable[Incident]) -> list[IncidentGroup]:
    """The groups of one run's incidents, by their first steps.

    An incident joins a group if it begins while one of its incidents lasts, or shortly after, in the same
    attempt, and both concern the training or both its speed; or if one names the other in its evidence.
    Those for information only join groups but do not extend them.
    """
    groups: list[IncidentGroup] = []
    for incident in sorted(incidents, key=_position):
        group = next((group for group in reversed(groups) if _belongs(incident, group.incidents)), None)
        if group is None:
            group = IncidentGroup()
            groups.append(group)
        group.incidents.append(incident)
    return groups


def _position(incident: Incident) -> tuple[int, int, int]:
    finding = incident.finding
    return finding.attempt, finding.start_step, incident.id


def _belongs(incident: Incident, members: Sequence[Incident]) -> bool:
    return any(_follows(incident.finding, member) for member in members)


def _follows(finding: Finding, earlier: Incident) -> bool:
    before = earlier.finding
    if before.attempt != finding.attempt:
        return False
    if _names(finding, before) or _names(before, finding):
        return True
    if before.severity is Severity.INFO or not _related(before.kind, finding.kind):
        return False
    end = inf if before.end_step is None else max(before.end_step, before.start_step)
    return finding.start_step <= end + NEAR_STEPS


def _related(before: Kind, after: Kind) -> bool:
    if after is Kind.STALL:
        return before in _ENDS_IN_STALL
    return (before in _TRAINING and after in _TRAINING) or (before in _SPEED and after in _SPEED)


def _names(finding: Finding, other: Finding) -> bool:
    """Whether a finding's evidence refers to the other one."""
    references = [finding.evidence.get("because_of"), *_as_list(finding.evidence.get("also"))]
    return any(
        isinstance(reference, dict)
        and reference.get("kind") == other.kind.value
        and reference.get("attempt") == other.attempt
        and reference.get("start_step") == other.start_step
        for reference in references
    )


def _as_list(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else []


def _needs_rollback(finding: Finding) -> bool:
    """Whether it leaves worse weights. A gradient norm that explodes alone may not, nor an evaluation that is
    worse while the training is not: their findings name no step."""
    if finding.kind not in _NEEDS_ROLLBACK:
        return False
    is_doubtful = finding.kind is Kind.DIVERGENCE or finding.evidence.get("cause") == "evaluation"
    return not is_doubtful or _named_step(finding) is not None


def _named_step(finding: Finding) -> int | None:
    """The step of the newest good checkpoint that a finding itself names."""
    named = (finding.evidence.get(name) for name in ("rollback_upto", "lowest_step"))
    return next((step for step in named if isinstance(step, int)), None)


def _last_safe_step(finding: Finding) -> int:
    upto = _named_step(finding)
    steps = [finding.start_step - 1]
    if upto is not None:
        steps.append(upto)
    steps += [cause.step - 1 for cause in finding.causes if cause.is_clear]
    return min(steps)
