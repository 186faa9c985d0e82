"""Masked NaN: a logger writes zero, the last finite value or a huge number, and the curve looks fine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from holter.detectors.detector import DetectorContext
from holter.detectors.formatting import figure
from holter.detectors.incremental import Checkpoint, ScanCheckpoints
from holter.detectors.positions import attempt_rows
from holter.detectors.robust_statistics import mad_sigma
from holter.detectors.thresholds import Thresholds
from holter.roles import Role, role_of
from holter.types import Finding, FloatArray, IntArray, Kind, RunData, Series, SeriesKey, Severity

ABSURD_VALUE = "an absurd value"
"""How a value looks that is larger than any loss."""


@dataclass(frozen=True, kw_only=True)
class MaskedNanThresholds(Thresholds):
    """When repeated values, zeros, absurd values and skipped steps are taken for masked NaN."""

    log_chance: float = float(np.log(1e-8))
    """Logarithm of the probability that values repeat, or are zero, by chance."""
    min_points: int = 64
    """Points before which nothing is reported."""
    memory_points: int = 1024
    """Points that show how often values repeat, or are zero, by chance."""
    recent_points: int = 128
    """The latest of these points, which are examined separately."""
    min_same: int = 4
    """Equal values in a row. Fewer are not reported."""
    min_zeros: int = 3
    """Zeros in a row. Fewer are not reported."""
    min_skipped: int = 3
    """Skipped steps at once, or rows in a row with skipped steps. Fewer are not reported."""
    standing_points: int = 64
    """Points at which a count of skipped steps that never fell stood still above zero: it is cumulative."""
    skipped_share: float = 0.5
    """Share of the steps since the last point. As many skipped steps are reported where points are rare."""
    usual_skipped_share: float = 0.05
    """Share of the past rows with skipped steps, above which skipping is usual and not reported."""
    distinct_values: int = 32
    """Different values among the recent points. With fewer, a log with few digits repeats itself by chance.
    """
    digit_points: int = 16
    """Points whose usual change is compared with the last digit of the log."""
    digit_changes: float = 1.5
    """Last digits that they change by at most where the log has too few digits to show that they move."""
    digit_level: float = 10.0
    """Last digits below which their level has a single significant digit: it repeats itself by chance."""
    zero_noises: float = 8.0
    """Noise units. A zero is out of place where the level is this far above it..."""
    zero_share: float = 0.1
    """Share of the level. ... or where no value ever came this near to zero."""
    level_points: int = 16
    """Points whose median is the level before a zero."""
    before_points: int = 20
    """Points whose median is reported as the value before."""
    huge: float = 1e12
    """Value. Larger ones are no loss and no gradient norm."""
    huge_ratio: float = 1e9
    """Times the largest value before that an absurd value must exceed."""
    search_steps: int = 100
    """Steps of an attempt in which loss scaling searches for its scale, and skips."""
    same_event_points: int = 5
    """Points between two masked segments that are one event."""
    loss_confidence: float = 0.95
    """Confidence of an event that a loss shows."""
    other_confidence: float = 0.85
    """Confidence of an event that another series shows."""


@dataclass(frozen=True, eq=False, kw_only=True)
class _MaskedSegment:
    """Consecutive points of one series that are masked NaN, from row `row` on.

    `first`, `detected` and `good` are steps, `good` that of the first real value after it, None while there
    is none. `how` describes the masked values, `points` is their number and `before` the level before.
    """

    key: SeriesKey
    attempt: int
    row: int
    first: int
    detected: int
    good: int | None
    how: str
    value: float
    points: int
    before: float | None
    spacing: int

    @property
    def is_loss(self) -> bool:
        """Whether the series is of a loss, not of a gradient norm."""
        return role_of(self.key) is not Role.GRAD_NORM


@dataclass(frozen=True, eq=False)
class _FinitePoints:
    """The finite points [n] of a series: their rows, attempts, steps and values."""

    key: SeriesKey
    row: IntArray
    attempt: IntArray
    step: IntArray
    value: FloatArray

    @property
    def follows(self) -> NDArray[np.bool_]:
        """Whether each point is in the same attempt as the one before [n]."""
        return np.concatenate(([False], np.diff(self.attempt) == 0))


@dataclass(frozen=True)
class MaskedNanDetector:
    """Detects losses and gradient norms that repeat, are zero or absurd, and high counts of skipped steps."""

    name: ClassVar[str] = "hidden_nonfinite"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.HIDDEN_NONFINITE})
    thresholds: MaskedNanThresholds = MaskedNanThresholds()

    def detect(self, run: RunData, context: DetectorContext) -> Iterable[Finding]:
        """One finding per event, on the series that showed it first."""
        state, limits = context.state, self.thresholds
        segments: list[_MaskedSegment] = []
        for key in sorted(run.series):
            role = role_of(key)
            if key.rank is not None:
                continue
            if role in (Role.LOSS, Role.GRAD_NORM):
                series = run.series[key]
                segments += _scan(series, state.checkpoints((self.name, key), [series]), limits)
            elif role is Role.SKIPPED:
                segments += _segments_of_counts(run.series[key], limits)
        yield from _findings(segments, limits)


def _scan(
    series: Series,
    checkpoints: ScanCheckpoints[tuple[_MaskedSegment, ...]],
    limits: MaskedNanThresholds,
) -> tuple[_MaskedSegment, ...]:
    """The masked segments of a series, scanned from the last checkpoint on."""
    checkpoint = checkpoints.latest([series])
    known, row = (checkpoint.state, checkpoint.rows[0]) if checkpoint else ((), 0)
    segments = (*known, *_masked_segments(series, row, limits))
    # segments that may still continue are scanned again
    active = [
        segment.row for segment in segments if segment.good is None and segment.attempt == series.attempt[-1]
    ]
    complete = min([*active, _last_change(series)])
    if complete > row:
        finished = tuple(segment for segment in segments if segment.row < complete)
        checkpoints.save(Checkpoint(finished, (complete,)))
    return segments


def _last_change(series: Series) -> int:
    """The last row whose value differs from that of the finite one before it."""
    width = 64
    while True:
        begin = max(len(series) - width, 0)
        rows = begin + np.flatnonzero(np.isfinite(series.value[begin:]))
        changes = np.flatnonzero(np.diff(series.value[rows]) != 0)
        if len(changes):
            return int(rows[changes[-1] + 1])
        if width >= len(series):
            return 0
        width *= 4


def _row_with_past(series: Series, row: int, memory_points: int) -> int:
    """A row before this one with enough finite points in between."""
    width = 2 * memory_points
    while (
        np.count_nonzero(np.isfinite(series.value[max(row - width, 0) : row])) <= memory_points
        and width < row
    ):
        width *= 4
    return max(row - width, 0)


def _masked_segments(series: Series, since: int, limits: MaskedNanThresholds) -> Iterator[_MaskedSegment]:
    """Masked segments of a loss or a gradient norm that begin at row `since` or later, in their order.

    The past of earlier attempts counts, too.
    """
    begin = _row_with_past(series, since, limits.memory_points)
    rows = begin + np.flatnonzero(np.isfinite(series.value[begin:]))
    if len(rows) <= limits.min_points:
        return
    points = _FinitePoints(series.key, rows, series.attempt[rows], series.step[rows], series.value[rows])
    segments = [*_repeated(points, limits), *_zeros(points, limits), *_absurd(points, limits)]
    later = (segment for segment in segments if segment.row >= since)
    yield from sorted(later, key=lambda segment: segment.row)


def _repeated(points: _FinitePoints, limits: MaskedNanThresholds) -> Iterator[_MaskedSegment]:
    value = points.value
    same = points.follows & np.concatenate(([False], np.diff(value) == 0)) & (value != 0)
    is_norm = role_of(points.key) is Role.GRAD_NORM
    for first, after in _segments_of(same):
        begin = first - 1
        required = _required_points(same, begin, limits.min_same - 1, limits) + 1
        past = value[max(begin - limits.memory_points, 0) : begin]
        if after - begin < required or _is_coarse(past, limits):
            continue
        # a norm that is logged after clipping equals its limit for as long as it is clipped
        if not (is_norm and value[begin] >= past.max()):
            yield _segment(points, (begin, after, required), "the same value", limits)


def _zeros(points: _FinitePoints, limits: MaskedNanThresholds) -> Iterator[_MaskedSegment]:
    zero = points.value == 0
    for first, after in _segments_of(zero, np.flatnonzero(~points.follows)):
        required = _required_points(zero, first, limits.min_zeros, limits)
        past = points.value[max(first - limits.recent_points, 0) : first]
        unexpected = not _is_coarse(past, limits) if after - first >= required else False
        if unexpected and _is_clear_of_zero(past, limits):
            yield _segment(points, (first, after, required), "zero", limits)


def _absurd(points: _FinitePoints, limits: MaskedNanThresholds) -> Iterator[_MaskedSegment]:
    size = np.abs(points.value)
    for first, after in _segments_of(size > limits.huge, np.flatnonzero(~points.follows)):
        past = size[max(first - limits.memory_points, 0) : first]
        if first >= limits.min_points and past.max() * limits.huge_ratio < size[first]:
            yield _segment(points, (first, after, 1), ABSURD_VALUE, limits)


def _segments_of(marks: NDArray[np.bool_], breaks: IntArray | None = None) -> Iterator[tuple[int, int]]:
    """The first index of every segment of marked points, and the one after it; cut at `breaks`."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], marks, [False])).astype(np.int8)))
    for first, after in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        inside = [] if breaks is None else breaks[(breaks > first) & (breaks < after)].tolist()
        yield from zip([first, *inside], [*inside, after], strict=True)


