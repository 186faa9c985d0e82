"""Collections: many runs that another tracker keeps together, in a database, a folder or a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from holter.types import NO_CONFIG, Config, FloatArray, IntArray, SeriesKey, Unreadable

SAMPLES = "samples"
"""What the steps of a tracker's own measurements of the machine count: label `steps` of their series."""


class Logged(NamedTuple):
    """Points of one series in the order in which they were logged; times in Unix seconds, NaN without."""

    key: SeriesKey
    steps: IntArray
    times: FloatArray
    values: FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class Contents:
    """What a collection holds of a run; `left_out` says what is not among it, and why."""

    logged: list[Logged]
    config: Config = field(default_factory=lambda: NO_CONFIG)
    left_out: tuple[Unreadable, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptRun:
    """One run of a collection. `id` is the tracker's own word for it, and tells it from all others for good.

    `began` and `ended` in Unix seconds; `over` is False while the tracker takes it for running. Where
    `why_not` is not empty the run is not to be taken. `read` may raise CollectionError.
    """

    id: str
    project: str
    name: str
    read: Callable[[], Contents]
    began: float | None = None
    ended: float | None = None
    over: bool = True
    why_not: str = ""


class CollectionError(ValueError):
    """What was to be a collection cannot be read; the text says where, and what was expected."""


class Collection(Protocol):
    """One kind of collection. It only ever reads: what it reads from stays as it is, and may be in use."""

    @property
    def name(self) -> str:
        """Whose collection it is, e.g. "mlflow"."""
        ...

    def holds(self, path: Path) -> bool:
        """Whether there is such a collection at this path. Never raises for what it finds there."""
        ...

    def runs(self, path: Path) -> Iterator[KeptRun]:
        """Its runs. Raises CollectionError, OSError."""
        ...
