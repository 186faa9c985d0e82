"""Rows that have a wall time instead of a step: their steps are milliseconds since 1970."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Hashable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from holter.ingest.communication.labels import series_labels
from holter.ingest.rows import LogRow
from holter.types import CLOCK_STEPS, Labels

SAMPLES = "samples"
"""Unit of the steps of a series whose log has no times."""

_MAX_TIME = 253_402_300_800.0  # the year 10,000
_MAX_COUNTERS = 4096
_DAY = 86_400.0
_MONTHS = {
    name: index + 1
    for index, name in enumerate("JanFebMarAprMayJunJulAugSepOctNovDec"[i : i + 3] for i in range(0, 36, 3))
}
_DATE_TIME = re.compile(
    r"(?P<year>\d{4})[/-](?P<month>\d\d)[/-](?P<day>\d\d)[ T](?P<clock>\d\d:\d\d:\d\d)(?P<part>[.,]\d{1,9})?"
    r"(?P<zone>Z|[+-]\d\d:?\d\d)?"
    r"|(?:[A-Z][a-z]{2} )?(?P<name>[A-Z][a-z]{2}) {1,2}(?P<date>\d{1,2}) (?P<hour>\d\d:\d\d:\d\d)"
    r"(?P<fraction>\.\d{1,9})?(?: (?:(?P<utc>UTC|GMT) |[A-Z]{2,5} )?(?P<after>\d{4}))?"
)


def clock_row(unix_time: float, values: Mapping[str, float], **labels: Hashable) -> LogRow | None:
    """A row at a wall time in Unix seconds; None if that is NaN or out of range."""
    if not 0 < unix_time < _MAX_TIME:
        return None
    return LogRow(clock_step(unix_time), unix_time, values, series_labels(CLOCK_STEPS, **labels))


def clock_step(unix_time: float) -> int:
    """The step of a wall time: its milliseconds, of Unix seconds."""
    return math.floor(unix_time * 1000 + 0.5)


class SampleCounter:
    """Numbers the samples of logs without times, by their labels: the first sample is step 0."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._numbers: dict[str, int] = dict(state.get("counted", {}))

    def state(self) -> dict[str, Any]:
        """The last number by labels, as JSON-able values; empty if there are none."""
        return {"counted": dict(self._numbers)} if self._numbers else {}

    def row(self, values: Mapping[str, float], **labels: Hashable) -> LogRow | None:
        """The row of the next sample with these labels; None for new labels beyond `_MAX_COUNTERS`."""
        key = series_labels(SAMPLES, **labels)
        name = _label_text(key)
        if name not in self._numbers and len(self._numbers) >= _MAX_COUNTERS:
            return None
        number = self._numbers[name] = self._numbers.get(name, -1) + 1
        return LogRow(number, float("nan"), values, key)


def _label_text(labels: Labels) -> str:
    return ",".join(f"{name}={value}" for name, value in labels)


class TimestampParser:
    """Parses dates and times of logs.

    A time without a zone is in the zone of this machine. One without a year is in the newest year that does
    not put it in the future. In the hour that the clock repeats in autumn, times continue after the last one.
    """

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._last: float = state.get("clock", 0.0)

    def state(self) -> dict[str, Any]:
        """The last time, as JSON-able values."""
        return {"clock": self._last} if self._last else {}

    def parse(self, text: str) -> float:
        """Unix seconds of the first date and time in a text, NaN where there is none."""
        match = _DATE_TIME.search(text)
        if match is None:
            return float("nan")
        if match["zone"]:
            return _parse_with_zone(match)
        if match["year"]:
            minute, second = _minute_and_second(match["clock"])
            date_and_minute = int(match["year"]), int(match["month"]), int(match["day"]), minute
            unix_time = self._local_time(*date_and_minute, second + _fraction(match["part"]))
        else:
            unix_time = self._parse_named_month(match)
        if unix_time == unix_time:
            self._last = unix_time
        return unix_time

    def _parse_named_month(self, match: re.Match[str]) -> float:
        month = _MONTHS.get(match["name"])
        if month is None:
            return float("nan")
        minute, second = _minute_and_second(match["hour"])
        second += _fraction(match["fraction"])
        if match["utc"]:
            day = (
                datetime(int(match["after"]), month, 1, tzinfo=UTC).timestamp()
                + (int(match["date"]) - 1) * _DAY
            )
            return day + 60 * minute + second
        if match["after"]:
            return self._local_time(int(match["after"]), month, int(match["date"]), minute, second)
        now = time.time()
        year = time.localtime(now).tm_year + 1
        for _ in range(6):  # 29 February comes every fourth year
            unix_time = self._local_time(year, month, int(match["date"]), minute, second)
            if unix_time <= now + _DAY:
                return unix_time
            year -= 1
        return float("nan")

    def _local_time(self, year: int, month: int, day: int, minute: int, second: float) -> float:
        unix_time = _unix_minute(year, month, day, minute, 0) + second
        if unix_time < self._last - 1:
            repeated = _unix_minute(year, month, day, minute, 1) + second
            if repeated >= self._last - 1:
                return repeated
        return unix_time


def _parse_with_zone(match: re.Match[str]) -> float:
    text = f"{match['year']}-{match['month']}-{match['day']}T{match['clock']}{match['zone']}"
    try:
        return datetime.fromisoformat(text).timestamp() + _fraction(match["part"])
    except (ValueError, OverflowError, OSError):
        return float("nan")


def _minute_and_second(clock: str) -> tuple[int, float]:
    """Minutes of the day, and seconds of the minute."""
    return int(clock[:2]) * 60 + int(clock[3:5]), float(clock[6:8])


def _fraction(text: str | None) -> float:
    return float("0." + text[1:]) if text else 0.0


@lru_cache(maxsize=1024)  # many lines share a minute, and asking for the zone is slow
def _unix_minute(year: int, month: int, day: int, minute: int, fold: int) -> float:
    try:
        return datetime(year, month, day, minute // 60, minute % 60, fold=fold).timestamp()  # noqa: DTZ001
    except (ValueError, OverflowError, OSError):
        return float("nan")
