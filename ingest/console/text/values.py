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

_NO_NUMBER = re.compile(r"(?i)[-+]?(?:nan|inf)\.0")
"""What progress bars make of NaN and infinity."""


def parse_number(text: str) -> float | None:
    """The number in a text, None if it is none. Suffixes are decimal: 67.4M is 67,400,000."""
    try:
        return None if "_" in text else float(text)  # Python reads 1_000, no logger writes it
    except ValueError:
        bare = text.strip().strip("'\"")
        if _NO_NUMBER.fullmatch(bare) is not None:
            return float(bare.removesuffix(".0"))
        match = _NUMBER.fullmatch(bare)
    if match is None:
        return None
    return float(match[1].replace(",", "")) * SCALES.get(match[2], 1.0)


def parse_numbers(pairs: Iterable[tuple[str, str]]) -> dict[str, float]:
    """The numbers by name, from names and texts; a text that is no number is left out."""
    return {name: value for name, text in pairs if (value := parse_number(text)) is not None}


def find_time(text: str) -> re.Match[str] | None:
    """The first date and time in a text, None if there is none."""
    if text.count(":") < 2 or (text.count("-") < 2 and text.count("/") < 2):  # saves most searches
        return None
    return _TIME.search(text)


def parse_time(text: str) -> float:
    """Unix seconds of the first date and time in a text, NaN if there is none."""
    match = find_time(text)
    if match is None:
        return _NO_TIME
    if match["year"] is not None:
        minute = _minute(match["year"], match["month"], match["day"], match["hm"])
        return minute + float(match["s"].replace(",", "."))
    return _minute(match["us_year"], match["us_month"], match["us_day"], match["us_hm"]) + float(
        match["us_s"]
    )


def begins_with_year(time: str) -> bool:
    """Whether a text is a date and time in the order that `parse_year_first` expects."""
    match = _TIME.fullmatch(time)
    return match is not None and match["year"] is not None


def parse_year_first(time: bytes) -> float:
    """Unix seconds of a text that is a date, beginning with the year, and a time: `parse_time`, faster."""
    return _minute_of(time[:16]) + float(time[17:].replace(b",", b"."))


@lru_cache(maxsize=1024)
def _minute_of(text: bytes) -> float:
    date = text.decode()
    return _minute(date[:4], date[5:7], date[8:10], date[11:])


@lru_cache(maxsize=1024)  # thousands of lines share a minute, and finding the time zone is slow
def _minute(year: str, month: str, day: str, hour_minute: str) -> float:
    try:
        return datetime.fromisoformat(f"{year}-{month}-{day}T{hour_minute}").timestamp()
    except (ValueError, OverflowError, OSError):
        return _NO_TIME
