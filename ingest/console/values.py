"""Numbers and times as programs print them.

Numbers may have thousands separators, per cent signs, suffixes such as K and M, or quotes, or be nan. Times
are taken as local time of the machine that reads, since printed ones state no zone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache

_NO_TIME = float("nan")
_TIME = re.compile(
    r"(?P<year>\d{4})[-/](?P<month>\d\d)[-/](?P<day>\d\d)[ T,](?P<hm>\d\d:\d\d):(?P<s>\d\d(?:[.,]\d{1,9})?)"
    r"|(?P<us_month>\d\d)/(?P<us_day>\d\d)/(?P<us_year>\d{4}) (?P<us_hm>\d\d:\d\d):(?P<us_s>\d\d)"
)
SCALES = {"K": 1e3, "k": 1e3, "M": 1e6, "G": 1e9, "B": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_NUMBER = re.compile(r"([-+]?(?:\d[\d,]*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)\s?([KkMGBTPE]?)(?:%|FLOPS|B)?")


def parse_number(text: str) -> float | None:
    """The number in a text, None if it is none. Suffixes are decimal: 67.4M is 67,400,000."""
    try:
        return None if "_" in text else float(text)  # Python reads 1_000, no logger writes it
    except ValueError:
        match = _NUMBER.fullmatch(text.strip().strip("'\""))
    if match is None:
        return None
    return float(match[1].replace(",", "")) * SCALES.get(match[2], 1.0)


def parse_numbers(pairs: Iterable[tuple[str, str]]) -> dict[str, float]:
    """The numbers by name, from names and texts; a text that is no number is left out."""
    return {name: value for name, text in pairs if (value := parse_number(text)) is not None}


def parse_time(text: str) -> float:
    """Unix seconds of the first date and time in a text, NaN if there is none."""
    if text.count(":") < 2 or (text.count("-") < 2 and text.count("/") < 2):  # saves most searches
        return _NO_TIME
    match = _TIME.search(text)
    if match is None:
        return _NO_TIME
    if match["year"] is not None:
        minute = _minute(match["year"], match["month"], match["day"], match["hm"])
        return minute + float(match["s"].replace(",", "."))
    return _minute(match["us_year"], match["us_month"], match["us_day"], match["us_hm"]) + float(
        match["us_s"]
    )


@lru_cache(maxsize=1024)  # thousands of lines share a minute, and finding the time zone is slow
def _minute(year: str, month: str, day: str, hour_minute: str) -> float:
    try:
        return datetime.fromisoformat(f"{year}-{month}-{day}T{hour_minute}").timestamp()
    except (ValueError, OverflowError, OSError):
        return _NO_TIME
