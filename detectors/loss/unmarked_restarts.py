"""Unmarked restarts: steps at which a run was restarted within one attempt, without a mark in its log.

The signs are a pause of a kind this run has hardly had before, missing steps, or a learning rate that fell
and warms up again. The sign alone is not reported; a loss that jumps right there did so because of the
restart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy.ndimage import median_filter

from holter.detectors.incremental import Checkpoint, IncrementalState, ScanCheckpoints
from holter.detectors.positions import AttemptRows, attempt_rows, rows_of_attempt
from holter.detectors.thresholds import Thresholds
from holter.roles import Role, role_of
from holter.types import FloatArray, RunData, Series


@dataclass(frozen=True, kw_only=True)
class UnmarkedRestartThresholds(Thresholds):
    """When a pause, missing steps or a new warm-up count as the sign of a restart."""

    median_rows: int = 49
    """Rows whose median is the usual pause and the usual spacing."""
    fewest_rows: int = 16
    """Rows of an attempt before which neither is known."""
    times_usual: float = 10.0
    """Times the usual pause or spacing that a restart takes at least."""
    least_seconds: float = 120.0
    """Seconds that a restart takes at least."""
    routine_pauses: int = 3
    """Pauses half as long or longer, after which this many are routine: evaluations, checkpoints."""
    rate_fall: float = 0.3
    """Share of its value that a learning rate falls below when it warms up again."""
    rate_rise: float = 1.01
    """Ratio by which it then rises from row to row."""
    points_after_pause: int = 3
    """Points. A loss that jumps within this many points of a mere pause did so because of it."""
    points_after_restart: int = 50
    """Points. The same for missing steps and a new warm-up, which are stronger signs."""
    spacing_after_gap: float = 2.0
    """Times as far apart as rows were before missing steps that these points may be: rows that are farther
    apart from there on were logged more rarely, and none were missing."""


@dataclass(frozen=True, kw_only=True)
class UnmarkedRestart:
    """A step at which the run was restarted, known at `detected_step`.

    `sign` is "silence", "gap" or "warm-up"; `size` the seconds of the pause, the missing steps, or the ratio
    of the learning rate to what it was. An excursion within `reach` points, and at most `reach_steps` steps,
    belongs to the restart.
    """

    step: int
    detected_step: int
    sign: str
    size: float
    reach: int
    reach_steps: float = np.inf


UnmarkedRestarts = Mapping[int, list[UnmarkedRestart]]
"""Unmarked restarts by attempt, in the order of their steps."""


@dataclass(frozen=True)
class _RestartScanState:
    """The restarts so far, by attempt, and the longest pauses and gaps of the current attempt."""

    restarts: Mapping[int, tuple[UnmarkedRestart, ...]] = field(default_factory=dict)
    longest_pauses: tuple[float, ...] = ()
    longest_gaps: tuple[float, ...] = ()


def find_unmarked_restarts(
    run: RunData, series: Series, state: IncrementalState, thresholds: UnmarkedRestartThresholds
) -> UnmarkedRestarts:
    """The unmarked restarts in a series' attempts, by its own rows and by the learning rate."""
    rates = next((run.series[key] for key in sorted(run.series) if role_of(key) is Role.LEARNING_RATE), None)
    by_attempt = {
        attempt: [restart for restart in restarts if not _begins_sparser_rows(series, attempt, restart)]
        for attempt, restarts in _scan_rows(series, state, thresholds).items()
    }
    warmups = _scan_warmups(rates, state, thresholds) if rates is not None else {}
    for attempt, restarts in warmups.items():
        by_attempt.setdefault(attempt, []).extend(restarts)
    return {
        attempt: sorted(restarts, key=lambda restart: restart.step)
        for attempt, restarts in by_attempt.items()
    }


def _begins_sparser_rows(series: Series, attempt: int, restart: UnmarkedRestart) -> bool:
    """Whether missing steps may be those of a larger logging interval, to which the next row belongs, too."""
    if restart.sign != "gap":
        return False
    steps = series.step[rows_of_attempt(series, attempt).rows]
    row = int(np.searchsorted(steps, restart.step))
    return row + 1 >= len(steps) or int(steps[row + 1]) - restart.step > restart.size / 2


def _scan_rows(
    series: Series, state: IncrementalState, thresholds: UnmarkedRestartThresholds
) -> Mapping[int, tuple[UnmarkedRestart, ...]]:
    """Restarts by pauses and missing steps between the rows of a series."""
    checkpoints: ScanCheckpoints[_RestartScanState] = state.checkpoints(
        ("unmarked_restarts", series.key), [series]
    )
    none = (0.0,) * thresholds.routine_pauses
    checkpoint = checkpoints.latest([series]) or Checkpoint(_RestartScanState({}, none, none), (0,))
    scan, (row,) = checkpoint.state, checkpoint.rows
    for span in _spans_to_scan(series, attempt_rows(series, row), thresholds):
        first = rows_of_attempt(series, span.attempt).first
        scan = scan if first < span.first else _RestartScanState(scan.restarts, none, none)
        pauses, longest_pauses = _restarts_in(series, first, span, scan.longest_pauses, "silence", thresholds)
        gaps, longest_gaps = _restarts_in(series, first, span, scan.longest_gaps, "gap", thresholds)
        restarts = dict(scan.restarts)
        if pauses or gaps:
            restarts[span.attempt] = (*restarts.get(span.attempt, ()), *pauses, *gaps)
        scan = _RestartScanState(restarts, longest_pauses, longest_gaps)
    checkpoints.save(Checkpoint(scan, (len(series),)))
    return scan.restarts


