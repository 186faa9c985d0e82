"""Collections: many runs that another tracker keeps together, in a database, a folder or a table."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from holter.attempts.config_values import to_config_value
from holter.ingest.names import storable_text
from holter.types import (
    NO_CONFIG,
    Config,
    ConfigKey,
    ConfigValue,
    FloatArray,
    IntArray,
    SeriesKey,
    Unreadable,
)

SAMPLES = "samples"
"""What the steps of a tracker's own measurements of the machine count: label `steps` of their series."""


class LoggedSeries(NamedTuple):
    """Points of one series in the order in which they were logged; times in Unix seconds, NaN without."""

    key: SeriesKey
    steps: IntArray
    times: FloatArray
    values: FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class RunContents:
    """What a collection holds of a run; `left_out` says what is not among it, and why."""

    logged: list[LoggedSeries]
    config: Config = field(default_factory=lambda: NO_CONFIG)
    left_out: tuple[Unreadable, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class TrackerRun:
    """One run of a collection. `id` is the tracker's own word for it, and tells it from all others for good.

    `began` and `ended` in Unix seconds; `over` is False while the tracker takes it for running. Where
    `skip_reason` is not empty the run is not to be taken. `read` may raise CollectionError.
    """

    id: str
    project: str
    name: str
    read: Callable[[], RunContents]
    started: float | None = None
    ended: float | None = None
    is_finished: bool = True
    skip_reason: str = ""


class CollectionError(ValueError):
    """What was to be a collection cannot be read; the text says where, and what was expected."""


class Collection(Protocol):
    """One kind of collection. It only ever reads: what it reads from stays as it is, and may be in use."""

    @property
    def name(self) -> str:
        """Whose collection it is, e.g. "mlflow"."""
        ...

    def matches(self, path: Path) -> bool:
        """Whether there is such a collection at this path. Never raises for what it finds there."""
        ...

    def runs(self, path: Path) -> Iterator[TrackerRun]:
        """Its runs. Raises CollectionError, OSError."""
        ...


MAX_NAME_LENGTH, MAX_VALUE_LENGTH, MAX_SETTINGS = 200, 2000, 2000
SETTINGS_LEFT_OUT = ConfigKey("import.settings_left_out")
"""How many settings of a run there were beyond `MOST`."""
_NUMBER = re.compile(r"[-+]?(\d+|(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?|inf|nan)", re.IGNORECASE)
_WORDS = {"true": True, "True": True, "false": False, "False": False}


def bounded_config(settings: Iterable[tuple[str, Any]]) -> dict[ConfigKey, ConfigValue]:
    """Settings as config; absent ones are left out, what is beyond bounds is marked."""
    found: dict[ConfigKey, ConfigValue] = {}
    left_out = 0
    for name, value in settings:
        if value is None or not name:
            continue
        if len(found) >= MAX_SETTINGS:
            left_out += 1
            continue
        told = to_config_value(value)
        told = _truncated(told, MAX_VALUE_LENGTH) if isinstance(told, str) else told
        found[ConfigKey(_truncated(name, MAX_NAME_LENGTH))] = told
    if left_out:
        found[SETTINGS_LEFT_OUT] = left_out
    return found


def _truncated(text: str, longest: int) -> str:
    text = storable_text(text)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def parse_text_value(text: str) -> ConfigValue:
    """A value that a tracker keeps as text as what it was: a number, yes or no, or else the text."""
    if text in _WORDS:
        return _WORDS[text]
    if len(text) <= 40 and _NUMBER.fullmatch(text):
        return int(text) if text.lstrip("+-").isdecimal() else float(text)
    return text
