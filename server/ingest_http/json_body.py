"""The forms in which points arrive over HTTP, but for the binary one: JSON columns and JSON points.

Which series come side by side: the same names again are recognised, and not looked at again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import repeat
from sys import intern
from typing import Any, Literal

import msgspec
import numpy as np

from holter.types import (
    Batch,
    Column,
    DenseColumns,
    FloatArray,
    IntArray,
    Labels,
    SeriesKey,
    Shape,
    labels_of,
)

_BYTES = 64 * 2**20
_SHAPE_BYTES = 500
_KEY_BYTES = 250
_key = partial(
    tuple.__new__, SeriesKey
)  # what SeriesKey does, without a call of Python's for each of thousands


class Shapes:
    """The shapes of batches that were found to be in order, as many as fit into `most` bytes.

    Runs of one kind have one shape, so that their names stand in memory once. Threads may share it.
    """

    def __init__(self, most: int = _BYTES) -> None:
        self._most = most
        self._guard = threading.Lock()
        self._known: OrderedDict[tuple[Labels, tuple[str, ...]], Shape] = OrderedDict()
        self._good: set[Shape] = set()
        self.held = 0  # bytes, about

    def find(self, names: tuple[str, ...], labels: Labels) -> Shape:
        """The shape of series with these metrics and labels: the one that is known, or a new one."""
        with self._guard:
            shape = self._known.get((labels, names))
            if shape is not None:
                self._known.move_to_end((labels, names))
                return shape
        return Shape(map(_key, zip(map(intern, names), repeat(labels))))

    def knows(self, shape: Shape) -> bool:
        """Whether it was found to be in order before."""
        return shape in self._good

    def keep(self, shape: Shape) -> None:
        """Recognise it from now on: it is in order."""
        key = shape.keys[0].labels, _metrics(shape)
        size = _size(shape)
        with self._guard:
            if key not in self._known and size <= self._most:
                self._known[key] = shape
                self._good.add(shape)
                self.held += size
            while self.held > self._most:
                _, oldest = self._known.popitem(last=False)
                self._good.discard(oldest)
                self.held -= _size(oldest)


def _metrics(shape: Shape) -> tuple[str, ...]:
    return tuple([metric for metric, _ in shape.keys])


def _size(shape: Shape) -> int:
    return _SHAPE_BYTES + _KEY_BYTES * len(shape.keys) + sum(map(len, _metrics(shape)))


STEP_LIMIT = 2**53  # beyond it JSON's numbers are no longer exact
Where = tuple[str | int, ...]
Problem = tuple[Where, str]
Value = float | Literal["NaN", "Infinity", "-Infinity"] | None
LabelValue = str | int | float | bool
NONFINITE_WORDS = 'NaN and infinities are the strings "NaN", "Infinity", "-Infinity"'


class BodyError(ValueError):
    """A body that cannot be taken. `problems` are places in it, each with what was expected there."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(f"{'.'.join(map(str, place))}: {reason}" for place, reason in problems))