def _spans_to_scan(
    series: Series, spans: list[AttemptRows], thresholds: UnmarkedRestartThresholds
) -> list[AttemptRows]:
    """Those attempts in which there may be a restart, and the last one, which may continue.

    The usual distance of the first rows is zero, so that they all count as pauses. In most attempts no later
    one is twice as long as the shortest of the last few of them: then there is no restart.
    """
    complete = [*(rows_of_attempt(series, span.attempt) for span in spans[:1]), *spans[1:]][:-1]
    known = [span for span in complete if span.after - span.first > thresholds.fewest_rows]
    if not known:
        return spans[-1:]
    begin, after = known[0].first, np.array([span.after for span in known]) - known[0].first
    late = np.array([span.first for span in known]) - begin + thresholds.fewest_rows
    may_restart = np.zeros(len(known), dtype=bool)
    for column in (series.time, series.step):
        distance = np.diff(column[begin : known[-1].after].astype(np.float64), prepend=np.nan, append=np.nan)
        distance[~np.isfinite(distance)] = 0.0
        longest = np.maximum.reduceat(distance, np.stack((late, after), axis=1).ravel())[::2]
        early = distance[late[:, None] - 1 - np.arange(thresholds.routine_pauses)].min(axis=1)
        may_restart |= longest > 2 * early
    attempts = {span.attempt for span, may in zip(known, may_restart.tolist(), strict=True) if may}
    return [*(span for span in spans[:-1] if span.attempt in attempts), spans[-1]]


def _unusual_rows(
    distance: FloatArray,
    new_rows: int,
    longest: tuple[float, ...],
    thresholds: UnmarkedRestartThresholds,
) -> tuple[list[tuple[int, float]], tuple[float, ...]]:
    """Of the last `new_rows` rows those that are far more distant from the previous row than usual, except
    for routine ones, each with the usual distance; and the longest such distances so far.

    `distance` [n] is that of each row from the previous one.
    """
    window = thresholds.median_rows
    if len(distance) <= window // 2 + 2:
        # more than half of each window is what stands for the rows before the first
        usual = np.full(len(distance), distance[0])
    else:
        usual = median_filter(distance, size=window, origin=window // 2, mode="nearest")
        usual = np.concatenate((distance[:1], usual[:-1]))
    rows, first = [], len(distance) - new_rows
    is_unusual = distance[first:] > thresholds.times_usual * usual[first:]
    unusual = first + np.flatnonzero(is_unusual & (distance[first:] > longest[0]))
    for row in unusual.tolist():
        if distance[row] <= longest[0]:
            continue
        if longest[0] < distance[row] / 2:
            rows.append((row, float(usual[row])))
        longest = tuple(sorted([*longest, float(distance[row])])[1:])
    return rows, longest


def _restarts_in(
    series: Series,
    attempt_row: int,
    span: AttemptRows,
    longest: tuple[float, ...],
    sign: str,
    thresholds: UnmarkedRestartThresholds,
) -> tuple[list[UnmarkedRestart], tuple[float, ...]]:
    """Restarts of one sign in some rows of an attempt whose first row is `attempt_row`."""
    is_pause = sign == "silence"
    column = series.time if is_pause else series.step
    least = thresholds.least_seconds if is_pause else 0.0
    reach = thresholds.points_after_pause if is_pause else thresholds.points_after_restart
    first = max(span.first - thresholds.median_rows - 1, attempt_row)
    distance = np.diff(column[max(first - 1, attempt_row) : span.after].astype(np.float64))
    distance = np.concatenate(([0.0], distance)) if first == attempt_row else distance
    distance[~np.isfinite(distance)] = 0.0
    rows, longest = _unusual_rows(distance, span.after - span.first, longest, thresholds)
    restarts = []
    for row, usual in rows:
        step, size = int(series.step[first + row]), float(distance[row])
        if first + row - attempt_row >= thresholds.fewest_rows and size >= least:
            restarts.append(
                UnmarkedRestart(
                    step=step,
                    detected_step=step,
                    sign=sign,
                    size=size,
                    reach=reach,
                    reach_steps=np.inf if is_pause else reach * thresholds.spacing_after_gap * usual,
                )
            )
    return restarts, longest


def _scan_warmups(
    rates: Series, state: IncrementalState, thresholds: UnmarkedRestartThresholds
) -> Mapping[int, tuple[UnmarkedRestart, ...]]:
    """Restarts by a learning rate that fell and then rose for two rows."""
    checkpoints: ScanCheckpoints[_RestartScanState] = state.checkpoints(
        ("unmarked_restarts", "rate", rates.key), [rates]
    )
    checkpoint = checkpoints.latest([rates]) or Checkpoint(_RestartScanState(), (0,))
    restarts = dict(checkpoint.state.restarts)
    # a fall is recognized two rows later
    for span in attempt_rows(rates, max(checkpoint.rows[0] - 2, 0)):
        first = max(span.first - 1, rows_of_attempt(rates, span.attempt).first)
        step, rate = rates.step[first : span.after], rates.value[first : span.after]
        fell = (rate[1:-2] < thresholds.rate_fall * rate[:-3]) & (rate[1:-2] >= 0)
        for row in (np.flatnonzero(fell) + 1).tolist():
            rise = thresholds.rate_rise
            if rate[row + 1] > rise * rate[row] and rate[row + 2] > rise * rate[row + 1]:
                restart = UnmarkedRestart(
                    step=int(step[row]),
                    detected_step=int(step[row + 2]),
                    sign="warm-up",
                    size=float(rate[row] / rate[row - 1]),
                    reach=thresholds.points_after_restart,
                )
                restarts[span.attempt] = (*restarts.get(span.attempt, ()), restart)
    checkpoints.save(Checkpoint(_RestartScanState(restarts), (len(rates),)))
    return restarts
