"""Figures of a run that are compared with those of others: losses, speed, length, and use of time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from holter.attempts.superseded import superseded_points
from holter.flops.levels import attempt_spans, level_of
from holter.metric_units import unit_of_metric
from holter.roles import Role, role_of
from holter.types import FloatArray, Series, SeriesKey

Better = Literal["lower", "higher"]
_FINAL_SHARE = 0.02
"""The newest share of a loss whose mean is its newest level: less noisy than a point, close to the end."""
_FINAL_POINTS = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedValue:
    """One figure of all runs; None where a run does not have it."""

    name: str
    title: str
    unit: str
    better: Better | None
    values: tuple[float | None, ...]


Measure = Callable[[Series], float | None]
RoleOf = Callable[[SeriesKey], Role]


def representative(
    points: Mapping[SeriesKey, int], role: Role, role_in_run: RoleOf = role_of
) -> SeriesKey | None:
    """The series of a role, given the points of each: of few labels, many points, a short name."""
    candidates = [key for key in points if key.step_unit is None and role_in_run(key) is role]
    return min(
        candidates, key=lambda key: (len(key.labels), -points[key], len(key.metric), key), default=None
    )


def surviving(series: Series) -> tuple[FloatArray, FloatArray]:
    """Steps and values of the finite points that no newer attempt superseded, ascending by step."""
    shown = np.isfinite(series.value)
    if len(series) and series.attempt[0] != series.attempt[-1]:
        shown &= ~superseded_points(series.attempt, series.step, attempt_spans(series))
    step, value = series.step[shown].astype(np.float64), series.value[shown]
    if np.all(step[1:] >= step[:-1]):
        return step, value
    order = np.argsort(step, kind="stable")
    return step[order], value[order]


def newest_level(series: Series) -> float | None:
    """The mean of the newest points; None without any."""
    _, value = surviving(series)
    if not len(value):
        return None
    return float(np.mean(value[-max(_FINAL_POINTS, int(_FINAL_SHARE * len(value))) :]))


def lowest(series: Series) -> float | None:
    """The lowest value; None without any."""
    _, value = surviving(series)
    return float(value.min()) if len(value) else None


def typical(series: Series) -> float | None:
    """The median without the warm-up of attempts; None without positive values."""
    level = level_of(series, series.value, attempt_spans(series))
    return None if level is None else level.typical


def last_value(series: Series) -> float | None:
    """The newest value; None without any."""
    _, value = surviving(series)
    return float(value[-1]) if len(value) else None


MEASURES: Sequence[tuple[str, str, Role, Better | None, Measure]] = (
    ("loss", "Newest loss", Role.LOSS, "lower", newest_level),
    ("eval_loss", "Newest evaluation loss", Role.EVAL_LOSS, "lower", last_value),
    ("best_eval_loss", "Lowest evaluation loss", Role.EVAL_LOSS, "lower", lowest),
    ("throughput", "Throughput", Role.THROUGHPUT, "higher", typical),
    ("step_time", "Step time", Role.STEP_TIME, "lower", typical),
    ("mfu", "MFU", Role.MFU, "higher", typical),
    ("grad_norm", "Gradient norm", Role.GRAD_NORM, None, typical),
    ("learning_rate", "Learning rate", Role.LEARNING_RATE, None, last_value),
)
"""Name, title, role, which values are better, and how the figure is measured."""


@dataclass(frozen=True, kw_only=True)
class RunSeries:
    """The series of a run: the points of each by key, how one is read, and its role.

    `stated`: further figures of the run by name, as far as they are known.
    """

    points: Mapping[SeriesKey, int]
    read: Callable[[SeriesKey], Series]
    role: RoleOf = role_of
    stated: Mapping[str, float | None] = field(default_factory=dict)


STATED: Sequence[tuple[str, str, str, Better | None]] = (
    ("last_step", "Newest step", "", None),
    ("duration", "Duration", "s", None),
    ("goodput", "Goodput", "", "higher"),
    ("attempts", "Attempts", "", None),
)
"""Figures that are stated, not measured from a series: name, title, unit, which values are better."""


def compare_figures(runs: Sequence[RunSeries]) -> list[ComparedValue]:
    """The figures that at least one run has. Speeds in different units are not compared."""
    return [*_measured(runs), *_stated(runs)]


def _measured(runs: Sequence[RunSeries]) -> Iterable[ComparedValue]:
    for name, title, role, better, measure in MEASURES:
        keys = [representative(run.points, role, run.role) for run in runs]
        units = {unit_of_metric(role, key.metric) for key in keys if key is not None}
        if not units:
            continue
        if role in (Role.THROUGHPUT, Role.STEP_TIME) and len(units) > 1:
            yield from _by_unit(runs, keys, (name, title, role, better, measure))
            continue
        values = tuple(
            None if key is None else measure(run.read(key)) for run, key in zip(runs, keys, strict=True)
        )
        if any(value is not None for value in values):
            yield ComparedValue(name=name, title=title, unit=units.pop(), better=better, values=values)


def _by_unit(
    runs: Sequence[RunSeries],
    keys: Sequence[SeriesKey | None],
    measure: tuple[str, str, Role, Better | None, Measure],
) -> Iterable[ComparedValue]:
    """A figure for each unit in which runs log the same quantity."""
    name, title, role, better, compute = measure
    for unit in sorted({unit_of_metric(role, key.metric) for key in keys if key is not None}):
        values = tuple(
            compute(run.read(key)) if key is not None and unit_of_metric(role, key.metric) == unit else None
            for run, key in zip(runs, keys, strict=True)
        )
        yield ComparedValue(name=name, title=f"{title} ({unit})", unit=unit, better=better, values=values)


def _stated(runs: Sequence[RunSeries]) -> Iterable[ComparedValue]:
    for name, title, unit, better in STATED:
        values = tuple(run.stated.get(name) for run in runs)
        if any(value is not None for value in values):
            yield ComparedValue(name=name, title=title, unit=unit, better=better, values=values)
