"""Tokens a second out of what a run logs of its speed, by the units that frameworks put into names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from holter.roles import Role, role_of
from holter.types import FloatArray, Series, SeriesKey


class Measured(StrEnum):
    """What a series of speed counts."""

    TOKENS = "tokens/s"
    SEQUENCES = "sequences/s"
    STEPS = "steps/s"
    SECONDS = "seconds a step"
    MILLISECONDS = "milliseconds a step"


@dataclass(frozen=True)
class Unit:
    """What a series of speed counts, and whether of one device or of all together."""

    measured: Measured
    per_device: bool = False


_SECOND = r"(_per_|/|_)?(s|sec|second)"
_EACH = r"(_per_|/)(gpu|device|chip)"
# names as `_plain` gives them; the first that fits wins, better measures first
_UNITS: tuple[tuple[re.Pattern[str], Unit], ...] = tuple(
    (re.compile(pattern), unit)
    for pattern, unit in (
        (rf"(.*/)?(train_)?(tokens?|tok){_SECOND}{_EACH}", Unit(Measured.TOKENS, True)),
        (rf"(.*/)?tokens?{_EACH}{_SECOND}(_\(tgs\))?", Unit(Measured.TOKENS, True)),
        (r"(.*/)?tokens/train_per_sec_per_gpu", Unit(Measured.TOKENS, True)),
        (rf"(.*/)?throughput/device/(tps|tokens{_SECOND})", Unit(Measured.TOKENS, True)),
        (r"throughput\(tps\)|tps|tgs", Unit(Measured.TOKENS, True)),
        (rf"(.*/)?(train_)?(tokens?|tok){_SECOND}", Unit(Measured.TOKENS)),
        (rf"(.*/)?throughput/device/samples{_SECOND}", Unit(Measured.SEQUENCES, True)),
        (r"(.*/)?elapsed_time_per_iteration(_\(ms\)|_ms)", Unit(Measured.MILLISECONDS)),
        (r"(.*/)?elapsed_time_per_iteration(_\(s\))?", Unit(Measured.SECONDS)),
        (r"(.*/)?(train_)?(step|iteration)_?time_?\(?(in_)?ms\)?", Unit(Measured.MILLISECONDS)),
        (r"(.*/)?(train_)?(step|iteration)_?(time|timing)(_?\(?(in_)?s\)?)?", Unit(Measured.SECONDS)),
        (rf"(.*/)?(train_)?(samples|sequences){_SECOND}", Unit(Measured.SEQUENCES)),
        (r"(.*/)?currsamplespersec|(.*/)?cursamplespersec", Unit(Measured.SEQUENCES)),
        (rf"(.*/)?(train_)?(steps|it|iterations|batches){_SECOND}", Unit(Measured.STEPS)),
    )
)  # fmt: skip


_CANDIDATES = 8
_SUMMARY = 0.05
"""A series with no more than this share of the points of another one sums up, e.g. at the end."""


def unit_of(key: SeriesKey) -> Unit | None:
    """What a series of speed counts, by its name; None: none of what is known here."""
    found = _place(key)
    return None if found is None else _UNITS[found][1]


def _place(key: SeriesKey) -> int | None:
    plain = re.sub(r"[\s-]+", "_", key.metric.strip().lower())
    return next((place for place, (pattern, _) in enumerate(_UNITS) if pattern.fullmatch(plain)), None)


def speed_of(series: Mapping[SeriesKey, Series]) -> SeriesKey | None:
    """The series that tells best how fast a run trains, and is no mere summary of it; None: none does.

    What many processes log alike is taken from one of them. Only candidates are read.
    """
    by_metric: dict[str, tuple[int, int, SeriesKey]] = {}
    for key in series:
        place = _place(key) if key.own_steps is None else None
        if place is not None:
            ranked = (place, len(key.labels), key)
            by_metric[key.metric] = min(by_metric.get(key.metric, ranked), ranked)
    candidates = [key for _, _, key in sorted(by_metric.values())[:_CANDIDATES]]
    most = max((len(series[key]) for key in candidates), default=0)
    return next((key for key in candidates if len(series[key]) > _SUMMARY * most), None)


def batch_sizes(keys: Iterable[SeriesKey]) -> SeriesKey | None:
    """The series that says how many sequences a step has."""
    return min((key for key in keys if role_of(key) is Role.BATCH_SIZE and not key.labels), default=None)


def batches_at(series: Series, batches: Series | None) -> FloatArray:
    """How many sequences each step of `series` [n] has, by the newest word at or before it; NaN: not said."""
    found = np.full(len(series), np.nan)
    if batches is None or not len(batches):
        return found
    for number in np.unique(series.attempt).tolist():
        mine, said = series.attempt == number, batches.attempt == number
        if not said.any():
            continue
        steps, values = batches.step[said], batches.value[said]
        at = np.searchsorted(steps, series.step[mine], side="right") - 1
        found[mine] = values[np.maximum(at, 0)]
    return found


def tokens_a_second(
    values: FloatArray, unit: Unit, *, sequence: float | None, batch: FloatArray
) -> FloatArray | None:
    """Tokens a second [n], of one device where the unit says so; None where the length of sequences, or the
    tokens of a step `batch` [n], would be needed and are not known.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if unit.measured is Measured.TOKENS:
            return values
        if unit.measured is Measured.SEQUENCES:
            return None if sequence is None else values * sequence
        if not np.isfinite(batch).any():
            return None
        if unit.measured is Measured.STEPS:
            return values * batch
        scale = 1e-3 if unit.measured is Measured.MILLISECONDS else 1.0
        return np.where(values > 0, batch / (values * scale), np.nan)
