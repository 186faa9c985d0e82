"""Rows that have a wall time and no step: their steps are milliseconds since 1970, beside a run's own."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Hashable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from holter.ingest.communication.labels import labels_beside
from holter.ingest.rows import LogRow
from holter.types import CLOCK_STEPS, Labels

SAMPLES = "samples"
"""What the steps of a series count where its log has no clock at all."""

_FURTHEST = 253_402_300_800.0  # the year 10000
_MOST_COUNTED = 4096
_DAY = 86_400.0
_MONTHS = {
    name: at + 1
    for at, name in enumerate("JanFebMarAprMayJunJulAugSepOctNovDec"[i : i + 3] for i in range(0, 36, 3))
}
_NAIVE = re.compile(
    r"(?P<year>\d{4})[/-](?P<month>\d\d)[/-](?P<day>\d\d)[ T](?P<clock>\d\d:\d\d:\d\d)(?P<part>[.,]\d{1,9})?"
    r"(?P<zone>Z|[+-]\d\d:?\d\d)?"
    r"|(?:[A-Z][a-z]{2} )?(?P<name>[A-Z][a-z]{2}) {1,2}(?P<date>\d{1,2}) (?P<hour>\d\d:\d\d:\d\d)"
    r"(?P<fraction>\.\d{1,9})?(?: (?:(?P<utc>UTC|GMT) |[A-Z]{2,5} )?(?P<after>\d{4}))?"
)


def row_at(moment: float, values: Mapping[str, float], **labels: Hashable) -> LogRow | None:
    """The row of a wall time (Unix seconds); None where it is none."""
    if not 0 < moment < _FURTHEST:
        return None
    return LogRow(step_of(moment), moment, values, labels_beside(CLOCK_STEPS, **labels))


def step_of(moment: float) -> int:
    """The step of a wall time."""
    return math.floor(moment * 1000 + 0.5)


class Counted:
    """Numbers of samples without a clock, by their labels: the second value of `values` is step 1."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._numbers: dict[str, int] = dict(state.get("counted", {}))

    def state(self) -> dict[str, Any]:
        """The numbers so far."""
        return {"counted": dict(self._numbers)} if self._numbers else {}

    def row(self, values: Mapping[str, float], **labels: Hashable) -> LogRow | None:
        """The row of the next sample with these labels; None beyond what can be remembered."""
        key = labels_beside(SAMPLES, **labels)
        name = _name(key)
        if name not in self._numbers and len(self._numbers) >= _MOST_COUNTED:
            return None
        number = self._numbers[name] = self._numbers.get(name, -1) + 1
        return LogRow(number, float("nan"), values, key)


def _name(labels: Labels) -> str:
    return ",".join(f"{name}={value}" for name, value in labels)


class LocalClock:
    """Reads times as they are written down: without a zone in that of this machine, without a year in the
    newest that is no future, and of an hour that the clock repeats in autumn the one that goes on."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._last: float = state.get("clock", 0.0)

    def state(self) -> dict[str, Any]:
        """The latest time read."""
        return {"clock": self._last} if self._last else {}

    def read(self, text: str) -> float:
        """Unix seconds of the first date and time in a text, NaN where there is none."""
        found = _NAIVE.search(text)
        if found is None:
            return float("nan")
        if found["zone"]:
            return _zoned(found)
        if found["year"]:
            minute, second = _split(found["clock"])
            parts = int(found["year"]), int(found["month"]), int(found["day"]), minute
            moment = self._local(*parts, second + _fraction(found["part"]))
        else:
            moment = self._named(found)
        if moment == moment:
            self._last = moment
        return moment

    def _named(self, found: re.Match[str]) -> float:
        month = _MONTHS.get(found["name"])
        if month is None:
            return float("nan")
        minute, second = _split(found["hour"])
        second += _fraction(found["fraction"])
        if found["utc"]:
            day = (
                datetime(int(found["after"]), month, 1, tzinfo=UTC).timestamp()
                + (int(found["date"]) - 1) * _DAY
            )
            return day + 60 * minute + second
        if found["after"]:
            return self._local(int(found["after"]), month, int(found["date"]), minute, second)
        now = time.time()
        year = time.localtime(now).tm_year + 1
        for _ in range(6):  # 29 February comes every fourth year
            moment = self._local(year, month, int(found["date"]), minute, second)
            if moment <= now + _DAY:
                return moment
            year -= 1
        return float("nan")

    def _local(self, year: int, month: int, day: int, minute: int, second: float) -> float:
        moment = _minute(year, month, day, minute, 0) + second
        if moment < self._last - 1:
            again = _minute(year, month, day, minute, 1) + second
            if again >= self._last - 1:
                return again
        return moment


def _zoned(found: re.Match[str]) -> float:
    text = f"{found['year']}-{found['month']}-{found['day']}T{found['clock']}{found['zone']}"
    try:
        return datetime.fromisoformat(text).timestamp() + _fraction(found["part"])
    except (ValueError, OverflowError, OSError):
        return float("nan")


def _split(clock: str) -> tuple[int, float]:
    """Minutes of the day, and seconds of the minute."""
    return int(clock[:2]) * 60 + int(clock[3:5]), float(clock[6:8])


def _fraction(text: str | None) -> float:
    return float("0." + text[1:]) if text else 0.0


@lru_cache(maxsize=1024)  # many lines share a minute, and asking for the zone is slow
def _minute(year: int, month: int, day: int, minute: int, fold: int) -> float:
    try:
        return datetime(year, month, day, minute // 60, minute % 60, fold=fold).timestamp()  # noqa: DTZ001
    except (ValueError, OverflowError, OSError):
        return float("nan")
