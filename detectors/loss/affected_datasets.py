"""Affected datasets: whether a rise of the loss belongs to a single dataset or to all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holter.detectors.loss.excursions.baseline import TINY
from holter.detectors.positions import rows_up_to, values_before
from holter.detectors.robust_statistics import mad_sigma, median
from holter.detectors.thresholds import Thresholds
from holter.types import FloatArray, IntArray, Labels, Series, labels_of


@dataclass(frozen=True, kw_only=True)
class AffectedDatasetThresholds(Thresholds):
    """When a rise of the loss is attributed to a single dataset."""

    level_points: int = 64
    """Points before the rise that form a dataset's level and noise."""
    fewest_points: int = 8
    """Points before the rise without which neither is known."""
    trend_errors: float = 2.0
    """Standard errors by which the second half of these points must differ from the first for the level to
    move on as it did: of a loss that falls steeply, the middle of 64 points is far above the latest ones."""
    clear_errors: float = 4.0
    """Standard errors by which the single dataset must have risen, and from which on another one's rise is
    clear."""
    others_share: float = 0.3
    """Share of its rise that each other dataset must stay below."""
    clear_share: float = 0.1
    """Share of its rise from which on another dataset has risen, too, if it is clear: by `clear_errors`."""
    calm_errors: float = 1.0
    """Standard errors by which they must stay below it, or exceed it, while there are points to wait for."""
    sampled_points: int = 3
    """Points to wait for all datasets to be sampled; if they are not by then, the rise counts as one of
    all..."""
    waited_points: int = 8
    """... and points to wait for the other datasets to be certainly calm or certainly higher."""
    floor_share: float = 1e-5
    """Share of the level that counts as noise at least: numbers are not logged more precisely."""


@dataclass(frozen=True, eq=False, kw_only=True)
class AffectedDataset:
    """The single dataset that rose, None for all of them, and how many points later that was known."""

    dataset: Series | None
    waited: int


def find_affected_dataset(
    datasets: list[Series],
    attempt: int,
    start_step: int,
    steps: IntArray,
    thresholds: AffectedDatasetThresholds,
) -> AffectedDataset | None:
    """Whether a rise belongs to a single dataset; None while that is unknown.

    `steps` [n] are those of the series in which the rise was detected, from the point of detection on.
    """
    if len(datasets) < 2:
        return AffectedDataset(dataset=None, waited=0)
    clearest: _Rises | None = None
    for waited, step in enumerate(steps[: thresholds.waited_points].tolist()):
        found = [_rise(series, attempt, start_step, step, thresholds) for series in datasets]
        known = [(rise[0], rise[1], number) for number, rise in enumerate(found) if rise is not None]
        if len(known) < len(datasets):
            if waited + 1 < thresholds.sampled_points:
                continue
            return AffectedDataset(dataset=None, waited=waited)
        rises = _Rises(known, thresholds)
        # the mean of a short rise says less with each point after it
        is_past = clearest is not None and rises.clearness < clearest.clearness
        clearest = clearest if clearest is not None and is_past else rises
        is_last = is_past or waited + 1 == thresholds.waited_points
        if (affected := clearest.affected(0.0 if is_last else thresholds.calm_errors)) is not None:
            return AffectedDataset(dataset=datasets[affected] if affected >= 0 else None, waited=waited)
    return None


class _Rises:
    """The rises of all datasets with their standard errors and numbers."""

    def __init__(self, known: list[tuple[float, float, int]], thresholds: AffectedDatasetThresholds) -> None:
        self.highest, error, self.number = max(known)
        self.clearness = self.highest / max(error, TINY)
        self.others = [(rise, noise) for rise, noise, number in known if number != self.number]
        self.thresholds = thresholds

    def affected(self, margin: float) -> int | None:
        """The number of the single dataset that rose, -1 for all of them; None where that is not certain by
        so many standard errors."""
        most = self.thresholds.others_share * self.highest
        if self.clearness <= self.thresholds.clear_errors:
            return -1
        if any(rise - margin * noise >= most or self._is_clear(rise, noise) for rise, noise in self.others):
            return -1
        return self.number if all(rise + margin * noise < most for rise, noise in self.others) else None

    def _is_clear(self, rise: float, noise: float) -> bool:
        """Whether another dataset has risen beyond doubt, and by more than the damage that bad batches of one
        dataset do to all."""
        is_large = rise >= self.thresholds.clear_share * self.highest
        return is_large and rise > self.thresholds.clear_errors * noise


def _rise(
    series: Series, attempt: int, start_step: int, end_step: int, thresholds: AffectedDatasetThresholds
) -> tuple[float, float] | None:
    """The mean rise of a dataset's loss and its standard error; None while too few points are known."""
    rows = slice(rows_up_to(series, (attempt, start_step - 1)), rows_up_to(series, (attempt, end_step)))
    values: FloatArray = series.value[rows]
    values = values[np.isfinite(values)]
    before = values_before(series, attempt, start_step, thresholds.level_points)
    if len(before) < thresholds.fewest_points or not len(values):
        return None
    level, sigma = _level_and_noise(before, thresholds)
    noise = sigma + thresholds.floor_share * abs(level)
    return float(np.mean(values)) - level, noise / float(np.sqrt(len(values)))


def _level_and_noise(before: FloatArray, thresholds: AffectedDatasetThresholds) -> tuple[float, float]:
    """The level to expect after these points [n], and their noise: around a line through the medians of
    their halves where these differ clearly."""
    half = len(before) // 2
    first, second = median(before[:half]), median(before[-half:])
    slope = (second - first) / half
    around = before - slope * np.arange(1 - len(before), 1)
    level = median(around)
    noise = mad_sigma(around, level)
    # the error of the median of normal values is 1.25 of that of their mean
    if abs(second - first) > thresholds.trend_errors * 1.25 * noise * (2 / half) ** 0.5:
        return level, noise
    level = median(before)
    return level, mad_sigma(before, level)


def dataset_labels(series: Series) -> Labels:
    """The labels of a dataset's series including the dataset's name, taken from the metric where no label
    has it."""
    labels = dict(series.key.labels)
    labels.setdefault("dataset", series.key.metric.rsplit("/", 1)[-1])
    return labels_of(labels)
