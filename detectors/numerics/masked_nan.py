"""NaN that a logger hides: it writes zero, the last good value or a huge number, and the curve looks fine."""

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
from holter.roles import Role, role_of
from holter.types import Finding, FloatArray, IntArray, Kind, RunData, Series, SeriesKey, Severity

_CHANCE = float(np.log(1e-8))
"""How unlikely it must be that values repeat, or are zero, by themselves."""
_KNOWN, _MEMORY, _RECENT = 64, 1024, 128
"""Points before which nothing is said; points that say how often it happens by itself, in all and of late."""
_FEWEST_SAME, _FEWEST_ZERO, _FEWEST_SKIPPED = 4, 3, 3
_DIFFERENT = 32
"""Values that must differ among the recent ones: a log with few digits repeats itself."""
_CLEAR_OF_ZERO, _NEAR_ZERO = 8.0, 0.1
"""A zero is out of place where the level is so many times its noise above it, or nothing came so near it."""
_HUGE = 1e12
_SEARCH_STEPS = 100
"""Steps of an attempt in which loss scaling looks for its scale, and skips."""
_APART = 5
"""Points between two traces that are one event."""


@dataclass(frozen=True, eq=False, kw_only=True)
class _Trace:
    """Points of one series that are no values, from row `row` on. `first`, `spoken`, `good` are steps, `good`
    the first value that is one again, None while there is none; `how` says what stands there, `points`
    how often."""

    key: SeriesKey
    attempt: int
    row: int
    first: int
    spoken: int
    good: int | None
    how: str
    value: float
    points: int
    before: float | None
    spacing: int

    @property
    def is_loss(self) -> bool:
        return role_of(self.key) is not Role.GRAD_NORM


@dataclass(frozen=True, eq=False)
class _Points:
    """The good points [n] of a series: their rows, attempts, steps and values."""

    key: SeriesKey
    row: IntArray
    attempt: IntArray
    step: IntArray
    value: FloatArray

    @property
    def follows(self) -> NDArray[np.bool_]:
        """Whether each stands in the attempt of the one before."""
        return np.concatenate(([False], np.diff(self.attempt) == 0))


@dataclass(frozen=True)
class MaskedNanDetector:
    """Losses and gradient norms that repeat to the last digit, are zero or absurd; counts of skips."""

    name: ClassVar[str] = "hidden_nonfinite"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.HIDDEN_NONFINITE})

    def detect(self, run: RunData, context: DetectorContext) -> Iterable[Finding]:
        """One finding per event, named by the series that told it first."""
        state = context.state
        traces: list[_Trace] = []
        for key in sorted(run.series):
            role = role_of(key)
            if any(name == "rank" for name, _ in key.labels):
                continue
            if role in (Role.LOSS, Role.GRAD_NORM):
                traces += _remembered(run.series[key], state.checkpoints((self.name, key), [run.series[key]]))
            elif role is Role.SKIPPED:
                traces += _counted(run.series[key])
        yield from _events(traces)


def _remembered(series: Series, checkpoints: ScanCheckpoints[tuple[_Trace, ...]]) -> tuple[_Trace, ...]:
    """The traces in a series, looked for from where the last look ended."""
    checkpoint = checkpoints.latest([series])
    known, row = (checkpoint.state, checkpoint.rows[0]) if checkpoint else ((), 0)
    traces = (*known, *_masked(series, row))
    # what may still be going on is looked at again
    open_ones = [one.row for one in traces if one.good is None and one.attempt == series.attempt[-1]]
    settled = min([*open_ones, _last_change(series)])
    if settled > row:
        checkpoints.save(Checkpoint(tuple(one for one in traces if one.row < settled), (settled,)))
    return traces


def _last_change(series: Series) -> int:
    """The last row whose value is not that of the good one before: the values at the end begin there."""
    width = 64
    while True:
        begin = max(len(series) - width, 0)
        rows = begin + np.flatnonzero(np.isfinite(series.value[begin:]))
        other = np.flatnonzero(np.diff(series.value[rows]) != 0)
        if len(other):
            return int(rows[other[-1] + 1])
        if width >= len(series):
            return 0
        width *= 4


