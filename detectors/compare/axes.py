"""Common x axes of runs: steps, tokens, samples, wall time and time since the start.

Tokens and samples are taken from a series that the run logs, or derived from its batch size and sequence
length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from holter.attempts.superseded import superseded_points
from holter.flops.config_names import NAMES
from holter.flops.hardware import TOKENS, batch_of, devices_of
from holter.flops.launch_settings import LaunchSettings, newest_attempt, settings_of_attempt
from holter.flops.levels import attempt_spans
from holter.flops.rates import batch_size_series
from holter.roles import Role, role_of
from holter.types import ConfigKey, ConfigValue, FloatArray, IntArray, Series, SeriesKey


class XAxis(StrEnum):
    """What the points of runs are aligned by."""

    STEP = "step"
    TOKENS = "tokens"
    SAMPLES = "samples"
    WALL = "wall"
    """Unix seconds."""
    RELATIVE = "relative"
    """Seconds since the run's first point."""


class AxisSource(StrEnum):
    """Where the x of a run's points comes from."""

    LOGGED = "logged"
    """The run's own steps, clock or counter."""
    DERIVED = "derived"
    """Computed from batch size and sequence length."""
    MISSING = "missing"
    """It is not known."""


UNITS: Mapping[XAxis, str] = {
    XAxis.STEP: "steps",
    XAxis.TOKENS: "tokens",
    XAxis.SAMPLES: "samples",
    XAxis.WALL: "s",
    XAxis.RELATIVE: "s",
}
_COUNTED = {
    XAxis.TOKENS: r"tok(?:en)?s",
    XAxis.SAMPLES: r"(?:samples|sequences|examples|instances)",
}
_BEFORE = (
    r"(?:(?:total|num|n|number_of|cum|cumulative|consumed|global|seen|processed|trained)_)*"
    r"(?:(?:input|train|training)_)*"
)
_AFTER = r"(?:_(?:seen|processed|consumed|trained|total|so_far|cumulative))*"
_SCALES = {"k": 1e3, "thousands": 1e3, "m": 1e6, "millions": 1e6} | {
    "b": 1e9, "billions": 1e9, "t": 1e12, "trillions": 1e12,
}  # fmt: skip
_SCALE = r"(?:_\(?(?:in_)?(?P<scale>k|m|b|t|thousands|millions|billions|trillions)\)?)?"
_PATTERNS = {
    axis: re.compile(rf"(?:.*/)?{_BEFORE}{counted}{_AFTER}{_SCALE}") for axis, counted in _COUNTED.items()
}
_MAX_CANDIDATES = 4
"""Series whose values are looked at: those with the shortest names."""


@dataclass(frozen=True, eq=False, kw_only=True)
class StepMap:
    """The x of a run's points by attempt and step, and how it was obtained.

    `anchors`: steps and x [n] by attempt, between which x is linear; those under None are for all attempts.
    `start`: Unix seconds of the run's first point, for the relative time.
    """

    axis: XAxis
    source: AxisSource
    metric: str | None = None
    formula: str | None = None
    reason: str | None = None
    start: float = float("nan")
    anchors: Mapping[int | None, tuple[FloatArray, FloatArray]] = field(default_factory=dict)

    @property
    def takes_times(self) -> bool:
        """Whether the x of a point depends on its time."""
        return self.axis in (XAxis.WALL, XAxis.RELATIVE)

    @property
    def rate(self) -> float | None:
        """What a step counts on average: of the attempt with the most; None where it is not known."""
        rates = [
            float((x[-1] - x[0]) / (step[-1] - step[0]))
            for step, x in self.anchors.values()
            if len(step) > 1 and step[-1] > step[0]
        ]
        return max(rates, default=None)

    def x(self, attempt: int, step: IntArray, time: FloatArray) -> FloatArray:
        """The x of points of one attempt [n]; NaN where it is not known."""
        if self.source is AxisSource.MISSING:
            return np.full(len(step), np.nan)
        if self.axis is XAxis.STEP:
            return step.astype(np.float64)
        if self.axis is XAxis.WALL:
            return time
        if self.axis is XAxis.RELATIVE:
            return time - self.start
        anchors = self.anchors.get(attempt, self.anchors.get(None))
        return (
            np.full(len(step), np.nan) if anchors is None else _interpolate(step.astype(np.float64), *anchors)
        )


ReadSeries = Callable[[SeriesKey], Series]
"""Reads one series of a run in full."""


def step_map(
    axis: XAxis,
    keys: Iterable[SeriesKey],
    read: ReadSeries,
    config: Mapping[ConfigKey, Mapping[int, ConfigValue]],
    start: float | None,
) -> StepMap:
    """How the points of a run are placed on an axis.

    `keys` are the run's series, of which only candidates are read; `start` is the time of its first point,
    None without a clock.
    """
    if axis is XAxis.STEP:
        return StepMap(axis=axis, source=AxisSource.LOGGED)
    if axis in (XAxis.WALL, XAxis.RELATIVE):
        if start is None:
            return _missing(axis, "the log has no clock")
        return StepMap(axis=axis, source=AxisSource.LOGGED, start=start)
    keys = list(keys)
    return _logged(axis, keys, read) or _derived(axis, keys, read, config)


