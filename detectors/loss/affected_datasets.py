"""Affected datasets: whether a rise of the loss belongs to a single dataset or to all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holter.detectors.positions import rows_up_to, values_before
from holter.detectors.robust_statistics import mad_sigma
from holter.detectors.thresholds import Thresholds
from holter.types import FloatArray, IntArray, Labels, Series, labels_of


@dataclass(frozen=True, kw_only=True)
class AffectedDatasetThresholds(Thresholds):
    """When a rise of the loss is attributed to a single dataset."""

    level_points: int = 64
    """Points before the rise that form a dataset's level and noise."""
    fewest_points: int = 8
    """Points before the rise without which neither is known."""
    clear_errors: float = 4.0
    """Standard errors by which the single dataset must have risen."""
    others_share: float = 0.3
    """Share of its rise that each other dataset must stay below."""
    calm_errors: float = 1.0
    """Standard errors by which they must stay below it, while there are points to wait for."""
    waited_points: int = 3
    """Points to wait for the other datasets to be sampled, or certainly calm; if they are not by then,
    the rise counts as one of all datasets."""
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
    last = thresholds.waited_points - 1
    for waited, step in enumerate(steps[: thresholds.waited_points].tolist()):
        rises = [_rise(series, attempt, start_step, step, thresholds) for series in datasets]
        known = [(rise[0], rise[1], number) for number, rise in enumerate(rises) if rise is not None]
        if len(known) == len(datasets):
            highest, error, number = max(known)
            most = thresholds.others_share * highest
            others = [(rise, noise) for rise, noise, which in known if which != number]
            if highest <= thresholds.clear_errors * error or any(rise >= most for rise, _ in others):
                return AffectedDataset(dataset=None, waited=waited)
            if waited == last or all(rise + thresholds.calm_errors * noise < most for rise, noise in others):
                return AffectedDataset(dataset=datasets[number], waited=waited)
    if len(steps) < thresholds.waited_points:
        return None
    return AffectedDataset(dataset=None, waited=last)


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
    level = float(np.median(before))
    noise = mad_sigma(before, level) + thresholds.floor_share * abs(level)
    return float(np.mean(values)) - level, noise / float(np.sqrt(len(values)))


def dataset_labels(series: Series) -> Labels:
    """The labels of a dataset's series including the dataset's name, taken from the metric where no label
    has it."""
    labels = dict(series.key.labels)
    labels.setdefault("dataset", series.key.metric.rsplit("/", 1)[-1])
    return labels_of(labels)