def _with_past(series: Series, row: int) -> int:
    """The row from which on what went before a row is known: enough good points."""
    width = 2 * _MEMORY
    while np.count_nonzero(np.isfinite(series.value[max(row - width, 0) : row])) <= _MEMORY and width < row:
        width *= 4
    return max(row - width, 0)


def _masked(series: Series, since: int) -> Iterator[_Trace]:
    """Traces in the values of a loss or a gradient norm that begin at a row or later, by when they begin.

    What is known of it outlasts a restart.
    """
    begin = _with_past(series, since)
    rows = begin + np.flatnonzero(np.isfinite(series.value[begin:]))
    if len(rows) <= _KNOWN:
        return
    points = _Points(series.key, rows, series.attempt[rows], series.step[rows], series.value[rows])
    traces = [*_repeated(points), *_zero(points), *_absurd(points)]
    yield from sorted((one for one in traces if one.row >= since), key=lambda one: one.row)


def _repeated(points: _Points) -> Iterator[_Trace]:
    value = points.value
    same = points.follows & np.concatenate(([False], np.diff(value) == 0)) & (value != 0)
    is_norm = role_of(points.key) is Role.GRAD_NORM
    for first, after in _stretches(same):
        begun = first - 1
        enough = _enough(same, begun, _FEWEST_SAME - 1) + 1
        past = value[max(begun - _MEMORY, 0) : begun]
        if after - begun < enough or _is_coarse(past):
            continue
        # a norm that is logged after clipping stands at its limit for as long as it is clipped
        if not (is_norm and value[begun] >= past.max()):
            yield _trace(points, (begun, after, enough), "the same value")


def _zero(points: _Points) -> Iterator[_Trace]:
    zero = points.value == 0
    for first, after in _stretches(zero, np.flatnonzero(~points.follows)):
        enough = _enough(zero, first, _FEWEST_ZERO)
        past = points.value[max(first - _RECENT, 0) : first]
        if after - first >= enough and not _is_coarse(past) and _clear_of_zero(past):
            yield _trace(points, (first, after, enough), "zero")


def _absurd(points: _Points) -> Iterator[_Trace]:
    size = np.abs(points.value)
    for first, after in _stretches(size > _HUGE, np.flatnonzero(~points.follows)):
        past = size[max(first - _MEMORY, 0) : first]
        if first >= _KNOWN and past.max() * _HUGE / 1e3 < size[first]:
            yield _trace(points, (first, after, 1), "an absurd value")


