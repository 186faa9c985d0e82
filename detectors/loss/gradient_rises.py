"""How far the gradient norm has risen, in standard errors: evidence beside that of the loss.

A loss that rises by three or four standard errors does so once in some thousand points by chance, and so
does a gradient norm; both at the same points do not.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from holter.detectors.robust_statistics import mad_sigma, median, quantiles
from holter.detectors.thresholds import Thresholds
from holter.types import FloatArray


@dataclass(frozen=True, kw_only=True)
class GradientRiseThresholds(Thresholds):
    """How the rise of the mean of a gradient norm's logarithm is measured."""

    means: tuple[tuple[int, int], ...] = ((8, 64), (16, 64), (32, 64), (64, 128))
    """Rows of a mean, and of the reference before it."""
    short_means: tuple[tuple[int, int], ...] = ((3, 64), (5, 64))
    """The same of a few rows, which count beside a few points of the loss."""
    clip_sigmas: float = 4.0
    """Sigmas. A row counts at most this much in a mean."""
    usual_rows: int = 512
    """Rows before a mean whose rises show how far the norm moves by itself."""
    fewest_usual_rows: int = 64
    """Rows of them before which that is not known."""
    measured_every: int = 64
    """Rows after which it is measured again."""
    usual_quantile: tuple[float, float] = (0.95, 1.96)
    """Quantile of the sizes of these rises, and of how many standard deviations of normal ones it is."""
    restart_reference_rows: int = 64
    """Rows before a restart whose mean those after it are compared with."""

    @property
    def all_means(self) -> tuple[tuple[int, int], ...]:
        """Those of a few rows and of many."""
        return self.short_means + self.means

    def means_of(self, sizes: Collection[int]) -> tuple[tuple[int, int], ...]:
        """Those of so many rows, in the order of `sizes`."""
        references = dict(self.all_means)
        return tuple((points, references[points]) for points in sizes)

    def look_back_rows(self, sizes: Collection[int]) -> int:
        """Rows before the evaluated ones that the rises of means of so many rows rest on."""
        longest = max(points + reference for points, reference in self.means_of(sizes))
        return self.usual_rows + self.measured_every + 2 * longest


def mean_rises(
    level: FloatArray,
    above: FloatArray,
    spread: FloatArray,
    begin: int,
    sizes: Collection[int],
    thresholds: GradientRiseThresholds,
) -> FloatArray:
    """For each of these sizes of a mean, its rise in standard errors at each of some rows [sizes, n]; 0 where
    unknown.

    `level` [n] are the running medians of the rows, `above` [n] how far the rows are above them, `spread` [n]
    their noise. `begin` is the number of rows of the attempt before these.
    """
    limit = thresholds.clip_sigmas * spread
    clipped = level + np.clip(above, -limit, limit)
    means = thresholds.means_of(sizes)
    sums = _window_sums(clipped, {rows for each in means for rows in each})
    errors = np.zeros((len(means), len(level)))
    for row, (points, reference) in enumerate(means):
        first = points + reference
        if first >= len(level):
            continue
        rise = np.zeros(len(level))
        rise[first:] = sums[points][first:] / points - sums[reference][first - points : -points] / reference
        noise = np.zeros(len(level))
        noise[points:] = spread[:-points] * np.sqrt(1 / points + 1 / reference)
        usual = _usual_sizes(np.abs(rise), first, begin, points, thresholds)
        known = usual < np.inf
        errors[row, known] = rise[known] / np.maximum(noise, usual)[known]
    return errors


def rises_after_restart(
    before: FloatArray, after: FloatArray, least_spread: float, thresholds: GradientRiseThresholds
) -> FloatArray:
    """For each of the first rows after a restart the rise of the mean up to it over that of the rows before,
    in standard errors [n]; 0 where too few rows before are known.

    `before` [m] and `after` [n] are logarithms of the norm, whose spread counts as `least_spread` at least.
    """
    reference = thresholds.restart_reference_rows
    if len(before) < reference + thresholds.fewest_usual_rows:
        return np.zeros(len(after))
    level = median(before[-reference:])
    sigma = max(mad_sigma(before, median(before)), least_spread)
    limit = thresholds.clip_sigmas * sigma
    known = np.clip(before - level, -limit, limit)
    count = np.arange(1, len(after) + 1)
    rise = np.cumsum(np.clip(after - level, -limit, limit)) / count - float(known[-reference:].mean())
    # how far such means move by themselves, those of sizes between and beyond as a random walk would
    usual = np.zeros(len(after))
    total = np.concatenate(([0.0], np.cumsum(known)))
    share, sigmas = thresholds.usual_quantile
    for number, (points, _) in enumerate(thresholds.means):
        latest = (total[reference + points :] - total[reference:-points]) / points
        earlier = (total[reference:-points] - total[: -reference - points]) / reference
        spread = quantiles(np.abs(latest - earlier), (share,))[0] / sigmas
        # the first of them stands for means of fewer points, too
        since = points - 1 if number else 0
        farther = np.sqrt(np.maximum((count[since:] + reference) / (points + reference), 1.0))
        usual[since:] = np.maximum(usual[since:], spread * farther)
    errors: FloatArray = rise / np.maximum(sigma * np.sqrt(1 / count + 1 / reference), usual)
    return errors


def _window_sums(values: FloatArray, sizes: Collection[int]) -> dict[int, FloatArray]:
    """Sums of the latest values up to each [n], of so many as each of `sizes` says: once so many are known,
    they never depend on where the array begins."""
    doubled = {1: values}
    for size in (2**power for power in range(1, max(sizes).bit_length())):
        half = doubled[size // 2]
        doubled[size] = half + _moved(half, size // 2)
    sums = {}
    for size in sizes:
        total, known = np.zeros(len(values)), 0
        for part, of_part in doubled.items():
            if size & part:
                total, known = total + _moved(of_part, known), known + part
        sums[size] = total
    return sums


def _moved(values: FloatArray, rows: int) -> FloatArray:
    """The values of so many rows before each [n]; zero before the first."""
    return values if not rows else np.concatenate((np.zeros(min(rows, len(values))), values[:-rows]))


def _usual_sizes(
    size: FloatArray, first: int, begin: int, points: int, thresholds: GradientRiseThresholds
) -> FloatArray:
    """The standard deviation of the rises before each row's mean [n], by their sizes [n] from row `first` on;
    infinite while too few are known."""
    every, (share, sigmas) = thresholds.measured_every, thresholds.usual_quantile
    usual = np.full(len(size), np.inf)
    # on a grid of the attempt's rows, so that it does not depend on where the array begins
    for measured in range(-begin % every, len(size), every):
        before = size[max(measured - thresholds.usual_rows, first) : measured]
        if measured > first and len(before) >= thresholds.fewest_usual_rows:
            usual[measured + points : measured + points + every] = quantiles(before, (share,))[0] / sigmas
    return usual
