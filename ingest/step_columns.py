"""Which columns of a table are the step and the clock, and how their values are read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

STEP_NAMES = (
    "step",
    "_step",
    "global_step",
    "iteration",
    "trainer/global_step",
    "train/global_step",
    "iter",
    "num_updates",
)
CLOCK_NAMES = ("wall_time", "_timestamp", "timestamp", "wall time")
AMBIGUOUS_CLOCK_NAMES = ("time", "ts", "datetime")
LABEL_NAMES = ("rank", "host", "node", "dataset")
ATTEMPT_NAME = "attempt"

EARLIEST_CLOCK = 1e9  # 2001: what is smaller in a column `time` is a duration
SMALLEST_MILLISECONDS = 1e11
_ABSENT = frozenset({"", "NA", "N/A", "null", "None", "none", "NULL"})
LARGEST_STEP = 2**62


def find_step(names: Sequence[str]) -> str | None:
    """The name that is the step's, as it is written; an `epoch` serves where there is nothing better."""
    plain = {name.strip().lower(): name for name in reversed(names)}
    return next((plain[name] for name in (*STEP_NAMES, "epoch") if name in plain), None)


def is_long_table(names: Collection[str]) -> bool:
    """Whether these are the columns of a table with a point a row, as `holter export` writes it."""
    return "metric" in names and "value" in names


def find_clock(names: Sequence[str]) -> str | None:
    """The name that is the wall clock's, as it is written. `time` may be a duration: ask `read_clock`."""
    plain = {name.strip().lower(): name for name in reversed(names)}
    return next((plain[name] for name in (*CLOCK_NAMES, *AMBIGUOUS_CLOCK_NAMES) if name in plain), None)


def is_ambiguous_clock(name: str) -> bool:
    """Whether a clock's name may as well be a duration's."""
    return name.strip().lower() in AMBIGUOUS_CLOCK_NAMES


def clock_or_metric(first: str, *, name: str) -> str:
    """What the first value of a column `time` makes of it: "clock", "metric", or "?" if it tells nothing."""
    try:
        return "?" if is_empty_cell(first) else "metric" if read_clock(first, name=name) is None else "clock"
    except ValueError:
        return "?"


def is_empty_cell(cell: str) -> bool:
    """Whether a cell says that nothing was logged, which is not the same as a NaN that was."""
    return cell.strip() in _ABSENT


def read_step(value: object) -> int:
    """A step as an integer. Raises ValueError for anything that is not a whole number."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"expected a whole number as the step, found {_shown(value)}")
    try:
        step = int(value)
        exact = isinstance(value, str) or step == value
    except (ValueError, OverflowError):
        step, exact = _whole(value), True
    if not exact or abs(step) > LARGEST_STEP:
        raise ValueError(f"expected a whole number as the step, found {_shown(value)}")
    return step


def _whole(value: int | float | str) -> int:
    try:
        number = float(value)
    except (ValueError, OverflowError):
        number = float("nan")
    if not number.is_integer():
        raise ValueError(f"expected a whole number as the step, found {_shown(value)}")
    return int(number)


def read_clock(value: object, *, name: str) -> float | None:
    """A wall time in Unix seconds, None where the value is a duration rather than a moment.

    Milli-, micro- and nanoseconds since 1970 are recognised by their size; ISO 8601 text without a zone
    is taken as local time, the way loggers write it. Raises ValueError for anything else.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"expected a time in {name}, found {_shown(value)}")
    try:
        seconds = float(value)
    except OverflowError as error:
        raise ValueError(f"expected a time in {name}, found {_shown(value)}") from error
    except ValueError:
        return _iso(str(value), name)
    if is_ambiguous_clock(name) and not seconds >= EARLIEST_CLOCK:
        return None
    for limit, scale in ((1e17, 1e9), (1e14, 1e6), (SMALLEST_MILLISECONDS, 1e3)):
        if abs(seconds) >= limit:
            return seconds / scale
    return seconds


def _iso(text: str, name: str) -> float:
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError, OSError) as error:
        raise ValueError(f"expected a time in {name}, found {_shown(text)}") from error


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
