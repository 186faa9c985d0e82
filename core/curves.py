"""What to draw of a run: the points around a finding, or a whole series, attempt by attempt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holter.attempts.superseded import AttemptSpan, superseded_points
from holter.roles import Role, role_of
from holter.types import Finding, FloatArray, IntArray, RunData, Series, SeriesKey

_CONTEXT = 60
_NARROWEST = 0.6


@dataclass(frozen=True, eq=False, kw_only=True)
class LineSegment:
    """Points that a line may join: of one attempt, all of the timeline or all of the ghost branch."""

    attempt: int
    ghost: bool
    step: IntArray
    value: FloatArray


@dataclass(frozen=True, eq=False, kw_only=True)
class Excerpt:
    """Stretches of one series between two steps."""

    key: SeriesKey
    first_step: int
    last_step: int
    stretches: tuple[LineSegment, ...]

    def values(self) -> FloatArray:
        """All values of the timeline, in the order of steps; NaN and infinities included."""
        shown = [stretch for stretch in self.stretches if not stretch.ghost]
        return np.concatenate([stretch.value for stretch in shown]) if shown else np.empty(0)

    def steps(self) -> IntArray:
        """The steps of `values()`."""
        shown = [stretch for stretch in self.stretches if not stretch.ghost]
        return np.concatenate([stretch.step for stretch in shown]) if shown else np.empty(0, np.int64)


def series_of(run: RunData, finding: Finding) -> Series | None:
    """The series that a finding speaks of; the labels of a finding may say more than the log did."""
    exact = run.series.get(SeriesKey(finding.metric, finding.labels))
    return exact if exact is not None else run.series.get(SeriesKey(finding.metric))


def around(series: Series, finding: Finding) -> Excerpt:
    """The finding's event with what led to it and what came after; as seen from its own attempt."""
    own = series.step[series.attempt == finding.attempt]
    last = int(own[-1]) if len(own) else finding.detected_step
    end = finding.end_step if finding.end_step is not None else max(last, finding.detected_step)
    spacing = int(np.median(np.diff(own[:1000]))) if len(own) > 1 else 1
    context = max(_CONTEXT * spacing, int(_NARROWEST * (end - finding.start_step)))
    return between(series, finding.start_step - context, end + context, attempts_to=finding.attempt)


def between(series: Series, first: int, last: int, *, attempts_to: int | None = None) -> Excerpt:
    """The series from one step to another; `attempts_to` leaves out what newer attempts logged."""
    shown = (series.step >= first) & (series.step <= last)
    if attempts_to is not None:
        shown &= series.attempt <= attempts_to
    attempt, step, value = series.attempt[shown], series.step[shown], series.value[shown]
    ghost = superseded_points(attempt, step, _spans(series, attempts_to))
    edges = np.flatnonzero((np.diff(attempt) != 0) | (np.diff(ghost) != 0)) + 1
    parts = zip(*(np.split(one, edges) for one in (attempt, ghost, step, value)), strict=True)
    return Excerpt(
        key=series.key,
        first_step=int(step.min()) if len(step) else first,
        last_step=int(step.max()) if len(step) else last,
        stretches=tuple(
            LineSegment(attempt=int(a[0]), ghost=bool(g[0]), step=s, value=v) for a, g, s, v in parts if len(s)
        ),
    )


def _spans(series: Series, attempts_to: int | None) -> list[AttemptSpan]:
    spans = []
    for number in np.unique(series.attempt).tolist():
        steps = series.step[series.attempt == number]
        if attempts_to is None or number <= attempts_to:
            spans.append(AttemptSpan(number, int(steps[0]), int(steps[-1])))
    return spans


def main_series(run: RunData) -> list[Series]:
    """What one looks at first: the loss, the speed, the gradient norm; one series each."""
    chosen = []
    for roles in ((Role.LOSS,), (Role.THROUGHPUT, Role.MFU, Role.STEP_TIME), (Role.GRAD_NORM,)):
        keys = [
            (roles.index(role), key)
            for key in run.series
            if (role := role_of(key)) in roles and not any(name == "rank" for name, _ in key.labels)
        ]
        if keys:
            chosen.append(run.series[min(keys)[1]])
    return chosen
