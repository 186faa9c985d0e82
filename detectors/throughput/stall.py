"""Stall: no new point for far longer than the run's usual intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from holter.detectors.detector import DetectorContext
from holter.detectors.formatting import duration
from holter.detectors.health.activity import with_activity
from holter.detectors.incremental import Checkpoint, ScanCheckpoints
from holter.detectors.thresholds import Thresholds
from holter.types import Finding, FloatArray, Kind, RunData, Series, SeriesKey, Severity


@dataclass(frozen=True, kw_only=True)
class StallThresholds(Thresholds):
    """When a pause between two points counts as a stall."""

    shortest_seconds: float = 600.0
    """Seconds. Evaluations and checkpoints take minutes, and collectives time out after ten or more."""
    median_factor: float = 10.0
    """Times the median interval that a pause must exceed."""
    longest_factor: float = 3.0
    """Times the longest interval so far that a pause must exceed."""
    memory_points: int = 2048
    """Intervals. The latest ones determine what is usual."""
    min_points: int = 8
    """Intervals. With fewer, the usual interval is unknown and no pause is a stall."""
    nearby_points: int = 16
    """Intervals. Only a pause longer than twice the shortest of so many before it is examined."""
    clock_share: float = 0.25
    """Share of the points of the longest series that the series which is the clock must have."""
    max_confidence: float = 0.99
    """Confidence. The most that is stated."""


_HEAD_POINTS = 64
"""Points at the beginning of each series by which the clock is chosen."""
_TimeSpan = tuple[float, float]
"""Two wall times in Unix seconds."""


class _Pause(NamedTuple):
    """An interval of the clock, between two of its rows, that was longer than the limit at that time."""

    row: int
    following: int
    span: _TimeSpan
    limit: float


@dataclass(frozen=True, eq=False)
class _ClockRhythm:
    """Intervals of the clock series up to its last row with a time.

    `steady` are the latest intervals within attempts, `nearby` the last few of all intervals, `pauses` those
    that were longer than the limit.
    """

    row: int = -1
    time: float = -np.inf
    steady: FloatArray = field(default_factory=lambda: np.empty(0))
    nearby: FloatArray = field(default_factory=lambda: np.empty(0))
    pauses: tuple[_Pause, ...] = ()


@dataclass(frozen=True)
class _WallTimes:
    """The wall times of all series: which have any, the latest, and the longest silence within each pause.

    `earliest_new` is the earliest wall time among the newest points.
    """

    timed: tuple[bool, ...]
    latest: float = -np.inf
    earliest_new: float = np.inf
    silences: Mapping[_TimeSpan, float] = field(default_factory=dict)

    def after(self, new_times: Iterable[FloatArray]) -> _WallTimes:
        """The state after the wall times of new points of each series."""
        known = [time[np.isfinite(time)] for time in new_times]
        joined = np.concatenate([np.empty(0), *(time for time in known if len(time))])
        return replace(
            self,
            timed=tuple(was or bool(len(time)) for was, time in zip(self.timed, known, strict=True)),
            latest=max(self.latest, float(joined.max(initial=-np.inf))),
            earliest_new=float(joined.min(initial=np.inf)),
        )

    def with_pauses(self, pauses: Iterable[_TimeSpan], series: list[Series]) -> _WallTimes:
        """The state with the longest silence of each pause; those before every new point are reused."""
        known = {span: length for span, length in self.silences.items() if span[1] <= self.earliest_new}
        silences = {
            span: known[span] if span in known else _longest_silence(series, *span) for span in pauses
        }
        return replace(self, silences=silences)


def _longest_silence(series: list[Series], begin: float, end: float) -> float:
    """The longest time without a point of any series between two wall times, in seconds."""
    inside = [each.time[(each.time > begin) & (each.time < end)] for each in series]
    return float(np.max(np.diff(np.sort(np.concatenate([[begin, end], *inside])))))


@dataclass(frozen=True)
class StallDetector:
    """Compares the silence since the last point with the intervals of this run.

    A silence that lasts is measured up to `RunData.now`; one that is over follows from the wall times alone,
    so that what was reported while it lasted stays true. A silence that a restart ended counts as well.
    """

    name: ClassVar[str] = "stall"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.STALL})
    thresholds: StallThresholds = StallThresholds()

    def detect(self, run: RunData, context: DetectorContext) -> Iterable[Finding]:
        """Every stall, one that still lasts at the end."""
        state = context.state
        # telemetry of machines continues when training does not
        series = [each for key, each in run.series.items() if not key.has_clock_steps]
        checkpoints: ScanCheckpoints[_WallTimes] = state.checkpoints(self.name, series)
        checkpoint = checkpoints.latest(series)
        if checkpoint is None:
            checkpoint = Checkpoint(_WallTimes((False,) * len(series)), (0,) * len(series))
        times = checkpoint.state.after(
            each.time[row:] for each, row in zip(series, checkpoint.rows, strict=True)
        )
        timed = [each for each, is_timed in zip(series, times.timed, strict=True) if is_timed]
        if not timed:
            return
        clock = _choose_clock(timed, self.thresholds)
        rhythm = self._rhythm(clock, context)
        times = times.with_pauses([pause.span for pause in rhythm.pauses], timed)
        checkpoints.save(Checkpoint(times, tuple(len(each) for each in series)))
        for pause in rhythm.pauses:
            if (silence := times.silences[pause.span]) > pause.limit:
                finding = self._finding(clock, pause.row, pause.following, silence, pause.limit)
                yield with_activity(finding, run, *pause.span)
        limit = _limit(rhythm.steady, context.tuning.sensitivity, self.thresholds)
        if run.now is not None and run.now - times.latest > limit:
            finding = self._finding(clock, rhythm.row, None, run.now - times.latest, limit)
            yield with_activity(finding, run, times.latest, run.now)

    def _rhythm(self, clock: Series, context: DetectorContext) -> _ClockRhythm:
        checkpoints: ScanCheckpoints[_ClockRhythm] = context.state.checkpoints(
            (self.name, clock.key), [clock]
        )
        checkpoint = checkpoints.latest([clock]) or Checkpoint(_ClockRhythm(), (0,))
        if checkpoint.rows[0] == len(clock):
            return checkpoint.state
        sensitivity = context.tuning.sensitivity
        rhythm = _rhythm_after(checkpoint.state, clock, checkpoint.rows[0], sensitivity, self.thresholds)
        checkpoints.save(Checkpoint(rhythm, (len(clock),)))
        return rhythm

    def _finding(
        self, clock: Series, last: int, following: int | None, silence: float, limit: float
    ) -> Finding:
        step, attempt = int(clock.step[last]), int(clock.attempt[last])
        evidence: dict[str, float] = {"limit_seconds": limit}
        if following is None:
            summary = f"No new point since step {step:,}: pauses usually end within {duration(limit)}."
            advice = "Check whether the job is alive, and what its ranks wait for. Restart it if it hangs."
            end, severity = None, Severity.CRITICAL
        else:
            evidence["silent_seconds"] = silence
            end, severity = int(clock.step[following]), Severity.INFO
            next_attempt = int(clock.attempt[following])
            how = f"with attempt {next_attempt}" if next_attempt != attempt else "by itself"
            summary = f"Nothing was logged for {duration(silence)} after step {step:,}; it continued {how}."
            advice = "Time was lost here. The job's log and the scheduler's log of that time may show why."
        confidence = 1 - 0.5 * limit / max(silence, limit)
        return Finding(
            kind=Kind.STALL,
            metric=clock.key.metric,
            labels=clock.key.labels,
            attempt=attempt,
            start_step=step,
            end_step=end,
            detected_step=step,
            classified_step=step,
            severity=severity,
            confidence=float(min(self.thresholds.max_confidence, confidence)),
            summary=summary,
            advice=advice,
            evidence=evidence,
        )


def _choose_clock(timed: list[Series], limits: StallThresholds) -> Series:
    """The series that was logged most often at first: which one that is never changes as the run grows.

    One that was logged more rarely, or no more, later on gives way to the longest.
    """
    first = limits.min_points + 1
    heads = {each.key: each.time[:_HEAD_POINTS][np.isfinite(each.time[:_HEAD_POINTS])] for each in timed}
    begun = min((head[first - 1] for head in heads.values() if len(head) >= first), default=np.inf)
    longest = max(len(each) for each in timed)
    usable = [each for each in timed if limits.clock_share * longest <= len(each)]

    def preference(each: Series) -> tuple[bool, int, SeriesKey]:
        early = int(np.count_nonzero(heads[each.key] <= begun)) if np.isfinite(begun) else len(each)
        return each.key.step_unit is None, early, each.key

    return max(usable, key=preference)


def _rhythm_after(
    rhythm: _ClockRhythm, clock: Series, first: int, sensitivity: float, limits: StallThresholds
) -> _ClockRhythm:
    """The rhythm after the rows from `first` on."""
    rows = first + np.flatnonzero(np.isfinite(clock.time[first:]))
    if rhythm.row >= 0:
        rows = np.concatenate(([rhythm.row], rows))
    if not len(rows):
        return rhythm
    time = np.maximum.accumulate(np.maximum(clock.time[rows], rhythm.time))
    gaps, steady = np.diff(time), np.diff(clock.attempt[rows]) == 0
    known = np.concatenate((rhythm.steady, gaps[steady]))
    count = len(rhythm.steady) + np.concatenate(([0], np.cumsum(steady)))
    pauses = list(rhythm.pauses)
    for index in _long_gaps(rhythm.nearby, gaps, limits):
        # a silence that ended by itself is a usual interval from then on
        limit = _limit(known[: count[index]], sensitivity, limits)
        if gaps[index] > limit:
            span = (float(time[index]), float(time[index + 1]))
            pauses.append(_Pause(int(rows[index]), int(rows[index + 1]), span, limit))
    return _ClockRhythm(
        row=int(rows[-1]),
        time=float(time[-1]),
        steady=known[-limits.memory_points :].copy(),
        nearby=np.concatenate((rhythm.nearby, gaps))[-limits.nearby_points :],
        pauses=tuple(pauses),
    )


def _limit(gaps: FloatArray, sensitivity: float, limits: StallThresholds) -> float:
    """Seconds after which silence is a stall; infinite while the usual intervals are unknown."""
    known = gaps[-limits.memory_points :]
    if len(known) < limits.min_points:
        return float("inf")
    by_median = limits.median_factor * float(np.median(known))
    usual = max(by_median, limits.longest_factor * float(np.max(known)))
    return max(limits.shortest_seconds, usual / sensitivity)


def _long_gaps(nearby: FloatArray, gaps: FloatArray, limits: StallThresholds) -> list[int]:
    """Gaps that stand out among those right before them; `nearby` are the gaps before the first one."""
    if not len(gaps):
        return []
    width = limits.nearby_points
    before = np.concatenate([np.full(width, np.inf), nearby, gaps])[
        len(nearby) : len(nearby) + width + len(gaps)
    ]
    shortest = sliding_window_view(before, width).min(axis=1)[: len(gaps)]
    long = (gaps > limits.shortest_seconds) & (gaps > 2 * shortest)
    return [int(index) for index in np.flatnonzero(long)]
