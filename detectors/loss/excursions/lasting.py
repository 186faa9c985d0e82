"""Whether an excursion lasts: it has been high for long, does not decay, and is no mere step to a level."""

from __future__ import annotations

import numpy as np

from holter.detectors.loss.excursions.excursion_points import ExcursionPoints, RecoveryThresholds
from holter.detectors.loss.excursions.rise_speed import half_peak_index, is_slow_rise
from holter.detectors.robust_statistics import mad_sigma
from holter.types import FloatArray


def lasting_at(points: ExcursionPoints, first: int) -> int | None:
    """The first point from `first` on, of those that are examined, at which the excursion has lasted for long
    and does not decay: its last quarter is about as high as the one before, or higher."""
    limits = points.thresholds
    settled = int(np.searchsorted(points.step, points.step[0] + limits.settled_steps))
    at = max(settled, limits.settled_points, points.detected)
    if not points.has_learned and points.known is not None and points.known < limits.unlearned_points:
        at = max(at, round(limits.unlearned_wait * points.known))
    while at < len(points.step):
        if at >= first and _lasts(points.head(at + 1), limits):
            return at
        at = int(at * limits.flat_growth) + 1
    return None


def fell_past(points: ExcursionPoints) -> bool:
    """Whether a loss that these points [n] show until it was back had settled higher, and fell on from there:
    as far as its trend explains, and without the decay of what is learned again."""
    limits = points.thresholds
    lasted = int(points.step[-1] - points.step[0]) if len(points.step) else 0
    if len(points.step) < limits.settled_points or lasted < limits.settled_steps:
        return False
    first, second = (float(np.median(part)) - points.baseline for part in np.array_split(points.value, 4)[:2])
    fallen = -float(points.fall.after(np.array([lasted]))[0])
    return second >= limits.falling_share * first and fallen >= limits.fallen_share * first > 0


def _lasts(points: ExcursionPoints, limits: RecoveryThresholds) -> bool:
    """Whether an excursion that has lasted for long is no mere step to another level, as of a stage."""
    excess = points.excess()[0]
    half = (len(excess) - 1) // 2
    quarter = (len(excess) - half) // 2
    second = float(excess[half - quarter : half].mean())
    third, fourth = float(excess[half : half + quarter].mean()), float(excess[half + quarter :].mean())
    # another rise within the last quarter makes only a part of it high, or decays within it
    earlier, later = (float(part.mean()) for part in np.array_split(excess[half + quarter :], 2))
    lowest = min(earlier, later)
    if lowest <= 0 or lowest < max(limits.flat_share * third, limits.flat_share_of_half * second):
        return False
    if later < limits.flat_share_of_eighth * earlier:
        return False
    first = excess[: limits.near_points]
    steps = _steps(excess, limits)
    is_step = bool(steps)
    # the beginning of another rise at its end is no part of how it rose
    rises_slowly = not is_step and is_slow_rise(
        points.step,
        limits,
        half_peak=half_peak_index(points.step, excess.clip(max=max(third, fourth)), limits),
    )
    share = limits.lasting_progress_of_drift if rises_slowly else limits.lasting_progress
    # of stages in sequence each by itself
    height = min(lowest, max(steps, default=lowest))
    undoes_progress = height > share * points.progress and not (
        not rises_slowly
        and height < limits.harder_share * abs(points.baseline)
        and _is_other_data(points, excess, limits, is_in_stages=len(steps) > 1)
    )
    if not points.has_learned:
        # nothing is known that it could undo: damage builds up over some points, a stage begins at once
        begins_low = bool(excess[0] < limits.at_once_share * np.median(excess[half:]))
        undoes_progress = begins_low and not is_step
    return (
        undoes_progress
        or float(first.max()) >= limits.overshoot * float(excess[half:].max())
        or (
            fourth >= limits.lasting_growth * third
            and fourth >= limits.visible_progress * points.progress
            and not is_step
            and _grows_steadily(excess[half:], limits)
        )
    )


def _is_other_data(
    points: ExcursionPoints, excess: FloatArray, limits: RecoveryThresholds, *, is_in_stages: bool
) -> bool:
    """Whether the loss [n] goes on from a higher level as it went on before: at once, with the same noise and
    at the same rate; of stages in sequence only the first is examined.

    That is another task or other data. Damage to a model builds up, makes its loss noisier, and keeps it from
    falling; what is learned again decays, and does not last.
    """
    half = len(excess) // 2
    size = max(limits.near_points, min(len(excess) // limits.step_parts, limits.most_part_points))
    stage = excess[: size * limits.stage_parts] if is_in_stages else excess[half:]
    level, sigma = float(np.median(stage)), points.noise.sigma
    first = float(np.median(excess[: limits.lone_points + 1]))
    if first < min(limits.at_once_share * level, level - limits.at_once_sigmas * sigma):
        return False
    if mad_sigma(stage, level) > limits.noisier * sigma:
        return False
    if is_in_stages:
        return True
    quarters = [half // 2, half + half // 2]
    second, fourth = excess[quarters[0] : half], excess[quarters[1] :]
    change = float(np.median(fourth) - np.median(second))
    before, after = points.fall.after(points.step[quarters] - points.step[0]).tolist()
    error = points.noise.error(len(second)) * float(np.sqrt(2 / len(second)))
    tolerance = max(limits.rate_errors * error, limits.rate_share * level)
    return bool(change <= limits.least_rate * (after - before) + tolerance)


def _steps(excess: FloatArray, limits: RecoveryThresholds) -> list[float]:
    """The heights of the steps, from one short stretch to the next, by which an excess [n] became higher than
    it began, as stages in sequence make them, with that of its beginning.

    None where it did not become higher, or by other than a few steps that are far apart.
    """
    size = max(limits.near_points, min(len(excess) // limits.step_parts, limits.most_part_points))
    levels = np.median(excess[: len(excess) // size * size].reshape(-1, size), axis=1)
    rise = levels[2:] - levels[:-2]
    grown = float(levels.max() - levels[0])
    if levels.max() < limits.lasting_growth * levels[0] or not len(rise):
        return []
    if rise.max() >= limits.growth_in_one_part * grown:
        is_late = int(np.argmax(rise)) + 1 >= limits.stage_parts
        return [float(levels[0]), float(rise.max())] if is_late else [float(levels.max())]
    places: list[int] = [0]
    heights = [float(levels[0])]
    while len(heights) <= limits.most_steps and rise.max() > 0:
        highest = int(np.argmax(rise))
        places.append(highest + 1)
        heights.append(float(rise[highest]))
        rise[max(highest - 2, 0) : highest + 3] = 0.0
        are_stages = int(np.diff(sorted(places)).min()) >= limits.stage_parts
        if are_stages and sum(heights[1:]) >= limits.growth_in_steps * grown:
            return heights
    return []


def _grows_steadily(excess: FloatArray, limits: RecoveryThresholds) -> bool:
    """Whether an excess [n] grew by no single step, as another stage would make it."""
    levels = np.array([np.median(part) for part in np.array_split(excess, limits.growth_parts)])
    return bool(np.diff(levels).max() < limits.growth_in_one_part * (levels[-1] - levels[0]))
