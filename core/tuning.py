"""What a user may say about detection: preferences, roles of metrics, events that are expected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fnmatch import fnmatchcase as fits
from glob import escape
from typing import ClassVar, TypeVar

from holter.roles import MetricWithRole, Role, role_of
from holter.types import Finding, Kind, SeriesKey

_OF_THE_LOSS = frozenset(
    {
        Kind.SPIKE_FAST,
        Kind.SPIKE_SLOW,
        Kind.SPIKE_UNRECOVERED,
        Kind.DIVERGENCE,
        Kind.RESUME_ARTIFACT,
        Kind.OUTLIER_BATCH,
        Kind.SUDDEN_DROP,
    }
)
_OF_THE_SPEED = frozenset({Kind.THROUGHPUT_REGRESSION, Kind.STRAGGLER, Kind.COMM_SLOWDOWN, Kind.STALL})
_STRICT = {"extra": "forbid"}  # read by pydantic, where these values come from a file or a request
_LONGEST = 10_000
"""Characters of a note: as of a comment."""
T = TypeVar("T")
Words = TypeVar("Words", bound=StrEnum)


class PlannedChange(StrEnum):
    """What people plan, in their words."""

    LEARNING_RATE = "learning rate"
    DATA_SWITCH = "data switch"
    BATCH_SIZE = "batch size"
    EVALUATION = "evaluation"
    MAINTENANCE = "maintenance"


RAISED_BY: Mapping[PlannedChange, frozenset[Kind]] = {
    PlannedChange.LEARNING_RATE: _OF_THE_LOSS,
    PlannedChange.DATA_SWITCH: _OF_THE_LOSS | {Kind.MIXTURE_SHIFT},
    PlannedChange.BATCH_SIZE: _OF_THE_LOSS | _OF_THE_SPEED | {Kind.MEMORY_LEAK},
    PlannedChange.EVALUATION: _OF_THE_SPEED,
    PlannedChange.MAINTENANCE: _OF_THE_SPEED,
}
"""The kinds that each plan would raise."""


@dataclass(frozen=True, kw_only=True)
class PlannedEvent:
    """An event that is planned: findings of these kinds that begin within these steps are not spoken.

    `kind` (one or several) or `what` (a plan, which stands for the kinds it would raise) is needed.
    Either once, from `from_step` to `to_step` (None: to the end), or again and again: for `lasting` steps
    from every multiple of `every` on. `metric` is a pattern as in a shell, for the name of a metric or for
    that of a series (`step_time{rank=3}`).
    """

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    kind: str | tuple[str, ...] = ()
    what: PlannedChange | None = None
    metric: str = "*"
    from_step: int = 0
    to_step: int | None = None
    every: int | None = None
    lasting: int | None = None
    note: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", tuple(_known("kind", Kind, self.kind)))
        if self.what is not None:
            object.__setattr__(self, "what", *_known("what", PlannedChange, self.what))
        if not self.kinds:
            raise ValueError(f"kind or what: expected, what being one of {', '.join(PlannedChange)}")
        if (self.every is None) != (self.lasting is None):
            raise ValueError("every and lasting: both expected, or neither")
        if self.every is not None and not 0 < (self.lasting or 0) <= self.every:
            raise ValueError("lasting: from 1 step to as many as every expected")
        if self.every is None and self.to_step is None and self.from_step <= 0:
            raise ValueError("from_step, to_step or every: expected; to be quiet for good, use ignore")
        if len(self.note) > _LONGEST or len(self.metric) > _LONGEST:
            raise ValueError(f"note and metric: at most {_LONGEST:,} characters expected")
        if self.to_step is not None and self.to_step < self.from_step:
            raise ValueError(f"to_step: at least from_step ({self.from_step}) expected, not {self.to_step}")

    @property
    def kinds(self) -> frozenset[Kind]:
        """Every kind that is expected."""
        return frozenset(map(Kind, self.kind)) | (RAISED_BY[self.what] if self.what else frozenset())

    def covers(self, finding: Finding, *, slack: int = 0) -> bool:
        """Whether a finding is this event; `slack`: steps by which its beginning may be known too early."""
        series = str(SeriesKey(finding.metric, finding.labels))
        if finding.kind not in self.kinds or not any(
            fits(name, self.metric) for name in (finding.metric, series)
        ):
            return False
        start, since = finding.start_step, finding.start_step - self.from_step
        if since < -slack or (self.to_step is not None and start > self.to_step):
            return False
        return self.every is None or (since + slack) % self.every <= (self.lasting or 0) + slack


def planned_event_for(finding: Finding, *, note: str = "") -> PlannedEvent:
    """What one would have announced so that this finding had not been spoken, in whichever attempt."""
    alike = _OF_THE_LOSS if finding.kind in _OF_THE_LOSS else {finding.kind}
    return PlannedEvent(
        kind=tuple(sorted(alike)),
        metric=escape(str(SeriesKey(finding.metric, finding.labels))),
        from_step=finding.start_step,
        to_step=max(finding.start_step, finding.detected_step, finding.end_step or finding.start_step),
        note=note,
    )


@dataclass(frozen=True, kw_only=True)
class MetricTuning:
    """What is said for some metrics only; None: as for all."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    fast_recovery_steps: int | None = None
    sensitivity: float | None = None
    ignore: bool = False

    def __post_init__(self) -> None:
        _check(self.fast_recovery_steps, self.sensitivity)


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """Preferences, not thresholds: what the detectors measure decides everything else.

    `fast_recovery_steps`: a spike that is over within so many steps is fast (K2's boundary).
    `sensitivity`: above 1 speaks earlier and of smaller events, below 1 later and only of larger ones;
    it divides the evidence a detector asks for.
    `kinds`: those that matter, None: all; `ignore`: those that do not.
    `metrics`: the roles of metrics whose names do not say them, by pattern. `metric`: what holds for some
    metrics only, by pattern. Of patterns that fit, the longest has the word.
    `expected`: events that are planned.
    """

    fast_recovery_steps: int = 100
    sensitivity: float = 1.0
    kinds: frozenset[Kind] | None = None
    ignore: frozenset[Kind] = frozenset()
    metrics: Mapping[str, Role] = field(default_factory=dict, hash=False)
    metric: Mapping[str, MetricTuning] = field(default_factory=dict, hash=False)
    expected: Sequence[PlannedEvent] = ()

    def __post_init__(self) -> None:
        _check(self.fast_recovery_steps, self.sensitivity)
        roles = zip(self.metrics, _known("metrics", Role, self.metrics.values()), strict=True)
        canonical: dict[str, object] = {
            "kinds": None if self.kinds is None else frozenset(_known("kinds", Kind, self.kinds)),
            "ignore": frozenset(_known("ignore", Kind, self.ignore)),
            "metrics": dict(roles),
            "expected": tuple(self.expected),
        }
        for pattern, own in self.metric.items():
            if not isinstance(own, MetricTuning):
                raise ValueError(f"metric: a MetricTuning expected for {pattern!r}, not {own!r}")
        for name, value in canonical.items():  # words given as strings are as good
            object.__setattr__(self, name, value)

    def of(self, metric: str) -> Tuning:
        """The preferences as they hold for one metric."""
        own = _longest(self.metric, metric)
        if own is None or (own.fast_recovery_steps is None and own.sensitivity is None):
            return self
        return replace(
            self,
            fast_recovery_steps=own.fast_recovery_steps or self.fast_recovery_steps,
            sensitivity=own.sensitivity or self.sensitivity,
        )

    def with_role(self, key: SeriesKey) -> SeriesKey:
        """The key of a series with the role that a user gave it; as it is where none was given."""
        role = _longest(self.metrics, key.metric)
        own = _longest(self.metric, key.metric)
        if own is not None and own.ignore:
            role = Role.OTHER
        return key if role is None else SeriesKey(MetricWithRole(key.metric, role), key.labels)

    def roles_only(self) -> Tuning:
        """The part that holds where series are shown: their roles. What is ignored is shown as ever."""
        return Tuning(metrics=self.metrics)

    def role(self, key: SeriesKey) -> Role:
        """What a series measures, by a user's word or else by its name."""
        return role_of(self.with_role(key))

    def matters(self, kind: Kind) -> bool:
        """Whether findings of this kind are wanted."""
        return kind not in self.ignore and (self.kinds is None or kind in self.kinds)


def _longest(by_pattern: Mapping[str, T], name: str) -> T | None:
    if not by_pattern:  # as mostly, and thousands of series are asked for
        return None
    fitting = [pattern for pattern in by_pattern if fits(name, pattern)]
    if not fitting:
        return None
    return by_pattern[max(fitting, key=lambda pattern: (pattern == name, len(pattern), pattern))]


def _known(name: str, words: type[Words], given: Iterable[str]) -> list[Words]:
    """The given strings, or the one, as words of an enumeration. Raises ValueError naming those it has."""
    known = {word.value: word for word in words}
    said = [given] if isinstance(given, str) else list(given)
    for one in said:
        if one not in known:
            raise ValueError(f"{name}: one of {', '.join(known)} expected, not {one!r}")
    return [known[one] for one in said]


def _check(fast_recovery_steps: int | None, sensitivity: float | None) -> None:
    if fast_recovery_steps is not None and fast_recovery_steps < 1:
        raise ValueError(f"fast_recovery_steps: at least 1 expected, not {fast_recovery_steps}")
    if sensitivity is not None and not 0.1 <= sensitivity <= 10:
        raise ValueError(f"sensitivity: a number from 0.1 to 10 expected, not {sensitivity}")
