"""Whether the points of a run suffice to judge its health."""

from __future__ import annotations

from collections.abc import Iterable

from holter.detectors.signals.saturation import may_saturate
from holter.detectors.throughput.evaluation_speed import is_evaluation_duration
from holter.roles import Role, role_of
from holter.server.store import SeriesOverview
from holter.types import SeriesKey

_NOT_JUDGED = frozenset(
    {
        Role.OTHER,
        Role.EPOCH,
        Role.LEARNING_RATE,
        Role.BATCH_SIZE,
        Role.SEQUENCE_LENGTH,
        Role.GRADIENT_CLIPPING,
        Role.PRECISION,
        Role.HYPERPARAMETER,
        Role.MIXTURE,
        Role.MFU,
        Role.SKIPPED,
        Role.GPU_ACTIVITY,
    }
)
"""Roles of series that no detector judges by themselves: they explain what others show."""
_FEWEST_POINTS = 8
"""Points of a series before which its usual level is not known: detectors of losses begin after so many, too
(`fewest_first_points`)."""


def why_unjudged(series: Iterable[SeriesOverview]) -> str | None:
    """Why nothing is known about the health of a run with these series, for people; None where it is."""
    points = {each.key: each.points for each in series}
    if not points:
        return "No data received"
    most = max((count for key, count in points.items() if _is_judged(key)), default=0)
    if most == 0:
        return "Not judged: no metric recognised"
    return None if most >= _FEWEST_POINTS else "Not judged: too few points"


def _is_judged(key: SeriesKey) -> bool:
    return role_of(key) not in _NOT_JUDGED or may_saturate(key) or is_evaluation_duration(key)
