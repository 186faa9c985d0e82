"""Holter's own TFLOPS, MFU and HFU of a run: from its speed, the model's shape and the devices' peak."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from holter.flops.formulas import Recomputed, again, forward
from holter.flops.hardware import Device, batch_of, device_of, devices_of, recomputed_of
from holter.flops.launch_settings import Told, newest_attempt, told_of
from holter.flops.levels import Level, level_of, spans_of
from holter.flops.model_shape import Reading, shape_of
from holter.flops.peaks import Peaks
from holter.flops.rates import (
    Unit,
    batch_sizes,
    batches_at,
    speed_of,
    tokens_a_second,
    unit_of,
)
from holter.flops.shape import ModelShape
from holter.types import FloatArray, RunData, Series, SeriesKey


@dataclass(frozen=True, kw_only=True)
class Launch:
    """All that one attempt says of itself which its utilisation rests on."""

    told: Told
    reading: Reading
    device: Device
    devices: int | None
    batch: int | None
    recomputed: Recomputed | None

    @property
    def shape(self) -> ModelShape | None:
        """The model's shape."""
        return self.reading.shape


@dataclass(frozen=True, eq=False, kw_only=True)
class Own:
    """Holter's own figures beside the series of speed that they rest on, values [n] as in `series`.

    Of one device: `tokens` a second, `tflops`; as shares of the peak `mfu` and, with what is recomputed,
    `hfu`; NaN where an attempt does not say enough. `launch` is that of the newest attempt, `missing` what
    it does not say, in words.
    """

    series: Series | None
    unit: Unit | None
    launch: Launch
    tokens: FloatArray
    tflops: FloatArray
    mfu: FloatArray
    hfu: FloatArray
    missing: tuple[str, ...]
    _levels: dict[int, Level | None] = field(default_factory=dict, repr=False)

    def level(self, values: FloatArray) -> Level | None:
        """The level of one of the curves."""
        if id(values) not in self._levels:  # checks ask again and again
            found = None if self.series is None else level_of(self.series, values, spans_of(self.series))
            self._levels[id(values)] = found
        return self._levels[id(values)]

    def curve(self, name: str, values: FloatArray) -> Series | None:
        """One of the curves as a series of this name; None where nothing of it is known."""
        if self.series is None or not np.isfinite(values).any():
            return None
        return replace(self.series, key=SeriesKey(name), value=values)


def launch_of(run: RunData, attempt: int, peaks: Peaks) -> Launch:
    """What an attempt says of itself."""
    told = told_of(run.config, attempt)
    reading = shape_of(told)
    sequence = reading.shape.sequence if reading.shape else None
    return Launch(
        told=told,
        reading=reading,
        device=device_of(told, peaks),
        devices=devices_of(told),
        batch=batch_of(told, sequence),
        recomputed=recomputed_of(told),
    )


def own_of(run: RunData, peaks: Peaks) -> Own:
    """A run's utilisation by Holter's formula, attempt by attempt, for what each says of itself."""
    key = speed_of(run.series)
    series = None if key is None else run.series[key]
    newest = int(series.attempt[-1]) if series is not None else newest_attempt(run.config)
    launch = launch_of(run, newest, peaks)
    if series is None or key is None:
        lacking = "a metric of its speed (tokens a second, or the time of a step)"
        return _nothing(launch, (lacking, *launch.reading.missing, *launch.device.missing))
    unit = unit_of(key)
    assert unit is not None  # speed_of names none without
    sizes = batch_sizes(run.series)
    batches = batches_at(series, None if sizes is None else run.series[sizes])
    curves = np.full((4, len(series)), np.nan)
    for number in np.unique(series.attempt).tolist():
        mine = series.attempt == number
        one = launch if number == newest else launch_of(run, number, peaks)
        curves[:, mine] = _curves(series.value[mine], unit, one, batches[mine])
    last = series.attempt == newest
    missing = _missing(launch, unit, has_batch=bool(np.isfinite(batches[last]).any()))
    tokens, tflops, mfu, hfu = curves
    return Own(
        series=series,
        unit=unit,
        launch=launch,
        tokens=tokens,
        tflops=tflops,
        mfu=mfu,
        hfu=hfu,
        missing=missing,
    )


def _curves(values: FloatArray, unit: Unit, launch: Launch, batches: FloatArray) -> FloatArray:
    """Tokens a second, TFLOPS, MFU and HFU of one device [4, n]."""
    found = np.full((4, len(values)), np.nan)
    sequence = (
        launch.shape.sequence if launch.shape is not None else launch.told.whole(("seq_length", "seq_len"))
    )
    stated = np.nan if launch.batch is None else float(launch.batch)
    tokens_of_step = np.where(np.isfinite(batches), batches * (sequence or np.nan), stated)
    tokens = tokens_a_second(values, unit, sequence=sequence, batch=tokens_of_step)
    if tokens is None or (launch.devices is None and not unit.per_device):
        return found
    found[0] = tokens if unit.per_device else tokens / float(launch.devices or 1)
    if launch.shape is None:
        return found
    once = forward(launch.shape)
    found[1] = found[0] * 3 * once / 1e12
    if launch.device.peak is None:
        return found
    found[2] = found[1] / launch.device.peak.tflops
    if launch.recomputed is not None:
        found[3] = found[2] * (1 + again(launch.shape, launch.recomputed) / (3 * once))
    return found


def _missing(launch: Launch, unit: Unit, *, has_batch: bool) -> tuple[str, ...]:
    lacking = list(launch.reading.missing)
    if launch.devices is None and not unit.per_device:
        lacking.append("how many devices take part (world_size, gpu.count)")
    counted_in_steps = unit.measured.value.endswith("step") or unit.measured.value.startswith("steps")
    if counted_in_steps and launch.batch is None and not has_batch:
        lacking.append("how many sequences a step has (global_batch_size)")
    return (*lacking, *launch.device.missing)


def _nothing(launch: Launch, missing: tuple[str, ...]) -> Own:
    empty = np.empty(0)
    return Own(
        series=None,
        unit=None,
        launch=launch,
        tokens=empty,
        tflops=empty,
        mfu=empty,
        hfu=empty,
        missing=missing,
    )
