"""Stall: nothing new for far longer than this run's own rhythm."""

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
from holter.types import Finding, FloatArray, Kind, RunData, Series, Severity

_LEAST_SECONDS = 600.0
"""Evaluations and checkpoints take minutes, and collective operations time out after ten or more."""
_TIMES_USUAL, _TIMES_LONGEST = 10.0, 3.0
_REMEMBERED, _FEWEST, _NEARBY = 2048, 8, 16


_Moments = tuple[float, float]


class _Pause(NamedTuple):
    """A gap of the clock that was longer than the limit of its time, between two of its rows."""

    row: int
    following: int
    span: _Moments
    limit: float


@dataclass(frozen=True, eq=False)
class _Beat:
    """How the clock has gone up to its last row with a time: its latest gaps within attempts, and of all
    gaps the last few."""

    row: int = -1
    time: float = -np.inf
    steady: FloatArray = field(default_factory=lambda: np.empty(0))
    near: FloatArray = field(default_factory=lambda: np.empty(0))
    pauses: tuple[_Pause, ...] = ()


@dataclass(frozen=True)
class _Times:
    """Which series have wall times, the latest of all, and the longest silence of all within some pauses."""

    timed: tuple[bool, ...]
    latest: float = -np.inf
    earliest_news: float = np.inf
    silences: Mapping[_Moments, float] = field(default_factory=dict)

    def and_then(self, news: Iterable[FloatArray]) -> _Times:
        """With the wall times that came to each series."""
        known = [time[np.isfinite(time)] for time in news]
        some = np.concatenate([np.empty(0), *(time for time in known if len(time))])
        return replace(
            self,
            timed=tuple(was or bool(len(time)) for was, time in zip(self.timed, known, strict=True)),
            latest=max(self.latest, float(some.max(initial=-np.inf))),
            earliest_news=float(some.min(initial=np.inf)),
        )

    def between(self, pauses: Iterable[_Moments], series: list[Series]) -> _Times:
        """With the longest silences in these pauses; those that no news lies in are known."""
        known = {span: length for span, length in self.silences.items() if span[1] <= self.earliest_news}
        silences = {
            span: known[span] if span in known else _longest_silence(series, *span) for span in pauses
        }
        return replace(self, silences=silences)


def _longest_silence(series: list[Series], begin: float, end: float) -> float:
    """The longest time without a point of any series between two moments, seconds."""
    inside = [one.time[(one.time > begin) & (one.time < end)] for one in series]
    return float(np.max(np.diff(np.sort(np.concatenate([[begin, end], *inside])))))


@dataclass(frozen=True)
class StallDetector:
    """Compares the silence since the last point with the pauses that this run makes.

    Asks `RunData.now` for the silence that still lasts; one that is over stands in the wall times alone,
    so that what was said while it lasted stays true. A silence that a restart ended counts as well.
    """

    name: ClassVar[str] = "stall"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.STALL})

    def detect(self, run: RunData, context: DetectorContext) -> Iterable[Finding]:
        """Every silence, the one that lasts at the end."""
        state = context.state
        # what watches machines goes on when training does not
        series = [one for key, one in run.series.items() if not key.has_clock_steps]
        checkpoints: ScanCheckpoints[_Times] = state.checkpoints(self.name, series)
        checkpoint = checkpoints.latest(series) or Checkpoint(
            _Times((False,) * len(series)), (0,) * len(series)
        )
        times = checkpoint.state.and_then(
            one.time[row:] for one, row in zip(series, checkpoint.rows, strict=True)
        )
        timed = [one for one, is_timed in zip(series, times.timed, strict=True) if is_timed]
        if not timed:
            return
        # the series logged most often beats the time
        clock = max(timed, key=lambda one: (one.key.step_unit is None, len(one), one.key))
        beat = self._beat(clock, context)
        times = times.between([pause.span for pause in beat.pauses], timed)
        checkpoints.save(Checkpoint(times, tuple(len(one) for one in series)))
        for pause in beat.pauses:
            if (silence := times.silences[pause.span]) > pause.limit:
                finding = _finding(clock, pause.row, pause.following, silence, pause.limit)
                yield with_activity(finding, run, *pause.span)
        limit = _limit(beat.steady, context.tuning.sensitivity)
        if run.now is not None and run.now - times.latest > limit:
            finding = _finding(clock, beat.row, None, run.now - times.latest, limit)
            yield with_activity(finding, run, times.latest, run.now)

    def _beat(self, clock: Series, context: DetectorContext) -> _Beat:
        checkpoints: ScanCheckpoints[_Beat] = context.state.checkpoints((self.name, clock.key), [clock])
        checkpoint = checkpoints.latest([clock]) or Checkpoint(_Beat(), (0,))
        if checkpoint.rows[0] == len(clock):
            return checkpoint.state
        beat = _after(checkpoint.state, clock, checkpoint.rows[0], context.tuning.sensitivity)
        checkpoints.save(Checkpoint(beat, (len(clock),)))
        return beat


