"""Synthetic training losses for tests: a falling level, noise of several families, and planted events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from holter.detectors.detector import DetectorContext
from holter.detectors.loss.nonfinite import NonfiniteDetector
from holter.detectors.loss.spike import SpikeDetector
from holter.types import Finding, RunData, Series, SeriesKey, labels_of
from tests.support.filtered_noise import filtered

Floats = NDArray[np.float64]
Noise = Callable[[np.random.Generator, int], Floats]


def normal(random: np.random.Generator, points: int) -> Floats:
    return random.standard_normal(points)


def skewed(random: np.random.Generator, points: int) -> Floats:
    return (random.gamma(6, 1, points) - 6) / 6**0.5


def correlated(random: np.random.Generator, points: int) -> Floats:
    return filtered(random.standard_normal(points), gain=0.8, decay=0.6)


def heavy(random: np.random.Generator, points: int) -> Floats:
    return random.standard_t(5, points) / 1.29


def varying(random: np.random.Generator, points: int) -> Floats:
    return random.standard_normal(points) * np.exp(0.3 * random.standard_normal(points))


FAMILIES: Mapping[str, Noise] = {
    "normal": normal,
    "skewed": skewed,
    "correlated": correlated,
    "heavy": heavy,
    "varying": varying,
}


def falling(points: int, *, start: float = 9.0, end: float = 2.0) -> Floats:
    """A level that falls as losses do: by a power of the step, towards `end`."""
    return np.asarray(end + (start - end) * (1 + np.arange(points) / 40.0) ** -0.7)


def curve(
    points: int = 3000,
    *,
    noise: float = 0.02,
    family: Noise = normal,
    seed: int = 0,
    level: Floats | None = None,
) -> Floats:
    """A healthy loss; `noise` is its share of the level."""
    random = np.random.default_rng(seed)
    base = falling(points) if level is None else level
    return base * (1 + noise * family(random, points))


def decay(points: int, at: int, height: float, steps: float) -> Floats:
    """A rise by `height` at a point, which decays with a time constant of `steps`; zero before."""
    since = np.arange(points) - at
    return np.where(since >= 0, height * np.exp(-np.maximum(since, 0) / steps), 0.0)


def run_of(
    value: Floats,
    *,
    metric: str = "loss",
    step: Sequence[int] | NDArray[np.int64] | None = None,
    attempt: Sequence[int] | NDArray[np.int64] | None = None,
    **others: Floats,
) -> RunData:
    """A run with one loss; `others` are further metrics logged at the same rows ("loss/a" as loss__a)."""
    steps = np.arange(len(value)) if step is None else np.asarray(step)
    attempts = np.zeros(len(value), dtype=np.int64) if attempt is None else np.asarray(attempt)
    series = {}
    for name, values in {
        metric: value,
        **{key.replace("__", "/"): column for key, column in others.items()},
    }.items():
        key = SeriesKey(name, labels_of({}))
        rows = slice(None) if name == metric else np.flatnonzero(~np.isnan(values) | np.isnan(value))
        columns = [attempts[rows].astype(np.int64), steps[rows].astype(np.int64), values[rows].astype(float)]
        for column in columns:
            column.setflags(write=False)
        time = np.full(len(columns[0]), np.nan)
        time.setflags(write=False)
        series[key] = Series(key=key, attempt=columns[0], step=columns[1], time=time, value=columns[2])
    return RunData(series=series)


def prefix(run: RunData, *, attempt: int, step: int) -> RunData:
    """What was logged by the time an attempt reached a step."""
    series = {}
    for key, full in run.series.items():
        logged = (full.attempt < attempt) | ((full.attempt == attempt) & (full.step <= step))
        series[key] = Series(
            key=key,
            attempt=full.attempt[logged],
            step=full.step[logged],
            time=full.time[logged],
            value=full.value[logged],
        )
    return RunData(series={key: part for key, part in series.items() if len(part)})


def identity(finding: Finding) -> tuple[object, ...]:
    """The part of a finding that never changes once it was reported."""
    return finding.metric, finding.labels, finding.attempt, finding.start_step, finding.detected_step


def detect_all(run: RunData) -> list[Finding]:
    """The findings of the loss detectors, in the order of detection."""
    findings = [
        *SpikeDetector().detect(run, DetectorContext()),
        *NonfiniteDetector().detect(run, DetectorContext()),
    ]
    return sorted(findings, key=lambda finding: (finding.attempt, finding.detected_step))


def single_finding(run: RunData) -> Finding:
    """The only finding; fails where there are none or several."""
    findings = detect_all(run)
    assert len(findings) == 1, [
        (finding.kind.value, finding.attempt, finding.start_step) for finding in findings
    ]
    return findings[0]
