"""The units that values of a metric are in, by the metric's role and name.

`UNITS` has the units that are shown with values; `speed_unit` and `memory_scale` the quantities that MFU and
memory leaks are computed from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from holter.roles import Role
from holter.types import SeriesKey

_Rules = tuple[tuple[str, str], ...]
_MILLISECONDS = (r"_ms$|\(ms\)|time.*ms\b|millisec", "ms")
_MICROSECONDS = (r"_us$|\(us\)|microsec", "µs")
_OTHER_TIMES = (_MICROSECONDS, (r"_ns$|\(ns\)", "ns"), (r"\(min\)|[_(]min(ute)?s\)?$", "min"))
"""After milliseconds and before seconds. A `time_min` is the shortest time."""
_SECONDS = (r"_s$|_sec(ond)?s?$|\(s\)", "s")
_ANY = ""

OTHER_ROLES: _Rules = (_MILLISECONDS,)
"""The rules for roles that are not in the table; a metric that no rule matches has no unit."""

UNITS: Mapping[Role, _Rules] = {
    Role.THROUGHPUT: (
        # a slow-down is detected in step times too, and in the MFU, which has no unit
        _MILLISECONDS,
        *((rf"(time|duration|\bdt).*({pattern})", unit) for pattern, unit in _OTHER_TIMES),
        (r"time|duration|\bdt$", "s"),
        (r"mfu|hfu", ""),
        (r"flop", "TFLOPS"),
        (r"sample|sequence", "samples/s"),
        (r"tok|tps|tgs|wps", "tokens/s"),
        (r"step|it/s|batch", "steps/s"),
        (_ANY, "/s"),
    ),
    Role.STEP_TIME: (_MILLISECONDS, *_OTHER_TIMES, (_ANY, "s")),
    Role.DURATION: (_MILLISECONDS, *_OTHER_TIMES, (_ANY, "s")),
    Role.COMPUTE_TIME: (_MILLISECONDS, _MICROSECONDS, _SECONDS),
    Role.COLLECTIVE_TIME: (_MILLISECONDS, _MICROSECONDS, _SECONDS),
    Role.MEMORY: (
        (r"percent|%", "%"),
        (r"gib(?![a-z])", "GiB"),
        (r"gb(?![a-z])", "GB"),
        (r"mib(?![a-z])", "MiB"),
        (r"mb(?![a-z])", "MB"),
        (r"bytes", "bytes"),
    ),
}

"""The rules of each role: patterns that are searched in the metric's name in lower case; the first match
gives the unit. Python and JavaScript read them alike, as the web pages get the same table as JSON."""
_COMPILED: dict[Role | None, tuple[tuple[re.Pattern[str], str], ...]] = {
    role: tuple((re.compile(pattern), unit) for pattern, unit in rules)
    for role, rules in (*UNITS.items(), (None, OTHER_ROLES))
}


@lru_cache(maxsize=10_000)
def unit_of_metric(role: Role, metric: str) -> str:
    """The unit of a metric's values, such as "tokens/s"; empty where its name does not state one."""
    name = metric.lower()
    rules = _COMPILED.get(role, _COMPILED[None])
    return next((unit for pattern, unit in rules if pattern.search(name)), "")


def units_as_json() -> dict[str, list[list[str]]]:
    """The rules by role, as pairs of a pattern and a unit; those under "" are for all other roles."""
    rules = {"": OTHER_ROLES, **{role.value: rules for role, rules in UNITS.items()}}
    return {role: [list(rule) for rule in some] for role, some in rules.items()}


class SpeedMeasure(StrEnum):
    """The quantity that a series of speed measures."""

    TOKENS = "tokens/s"
    SEQUENCES = "sequences/s"
    STEPS = "steps/s"
    SECONDS = "seconds a step"
    MILLISECONDS = "milliseconds a step"


@dataclass(frozen=True)
class SpeedUnit:
    """The quantity that a series of speed measures, and whether of one device or of all together."""

    measured: SpeedMeasure
    per_device: bool = False


