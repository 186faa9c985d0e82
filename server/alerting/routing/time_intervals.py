"""Time intervals with time zones, as in Alertmanager: ranges of times, weekdays, days, months and years.

Source: https://prometheus.io/docs/alerting/latest/configuration/#time_interval-0
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from holter.server.alerting.routing.route_tree import RoutingError
from holter.settings.alerting import TimeIntervalSettings

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
    "november", "december",
)  # fmt: skip

Range = tuple[int, int]
"""First and last number, both included."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TimeInterval:
    """All fields that are not empty must contain a time. `times` in minutes of the day, the end excluded."""

    times: tuple[Range, ...] = ()
    weekdays: tuple[Range, ...] = ()
    days_of_month: tuple[Range, ...] = ()
    months: tuple[Range, ...] = ()
    years: tuple[Range, ...] = ()
    zone: ZoneInfo

    def contains(self, time: float) -> bool:
        """Whether a wall time (Unix seconds) lies in the interval."""
        local = datetime.fromtimestamp(time, tz=self.zone)
        minute = 60 * local.hour + local.minute
        length = monthrange(local.year, local.month)[1]
        days = tuple(_day_range(first, last, length) for first, last in self.days_of_month)
        return (
            (not self.times or any(first <= minute < end for first, end in self.times))
            and _within(self.weekdays, local.weekday())
            and _within(days, local.day)
            and _within(self.months, local.month)
            and _within(self.years, local.year)
        )

    def describe(self) -> str:
        """The interval in words: "monday to friday, 22:00 to 24:00 (Europe/Berlin)"."""
        parts = (
            _describe(self.years, str),
            _describe(self.months, lambda number: _MONTHS[number - 1]),
            _describe(self.days_of_month, lambda number: f"day {number}"),
            _describe(self.weekdays, lambda number: WEEKDAYS[number]),
            _describe(self.times, lambda minute: f"{minute // 60:02}:{minute % 60:02}"),
        )
        return f"{', '.join(filter(None, parts)) or 'always'} ({self.zone.key})"


TimeIntervals = Mapping[str, Sequence[TimeInterval]]
"""Named lists of intervals; a list contains a time if one of its intervals does."""


def containing(names: Sequence[str], intervals: TimeIntervals, time: float) -> str | None:
    """The first of these intervals that contains a time, None if there is none."""
    return next((name for name in names if any(each.contains(time) for each in intervals[name])), None)


def build_time_intervals(settings: Mapping[str, Sequence[TimeIntervalSettings]]) -> TimeIntervals:
    """The intervals that settings describe. Raises RoutingError."""
    return {
        name: tuple(
            _build(each, f"alerting.time_intervals.{name}[{number}]") for number, each in enumerate(each_list)
        )
        for name, each_list in settings.items()
    }


def load_zone(name: str, place: str) -> ZoneInfo:
    """A time zone by name. Raises RoutingError."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        reason = f"there is no time zone {name!r}: expected a name such as Europe/Berlin"
        raise RoutingError(f"[{place}] location: {reason}") from None


def weekday_number(name: str, place: str) -> int:
    """The number of a weekday, monday is 0. Raises RoutingError."""
    return _named(name, WEEKDAYS, f"[{place}] weekday")


def _build(settings: TimeIntervalSettings, place: str) -> TimeInterval:
    return TimeInterval(
        times=tuple(
            _time_range(each.start_time, each.end_time, f"[{place}] times") for each in settings.times
        ),
        weekdays=tuple(_names(each, WEEKDAYS, 0, f"[{place}] weekdays") for each in settings.weekdays),
        days_of_month=tuple(
            _numbers(each, -31, 31, f"[{place}] days_of_month") for each in settings.days_of_month
        ),
        months=tuple(_months(each, f"[{place}] months") for each in settings.months),
        years=tuple(_numbers(each, 1, 9999, f"[{place}] years") for each in settings.years),
        zone=load_zone(settings.location, place),
    )


def _describe(ranges: Sequence[Range], name: Callable[[int], str]) -> str:
    texts = (name(first) if first == last else f"{name(first)} to {name(last)}" for first, last in ranges)
    return " or ".join(texts)


def _within(ranges: Sequence[Range], number: int) -> bool:
    return not ranges or any(first <= number <= last for first, last in ranges)


def _day_range(first: int, last: int, length: int) -> Range:
    """Negative days count from the end of the month: -1 is its last day."""
    begin = first if first > 0 else length + first + 1
    end = last if last > 0 else length + last + 1
    return max(begin, 1), min(end, length)


def _time_range(start: str, end: str, place: str) -> Range:
    first, last = _minute(start, place), _minute(end, place)
    if first >= last:
        raise RoutingError(
            f"{place}: {start} to {end}: expected a start before the end; a night is two ranges, "
            "22:00 to 24:00 and 00:00 to 06:00"
        )
    return first, last


def _minute(text: str, place: str) -> int:
    hour, _, minute = text.partition(":")
    if len(text) == 5 and hour.isdecimal() and minute.isdecimal() and text.isascii():
        total = 60 * int(hour) + int(minute)
        if int(minute) < 60 and total <= 24 * 60:
            return total
    raise RoutingError(f"{place}: {text!r}: expected HH:MM, up to 24:00")


def _names(text: str, names: Sequence[str], base: int, place: str) -> Range:
    first, _, last = text.lower().partition(":")
    begin = _named(first, names, place) + base
    end = _named(last, names, place) + base if last else begin
    if begin > end:
        raise RoutingError(f"{place}: {text!r}: expected the first before the last")
    return begin, end


def _named(name: str, names: Sequence[str], place: str) -> int:
    if name.strip().lower() not in names:
        raise RoutingError(f"{place}: {name!r}: expected one of {', '.join(names)}")
    return names.index(name.strip().lower())


def _months(text: str, place: str) -> Range:
    if text.replace(":", "").isdecimal():
        return _numbers(text, 1, 12, place)
    return _names(text, _MONTHS, 1, place)


def _numbers(text: str, least: int, most: int, place: str) -> Range:
    first, _, last = text.partition(":")
    try:
        begin, end = int(first), int(last or first)
    except ValueError:
        raise RoutingError(f"{place}: {text!r}: expected a number or FIRST:LAST") from None
    allowed = least <= begin <= most and least <= end <= most and begin != 0 and end != 0
    if not allowed or (begin > end and (begin < 0) == (end < 0)) or (begin < 0 < end):
        raise RoutingError(f"{place}: {text!r}: expected FIRST:LAST within {least} and {most}, without 0")
    return begin, end
