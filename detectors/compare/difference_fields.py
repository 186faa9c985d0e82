"""A difference of two curves as JSON-able values, the same for REST, files and notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypedDict

from holter.detectors.compare.significance import CurveDifference

Classification = Literal["lower", "higher", "none", "unknown"]
"""How a run's loss compares with the baseline's. `none`: no difference that the logs can show."""
_BY_SIGN: Mapping[int, Classification] = {-1: "lower", 0: "none", 1: "higher"}


def classification_of(difference: CurveDifference | None) -> Classification:
    """How a loss compares with the baseline's; `unknown` without common points."""
    return "unknown" if difference is None else _BY_SIGN[difference.sign]


class DifferenceFields(TypedDict):
    """A difference of two curves as JSON-able values; None where there is none, or it is not known."""

    paired: bool
    correlation: float | None
    points: int
    from_x: float | None
    to_x: float | None
    level: float | None
    difference: float | None
    low: float | None
    high: float | None
    relative: float | None
    relative_low: float | None
    relative_high: float | None
    effect_size: float | None
    since_x: float | None
    detectable: float | None
    needed_x: float | None
    block_points: int | None


NO_DIFFERENCE: DifferenceFields = {
    "paired": False,
    "correlation": None,
    "points": 0,
    "from_x": None,
    "to_x": None,
    "level": None,
    "difference": None,
    "low": None,
    "high": None,
    "relative": None,
    "relative_low": None,
    "relative_high": None,
    "effect_size": None,
    "since_x": None,
    "detectable": None,
    "needed_x": None,
    "block_points": None,
}
"""The fields of curves without common points."""


def difference_json(difference: CurveDifference) -> DifferenceFields:
    """A difference as REST and `holter diff` have it."""
    return {
        "paired": difference.paired,
        "correlation": difference.correlation,
        "points": difference.points,
        "from_x": difference.from_x,
        "to_x": difference.to_x,
        "level": difference.level,
        "difference": difference.difference,
        "low": difference.low,
        "high": difference.high,
        "relative": difference.relative(difference.difference),
        "relative_low": difference.relative(difference.low),
        "relative_high": difference.relative(difference.high),
        "effect_size": difference.difference / difference.sigma if difference.sigma > 0 else None,
        "since_x": difference.since_x,
        "detectable": difference.detectable,
        "needed_x": difference.needed_x,
        "block_points": difference.block_points,
    }