_SECOND = r"(_per_|/|_)?(s|sec|second)"
_EACH = r"(_per_|/)(gpu|device|chip)"
# names in lower case with underscores; the first match wins, better measures come first
_SPEED_UNITS: tuple[tuple[re.Pattern[str], SpeedUnit], ...] = tuple(
    (re.compile(pattern), unit)
    for pattern, unit in (
        (rf"(.*/)?(train_)?(tokens?|tok){_SECOND}{_EACH}", SpeedUnit(SpeedMeasure.TOKENS, True)),
        (rf"(.*/)?tokens?{_EACH}{_SECOND}(_\(tgs\))?", SpeedUnit(SpeedMeasure.TOKENS, True)),
        (r"(.*/)?tokens/train_per_sec_per_gpu", SpeedUnit(SpeedMeasure.TOKENS, True)),
        (rf"(.*/)?throughput/device/(tps|tokens{_SECOND})", SpeedUnit(SpeedMeasure.TOKENS, True)),
        (r"throughput\(tps\)|tps|tgs", SpeedUnit(SpeedMeasure.TOKENS, True)),
        (rf"(.*/)?(train_)?(tokens?|tok){_SECOND}", SpeedUnit(SpeedMeasure.TOKENS)),
        (rf"(.*/)?throughput/device/samples{_SECOND}", SpeedUnit(SpeedMeasure.SEQUENCES, True)),
        (r"(.*/)?elapsed_time_per_iteration(_\(ms\)|_ms)", SpeedUnit(SpeedMeasure.MILLISECONDS)),
        (r"(.*/)?elapsed_time_per_iteration(_\(s\))?", SpeedUnit(SpeedMeasure.SECONDS)),
        (r"(.*/)?(train_)?(step|iteration)_?time_?\(?(in_)?ms\)?", SpeedUnit(SpeedMeasure.MILLISECONDS)),
        (
            r"(.*/)?(train_)?(step|iteration)_?(time|timing)(_?\(?(in_)?s\)?)?",
            SpeedUnit(SpeedMeasure.SECONDS),
        ),
        (rf"(.*/)?(train_)?(samples|sequences){_SECOND}", SpeedUnit(SpeedMeasure.SEQUENCES)),
        (r"(.*/)?currsamplespersec|(.*/)?cursamplespersec", SpeedUnit(SpeedMeasure.SEQUENCES)),
        (rf"(.*/)?(train_)?(steps|it|iterations|batches){_SECOND}", SpeedUnit(SpeedMeasure.STEPS)),
    )
)  # fmt: skip


def speed_unit(key: SeriesKey) -> SpeedUnit | None:
    """The quantity that a series of speed measures, by its name; None for any other series."""
    rank = speed_measure_rank(key)
    return None if rank is None else _SPEED_UNITS[rank][1]


def speed_measure_rank(key: SeriesKey) -> int | None:
    """The position of a series' name among the known measures; the lower, the better the measure."""
    plain = re.sub(r"[\s-]+", "_", key.metric.strip().lower())
    return next((rank for rank, (pattern, _) in enumerate(_SPEED_UNITS) if pattern.fullmatch(plain)), None)


_MEMORY_SCALES = tuple(
    (re.compile(pattern, re.IGNORECASE), factor, unit)
    for pattern, factor, unit in (
        (r"percent|%", 1.0, "%"),
        (r"gi?b(?![a-z])", 1.0, "GB"),
        (r"mi?b(?![a-z])", 1 / 1024, "GB"),
        (r"ki?b(?![a-z])", 1 / 1024**2, "GB"),
        (r"bytes", 1e-9, "GB"),
    )
)


def memory_scale(metric: str) -> tuple[float, str] | None:
    """The factor to a common unit of memory (GB or %), and that unit; None where the name states no unit."""
    return next(((factor, unit) for pattern, factor, unit in _MEMORY_SCALES if pattern.search(metric)), None)