def _required_points(marks: NDArray[np.bool_], upto: int, fewest: int, limits: MaskedNanThresholds) -> int:
    """The number of marked points in sequence that chance does not explain, by the marks before `upto`."""
    if upto < limits.min_points:
        return len(marks) + 1
    shares = (
        _share(marks[max(upto - length, 0) : upto]) for length in (limits.memory_points, limits.recent_points)
    )
    share = max(shares)
    return max(fewest, int(np.ceil(limits.log_chance / np.log(share)))) if share < 1 else len(marks) + 1


def _share(marks: NDArray[np.bool_]) -> float:
    return (np.count_nonzero(marks) + 1) / (len(marks) + 2)


def _is_coarse(past: FloatArray, limits: MaskedNanThresholds) -> bool:
    """Whether a log has so few digits that values repeat themselves.

    It has if few values occur at all, or if the latest points move by no more than the last digit or have a
    single one: a loss of 0.0003, logged with four decimals, was 0.02 before and has many values in its past.
    """
    values = np.unique(past[-limits.recent_points :])
    if len(values) < limits.distinct_values:
        return True
    last_digit = float(np.diff(values).min())
    latest = past[-limits.digit_points :]
    change, level = float(np.median(np.abs(np.diff(latest)))), float(np.median(np.abs(latest)))
    return change <= limits.digit_changes * last_digit or level < limits.digit_level * last_digit