def _stretches(marks: NDArray[np.bool_], breaks: IntArray | None = None) -> Iterator[tuple[int, int]]:
    """First and after of every stretch of marked points, cut at the given places."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], marks, [False])).astype(np.int8)))
    for first, after in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        inside = [] if breaks is None else breaks[(breaks > first) & (breaks < after)].tolist()
        yield from zip([first, *inside], [*inside, after], strict=True)


def _enough(marks: NDArray[np.bool_], upto: int, fewest: int) -> int:
    """How many marked points in sequence are no chance, by how often points up to a place were marked."""
    if upto < _KNOWN:
        return len(marks) + 1
    often = max(_share(marks[max(upto - length, 0) : upto]) for length in (_MEMORY, _RECENT))
    return max(fewest, int(np.ceil(_CHANCE / np.log(often)))) if often < 1 else len(marks) + 1


def _share(marks: NDArray[np.bool_]) -> float:
    return (np.count_nonzero(marks) + 1) / (len(marks) + 2)


def _is_coarse(past: FloatArray) -> bool:
    return len(np.unique(past[-_RECENT:])) < _DIFFERENT


def _clear_of_zero(past: FloatArray) -> bool:
    level = float(np.median(past[-16:]))
    noise = 1.4826 * float(np.median(np.abs(np.diff(past)))) / 2**0.5
    never_near = float(np.abs(past).min()) > _NEAR_ZERO * abs(level)
    return level != 0 and (abs(level) > _CLEAR_OF_ZERO * noise or never_near)


def _trace(points: _Points, span: tuple[int, int, int], how: str) -> _Trace:
    first, after, enough = span
    step, attempt, value = points.step, points.attempt, points.value
    goes_on = after < len(step) and attempt[after] == attempt[first]
    return _Trace(
        key=points.key,
        attempt=int(attempt[first]),
        row=int(points.row[first]),
        first=int(step[first]),
        spoken=int(step[first + enough - 1]),
        good=int(step[after]) if goes_on else None,
        how=how,
        value=float(value[first]),
        points=after - first,
        before=float(np.median(value[max(first - 20, 0) : first] / 2)) * 2,
        spacing=int(step[first] - step[first - 1]) if attempt[first - 1] == attempt[first] else 1,
    )


def _counted(series: Series) -> Iterator[_Trace]:
    """Traces in counts of skipped steps, or of those whose loss was NaN: where they rise out of the usual."""
    is_nan = "nan" in series.key.metric.lower()
    is_total = "total" in series.key.metric.lower()
    for span in attempt_rows(series):
        step, count = series.step[span.rows], np.nan_to_num(series.value[span.rows])
        if is_total:
            count = np.diff(count, prepend=count[:1])
        spacing = np.diff(step, prepend=2 * step[0] - step[1] if len(step) > 1 else step[0] - 1)
        bad = count > 0 if is_nan else count >= np.maximum(_FEWEST_SKIPPED, spacing / 2)
        bad |= np.convolve(count > 0, np.ones(_FEWEST_SKIPPED), mode="full")[: len(count)] >= _FEWEST_SKIPPED
        bad[step - step[0] < _SEARCH_STEPS] = False
        for first, after in _stretches(bad):
            if first == 0 or _share(bad[max(first - _MEMORY, 0) : first]) > 0.05:
                continue
            how = "steps whose loss was NaN" if is_nan else "skipped steps"
            row = np.arange(span.first, span.after)
            points = _Points(series.key, row, series.attempt[span.rows], step, count)
            trace = _trace(points, (first, after, 1), how)
            yield replace(trace, value=float(count[first:after].sum()), before=None)


def _events(traces: list[_Trace]) -> Iterator[Finding]:
    """What happens at one place is one event: the first to speak names it, the others are evidence."""
    events: list[list[_Trace]] = []
    for trace in sorted(traces, key=lambda one: (one.attempt, one.spoken, not one.is_loss)):
        last = events[-1] if events else []
        if any(_goes_on(one, trace) for one in last):
            last.append(trace)
        else:
            events.append([trace])
    for event in events:
        yield _finding(event)


def _goes_on(earlier: _Trace, later: _Trace) -> bool:
    """Whether, as was known when the later one spoke, the earlier one was not over before it began."""
    if earlier.attempt != later.attempt:
        return False
    if earlier.good is None or earlier.good > later.spoken:
        return True
    return later.first - earlier.good <= _APART * max(earlier.spacing, later.spacing)


def _finding(event: list[_Trace]) -> Finding:
    told = event[0]
    goods = [one.good for one in event]
    end = None if None in goods else max(good for good in goods if good is not None)
    of_loss = any(one.is_loss for one in event)
    until = "" if end is None else f" until step {end:,}"
    return Finding(
        kind=Kind.HIDDEN_NONFINITE,
        metric=told.key.metric,
        labels=told.key.labels,
        attempt=told.attempt,
        start_step=told.first,
        peak_step=told.first,
        end_step=end,
        detected_step=told.spoken,
        classified_step=told.spoken,
        severity=Severity.CRITICAL if of_loss and end is None else Severity.WARNING,
        confidence=0.95 if told.is_loss else 0.85,
        summary=_summary(told, until),
        advice=(
            f"Log the loss unmasked and look for NaN at step {told.first:,}; if it is one, roll back to a "
            "checkpoint before that step and skip its batches."
        ),
        evidence={
            "value": told.value,
            "points": sum(one.points for one in event if (one.key, one.how) == (told.key, told.how)),
            "before": told.before,
            "how": told.how,
            "good_step": told.good,
            "metrics": sorted({str(one.key) for one in event}),
        },
    )


def _summary(told: _Trace, until: str) -> str:
    if told.before is None:
        return (
            f"{told.key} counts {figure(told.value)} {told.how} from step {told.first:,} on{until}, "
            "which it hardly ever did before."
        )
    what = {"zero": "is exactly zero", "the same value": f"repeats {told.value!r} to the last digit"}
    says = what.get(told.how, f"shows {figure(told.value)}, which no such value can be,")
    return f"{told.key} {says} from step {told.first:,} on{until}: a logger that hides NaN does that."
