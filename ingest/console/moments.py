"""The moment a line was printed, where it says so: local time of the machine that reads, as printed."""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache

_NONE = float("nan")
_MOMENT = re.compile(
    r"(?P<year>\d{4})[-/](?P<month>\d\d)[-/](?P<day>\d\d)[ T,](?P<hm>\d\d:\d\d):(?P<s>\d\d(?:[.,]\d{1,9})?)"
    r"|(?P<us_month>\d\d)/(?P<us_day>\d\d)/(?P<us_year>\d{4}) (?P<us_hm>\d\d:\d\d):(?P<us_s>\d\d)"
)


def moment(text: str) -> float:
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