def _is_clear_of_zero(past: FloatArray, limits: MaskedNanThresholds) -> bool:
    level = float(np.median(past[-limits.level_points :]))
    noise = mad_sigma(np.diff(past), 0.0) / 2**0.5
    never_near = float(np.abs(past).min()) > limits.zero_share * abs(level)
    return level != 0 and (abs(level) > limits.zero_noises * noise or never_near)


def _segment(
    points: _FinitePoints, span: tuple[int, int, int], how: str, limits: MaskedNanThresholds
) -> _MaskedSegment:
    first, after, required = span
    step, attempt, value = points.step, points.attempt, points.value
    continues = after < len(step) and attempt[after] == attempt[first]
    # halved and doubled: the sum of two values near the limits of a float would overflow
    before = float(np.median(value[max(first - limits.before_points, 0) : first] / 2)) * 2
    return _MaskedSegment(
        key=points.key,
        attempt=int(attempt[first]),
        row=int(points.row[first]),
        first=int(step[first]),
        detected=int(step[first + required - 1]),
        good=int(step[after]) if continues else None,
        how=how,
        value=float(value[first]),
        points=after - first,
        before=before,
        spacing=int(step[first] - step[first - 1]) if attempt[first - 1] == attempt[first] else 1,
    )


def _segments_of_counts(series: Series, limits: MaskedNanThresholds) -> Iterator[_MaskedSegment]:
    """Segments in counts of skipped steps, or of steps whose loss was NaN, where they are unusually high."""
    is_nan = "nan" in series.key.metric.lower()
    is_total = "total" in series.key.metric.lower()
    fewest = limits.min_skipped
    for span in attempt_rows(series):
        step, count = series.step[span.rows], np.nan_to_num(series.value[span.rows])
        spacing = np.diff(step, prepend=2 * step[0] - step[1] if len(step) > 1 else step[0] - 1)
        cumulative = is_total | _cumulative_points(count, spacing, limits)
        count = np.where(cumulative, np.diff(count, prepend=count[:1]), count)
        bad = count > 0 if is_nan else count >= np.maximum(fewest, spacing * limits.skipped_share)
        bad |= np.convolve(count > 0, np.ones(fewest), mode="full")[: len(count)] >= fewest
        bad[step - step[0] < limits.search_steps] = False
        for first, after in _segments_of(bad):
            past = bad[max(first - limits.memory_points, 0) : first]
            if first == 0 or _share(past) > limits.usual_skipped_share:
                continue
            how = "steps whose loss was NaN" if is_nan else "skipped steps"
            row = np.arange(span.first, span.after)
            points = _FinitePoints(series.key, row, series.attempt[span.rows], step, count)
            segment = _segment(points, (first, after, 1), how, limits)
            yield replace(segment, value=float(count[first:after].sum()), before=None)


