"""Seams: where a run was taken up again within one attempt, because its log says nothing of the restart.

A silence of a kind this run has hardly had before, steps that were left out, or a learning rate that fell
and is warming up again. A seam alone is nothing; a loss that jumps right there did so because of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import median_filter

from holter.detectors.places import spans_of
from holter.metrics import Role, role_of
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


def seams_of(run: RunData, series: Series) -> Seams:
    """The seams of a series' attempts: by its own rows, and by the learning rate."""
    rates = next((run.series[key] for key in sorted(run.series) if role_of(key) is Role.LEARNING_RATE), None)
    found: dict[int, list[Seam]] = {}
    for span in spans_of(series):
        step, time = series.step[span.rows], series.time[span.rows]
        found[span.attempt] = [*_silences(step, time), *_gaps(step)]
    for span in spans_of(rates) if rates is not None else ():
        assert rates is not None
        found.setdefault(span.attempt, []).extend(_warmups(rates.step[span.rows], rates.value[span.rows]))
    return {attempt: sorted(seams, key=lambda one: one.step) for attempt, seams in found.items() if seams}


def _outstanding(apart: FloatArray) -> list[int]:
    """Rows whose distance [n] from the row before is far longer than usual, but for what is routine."""
    if len(apart) <= _FEWEST:
        return []
    usual = median_filter(apart, size=_USUAL, origin=_USUAL // 2, mode="nearest")
    usual = np.concatenate((apart[:1], usual[:-1]))
    rows, longest = [], [0.0] * _ROUTINE
    for row in np.flatnonzero(apart > _LONG * usual).tolist():
        if row >= _FEWEST and longest[0] < apart[row] / 2:
            rows.append(row)
        longest = sorted([*longest, float(apart[row])])[1:]
    return rows


def _silences(step: np.ndarray, time: FloatArray) -> list[Seam]:
    apart = np.nan_to_num(np.diff(time, prepend=time[:1]), nan=0.0, posinf=0.0, neginf=0.0)
    return [
        Seam(step=int(step[row]), seen_step=int(step[row]), sign="silence", size=float(apart[row]))
        for row in _outstanding(apart)
        if apart[row] >= _SECONDS
    ]


def _gaps(step: np.ndarray) -> list[Seam]:
    apart = np.diff(step, prepend=step[:1]).astype(np.float64)
    return [
        Seam(step=int(step[row]), seen_step=int(step[row]), sign="gap", size=float(apart[row]))
        for row in _outstanding(apart)
    ]


def _warmups(step: np.ndarray, rate: FloatArray) -> list[Seam]:
    fell = np.flatnonzero((rate[1:] < _FALLS * rate[:-1]) & (rate[1:] >= 0)) + 1
    return [
        Seam(
            step=int(step[row]),
            seen_step=int(step[row + 2]),
            sign="warm-up",
            size=float(rate[row] / rate[row - 1]),
        )
        for row in fell.tolist()
        if row + 2 < len(rate)
        and rate[row + 1] > _RISES * rate[row]
        and rate[row + 2] > _RISES * rate[row + 1]
    ]