def _after(beat: _Beat, clock: Series, first: int, sensitivity: float) -> _Beat:
    """The beat after the rows from `first` on."""
    rows = first + np.flatnonzero(np.isfinite(clock.time[first:]))
    if beat.row >= 0:
        rows = np.concatenate(([beat.row], rows))
    if not len(rows):
        return beat
    time = np.maximum.accumulate(np.maximum(clock.time[rows], beat.time))
    gaps, steady = np.diff(time), np.diff(clock.attempt[rows]) == 0
    known = np.concatenate((beat.steady, gaps[steady]))
    count = len(beat.steady) + np.concatenate(([0], np.cumsum(steady)))
    pauses = list(beat.pauses)
    for place in _suspects(beat.near, gaps):
        # a silence that ended by itself belongs to the rhythm from then on
        limit = _limit(known[: count[place]], sensitivity)
        if gaps[place] > limit:
            span = (float(time[place]), float(time[place + 1]))
            pauses.append(_Pause(int(rows[place]), int(rows[place + 1]), span, limit))
    return _Beat(
        row=int(rows[-1]),
        time=float(time[-1]),
        steady=known[-_REMEMBERED:].copy(),
        near=np.concatenate((beat.near, gaps))[-_NEARBY:],
        pauses=tuple(pauses),
    )


def _limit(gaps: FloatArray, sensitivity: float) -> float:
    """Seconds after which silence is no pause any more; for ever while the rhythm is not known."""
    known = gaps[-_REMEMBERED:]
    if len(known) < _FEWEST:
        return float("inf")
    usual = max(_TIMES_USUAL * float(np.median(known)), _TIMES_LONGEST * float(np.max(known)))
    return max(_LEAST_SECONDS, usual / sensitivity)


def _suspects(near: FloatArray, gaps: FloatArray) -> list[int]:
    """Gaps that stand out among those right before them, `near` before the first of them: only these are
    worth a closer look."""
    if not len(gaps):
        return []
    before = np.concatenate([np.full(_NEARBY, np.inf), near, gaps])[
        len(near) : len(near) + _NEARBY + len(gaps)
    ]
    shortest = sliding_window_view(before, _NEARBY).min(axis=1)[: len(gaps)]
    return [int(place) for place in np.flatnonzero((gaps > _LEAST_SECONDS) & (gaps > 2 * shortest))]


def _finding(clock: Series, last: int, following: int | None, silence: float, limit: float) -> Finding:
    step, attempt = int(clock.step[last]), int(clock.attempt[last])
    evidence: dict[str, float] = {"limit_seconds": limit}
    if following is None:
        how = f"Nothing new since step {step:,}: usually silence is over within {duration(limit)}."
        advice = "See whether the job is alive, and what its ranks wait for. Restart it if it hangs."
        end, severity = None, Severity.CRITICAL
    else:
        evidence["silent_seconds"] = silence
        end, severity = int(clock.step[following]), Severity.INFO
        again = int(clock.attempt[following])
        by = f"with attempt {again}" if again != attempt else "by itself"
        how = f"Nothing was logged for {duration(silence)} after step {step:,}; it went on {by}."
        advice = "Time was lost here. The job's log and the scheduler's of that time may say why."
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
        confidence=float(min(0.99, 1 - 0.5 * limit / max(silence, limit))),
        summary=how,
        advice=advice,
        evidence=evidence,
    )