def _cumulative_points(
    count: FloatArray, spacing: IntArray, limits: MaskedNanThresholds
) -> NDArray[np.bool_]:
    """Whether each count is known to be a sum since the attempt began [n], by the points up to there.

    It never fell, and was more than the steps of its row, or stood still above zero for long.
    """
    never_fell = np.logical_and.accumulate(np.diff(count, prepend=count[:1]) >= 0)
    exceeds = np.logical_or.accumulate(count > np.maximum(spacing, 1))
    standing = np.cumsum((np.diff(count, prepend=-1.0) == 0) & (count > 0))
    return np.asarray(never_fell & (exceeds | (standing >= limits.standing_points)))


def _findings(segments: list[_MaskedSegment], limits: MaskedNanThresholds) -> Iterator[Finding]:
    """One finding per event: the segment detected first names it, the others are evidence."""
    events: list[list[_MaskedSegment]] = []
    for segment in sorted(segments, key=lambda each: (each.attempt, each.detected, not each.is_loss)):
        last = events[-1] if events else []
        if any(_is_same_event(earlier, segment, limits) for earlier in last):
            last.append(segment)
        else:
            events.append([segment])
    for event in events:
        yield _finding(event, limits)


def _is_same_event(earlier: _MaskedSegment, later: _MaskedSegment, limits: MaskedNanThresholds) -> bool:
    """Whether, as known when the later segment was detected, the earlier one was not over before it began."""
    if earlier.attempt != later.attempt:
        return False
    if earlier.good is None or earlier.good > later.detected:
        return True
    spacing = max(earlier.spacing, later.spacing)
    return later.first - earlier.good <= limits.same_event_points * spacing


def _finding(event: list[_MaskedSegment], limits: MaskedNanThresholds) -> Finding:
    first = event[0]
    goods = [segment.good for segment in event]
    end = None if None in goods else max(good for good in goods if good is not None)
    of_loss = any(segment.is_loss for segment in event)
    until = "" if end is None else f" until step {end:,}"
    return Finding(
        kind=Kind.HIDDEN_NONFINITE,
        metric=first.key.metric,
        labels=first.key.labels,
        attempt=first.attempt,
        start_step=first.first,
        peak_step=first.first,
        end_step=end,
        detected_step=first.detected,
        classified_step=first.detected,
        severity=Severity.CRITICAL if of_loss and end is None else Severity.WARNING,
        confidence=limits.loss_confidence if first.is_loss else limits.other_confidence,
        summary=_summary(first, until),
        advice=(
            f"Log the loss unmasked and look for NaN at step {first.first:,}; if it is one, roll back to a "
            "checkpoint before that step and skip its batches."
        ),
        evidence={
            "value": first.value,
            "points": sum(
                segment.points for segment in event if (segment.key, segment.how) == (first.key, first.how)
            ),
            "before": first.before,
            "how": first.how,
            "good_step": first.good,
            "metrics": sorted({str(segment.key) for segment in event}),
        },
    )


def _summary(segment: _MaskedSegment, until: str) -> str:
    since = f"from step {segment.first:,} on{until}"
    if segment.before is None:
        return f"{segment.key} counts {figure(segment.value)} {segment.how} {since}, which is unusual for it."
    descriptions = {
        "zero": "is exactly zero",
        "the same value": f"repeats {segment.value!r} to the last digit",
    }
    description = descriptions.get(segment.how, f"is {figure(segment.value)}, an impossible value for it,")
    return f"{segment.key} {description} {since}: this is how loggers mask NaN."
