"""Seams: where a run was taken up again within one attempt, because its log says nothing of the restart.

A silence of a kind this run has hardly had before, steps that were left out, or a learning rate that fell
and is warming up again. A seam alone is nothing; a loss that jumps right there did so because of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy.ndimage import median_filter

from holter.detectors.incremental import Checkpoint, IncrementalState, ScanCheckpoints
from holter.detectors.positions import AttemptRows, attempt_rows, rows_of_attempt
from holter.roles import Role, role_of
from holter.types import FloatArray, RunData, Series

_USUAL, _FEWEST = 49, 16
"""Rows that the usual pause and spacing are the median of, and rows before which neither is known."""
_LONG, _SECONDS = 10.0, 120.0
"""Times the usual pause, and seconds, that a restart takes at least."""
_ROUTINE = 3
"""Pauses half as long or longer, after so many of which it is what this run does: evaluation, checkpoints."""
_FALLS, _RISES = 0.3, 1.01
"""What a learning rate falls to when it warms up anew, and by how much it then rises from row to row."""
CLOSE, NEAR = 3, 50
"""A loss that jumps within so many points of the seam did so because of it: of a mere silence, and of a seam
that something else tells too."""


@dataclass(frozen=True, kw_only=True)
class Seam:
    """A step at which the run was taken up; known at `seen_step`. `sign` says what told it, `size` how
    much: seconds of silence, steps left out, or the learning rate over what it was."""

    step: int
    seen_step: int
    sign: str
    size: float

    @property
    def reach(self) -> int:
        """Points within which an excursion belongs to it."""
        return CLOSE if self.sign == "silence" else NEAR


Seams = Mapping[int, list[Seam]]
"""By attempt, in the order of their steps."""


@dataclass(frozen=True)
class _Seen:
    """The seams so far, by attempt, and the longest silences and gaps of the attempt that goes on."""

    found: Mapping[int, tuple[Seam, ...]] = field(default_factory=dict)
    silences: tuple[float, ...] = (0.0,) * _ROUTINE
    gaps: tuple[float, ...] = (0.0,) * _ROUTINE


def seams_of(run: RunData, series: Series, state: IncrementalState) -> Seams:
    """The seams of a series' attempts: by its own rows, and by the learning rate."""
    rates = next((run.series[key] for key in sorted(run.series) if role_of(key) is Role.LEARNING_RATE), None)
    found = {attempt: list(seams) for attempt, seams in _in_rows(series, state).items()}
    for attempt, seams in (_warmups(rates, state) if rates is not None else {}).items():
        found.setdefault(attempt, []).extend(seams)
    return {attempt: sorted(seams, key=lambda one: one.step) for attempt, seams in found.items()}


def _in_rows(series: Series, state: IncrementalState) -> Mapping[int, tuple[Seam, ...]]:
    checkpoints: ScanCheckpoints[_Seen] = state.checkpoints(("seams", series.key), [series])
    checkpoint = checkpoints.latest([series]) or Checkpoint(_Seen(), (0,))
    seen, (row,) = checkpoint.state, checkpoint.rows
    for span in attempt_rows(series, row):
        begun = rows_of_attempt(series, span.attempt).first
        seen = seen if begun < span.first else _Seen(seen.found)
        silences, longest_silences = _told(series, begun, span, seen.silences, "silence")
        gaps, longest_gaps = _told(series, begun, span, seen.gaps, "gap")
        found = dict(seen.found)
        if silences or gaps:
            found[span.attempt] = (*found.get(span.attempt, ()), *silences, *gaps)
        seen = _Seen(found, longest_silences, longest_gaps)
    checkpoints.save(Checkpoint(seen, (len(series),)))
    return seen.found


_Outstanding = tuple[list[int], tuple[float, ...]]


def _outstanding(apart: FloatArray, new: int, longest: tuple[float, ...]) -> _Outstanding:
    """Of the last `new` rows those whose distance [n] from the row before is far longer than usual, but for
    what is routine; and the longest such distances so far."""
    usual = median_filter(apart, size=_USUAL, origin=_USUAL // 2, mode="nearest")
    usual = np.concatenate((apart[:1], usual[:-1]))
    rows, first = [], len(apart) - new
    for row in (first + np.flatnonzero(apart[first:] > _LONG * usual[first:])).tolist():
        if longest[0] < apart[row] / 2:
            rows.append(row)
        longest = tuple(sorted([*longest, float(apart[row])])[1:])
    return rows, longest


def _told(
    series: Series,
    begun: int,
    span: AttemptRows,
    longest: tuple[float, ...],
    sign: str,
) -> tuple[list[Seam], tuple[float, ...]]:
    """Seams of one kind in some rows of an attempt whose first row is `begun`."""
    column, least = (series.time, _SECONDS) if sign == "silence" else (series.step, 0.0)
    first = max(span.first - _USUAL - 1, begun)
    apart = np.diff(column[max(first - 1, begun) : span.after].astype(np.float64))
    apart = np.concatenate(([0.0], apart)) if first == begun else apart
    apart = np.nan_to_num(apart, nan=0.0, posinf=0.0, neginf=0.0)
    rows, longest = _outstanding(apart, span.after - span.first, longest)
    steps = [
        (int(series.step[first + row]), float(apart[row])) for row in rows if first + row - begun >= _FEWEST
    ]
    return [Seam(step=at, seen_step=at, sign=sign, size=size) for at, size in steps if size >= least], longest


def _warmups(rates: Series, state: IncrementalState) -> Mapping[int, tuple[Seam, ...]]:
    checkpoints: ScanCheckpoints[_Seen] = state.checkpoints(("seams", "rate", rates.key), [rates])
    checkpoint = checkpoints.latest([rates]) or Checkpoint(_Seen(), (0,))
    found = dict(checkpoint.state.found)
    # a fall is told two rows later
    for span in attempt_rows(rates, max(checkpoint.rows[0] - 2, 0)):
        begun = rows_of_attempt(rates, span.attempt).first
        first = max(span.first - 1, begun)
        step, rate = rates.step[first : span.after], rates.value[first : span.after]
        fell = np.flatnonzero((rate[1:-2] < _FALLS * rate[:-3]) & (rate[1:-2] >= 0)) + 1
        for row in fell.tolist():
            if rate[row + 1] > _RISES * rate[row] and rate[row + 2] > _RISES * rate[row + 1]:
                size = float(rate[row] / rate[row - 1])
                seam = Seam(step=int(step[row]), seen_step=int(step[row + 2]), sign="warm-up", size=size)
                found[span.attempt] = (*found.get(span.attempt, ()), seam)
    checkpoints.save(Checkpoint(_Seen(found), (len(rates),)))
    return found
