"""The JSON bodies of points, as columns or as rows; and the cache of validated series layouts."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain, repeat
from sys import intern
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np

from holter.server.ingest_http.body_limits import (
    BodyError,
    FieldPath,
    FieldProblem,
    check_json_items,
    check_series_count,
)
from holter.types import (
    Batch,
    Column,
    DenseColumns,
    FloatArray,
    IntArray,
    Labels,
    SeriesKey,
    SeriesLayout,
    labels_of,
)

_CACHE_BYTES = 64 * 2**20
_LAYOUT_BYTES = 500
_KEY_BYTES = 250
# equivalent to SeriesKey(...), without a Python call for each of thousands of series
_key = partial(tuple.__new__, SeriesKey)
MAX_STEP = 2**53  # beyond it JSON numbers are not exact
JsonValue = float | Literal["NaN", "Infinity", "-Infinity"] | None
LabelValue = str | int | float | bool
NONFINITE_HINT = 'NaN and infinities are the strings "NaN", "Infinity", "-Infinity"'


class LayoutCache:
    """A cache of validated series layouts, limited in bytes.

    Runs of one kind share a layout, so that their names are in memory once. Threads may share the cache.
    """

    def __init__(self, max_bytes: int = _CACHE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._layouts: OrderedDict[tuple[Labels, tuple[str, ...]], SeriesLayout] = OrderedDict()
        self._valid: set[SeriesLayout] = set()
        self.cached_bytes = 0  # approximate

    def find(self, names: tuple[str, ...], labels: Labels) -> SeriesLayout:
        """Return the layout of series with these metrics and labels: the cached one, or a new one."""
        with self._lock:
            layout = self._layouts.get((labels, names))
            if layout is not None:
                self._layouts.move_to_end((labels, names))
                return layout
        return SeriesLayout(map(_key, zip(map(intern, names), repeat(labels))))

    def is_valid(self, layout: SeriesLayout) -> bool:
        """Whether the layout was validated before."""
        return layout in self._valid

    def add(self, layout: SeriesLayout) -> None:
        """Add a validated layout."""
        key = layout.keys[0].labels, _metrics(layout)
        size = _size(layout)
        with self._lock:
            if key not in self._layouts and size <= self._max_bytes:
                self._layouts[key] = layout
                self._valid.add(layout)
                self.cached_bytes += size
            while self.cached_bytes > self._max_bytes:
                _, oldest = self._layouts.popitem(last=False)
                self._valid.discard(oldest)
                self.cached_bytes -= _size(oldest)


def _metrics(layout: SeriesLayout) -> tuple[str, ...]:
    return tuple([metric for metric, _ in layout.keys])


def _size(layout: SeriesLayout) -> int:
    return _LAYOUT_BYTES + _KEY_BYTES * len(layout.keys) + sum(map(len, _metrics(layout)))


class BodySetting(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One setting of one process, identified by labels."""

    name: str
    value: LabelValue
    labels: dict[str, LabelValue] = {}


class BodyHeader(msgspec.Struct, kw_only=True):
    """The fields common to all bodies: whose points these are, and the idempotency key.

    `config` is the configuration of the job, `settings` are those that may differ between its processes.
    """

    project: str
    run: str
    attempt: str | int | None = None
    writer: str | None = None
    batch_id: str | None = None
    labels: dict[str, LabelValue] = {}
    restarts: bool = False
    config: dict[str, Any] = {}
    settings: tuple[BodySetting, ...] = ()
    finished: bool = False

    @property
    def has_config(self) -> bool:
        """Whether the body has launch configuration."""
        return bool(self.config or self.settings)


