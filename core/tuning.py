"""The user's settings of detection: preferences, roles of metrics, planned events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fnmatch import fnmatchcase as matches
from glob import escape
from typing import ClassVar, TypeVar

from holter.roles import MetricWithRole, Role, role_of
from holter.types import Finding, Kind, SeriesKey

_LOSS_KINDS = frozenset(
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
_SPEED_KINDS = frozenset(
    {Kind.THROUGHPUT_REGRESSION, Kind.STRAGGLER, Kind.COMM_SLOWDOWN, Kind.STALL, Kind.NO_DATA}
)
_STRICT = {"extra": "forbid"}  # read by pydantic, where these values come from a file or a request
_MAX_LENGTH = 10_000
"""Characters of a note or a pattern: as many as a comment may have."""
T = TypeVar("T")
NameT = TypeVar("NameT", bound=StrEnum)


class PlannedChange(StrEnum):
    """A planned change of a run, as people name it."""

    LEARNING_RATE = "learning rate"
    DATA_SWITCH = "data switch"
    BATCH_SIZE = "batch size"
    EVALUATION = "evaluation"
    MAINTENANCE = "maintenance"


RAISED_BY: Mapping[PlannedChange, frozenset[Kind]] = {
    PlannedChange.LEARNING_RATE: _LOSS_KINDS,
    PlannedChange.DATA_SWITCH: _LOSS_KINDS | {Kind.MIXTURE_SHIFT},
    PlannedChange.BATCH_SIZE: _LOSS_KINDS | _SPEED_KINDS | {Kind.MEMORY_LEAK},
    PlannedChange.EVALUATION: _SPEED_KINDS,
    PlannedChange.MAINTENANCE: _SPEED_KINDS,
}
"""The kinds of findings that each planned change would cause."""


@dataclass(frozen=True, kw_only=True)
class PlannedEvent:
    """A planned event: findings of its kinds that begin within its steps are not reported.

    `kind` (one or several) or `what` (a planned change, which stands for the kinds that it would cause) is
    required. The event occurs once, from `from_step` to `to_step` (None: to the end), or periodically: for
    `lasting` steps from every multiple of `every` on. `metric` is a shell pattern for the name of a metric
    or of a series (`step_time{rank=3}`).
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
        object.__setattr__(self, "kind", tuple(_parse_names("kind", Kind, self.kind)))
        if self.what is not None:
            object.__setattr__(self, "what", *_parse_names("what", PlannedChange, self.what))
        if not self.kinds:
            raise ValueError(f"kind or what: expected, what being one of {', '.join(PlannedChange)}")
        if (self.every is None) != (self.lasting is None):
            raise ValueError("every and lasting: both expected, or neither")
        if self.every is not None and not 0 < (self.lasting or 0) <= self.every:
            raise ValueError("lasting: from 1 step to as many as every expected")
        if self.every is None and self.to_step is None and self.from_step <= 0:
            raise ValueError(
                "from_step, to_step or every: expected; to ignore a kind permanently, use ignore"
            )
        if len(self.note) > _MAX_LENGTH or len(self.metric) > _MAX_LENGTH:
            raise ValueError(f"note and metric: at most {_MAX_LENGTH:,} characters expected")
        if self.to_step is not None and self.to_step < self.from_step:
            raise ValueError(f"to_step: at least from_step ({self.from_step}) expected, not {self.to_step}")

    @property
    def kinds(self) -> frozenset[Kind]:
        """Every kind of finding that the event would cause."""
        return frozenset(map(Kind, self.kind)) | (RAISED_BY[self.what] if self.what else frozenset())

    def covers(self, finding: Finding, *, slack: int = 0) -> bool:
        """Whether a finding is this event; `slack`: steps by which its detected start may be too early."""
        series = str(SeriesKey(finding.metric, finding.labels))
        if finding.kind not in self.kinds or not any(
            matches(name, self.metric) for name in (finding.metric, series)
        ):
            return False
        start, elapsed = finding.start_step, finding.start_step - self.from_step
        if elapsed < -slack or (self.to_step is not None and start > self.to_step):
            return False
        return self.every is None or (elapsed + slack) % self.every <= (self.lasting or 0) + slack


def planned_event_for(finding: Finding, *, note: str = "") -> PlannedEvent:
    """The planned event that would have kept this finding from being reported, in any attempt."""
    kinds = _LOSS_KINDS if finding.kind in _LOSS_KINDS else {finding.kind}
    return PlannedEvent(
        kind=tuple(sorted(kinds)),
        metric=escape(str(SeriesKey(finding.metric, finding.labels))),
        from_step=finding.start_step,
        to_step=max(finding.start_step, finding.detected_step, finding.end_step or finding.start_step),
        note=note,
    )


