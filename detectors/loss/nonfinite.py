"""NaN and infinities in the loss or the gradient norm, and rows without a loss: exact, told at the first.

What happens at one place is one event, and who spoke first names it: a gradient norm that overflows and
the loss that is NaN from the next step on are one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from holter.detectors.detector import DetectorContext
from holter.detectors.incremental import Checkpoint, IncrementalState, ScanCheckpoints
from holter.detectors.loss.missing import LASTING, Absences, Group, absences
from holter.detectors.positions import attempt_rows, rows_of_attempt
from holter.roles import Role, role_of
from holter.types import Finding, IntArray, Kind, RunData, Series, SeriesKey, Severity

_APART = 5
"""Bad points with fewer good ones between them are one event."""
_SCALE_FOUND, _HALVINGS = 100, 33
"""Points after which a loss scale has been found; from 2^32, as high as they begin, it is halved as often."""


@dataclass(frozen=True, eq=False, kw_only=True)
class _Trace:
    """Bad points of one series that belong together, in steps.

    `word` says what they are, None: missing. `spoken` is where they suffice to speak, None while they do
    not; `good` the first good point after them and `over` the fifth, None while not logged.
    """

    series: Series
    word: str | None
    points: int
    first: int
    spoken: int | None
    good: int | None
    over: int | None

    @property
    def is_loss(self) -> bool:
        return role_of(self.series.key) is Role.LOSS


@dataclass(frozen=True, kw_only=True)
class NonfiniteDetector:
    """Finds where a training loss or a gradient norm is NaN or infinite, or the loss is missing."""

    name: ClassVar[str] = "nonfinite"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.NONFINITE})

    def detect(self, run: RunData, context: DetectorContext) -> Iterator[Finding]:
        """Findings on the run's training losses and gradient norms, attempt by attempt."""
        state = context.state
        losses = [run.series[key] for key in sorted(run.series) if role_of(key) is Role.LOSS]
        missing = absences(run, state)
        groups = {
            key: _groups(run.series[key], state) for key in sorted(run.series) if role_of(key) in _LOOKED_AT
        }
        for attempt in sorted({span.attempt for one in losses for span in attempt_rows(one)}):
            for event in _events(_traces(run, groups, missing, attempt)):
                finding = _told(event, attempt)
                if finding is not None:
                    yield finding


_Groups = Mapping[int, tuple[Group, ...]]
"""By attempt, bad points that belong together."""
_LOOKED_AT = (Role.LOSS, Role.GRAD_NORM)


def _traces(
    run: RunData, groups: Mapping[SeriesKey, _Groups], missing: Absences, attempt: int
) -> Iterator[_Trace]:
    """Every trace of an attempt; those of the loss first."""
    losses = [run.series[key] for key in groups if role_of(key) is Role.LOSS]
    for series in losses:
        for group in groups[series.key].get(attempt, ()):
            step, word = _about(series, attempt, group)
            yield _trace(series, step, group, word, enough=1)
    for rows, group, enough in missing.of(attempt):
        yield _trace(losses[0], rows, group, None, enough=enough)
    scales = [run.series[key] for key in sorted(run.series) if role_of(key) is Role.LOSS_SCALE]
    for series in (run.series[key] for key in groups if role_of(key) is Role.GRAD_NORM):
        for group in groups[series.key].get(attempt, ()):
            step, word = _about(series, attempt, group)
            enough = _overflows(scales, attempt, int(step[group.first]), known=group.first)
            yield _trace(series, step, group, word, enough=enough)


def _groups(series: Series, state: IncrementalState) -> _Groups:
    """The points of a series that are no numbers, those that belong together, by attempt."""
    checkpoints: ScanCheckpoints[_Groups] = state.checkpoints(("nonfinite", series.key), [series])
    checkpoint = checkpoints.latest([series]) or Checkpoint({}, (0,))
    found = {**checkpoint.state}
    bad = checkpoint.rows[0] + np.flatnonzero(~np.isfinite(series.value[checkpoint.rows[0] :]))
    for span in attempt_rows(series, checkpoint.rows[0]) if len(bad) else ():
        begun = rows_of_attempt(series, span.attempt).first
        mine = bad[(bad >= span.first) & (bad < span.after)] - begun
        of_attempt = list(found.get(span.attempt, ()))
        for numbers in np.split(mine, np.flatnonzero(np.diff(mine) > _APART) + 1):
            if len(numbers) and of_attempt and numbers[0] - of_attempt[-1].last <= _APART:
                of_attempt[-1] = of_attempt[-1].and_then(numbers.tolist())
            elif len(numbers):
                of_attempt.append(Group.of(numbers.tolist()))
        found[span.attempt] = tuple(of_attempt)
    checkpoints.save(Checkpoint(found, (len(series),)))
    return found


