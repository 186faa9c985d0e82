"""NaN and infinite values of the loss or the gradient norm, and rows without a loss: exact and immediate.

What happens at one step is one event, named after the series that showed it first: a gradient norm that
overflows and the loss that is NaN from the next step on are one event.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from holter.detectors.detector import DetectorContext
from holter.detectors.incremental import Checkpoint, IncrementalState, ScanCheckpoints
from holter.detectors.loss.missing import (
    MissingLosses,
    MissingLossThresholds,
    PointGroup,
    find_missing_losses,
)
from holter.detectors.positions import attempt_rows, rows_of_attempt
from holter.detectors.thresholds import Thresholds
from holter.plurals import counted
from holter.roles import Role, role_of
from holter.types import Finding, IntArray, Kind, RunData, Series, SeriesKey, Severity


@dataclass(frozen=True, kw_only=True)
class NonfiniteThresholds(Thresholds):
    """When values that are not finite are reported, and which of them are one event."""

    apart_points: int = 5
    """Points. Nonfinite values with fewer finite ones between them are one event."""
    scale_found_points: int = 100
    """Points after which a loss scale has been found."""
    scale_halvings: int = 33
    """Overflows before that which are not reported: a scale starts at up to 2^32 and is halved at each."""
    unlogged_halvings: int = 16
    """Steps that the same takes where no loss scale is logged: PyTorch's and DeepSpeed's start at 2^16."""
    skipped_steps: int = 3
    """Overflows of the gradient norm in sequence, at least, once the loss scale has been found: loss scaling
    skips one or two steps now and then. Fewer that do not reach the loss are information."""
    level_points: int = 20
    """Points before an event whose median is its level before."""
    confidence: float = 1.0
    """Confidence in a value that is NaN or infinite: it is exact."""
    confidence_missing: float = 0.9
    """Confidence in a missing loss: the log may have lost it."""
    missing: MissingLossThresholds = MissingLossThresholds()
    """When rows without a loss are reported."""


@dataclass(frozen=True, eq=False, kw_only=True)
class _NonfiniteGroup:
    """Nonfinite values of one series that belong together, in steps.

    `value_name` is "NaN" or "infinite", None where the loss is missing. `detected` is the step at which they
    suffice to be reported, None while they do not; `finite_again` the step of the first finite value after
    them and `over` that of the fifth, None while not logged.
    """

    series: Series
    value_name: str | None
    points: int
    first: int
    detected: int | None
    finite_again: int | None
    over: int | None

    @property
    def is_loss(self) -> bool:
        return role_of(self.series.key) in _LOSS_ROLES


_GroupsByAttempt = Mapping[int, tuple[PointGroup, ...]]
_LOSS_ROLES = (Role.LOSS, Role.LOSS_TERM)
_SCANNED_ROLES = (*_LOSS_ROLES, Role.GRAD_NORM)


@dataclass(frozen=True, kw_only=True)
class NonfiniteDetector:
    """Detects where a training loss or a gradient norm is NaN or infinite, or the loss is missing."""

    name: ClassVar[str] = "nonfinite"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.NONFINITE})
    thresholds: NonfiniteThresholds = NonfiniteThresholds()

    def detect(self, run: RunData, context: DetectorContext) -> Iterator[Finding]:
        """Findings on the run's training losses and gradient norms, attempt by attempt."""
        missing = find_missing_losses(run, context.state, self.thresholds.missing)
        groups = {
            key: self._point_groups(run.series[key], context.state)
            for key in sorted(run.series)
            if role_of(key) in _SCANNED_ROLES
        }
        for attempt in sorted({*missing.groups, *(attempt for each in groups.values() for attempt in each)}):
            for event in _events(self._groups_of(run, groups, missing, attempt)):
                finding = self._finding(event, attempt)
                if finding is not None:
                    yield finding

    def _point_groups(self, series: Series, state: IncrementalState) -> _GroupsByAttempt:
        """The nonfinite points of a series by attempt, grouped where they belong together."""
        apart = self.thresholds.apart_points
        checkpoints: ScanCheckpoints[_GroupsByAttempt] = state.checkpoints(
            ("nonfinite", series.key), [series]
        )
        checkpoint = checkpoints.latest([series]) or Checkpoint({}, (0,))
        by_attempt = {**checkpoint.state}
        (done,) = checkpoint.rows
        nonfinite = done + np.flatnonzero(~np.isfinite(series.value[done:]))
        for span in attempt_rows(series, done) if len(nonfinite) else ():
            attempt_row = rows_of_attempt(series, span.attempt).first
            indices = nonfinite[(nonfinite >= span.first) & (nonfinite < span.after)] - attempt_row
            groups = list(by_attempt.get(span.attempt, ()))
            for part in np.split(indices, np.flatnonzero(np.diff(indices) > apart) + 1):
                if len(part) and groups and part[0] - groups[-1].last <= apart:
                    groups[-1] = groups[-1].extended(part.tolist())
                elif len(part):
                    groups.append(PointGroup.of(part.tolist()))
            by_attempt[span.attempt] = tuple(groups)
        checkpoints.save(Checkpoint(by_attempt, (len(series),)))
        return by_attempt

    def _groups_of(
        self,
        run: RunData,
        groups: Mapping[SeriesKey, _GroupsByAttempt],
        missing: MissingLosses,
        attempt: int,
    ) -> Iterator[_NonfiniteGroup]:
        """Every group of an attempt; those of the loss first."""
        losses = [run.series[key] for role in _LOSS_ROLES for key in groups if role_of(key) is role]
        for series in losses:
            for group in groups[series.key].get(attempt, ()):
                step, value_name = _steps_and_value_name(series, attempt, group)
                yield self._group(series, step, group, value_name, required=1)
        for step, group, required in missing.of(attempt):
            yield self._group(losses[0], step, group, None, required=required)
        scales = [run.series[key] for key in sorted(run.series) if role_of(key) is Role.LOSS_SCALE]
        for series in (run.series[key] for key in groups if role_of(key) is Role.GRAD_NORM):
            of_attempt = groups[series.key].get(attempt, ())
            begins_nonfinite = bool(of_attempt) and of_attempt[0].first == 0
            for group in of_attempt:
                step, value_name = _steps_and_value_name(series, attempt, group)
                required = self._required_overflows(
                    scales, attempt, step, points_before=group.first, begins_nonfinite=begins_nonfinite
                )
                yield self._group(series, step, group, value_name, required=required)

    def _required_overflows(
        self,
        scales: list[Series],
        attempt: int,
        steps: IntArray,
        *,
        points_before: int,
        begins_nonfinite: bool,
    ) -> int:
        """How many nonfinite gradients it takes to report them, at an attempt's steps [n].

        A scaled loss finds its scale by letting gradients overflow: halving after halving at first, now and
        then for a step or two later on. `begins_nonfinite`: the first gradient of the attempt is nonfinite,
        as where the scale is too large at first; it shows such a search where no scale is logged.
        """
        is_found = points_before >= self.thresholds.scale_found_points
        step, is_logged = int(steps[points_before]), False
        for scale in scales:
            stop = int(np.searchsorted(scale.attempt, attempt + 1))
            first = int(np.searchsorted(scale.attempt, attempt))
            row = first + int(np.searchsorted(scale.step[first:stop], step, side="right")) - 1
            if row >= first and scale.value[row] > 1:
                return self.thresholds.skipped_steps if is_found else self.thresholds.scale_halvings
            is_logged = is_logged or stop > first
        if is_found or is_logged or not begins_nonfinite:
            return 1
        # two at least, so that the logging interval is known
        interval = max(int(steps[1] - steps[0]), 1) if len(steps) > 1 else 1
        return max(self.thresholds.unlogged_halvings // interval + 1, 2)

    def _group(
        self, series: Series, step: IntArray, group: PointGroup, value_name: str | None, *, required: int
    ) -> _NonfiniteGroup:
        last, over = group.last, group.last + self.thresholds.apart_points
        is_sufficient = group.points >= required
        return _NonfiniteGroup(
            series=series,
            value_name=value_name,
            points=group.points,
            first=int(step[group.first]),
            detected=int(step[group.first_indices[required - 1]]) if is_sufficient else None,
            finite_again=int(step[last + 1]) if last + 1 < len(step) else None,
            over=int(step[over]) if over < len(step) else None,
        )

    def _finding(self, event: list[_NonfiniteGroup], attempt: int) -> Finding | None:
        """The finding of an event, named after the group that sufficed first; None if none does."""
        sufficient = [(group.detected, group) for group in event if group.detected is not None]
        if not sufficient:
            return None
        detected, named = min(sufficient, key=lambda pair: (pair[0], not pair[1].is_loss))
        is_over = all(group.over is not None for group in event)
        end = max(group.finite_again or group.first for group in event) if is_over else None
        loss = next((group for _, group in sufficient if group.is_loss), None)
        severity = Severity.WARNING if is_over else Severity.CRITICAL
        if loss is None and named.points < self.thresholds.skipped_steps:
            severity = Severity.INFO
        level = _level_before(named.series, attempt, named.first, self.thresholds.level_points)
        return Finding(
            kind=Kind.NONFINITE,
            metric=named.series.key.metric,
            labels=named.series.key.labels,
            attempt=attempt,
            start_step=named.first,
            detected_step=detected,
            peak_step=named.first,
            end_step=end,
            classified_step=detected,
            severity=severity,
            confidence=self.thresholds.confidence_missing
            if named.value_name is None
            else self.thresholds.confidence,
            summary=_summary(named, loss, is_over=is_over),
            advice="Check the loss scale, the gradient norm and the batch of this step."
            if severity is not Severity.CRITICAL
            else f"Stop the run; roll back to a checkpoint before step {named.first:,}.",
            evidence={"points": named.points, "before": level},
        )


def _steps_and_value_name(series: Series, attempt: int, group: PointGroup) -> tuple[IntArray, str]:
    """The steps [n] of an attempt's points, and the name of the first value of a group."""
    rows = rows_of_attempt(series, attempt).rows
    return series.step[rows], "NaN" if np.isnan(series.value[rows][group.first]) else "infinite"


def _events(groups: Iterable[_NonfiniteGroup]) -> Iterator[list[_NonfiniteGroup]]:
    """Groups, each with those that begin before it is over."""
    event: list[_NonfiniteGroup] = []
    for group in sorted(groups, key=lambda group: group.first):
        if event and all(earlier.over is not None and earlier.over < group.first for earlier in event):
            yield event
            event = []
        event.append(group)
    if event:
        yield event


def _summary(named: _NonfiniteGroup, loss: _NonfiniteGroup | None, *, is_over: bool) -> str:
    first = f"{named.first:,}"
    if named.value_name is None:
        so_far = "" if is_over else " so far"
        return (
            f"Loss is missing from step {first} on, at {counted(named.points, 'point')}{so_far}, while other "
            "metrics were logged: probably every step was skipped."
        )
    metric = named.series.key.metric
    names = {Role.LOSS: "Loss", Role.GRAD_NORM: "Gradient norm", Role.LOSS_TERM: f"Loss term {metric}"}
    what = names.get(role_of(named.series.key), metric)
    after = f" and was finite again {counted(named.points, 'point')} later" if is_over else ""
    if named.is_loss or loss is None:
        return f"{what} became {named.value_name} at step {first}{after}."
    how = "was missing" if loss.value_name is None else f"became {loss.value_name}"
    return (
        f"{what} became {named.value_name} at step {first}, and the loss {how} at step {loss.first:,}{after}."
    )


def _level_before(series: Series, attempt: int, step: int, points: int) -> float | None:
    """The median of the last finite points before a step, if there are any."""
    rows = slice(*np.searchsorted(series.attempt, (attempt, attempt + 1)))
    earlier = series.value[rows][: np.searchsorted(series.step[rows], step)][-points:]
    # halved, so that the mean of the middle two stays finite too
    finite = earlier[np.isfinite(earlier)] / 2
    return 2 * float(np.median(finite)) if len(finite) else None
