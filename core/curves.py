"""Selects the points of a run to draw: those around a finding, or a complete series, attempt by attempt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holter.attempts.superseded import AttemptSpan, superseded_points
from holter.roles import Role, is_of_evaluation, role_of
from holter.types import Finding, FloatArray, IntArray, RunData, Series, SeriesKey

_MARGIN_POINTS = 60
"""Points drawn before and after a finding, at least."""
_MARGIN_SHARE = 0.6
"""The margin before and after a finding, at least, as a share of the finding's length."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LineSegment:
    """Points to be joined by a line: of one attempt, all of the timeline or all of the ghost branch."""

    attempt: int
    ghost: bool
    step: IntArray
    value: FloatArray


@dataclass(frozen=True, eq=False, kw_only=True)
class Excerpt:
    """Segments of one series between two steps."""

    key: SeriesKey
    first_step: int
    last_step: int
    segments: tuple[LineSegment, ...]

    def values(self) -> FloatArray:
        """All values of the timeline, in the order of steps; NaN and infinities included."""
        shown = [segment for segment in self.segments if not segment.ghost]
        return np.concatenate([segment.value for segment in shown]) if shown else np.empty(0)

    def steps(self) -> IntArray:
        """The steps of `values()`."""
        shown = [segment for segment in self.segments if not segment.ghost]
        return np.concatenate([segment.step for segment in shown]) if shown else np.empty(0, np.int64)


def series_of(run: RunData, finding: Finding) -> Series | None:
    """The series that a finding is about; a finding may have labels that the log does not have."""
    exact = run.series.get(SeriesKey(finding.metric, finding.labels))
    return exact if exact is not None else run.series.get(SeriesKey(finding.metric))


def around(series: Series, finding: Finding) -> Excerpt:
    """The points of a finding with those before and after it, as its own attempt logged them."""
    own = series.step[series.attempt == finding.attempt]
    last = int(own[-1]) if len(own) else finding.detected_step
    end = finding.end_step if finding.end_step is not None else max(last, finding.detected_step)
    spacing = int(np.median(np.diff(own[:1000]))) if len(own) > 1 else 1
    margin = max(_MARGIN_POINTS * spacing, int(_MARGIN_SHARE * (end - finding.start_step)))
    return between(series, finding.start_step - margin, end + margin, attempts_to=finding.attempt)


def between(series: Series, first: int, last: int, *, attempts_to: int | None = None) -> Excerpt:
    """The series from one step to another; `attempts_to` leaves out the points of newer attempts."""
    shown = (series.step >= first) & (series.step <= last)
    if attempts_to is not None:
        shown &= series.attempt <= attempts_to
    attempt, step, value = series.attempt[shown], series.step[shown], series.value[shown]
    ghost = superseded_points(attempt, step, _attempt_spans(series, attempts_to))
    edges = np.flatnonzero((np.diff(attempt) != 0) | (np.diff(ghost) != 0)) + 1
    parts = zip(*(np.split(column, edges) for column in (attempt, ghost, step, value)), strict=True)
    return Excerpt(
        key=series.key,
        first_step=int(step.min()) if len(step) else first,
        last_step=int(step.max()) if len(step) else last,
        segments=tuple(
            LineSegment(attempt=int(attempts[0]), ghost=bool(flags[0]), step=steps, value=values)
            for attempts, flags, steps, values in parts
            if len(steps)
        ),
    )


def _attempt_spans(series: Series, attempts_to: int | None) -> list[AttemptSpan]:
    spans = []
    for number in np.unique(series.attempt).tolist():
        steps = series.step[series.attempt == number]
        if attempts_to is None or number <= attempts_to:
            spans.append(AttemptSpan(number, int(steps[0]), int(steps[-1])))
    return spans


_SPEED = (Role.THROUGHPUT, Role.MFU, Role.STEP_TIME)


def main_series(run: RunData) -> list[Series]:
    """The series to show first: a loss, a speed and a gradient norm, as far as the run has them."""
    chosen = []
    for roles in ((Role.LOSS,), _SPEED, (Role.GRAD_NORM,)):
        candidates = [
            (roles.index(role), key)
            for key in run.series
            if (role := role_of(key)) in roles
            and key.rank is None
            and not (role in _SPEED and is_of_evaluation(key))
        ]
        if candidates:
            chosen.append(run.series[min(candidates)[1]])
    return chosen
