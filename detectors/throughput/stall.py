"""Stall: nothing new for far longer than this run's own rhythm."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from holter.detectors.figures import duration
from holter.detectors.tuning import Tuning
from holter.types import Finding, FloatArray, IntArray, Kind, RunData, Series, Severity

_LEAST_SECONDS = 600.0
"""Evaluations and checkpoints take minutes, and collective operations time out after ten or more."""
_TIMES_USUAL, _TIMES_LONGEST = 10.0, 3.0
_REMEMBERED, _FEWEST, _NEARBY = 2048, 8, 16


@dataclass(frozen=True)
class Stall:
    """Compares the silence since the last point with the pauses that this run makes.

    Asks `RunData.now` for the silence that still lasts; one that is over stands in the wall times alone,
    so that what was said while it lasted stays true. A silence that a restart ended counts as well.
    """

    name: ClassVar[str] = "stall"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.STALL})
    tuning: Tuning = Tuning()

    def detect(self, run: RunData) -> Iterable[Finding]:
        """Every silence, the one that lasts at the end."""
        timed = [series for series in run.series.values() if np.isfinite(series.time).any()]
        if not timed:
            return
        # the series logged most often beats the time
        clock = max(timed, key=lambda series: (len(series), series.key))
        at = np.flatnonzero(np.isfinite(clock.time))
        yield from self._silences(run, clock, at)

    def _silences(self, run: RunData, clock: Series, at: IntArray) -> Iterator[Finding]:
        time, attempt = np.maximum.accumulate(clock.time[at]), clock.attempt[at]
        gaps, steady = np.diff(time), np.diff(attempt) == 0
        for place in _suspects(gaps):
            # a silence that ended by itself belongs to the rhythm from then on
            limit = self._limit(gaps[:place][steady[:place]])
            silence = _longest_silence(run, float(time[place]), float(time[place + 1]))
            if silence > limit:
                yield _finding(clock, int(at[place]), int(at[place + 1]), silence, limit)
        limit = self._limit(gaps[steady])
        if run.now is not None:
            latest = max(float(np.nanmax(series.time)) for series in run.series.values() if _is_timed(series))
            if run.now - latest > limit:
                yield _finding(clock, int(at[-1]), None, run.now - latest, limit)

    def _limit(self, gaps: FloatArray) -> float:
        """Seconds after which silence is no pause any more; for ever while the rhythm is not known."""
        known = gaps[-_REMEMBERED:]
        if len(known) < _FEWEST:
            return float("inf")
        usual = max(_TIMES_USUAL * float(np.median(known)), _TIMES_LONGEST * float(np.max(known)))
        return max(_LEAST_SECONDS, usual / self.tuning.sensitivity)


def _is_timed(series: Series) -> bool:
    return bool(np.isfinite(series.time).any())


def _suspects(gaps: FloatArray) -> list[int]:
    """Gaps that stand out among those right before them: only these are worth a closer look."""
    before = np.concatenate([np.full(_NEARBY, np.inf), gaps])[: len(gaps) + _NEARBY]
    if not len(gaps):
        return []
    shortest = sliding_window_view(before, _NEARBY).min(axis=1)[: len(gaps)]
    return [int(place) for place in np.flatnonzero((gaps > _LEAST_SECONDS) & (gaps > 2 * shortest))]


def _longest_silence(run: RunData, begin: float, end: float) -> float:
    """The longest time without a point of any series between two moments, seconds."""
    inside = [series.time[(series.time > begin) & (series.time < end)] for series in run.series.values()]
    return float(np.max(np.diff(np.sort(np.concatenate([[begin, end], *inside])))))


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