def _logged(axis: XAxis, keys: Sequence[SeriesKey], read: ReadSeries) -> StepMap | None:
    """The axis from the run's own counter: a series of this name that never falls within an attempt."""
    candidates = sorted(
        (len(key.labels), len(key.metric), key, scale)
        for key in keys
        if (scale := counter_scale(axis, key)) is not None
    )
    for _, _, key, scale in candidates[:_MAX_CANDIDATES]:
        series = read(key)
        anchors: dict[int | None, tuple[FloatArray, FloatArray]] = {}
        for attempt in np.unique(series.attempt).tolist():
            rows = (series.attempt == attempt) & np.isfinite(series.value)
            step, value = series.step[rows].astype(np.float64), series.value[rows] * scale
            if len(step) and np.all(np.diff(value) >= 0) and value[-1] > value[0]:
                anchors[attempt] = step, value
        if anchors:
            return StepMap(axis=axis, source=AxisSource.LOGGED, metric=str(key), anchors=anchors)
    return None


def counter_scale(axis: XAxis, key: SeriesKey) -> float | None:
    """The unit in which a series counts what the axis counts, by its name; None where it does not."""
    if key.step_unit is not None or role_of(key) not in (Role.OTHER, Role.THROUGHPUT):
        return None
    name = re.sub(r"[\s-]+", "_", key.metric.strip().lower())
    found = _PATTERNS[axis].fullmatch(name)
    return None if found is None else _SCALES.get(found["scale"] or "", 1.0)


def _derived(
    axis: XAxis,
    keys: Sequence[SeriesKey],
    read: ReadSeries,
    config: Mapping[ConfigKey, Mapping[int, ConfigValue]],
) -> StepMap:
    """The axis from the batch size, as logged or configured, and for tokens from the length of sequences."""
    settings = settings_of_attempt(config, newest_attempt(config))
    sequence = settings.integer(NAMES["sequence"])
    sizes = batch_size_series(keys)
    if sizes is not None and (axis is XAxis.SAMPLES or sequence is not None):
        step, value = _timeline(read(sizes))
        if len(step):
            known, total = _cumulative(step, value)
            formula = f"sum over steps of {sizes}"
            if axis is XAxis.TOKENS and sequence is not None:
                total, formula = total * sequence, f"{formula} x sequence length {sequence:,}"
            return StepMap(
                axis=axis, source=AxisSource.DERIVED, formula=formula, anchors={None: (known, total)}
            )
    size, formula = _tokens_a_step(settings, sequence) if axis is XAxis.TOKENS else _samples_a_step(settings)
    if size is None:
        return _missing(axis, f"no counter of {axis.value} is logged, and {formula}")
    line = np.array([0.0, 1.0]), np.array([0.0, float(size)])
    return StepMap(axis=axis, source=AxisSource.DERIVED, formula=formula, anchors={None: line})


def _samples_a_step(settings: LaunchSettings) -> tuple[int | None, str]:
    """The sequences of a step and how they follow; or None, and what is not known."""
    if settings.integer(TOKENS) is not None:
        tokens, sequence = settings.integer(TOKENS), settings.integer(NAMES["sequence"])
        if tokens is not None and sequence is not None:
            return tokens // sequence, f"step x {tokens:,} tokens / sequence length {sequence:,}"
    batch = batch_of(settings, 1) if settings.integer(TOKENS) is None else None
    if batch is not None:
        return batch, f"step x global batch size {batch:,}"
    batch = settings.integer(("batch_size",))
    if batch is not None and devices_of(settings) in (None, 1):
        return batch, f"step x batch_size {batch:,}"
    return None, "the global batch size is not configured"


def _tokens_a_step(settings: LaunchSettings, sequence: int | None) -> tuple[int | None, str]:
    """The tokens of a step and how they follow; or None, and what is not known."""
    tokens = settings.integer(TOKENS)
    if tokens is not None:
        return tokens, f"step x {tokens:,} tokens a step"
    if sequence is None:
        return None, "the sequence length is not configured"
    samples, formula = _samples_a_step(settings)
    return (
        (None, formula)
        if samples is None
        else (samples * sequence, f"{formula} x sequence length {sequence:,}")
    )


def _missing(axis: XAxis, reason: str) -> StepMap:
    return StepMap(axis=axis, source=AxisSource.MISSING, reason=reason)


def _timeline(series: Series) -> tuple[FloatArray, FloatArray]:
    """The finite points that no newer attempt superseded, by step."""
    spans = attempt_spans(series)
    shown = np.isfinite(series.value) & ~superseded_points(series.attempt, series.step, spans)
    step, value = series.step[shown].astype(np.float64), series.value[shown]
    order = np.argsort(step, kind="stable")
    return step[order], value[order]


def _cumulative(step: FloatArray, size: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The total up to each step, as far as sizes changed; each size counts from its step to the next."""
    begin = np.concatenate(([0.0], step))
    sizes = np.concatenate(([size[0]], size))
    total = np.concatenate(([0.0], np.cumsum(np.diff(begin) * sizes[:-1]), [0.0]))
    total[-1] = total[-2] + sizes[-1]
    return np.append(begin, begin[-1] + 1.0), total


def _interpolate(step: FloatArray, known: FloatArray, value: FloatArray) -> FloatArray:
    """Linear between known steps, and beyond them by the slope next to them."""
    if len(known) == 1:
        return np.where(step == known[0], value[0], np.nan)
    x = np.interp(step, known, value)
    for outside, (a, b) in ((step < known[0], (0, 1)), (step > known[-1], (-2, -1))):
        width = known[b] - known[a]
        if width > 0:
            slope = (value[b] - value[a]) / width
            x[outside] = value[a] + slope * (step[outside] - known[a])
    return x
