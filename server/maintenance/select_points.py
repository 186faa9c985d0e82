"""Selects the points retained by downsampling: extremes, ends, non-finite values, and those near
incidents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holter.server.store.encoding.block import SeriesPoints
from holter.types import IntArray

MARGIN_POINTS = 500
"""Points retained on either side of an incident."""
LONG_INCIDENT_POINTS = 5000
"""Incidents with more points are retained in full only near their steps."""

PointMask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class IncidentSteps:
    """The steps of an incident, ascending: start, peak, detection, classification, end."""

    attempt: int
    steps: tuple[int, ...]


def near_incidents(step: IntArray, incidents: Sequence[IncidentSteps]) -> PointMask:
    """Which of a series' points [n], steps ascending, are near incidents."""
    mask = np.zeros(len(step), dtype=bool)
    for incident in incidents:
        first, last = int(np.searchsorted(step, incident.steps[0])), _index_after(step, incident.steps[-1])
        ranges = [(first, last)]
        if last - first > LONG_INCIDENT_POINTS:
            ranges = [
                (int(np.searchsorted(step, incident_step)), _index_after(step, incident_step))
                for incident_step in incident.steps
            ]
        for begin, end in ranges:
            mask[max(0, begin - MARGIN_POINTS) : end + MARGIN_POINTS] = True
    return mask


def _index_after(step: IntArray, wanted: int) -> int:
    return int(np.searchsorted(step, wanted, side="right"))


def select_points(points: SeriesPoints, bucket: int, protected: PointMask) -> PointMask:
    """Which points stay: of every `bucket` neighbours the first, the last, the lowest and the highest.

    In addition all `protected` points [n], and all non-finite values.
    """
    size = len(points.value)
    finite = np.isfinite(points.value)
    mask = protected | ~finite
    starts = np.arange(0, size, bucket)
    mask[starts] = True
    mask[np.minimum(starts + bucket, size) - 1] = True
    for fill, position_of in ((np.inf, np.argmin), (-np.inf, np.argmax)):
        padded = np.pad(np.where(finite, points.value, fill), (0, -size % bucket), constant_values=fill)
        # in a bucket without finite values this is a point that stays anyway
        mask[np.minimum(starts + position_of(padded.reshape(-1, bucket), axis=1), size - 1)] = True
    return mask