@dataclass(frozen=True, kw_only=True)
class MetricTuning:
    """Preferences for some metrics only; None: as for all metrics."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    fast_recovery_steps: int | None = None
    sensitivity: float | None = None
    ignore: bool = False

    def __post_init__(self) -> None:
        _check(self.fast_recovery_steps, self.sensitivity)


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """The user's preferences about detection; thresholds are derived from the run itself.

    `fast_recovery_steps`: a spike that recovers within this many steps is fast (the boundary of K2's report).
    `sensitivity`: above 1, smaller events are reported, and earlier; below 1, only larger ones, and later.
    It divides the evidence that a detector requires.
    `kinds`: the kinds to report, None: all; `ignore`: the kinds not to report.
    `metrics`: roles of metrics whose names do not state them, by pattern. `metric`: preferences for some
    metrics only, by pattern. Of several matching patterns, the longest applies.
    `expected`: planned events.
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
        roles = zip(self.metrics, _parse_names("metrics", Role, self.metrics.values()), strict=True)
        canonical: dict[str, object] = {
            "kinds": None if self.kinds is None else frozenset(_parse_names("kinds", Kind, self.kinds)),
            "ignore": frozenset(_parse_names("ignore", Kind, self.ignore)),
            "metrics": dict(roles),
            "expected": tuple(self.expected),
        }
        for pattern, tuning in self.metric.items():
            if not isinstance(tuning, MetricTuning):
                raise ValueError(f"metric: a MetricTuning expected for {pattern!r}, not {tuning!r}")
        for name, value in canonical.items():  # strings are accepted in place of enumeration values
            object.__setattr__(self, name, value)

    def of(self, metric: str) -> Tuning:
        """The preferences that apply to one metric."""
        own = _most_specific(self.metric, metric)
        if own is None or (own.fast_recovery_steps is None and own.sensitivity is None):
            return self
        return replace(
            self,
            fast_recovery_steps=own.fast_recovery_steps or self.fast_recovery_steps,
            sensitivity=own.sensitivity or self.sensitivity,
        )

    def with_role(self, key: SeriesKey) -> SeriesKey:
        """The key of a series with the role that the user set; the same key where the user set none."""
        role = _most_specific(self.metrics, key.metric)
        own = _most_specific(self.metric, key.metric)
        if own is not None and own.ignore:
            role = Role.OTHER
        return key if role is None else SeriesKey(MetricWithRole(key.metric, role), key.labels)

    def roles_only(self) -> Tuning:
        """The part that applies to showing series: their roles. Ignored metrics are shown unchanged."""
        return Tuning(metrics=self.metrics)

    def role(self, key: SeriesKey) -> Role:
        """The role of a series, as the user set it or else by its name."""
        return role_of(self.with_role(key))

    def matters(self, kind: Kind) -> bool:
        """Whether findings of this kind are to be reported."""
        return kind not in self.ignore and (self.kinds is None or kind in self.kinds)


def _most_specific(by_pattern: Mapping[str, T], name: str) -> T | None:
    if not by_pattern:  # the usual case, and this is called for thousands of series
        return None
    matching = [pattern for pattern in by_pattern if matches(name, pattern)]
    if not matching:
        return None
    return by_pattern[max(matching, key=lambda pattern: (pattern == name, len(pattern), pattern))]


def _parse_names(setting: str, enumeration: type[NameT], given: Iterable[str]) -> list[NameT]:
    """The given names, or the one, as members of an enumeration. Raises ValueError naming the valid ones."""
    members = {member.value: member for member in enumeration}
    names = [given] if isinstance(given, str) else list(given)
    for name in names:
        if name not in members:
            raise ValueError(f"{setting}: one of {', '.join(members)} expected, not {name!r}")
    return [members[name] for name in names]


def _check(fast_recovery_steps: int | None, sensitivity: float | None) -> None:
    if fast_recovery_steps is not None and fast_recovery_steps < 1:
        raise ValueError(f"fast_recovery_steps: at least 1 expected, not {fast_recovery_steps}")
    if sensitivity is not None and not 0.1 <= sensitivity <= 10:
        raise ValueError(f"sensitivity: a number from 0.1 to 10 expected, not {sensitivity}")