class Setting(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One setting of one process, known by labels."""

    name: str
    value: LabelValue
    labels: dict[str, LabelValue] = {}


class Header(msgspec.Struct, kw_only=True):
    """What every form begins with: whose points these are, and how to know them when they come again.

    `config` is what the whole job is set up with, `settings` what may differ between its processes.
    """

    project: str
    run: str
    attempt: str | int | None = None
    writer: str | None = None
    batch_id: str | None = None
    labels: dict[str, LabelValue] = {}
    restarts: bool = False
    config: dict[str, Any] = {}
    settings: tuple[Setting, ...] = ()
    finished: bool = False

    @property
    def states(self) -> bool:
        """Whether it says anything of how the launch is set up."""
        return bool(self.config or self.settings)


class PointRow(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Everything that was logged at one step."""

    step: int
    time: float | None = None
    values: dict[str, Value]


class JsonBody(Header, kw_only=True, forbid_unknown_fields=True):
    """`columns` holds "step", perhaps "time", and the metrics; `points` is the same by rows."""

    columns: dict[str, list[Value]] | None = None
    points: list[PointRow] | None = None


UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_JSON = msgspec.json.Decoder(JsonBody)


def parse_json(body: bytes, shapes: Shapes) -> tuple[Header, Batch, Where]:
    """Header, batch, and where in the body the batch's columns stand. Raises BodyError."""
    try:
        parsed = _JSON.decode(body)
    except UNREADABLE as error:
        raise BodyError([problem(error, body)]) from error
    labels = labels_of(parsed.labels) if parsed.labels else ()
    if parsed.columns is not None and parsed.points is None:
        return parsed, _of_columns(parsed.columns, labels, shapes), ("columns",)
    if parsed.points is not None and parsed.columns is None:
        return parsed, _of_points(parsed.points, labels), ("points",)
    if (parsed.finished or parsed.states) and parsed.points is None and parsed.columns is None:
        return parsed, _of_points([], labels), ("points",)
    raise BodyError([((), "expected either 'columns' or 'points'")])


def problem(error: Exception, body: bytes | None = None) -> Problem:
    """Where a body is no body, and why."""
    if isinstance(error, UnicodeDecodeError):
        return (), f"expected text in UTF-8: {error}"
    reason, _, path = str(error).partition(" - at `")
    if not isinstance(error, msgspec.ValidationError):
        return (), f"{reason}; {NONFINITE_WORDS}" if reason.startswith("JSON is malformed") else reason
    path, named, _ = path.removesuffix("`").removeprefix("$").partition("[...]")
    parts = path.replace("[", ".").replace("]", "").split(".")
    place: Where = tuple(int(part) if part.isdecimal() else part for part in parts if part)
    if not (body and named):
        return place, reason
    try:
        loose = msgspec.json.decode(body)
    except UNREADABLE:  # something else is wrong further on: its column cannot be told
        return place, reason
    return _named(place, loose)


def _named(place: Where, loose: Any) -> Problem:
    """The first wrong value of an object with free names: the decoder does not say which name it is."""
    for part in place:
        loose = loose[part]
    kind: Any = {"columns": list[Value], "values": Value, "labels": LabelValue}[str(place[-1])]
    for name, value in loose.items():
        try:
            msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            inside, reason = problem(error)
            words = f"; {NONFINITE_WORDS}" if kind is not LabelValue else ""
            return (*place, name, *inside), reason + words
    raise AssertionError(f"every value at {place} is right")


def _of_columns(columns: Mapping[str, Sequence[Value]], labels: Labels, shapes: Shapes) -> Batch:
    if "step" not in columns:
        raise BodyError([(("columns", "step"), "expected a column 'step'")])
    steps = _steps(columns["step"])
    uneven = [
        (("columns", name), f"expected {len(steps)} values, one for each step, got {len(values)}")
        for name, values in columns.items()
        if len(values) != len(steps)
    ]
    if uneven:
        raise BodyError(uneven)
    times = _times(columns["time"]) if "time" in columns else no_clock(len(steps))
    metrics = {name: values for name, values in columns.items() if name not in {"step", "time"}}
    series: Sequence[Column]
    if metrics and not any(None in values for values in metrics.values()):
        series = DenseColumns(shapes.find(tuple(metrics), labels), np.array([*metrics.values()], np.float64))
    else:
        series = tuple(_column(SeriesKey(name, labels), values) for name, values in metrics.items())
    return Batch(steps=steps, times=times, columns=series)


def _of_points(points: Sequence[PointRow], labels: Labels) -> Batch:
    metrics: dict[str, list[Value]] = {}
    for row, point in enumerate(points):
        for metric, value in point.values.items():
            metrics.setdefault(metric, [None] * len(points))[row] = value
    return Batch(
        steps=_steps([point.step for point in points]),
        times=_floats([point.time for point in points]),
        columns=tuple(_column(SeriesKey(metric, labels), values) for metric, values in metrics.items()),
    )


def _floats(values: Sequence[Value]) -> FloatArray:
    # numpy reads None as NaN, and the three words as the values they stand for
    return np.array(values, dtype=np.float64)


def no_clock(rows: int) -> FloatArray:
    """The times of rows without a clock."""
    return np.full(rows, np.nan)


def _times(values: Sequence[Value]) -> FloatArray:
    if "NaN" in values:  # without a clock there is null; a clock that says NaN is broken
        raise BodyError([(("columns", "time"), "expected a number or null, got 'NaN'")])
    return _floats(values)


def _steps(values: Sequence[Value]) -> IntArray:
    numbers = _floats(values)
    wrong = np.flatnonzero(~(np.abs(numbers) <= STEP_LIMIT) | (numbers != np.floor(numbers)))
    if len(wrong):
        index = int(wrong[0])
        raise BodyError([(("step", index), f"expected a whole number up to 2**53, got {values[index]!r}")])
    return numbers.astype(np.int64)


def _column(key: SeriesKey, values: Sequence[Value]) -> Column:
    if None not in values:
        return Column(key=key, values=_floats(values))
    logged = np.array([value is not None for value in values], dtype=bool)
    return Column(key=key, values=_floats(values)[logged], rows=np.flatnonzero(logged))