class PointRow(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Everything logged at one step."""

    step: int
    time: float | None = None
    values: dict[str, JsonValue]


class JsonBody(BodyHeader, kw_only=True, forbid_unknown_fields=True):
    """`columns` has "step", optionally "time", and the metrics; `points` are the same as rows."""

    columns: dict[str, list[JsonValue]] | None = None
    points: list[PointRow] | None = None


DECODE_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_DECODER = msgspec.json.Decoder(JsonBody)


def parse_json(body: bytes, layouts: LayoutCache) -> tuple[BodyHeader, Batch, FieldPath]:
    """Return header, batch, and the path of the batch's columns in the body. Raises BodyError."""
    check_json_items(body)
    try:
        parsed = _DECODER.decode(body)
    except DECODE_ERRORS as error:
        raise BodyError([field_problem(error, body)]) from error
    labels = labels_of(parsed.labels) if parsed.labels else ()
    if parsed.columns is not None and parsed.points is None:
        return parsed, _batch_of_columns(parsed.columns, labels, layouts), ("columns",)
    if parsed.points is not None and parsed.columns is None:
        return parsed, _batch_of_points(parsed.points, labels), ("points",)
    if (parsed.finished or parsed.has_config) and parsed.points is None and parsed.columns is None:
        return parsed, _batch_of_points([], labels), ("points",)
    raise BodyError([((), "expected either 'columns' or 'points'")])


def field_problem(error: Exception, body: bytes | None = None) -> FieldProblem:
    """Return the path and the reason of a decoding error."""
    if isinstance(error, UnicodeDecodeError):
        return (), f"expected text in UTF-8: {error}"
    reason, _, path = str(error).partition(" - at `")
    if not isinstance(error, msgspec.ValidationError):
        return (), f"{reason}; {NONFINITE_HINT}" if reason.startswith("JSON is malformed") else reason
    path, wildcard, _ = path.removesuffix("`").removeprefix("$").partition("[...]")
    parts = path.replace("[", ".").replace("]", "").split(".")
    field_path: FieldPath = tuple(int(part) if part.isdecimal() else part for part in parts if part)
    if not (body and wildcard):
        return field_path, reason
    try:
        document = msgspec.json.decode(body)
    except DECODE_ERRORS:  # another error follows: the key cannot be determined
        return field_path, reason
    return _keyed_problem(field_path, document)


def _keyed_problem(path: FieldPath, document: Any) -> FieldProblem:
    """Find the first invalid value of an object with free keys: the decoder does not report the key."""
    for part in path:
        document = document[part]
    value_type: Any = {"columns": list[JsonValue], "values": JsonValue, "labels": LabelValue}[str(path[-1])]
    for name, value in document.items():
        try:
            msgspec.convert(value, value_type)
        except msgspec.ValidationError as error:
            inner_path, reason = field_problem(error)
            hint = f"; {NONFINITE_HINT}" if value_type is not LabelValue else ""
            return (*path, name, *inner_path), reason + hint
    raise AssertionError(f"every value at {path} is valid")


def _batch_of_columns(
    columns: Mapping[str, Sequence[JsonValue]], labels: Labels, layouts: LayoutCache
) -> Batch:
    if "step" not in columns:
        raise BodyError([(("columns", "step"), "expected a column 'step'")])
    check_series_count(len(columns), ("columns",))
    steps = _steps(columns["step"])
    uneven = (
        (("columns", name), f"expected {len(steps)} values, one for each step, got {len(values)}")
        for name, values in columns.items()
        if len(values) != len(steps)
    )
    if (first := next(uneven, None)) is not None:
        raise BodyError(chain([first], uneven))
    times = _times(columns["time"]) if "time" in columns else missing_times(len(steps))
    metrics = {name: values for name, values in columns.items() if name not in {"step", "time"}}
    series: Sequence[Column]
    if metrics and not any(None in values for values in metrics.values()):
        series = DenseColumns(layouts.find(tuple(metrics), labels), np.array([*metrics.values()], np.float64))
    else:
        series = tuple(_column(SeriesKey(name, labels), values) for name, values in metrics.items())
    return Batch(steps=steps, times=times, columns=series)


def _batch_of_points(points: Sequence[PointRow], labels: Labels) -> Batch:
    metrics: dict[str, _LoggedValues] = {}
    for row, point in enumerate(points):
        for metric, value in point.values.items():
            logged = metrics.get(metric)
            if logged is None:
                logged = metrics[metric] = _LoggedValues([], [])
            if value is not None:
                logged.rows.append(row)
                logged.values.append(value)
    check_series_count(len(metrics), ("points",))
    return Batch(
        steps=_steps([point.step for point in points]),
        times=_floats([point.time for point in points]),
        columns=tuple(
            Column(
                key=SeriesKey(metric, labels),
                values=_floats(logged.values),
                rows=None if len(logged.rows) == len(points) else np.array(logged.rows, dtype=np.int64),
            )
            for metric, logged in metrics.items()
        ),
    )


class _LoggedValues(NamedTuple):
    """The values of one metric, and the indices of their rows."""

    rows: list[int]
    values: list[JsonValue]


def _floats(values: Sequence[JsonValue]) -> FloatArray:
    # numpy converts None to NaN, and the three strings to the values they stand for
    return np.array(values, dtype=np.float64)


def missing_times(rows: int) -> FloatArray:
    """Return NaN times for rows without a clock."""
    return np.full(rows, np.nan)


def _times(values: Sequence[JsonValue]) -> FloatArray:
    if "NaN" in values:  # a missing time is null: a clock that reports NaN is broken
        raise BodyError([(("columns", "time"), "expected a number or null, got 'NaN'")])
    return _floats(values)


def _steps(values: Sequence[JsonValue]) -> IntArray:
    try:
        numbers = _floats(values)
    except OverflowError:  # an integer beyond all floats
        index = next(i for i, value in enumerate(values) if isinstance(value, int) and abs(value) > MAX_STEP)
        raise BodyError([(("step", index), "expected a whole number up to 2**53")]) from None
    invalid = np.flatnonzero(~(np.abs(numbers) <= MAX_STEP) | (numbers != np.floor(numbers)))
    if len(invalid):
        index = int(invalid[0])
        raise BodyError([(("step", index), f"expected a whole number up to 2**53, got {values[index]!r}")])
    return numbers.astype(np.int64)


def _column(key: SeriesKey, values: Sequence[JsonValue]) -> Column:
    if None not in values:
        return Column(key=key, values=_floats(values))
    logged = np.array([value is not None for value in values], dtype=bool)
    return Column(key=key, values=_floats(values)[logged], rows=np.flatnonzero(logged))
