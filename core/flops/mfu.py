"""Holter's own TFLOPS, MFU and HFU of a run, from its speed, the model's shape and the devices' peak."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from holter.flops.formulas import Recomputation, forward_flops, recomputed_flops
from holter.flops.hardware import Device, batch_of, device_of, devices_of, recomputed_of
from holter.flops.launch_settings import LaunchSettings, newest_attempt, settings_of_attempt
from holter.flops.levels import CurveLevel, attempt_spans, level_of
from holter.flops.peaks import Peaks
from holter.flops.rates import batch_size_at, batch_size_series, speed_series, tokens_per_second
from holter.flops.shape import ModelShape
from holter.flops.shape_from_config import ParsedShape, parse_shape
from holter.metric_units import SpeedUnit, speed_unit
from holter.types import FloatArray, RunData, Series, SeriesKey


@dataclass(frozen=True, kw_only=True)
class LaunchSetup:
    """The settings of one attempt that its utilisation is computed from."""

    settings: LaunchSettings
    parsed_shape: ParsedShape
    device: Device
    devices: int | None
    batch: int | None
    recomputed: Recomputation | None

    @property
    def shape(self) -> ModelShape | None:
        """The model's shape."""
        return self.parsed_shape.shape


@dataclass(frozen=True, eq=False, kw_only=True)
class OwnThroughput:
    """Holter's own figures of one device, computed from the speed in `series`; arrays [n] match its points.

    `tokens` are tokens a second, `tflops` TFLOPS, `mfu` the share of the peak and `hfu` the same with what is
    recomputed; NaN where an attempt does not state enough. `launch` is the set-up of the newest attempt and
    `missing` describes what it does not state.
    """

    series: Series | None
    unit: SpeedUnit | None
    launch: LaunchSetup
    tokens: FloatArray
    tflops: FloatArray
    mfu: FloatArray
    hfu: FloatArray
    missing: tuple[str, ...]
    _levels: dict[int, CurveLevel | None] = field(default_factory=dict, repr=False)

    def level(self, values: FloatArray) -> CurveLevel | None:
        """The level of one of the curves; computed once, since several checks use it."""
        if id(values) not in self._levels:
            self._levels[id(values)] = (
                None if self.series is None else level_of(self.series, values, attempt_spans(self.series))
            )
        return self._levels[id(values)]

    def curve(self, name: str, values: FloatArray) -> Series | None:
        """One of the curves as a series of this name; None where it has no value."""
        if self.series is None or not np.isfinite(values).any():
            return None
        return replace(self.series, key=SeriesKey(name), value=values)


def launch_setup(run: RunData, attempt: int, peaks: Peaks) -> LaunchSetup:
    """The set-up of one attempt, read from its settings."""
    settings = settings_of_attempt(run.config, attempt)
    parsed_shape = parse_shape(settings)
    sequence = parsed_shape.shape.sequence if parsed_shape.shape else None
    return LaunchSetup(
        settings=settings,
        parsed_shape=parsed_shape,
        device=device_of(settings, peaks),
        devices=devices_of(settings),
        batch=batch_of(settings, sequence),
        recomputed=recomputed_of(settings),
    )


def own_throughput(run: RunData, peaks: Peaks) -> OwnThroughput:
    """A run's utilisation by Holter's formula, each attempt by its own settings."""
    key = speed_series(run.series)
    series = None if key is None else run.series[key]
    newest = int(series.attempt[-1]) if series is not None else newest_attempt(run.config)
    launch = launch_setup(run, newest, peaks)
    if series is None or key is None:
        no_speed = "a metric of its speed (tokens a second, or the time of a step)"
        return _without_speed(launch, (no_speed, *launch.parsed_shape.missing, *launch.device.missing))
    unit = speed_unit(key)
    assert unit is not None  # speed_series returns only series with a unit
    sizes = batch_size_series(run.series)
    batches = batch_size_at(series, None if sizes is None else run.series[sizes])
    curves = np.full((4, len(series)), np.nan)
    for number in np.unique(series.attempt).tolist():
        in_attempt = series.attempt == number
        setup = launch if number == newest else launch_setup(run, number, peaks)
        curves[:, in_attempt] = _curves(series.value[in_attempt], unit, setup, batches[in_attempt])
    in_newest = series.attempt == newest
    missing = _missing(launch, unit, has_batch=bool(np.isfinite(batches[in_newest]).any()))
    tokens, tflops, mfu, hfu = curves
    return OwnThroughput(
        series=series,
        unit=unit,
        launch=launch,
        tokens=tokens,
        tflops=tflops,
        mfu=mfu,
        hfu=hfu,
        missing=missing,
    )


def _curves(values: FloatArray, unit: SpeedUnit, launch: LaunchSetup, batches: FloatArray) -> FloatArray:
    """Tokens a second, TFLOPS, MFU and HFU of one device [4, n]."""
    curves = np.full((4, len(values)), np.nan)
    if launch.shape is not None:
        sequence: int | None = launch.shape.sequence
    else:
        sequence = launch.settings.integer(("seq_length", "seq_len"))
    stated = np.nan if launch.batch is None else float(launch.batch)
    tokens_of_step = np.where(np.isfinite(batches), batches * (sequence or np.nan), stated)
    tokens = tokens_per_second(values, unit, sequence=sequence, batch=tokens_of_step)
    if tokens is None or (launch.devices is None and not unit.per_device):
        return curves
    curves[0] = tokens if unit.per_device else tokens / float(launch.devices or 1)
    if launch.shape is None:
        return curves
    forward = forward_flops(launch.shape)
    curves[1] = curves[0] * 3 * forward / 1e12
    if launch.device.peak is None:
        return curves
    curves[2] = curves[1] / launch.device.peak.tflops
    if launch.recomputed is not None:
        curves[3] = curves[2] * (1 + recomputed_flops(launch.shape, launch.recomputed) / (3 * forward))
    return curves


def _missing(launch: LaunchSetup, unit: SpeedUnit, *, has_batch: bool) -> tuple[str, ...]:
    missing = list(launch.parsed_shape.missing)
    if launch.devices is None and not unit.per_device:
        missing.append("how many devices take part (world_size, gpu.count)")
    counted_in_steps = unit.measured.value.endswith("step") or unit.measured.value.startswith("steps")
    if counted_in_steps and launch.batch is None and not has_batch:
        missing.append("how many sequences a step has (global_batch_size)")
    return (*missing, *launch.device.missing)


def _without_speed(launch: LaunchSetup, missing: tuple[str, ...]) -> OwnThroughput:
    empty = np.empty(0)
    return OwnThroughput(
        series=None,
        unit=None,
        launch=launch,
        tokens=empty,
        tflops=empty,
        mfu=empty,
        hfu=empty,
        missing=missing,
    )
