"""The interface of collections: runs that another tracker stores in a database, a folder or a table."""

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
"""Unit of the steps of a tracker's own measurements of the machine, as the label `steps` of their series."""


class LoggedSeries(NamedTuple):
    """Points of one series in the order in which they were logged; times in Unix seconds, NaN if unknown."""

    key: SeriesKey
    steps: IntArray
    times: FloatArray
    values: FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class RunContents:
    """The series and settings of a run in a collection; `left_out` is what is not among them, and why."""

    logged: list[LoggedSeries]
    config: Config = field(default_factory=lambda: NO_CONFIG)
    left_out: tuple[Unreadable, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class TrackerRun:
    """One run of a collection. `id` is the tracker's permanent and unique identifier of it.

    `started` and `ended` are in Unix seconds; `is_finished` is False while the tracker considers it running.
    A run with a `skip_reason` is not imported. `read` may raise CollectionError.
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
    """A collection cannot be read; the message states the position and what was expected."""


class Collection(Protocol):
    """One kind of collection. It only reads, since the tracker may be using its files."""

    @property
    def name(self) -> str:
        """The name of the tracker, e.g. "mlflow"."""
        ...

    def matches(self, path: Path) -> bool:
        """Whether there is such a collection at this path. Does not raise for any content."""
        ...

    def runs(self, path: Path) -> Iterator[TrackerRun]:
        """The runs of the collection. Raises CollectionError, OSError."""
        ...


MAX_NAME_LENGTH, MAX_VALUE_LENGTH, MAX_SETTINGS = 200, 2000, 2000
SETTINGS_LEFT_OUT = ConfigKey("import.settings_left_out")
"""The setting with the number of a run's settings beyond `MAX_SETTINGS`."""
_NUMBER = re.compile(r"[-+]?(\d+|(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?|inf|nan)", re.IGNORECASE)
_BOOLEANS = {"true": True, "True": True, "false": False, "False": False}


def bounded_config(settings: Iterable[tuple[str, Any]]) -> dict[ConfigKey, ConfigValue]:
    """A run's config within the bounds: empty settings are left out, those beyond are counted."""
    config: dict[ConfigKey, ConfigValue] = {}
    left_out = 0
    for name, value in settings:
        if value is None or not name:
            continue
        if len(config) >= MAX_SETTINGS:
            left_out += 1
            continue
        known = to_config_value(value)
        known = _truncated(known, MAX_VALUE_LENGTH) if isinstance(known, str) else known
        config[ConfigKey(_truncated(name, MAX_NAME_LENGTH))] = known
    if left_out:
        config[SETTINGS_LEFT_OUT] = left_out
    return config


def _truncated(text: str, max_length: int) -> str:
    text = storable_text(text)
    return text if len(text) <= max_length else f"{text[: max_length - 1]}…"


def parse_text_value(text: str) -> ConfigValue:
    """The number, boolean or text that a tracker stored as text."""
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if len(text) <= 40 and _NUMBER.fullmatch(text):
        return int(text) if text.lstrip("+-").isdecimal() else float(text)
    return text