def _about(series: Series, attempt: int, group: Group) -> tuple[IntArray, str]:
    """The steps [n] of an attempt's points, and what the first of a group is."""
    rows = rows_of_attempt(series, attempt).rows
    return series.step[rows], "NaN" if np.isnan(series.value[rows][group.first]) else "infinite"


def _overflows(scales: list[Series], attempt: int, step: int, *, known: int) -> int:
    """How many gradients that are no numbers it takes to speak, with `known` points before them.

    A scaled loss looks for its scale by letting gradients overflow: halving by halving at first, now and
    then for a step or two later on.
    """
    for scale in scales:
        upto = int(np.searchsorted(scale.attempt, attempt + 1))
        own = int(np.searchsorted(scale.attempt, attempt))
        at = own + int(np.searchsorted(scale.step[own:upto], step, side="right")) - 1
        if at >= own and scale.value[at] > 1:
            return LASTING if known >= _SCALE_FOUND else _HALVINGS
    return 1


def _trace(series: Series, step: IntArray, bad: Group, word: str | None, *, enough: int) -> _Trace:
    last = bad.last
    return _Trace(
        series=series,
        word=word,
        points=bad.points,
        first=int(step[bad.first]),
        spoken=int(step[bad.begun[enough - 1]]) if bad.points >= enough else None,
        good=int(step[last + 1]) if last + 1 < len(step) else None,
        over=int(step[last + _APART]) if last + _APART < len(step) else None,
    )


def _events(traces: Iterable[_Trace]) -> Iterator[list[_Trace]]:
    """Traces, each with those that begin before it is over."""
    event: list[_Trace] = []
    for trace in sorted(traces, key=lambda one: one.first):
        if event and all(one.over is not None and one.over < trace.first for one in event):
            yield event
            event = []
        event.append(trace)
    if event:
        yield event


def _told(event: list[_Trace], attempt: int) -> Finding | None:
    """The finding of an event, by the trace that sufficed first; None if none does."""
    loud = [one for one in event if one.spoken is not None]
    if not loud:
        return None
    told = min(loud, key=lambda one: (one.spoken, not one.is_loss))
    assert told.spoken is not None
    is_over = all(one.over is not None for one in event)
    end = max(one.good or one.first for one in event) if is_over else None
    reached = next((one for one in loud if one.is_loss), None)
    severity = Severity.WARNING if is_over else Severity.CRITICAL
    if reached is None and told.points < LASTING:
        severity = Severity.INFO
    return Finding(
        kind=Kind.NONFINITE,
        metric=told.series.key.metric,
        labels=told.series.key.labels,
        attempt=attempt,
        start_step=told.first,
        detected_step=told.spoken,
        peak_step=told.first,
        end_step=end,
        classified_step=told.spoken,
        severity=severity,
        confidence=1.0 if told.word is not None else 0.9,
        summary=_summary(told, reached, is_over=is_over),
        advice="Look at loss scale, gradient norm and the batch of this step."
        if severity is not Severity.CRITICAL
        else f"Stop the run; roll back to a checkpoint before step {told.first:,}.",
        evidence={"points": told.points, "before": _before(told.series, attempt, told.first)},
    )


def _summary(told: _Trace, reached: _Trace | None, *, is_over: bool) -> str:
    first = f"{told.first:,}"
    if told.word is None:
        so_far = "" if is_over else " so far"
        return (
            f"Loss is missing from step {first} on, at {_count(told.points)}{so_far}, while the rest of the "
            "log went on: every step was skipped, it seems."
        )
    what = "Loss" if told.is_loss else "Gradient norm"
    after = f" and was finite again {_count(told.points)} later" if is_over else ""
    if told.is_loss or reached is None:
        return f"{what} became {told.word} at step {first}{after}."
    how = "was missing" if reached.word is None else f"became {reached.word}"
    return f"{what} became {told.word} at step {first}, and the loss {how} at step {reached.first:,}{after}."


def _before(series: Series, attempt: int, step: int) -> float | None:
    """The median of the last points before a step, if there are any."""
    mine = slice(*np.searchsorted(series.attempt, (attempt, attempt + 1)))
    earlier = series.value[mine][: np.searchsorted(series.step[mine], step)][-20:]
    # halved, so that the mean of the middle two stays finite too
    known = earlier[np.isfinite(earlier)] / 2
    return 2 * float(np.median(known)) if len(known) else None


def _count(points: int) -> str:
    return "one point" if points == 1 else f"{points:,} points"
