"""Resumes: does the loss go on after a restart where it was before it?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holter.detectors.loss.excursions.baseline import FEWEST, History, Noise
from holter.types import FloatArray

FIRST_POINTS = 50
"""An excursion that starts within so many points of a restart belongs to the restart."""
_LOOK = 150
"""Points after a restart whose mean is held against the level before it."""
_BEFORE = 128
_ASKED, _ASKED_DOWN = 4.5, 4.5
"""Standard errors; a handful of looks a restart, so fewer than for the whole of a run. Downwards the
trend must be extrapolated as well, and most of what lies lower is welcome."""
_DOUBT = 0.7
"""Share of that evidence which is enough when the learning rate did not go on as it was."""
LR_POINTS = 1000
"""With another learning rate the loss may take so many points to show it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Entry:
    """What was known when an attempt after the first began."""

    history: History
    doubtful: bool

    def strength(self, values: FloatArray, noise: Noise, *, down: bool = False) -> FloatArray:
        """Evidence over 1 that the first points [n] up to each lie off the level before the restart."""
        before = self.history.pulled[-_BEFORE:]
        if len(before) < FEWEST:
            return np.zeros(len(values))
        count = np.arange(1, len(values) + 1)
        level = float(np.mean(before))
        reach = 4.0 * noise.sigma
        above = np.cumsum(np.clip(values - level, -reach, reach)) / count
        scale = np.where(count < 8, noise.error(1), np.where(count < 32, noise.error(8), noise.error(32)))
        error = scale * np.sqrt(1 / count + 1 / len(before))
        enough = max(0.02 * abs(level), 0.25 * noise.sigma)
        fall, doubt = self._fall(noise)
        ahead = (len(before) + count) / 2
        against_trend = (above - fall * ahead) / np.hypot(error, doubt * ahead)
        if down:
            found = np.minimum(-against_trend / _ASKED_DOWN, -(above - fall * ahead) / enough)
        else:
            asked = _ASKED * (_DOUBT if self.doubtful else 1.0)
            found = np.minimum(np.maximum(above / error, against_trend) / asked, above / enough)
        # beyond the first points only a cause that works slowly, like another learning rate, is looked for
        horizon = LR_POINTS if self.doubtful else _LOOK
        return np.where(count <= horizon, found, 0.0)

    def _fall(self, noise: Noise) -> tuple[float, float]:
        """The slope of the level per point, where it falls, and the slope's standard error."""
        last = self.history.pulled[-2 * _BEFORE :]
        half = len(last) // 2
        slope = float(np.mean(last[half:]) - np.mean(last[:half])) / max(half, 1)
        error = noise.error(32) * np.sqrt(2 / max(half, 1)) / max(half, 1)
        return min(slope, 0.0), float(error)
