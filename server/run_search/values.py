"""Values in filters: numbers with suffixes, moments and ages, patterns with `*` and `?`."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from math import isclose, isnan
from typing import NamedTuple

import re2  # type: ignore[import-untyped]

from holter.server.run_search.syntax import FilterError, Operator

_NUMBER = re.compile(
    r"([-+]?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|[-+]?inf|nan)([kMGT%]?)", re.IGNORECASE
)
_SUFFIXES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "%": 0.01}
_AGE = re.compile(r"(\d+(?:\.\d+)?)(s|min|m|h|d|w)")
_SECONDS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_DATE_FORMATS = ("%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m", "%Y")
_TOLERANCE = 1e-9
"""Relative difference up to which two numbers of a configuration are equal: 0.1 + 0.2 is 0.3."""

Number = float | int


class Moment(NamedTuple):
    """A time in a filter: Unix seconds, and whether it was written as an age (`2h`), where less is newer."""

    time: float
    is_age: bool


def read_number(text: str) -> float | None:
    """`3e-4`, `1_000`, `12k`, `50%` as a number; None for other text."""
    found = _NUMBER.fullmatch(text.strip())
    if found is None:
        return None
    try:
        return float(found[1].replace("_", "")) * _SUFFIXES[found[2].lower()]
    except (ValueError, OverflowError):
        return None


def required_number(text: str, position: int) -> float:
    """The same. Raises FilterError."""
    number = read_number(text)
    if number is None or isnan(number):
        raise FilterError(position, f"expected a number such as 3e-4 or 12k, found {text[:40]}")
    return number


def read_moment(text: str, now: float, position: int) -> Moment:
    """A date (`2026-11-20`, UTC) or an age (`2h`, `7d`). Raises FilterError."""
    if age := _AGE.fullmatch(text):
        return Moment(now - float(age[1]) * _SECONDS[age[2]], is_age=True)
    for form in _DATE_FORMATS:
        try:
            return Moment(datetime.strptime(text, form).replace(tzinfo=UTC).timestamp(), is_age=False)
        except ValueError:
            continue
    raise FilterError(
        position, f"expected a date such as 2026-11-20 or an age such as 2h or 7d, found {text[:40]}"
    )


def compares(operator: Operator, limit: float) -> Callable[[float], bool]:
    """The test of a number against a limit."""
    if operator is Operator.LESS:
        return lambda value: value < limit
    if operator is Operator.AT_MOST:
        return lambda value: value <= limit
    if operator is Operator.MORE:
        return lambda value: value > limit
    if operator is Operator.AT_LEAST:
        return lambda value: value >= limit
    return lambda value: isclose(value, limit, rel_tol=_TOLERANCE)


def text_pattern(wanted: str, *, anywhere: bool) -> Callable[[str], bool]:
    """The test of lower-case text: `*` and `?` match the entire text; else equal, or contained `anywhere`."""
    wanted = wanted.lower()
    if "*" in wanted or "?" in wanted:
        matches = _compiled(wanted).fullmatch
        return lambda text: matches(text) is not None
    if anywhere:
        return lambda text: wanted in text
    return lambda text: text == wanted


@lru_cache(256)
def _compiled(pattern: str) -> re.Pattern[str]:
    """A pattern of RE2, which takes time linear in the text."""
    options = re2.Options()
    options.dot_nl = True
    expression = "".join({"*": ".*", "?": "."}.get(letter) or re2.escape(letter) for letter in pattern)
    compiled: re.Pattern[str] = re2.compile(expression, options)
    return compiled
