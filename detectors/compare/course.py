"""Whether a run is on course compared with reference runs, at fixed amounts of points.

The result at an amount of points depends on these points alone, however often and whenever it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import floor, log2

from holter.detectors.compare.significance import ComparisonThresholds, Curve, CurveDifference, compare_curves
from holter.detectors.thresholds import Thresholds


class Course(StrEnum):
    """How a run's loss compares with that of its references at equal progress."""

    ON_COURSE = "on_course"
    """No difference from at least one of them that the logs can show."""
    BETTER = "better"
    """Lower than every one of them."""
    WORSE = "worse"
    """Higher than every one of them."""
    UNKNOWN = "unknown"
    """There are too few points at common x."""


@dataclass(frozen=True, kw_only=True)
class CourseThresholds(Thresholds):
    """When a run is compared with its references."""

    confidence: float = 0.99
    """Confidence of the intervals: higher than of a single comparison, since there are several."""
    least_points: int = 256
    """Points of a run before it is compared."""
    per_octave: float = 4.0
    """Comparisons while the number of points doubles: all together cost as much as the last few."""


_THRESHOLDS = CourseThresholds()


@dataclass(frozen=True, eq=False, kw_only=True)
class CourseCheck:
    """The comparison with that reference that is closest to the run, and the course that follows.

    `nearest` is the position of this reference; None where there was nothing to compare.
    """

    course: Course
    nearest: int | None = None
    difference: CurveDifference | None = None


def check_number(points: int, thresholds: CourseThresholds = _THRESHOLDS) -> int:
    """The number of the newest comparison for this many points; negative before the first one."""
    if points < thresholds.least_points:
        return -1
    return floor(thresholds.per_octave * log2(points / thresholds.least_points) + 1e-9)


def points_of_check(number: int, thresholds: CourseThresholds = _THRESHOLDS) -> int:
    """The number of points that a comparison takes."""
    return int(thresholds.least_points * 2 ** (number / thresholds.per_octave))


def check_course(
    curve: Curve, references: Sequence[Curve], number: int, thresholds: CourseThresholds = _THRESHOLDS
) -> CourseCheck:
    """The course of a run by a comparison of this number, from as many of its first points."""
    points = min(points_of_check(number, thresholds), len(curve.x))
    prefix = Curve(curve.x[:points], curve.value[:points])
    rules = replace(ComparisonThresholds(), confidence=thresholds.confidence)
    compared = [compare_curves(prefix, each, thresholds=rules) for each in references]
    known = [(index, each) for index, each in enumerate(compared) if each is not None]
    if not known:
        return CourseCheck(course=Course.UNKNOWN)
    signs = {each.sign for _, each in known}
    nearest, difference = min(known, key=lambda pair: abs(pair[1].difference))
    course = Course.ON_COURSE
    if signs == {1}:
        course = Course.WORSE
    elif signs == {-1}:
        course = Course.BETTER
    return CourseCheck(course=course, nearest=nearest, difference=difference)
