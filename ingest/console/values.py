"""Numbers as people print them: with commas, per cent signs, K and M, quotes, nan.

The moment a line was printed, where it says so: local time of the machine that reads, as printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache

_NONE = float("nan")
_MOMENT = re.compile(
    r"(?P<year>\d{4})[-/](?P<month>\d\d)[-/](?P<day>\d\d)[ T,](?P<hm>\d\d:\d\d):(?P<s>\d\d(?:[.,]\d{1,9})?)"
    r"|(?P<us_month>\d\d)/(?P<us_day>\d\d)/(?P<us_year>\d{4}) (?P<us_hm>\d\d:\d\d):(?P<us_s>\d\d)"
)


def parse_time(text: str) -> float:
    """Unix seconds of the first date and time in a text, NaN where there is none."""
    if text.count(":") < 2 or (text.count("-") < 2 and text.count("/") < 2):  # told without a search
        return _NONE
    found = _MOMENT.search(text)
    if found is None:
        return _NONE
    if found["year"] is not None:
        minute = _minute(found["year"], found["month"], found["day"], found["hm"])
        return minute + float(found["s"].replace(",", "."))
    return _minute(found["us_year"], found["us_month"], found["us_day"], found["us_hm"]) + float(
        found["us_s"]
    )


@lru_cache(maxsize=1024)  # thousands of lines share a minute, and asking for the zone is slow
def _minute(year: str, month: str, day: str, hour_minute: str) -> float:
    try:
        return datetime.fromisoformat(f"{year}-{month}-{day}T{hour_minute}").timestamp()
    except (ValueError, OverflowError, OSError):
        return _NONE


_SCALE = {"K": 1e3, "k": 1e3, "M": 1e6, "G": 1e9, "B": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_SHAPE = re.compile(r"([-+]?(?:\d[\d,]*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)\s?([KkMGBTPE]?)(?:%|FLOPS|B)?")


def parse_number(text: str) -> float | None:
    """The number that a text is, None where it is none. Suffixes are decimal: 67.4M is 67,400,000."""
    try:
        return None if "_" in text else float(text)  # Python reads 1_000, no logger writes it
    except ValueError:
        found = _SHAPE.fullmatch(text.strip().strip("'\""))
    if found is None:
        return None
    return float(found[1].replace(",", "")) * _SCALE.get(found[2], 1.0)


def parse_numbers(pairs: Iterable[tuple[str, str]]) -> dict[str, float]:
    """Of names and texts, those whose text is a number."""
    return {name: value for name, text in pairs if (value := parse_number(text)) is not None}
