"""Figures of a run that are compared with those of others: losses, speed, length, and use of time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from holter.attempts.superseded import superseded_points
from holter.flops.levels import attempt_spans, typical_level
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
    return typical_level(series, series.value, attempt_spans(series))


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

    `stated`: further figures of the run by name, as far as they are known. Times of points are not used.
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


@dataclass(frozen=True, kw_only=True)
class RunFigures:
    """The figures of one run by name; `units` of those that are measured from a series."""

    values: Mapping[str, float | None]
    units: Mapping[str, str]


def measure_run(run: RunSeries) -> RunFigures:
    """All figures of a run. Reads each series that a figure is measured from."""
    values, units = dict(run.stated), {}
    for role in dict.fromkeys(role for _, _, role, _, _ in MEASURES):
        key = representative(run.points, role, run.role)
        if key is None:
            continue
        series = run.read(key)
        for name, measure in ((name, measure) for name, _, own, _, measure in MEASURES if own is role):
            values[name], units[name] = measure(series), unit_of_metric(role, key.metric)
    return RunFigures(values=values, units=units)


def compare_figures(runs: Sequence[RunFigures]) -> list[ComparedValue]:
    """The figures that at least one run has. Speeds in different units are not compared."""
    return [*_measured(runs), *_stated(runs)]


def _measured(runs: Sequence[RunFigures]) -> Iterable[ComparedValue]:
    for name, title, role, better, _ in MEASURES:
        units = sorted({run.units[name] for run in runs if name in run.units})
        by_unit = role in (Role.THROUGHPUT, Role.STEP_TIME) and len(units) > 1
        for unit in units if by_unit else units[:1]:
            values = tuple(
                run.values.get(name) if not by_unit or run.units.get(name) == unit else None for run in runs
            )
            if by_unit or any(value is not None for value in values):
                shown = f"{title} ({unit})" if by_unit else title
                yield ComparedValue(name=name, title=shown, unit=unit, better=better, values=values)


def _stated(runs: Sequence[RunFigures]) -> Iterable[ComparedValue]:
    for name, title, unit, better in STATED:
        values = tuple(run.values.get(name) for run in runs)
        if any(value is not None for value in values):
            yield ComparedValue(name=name, title=title, unit=unit, better=better, values=values)
