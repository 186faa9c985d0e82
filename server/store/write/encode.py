"""Validates and encodes a delivery in the caller's thread, before it is queued."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from weakref import WeakSet

import numpy as np

from holter.server.store.encoding.block import PointBlock, batch_to_block, encode_body
from holter.server.store.encoding.merge import count_repeats
from holter.server.store.keys import LIMITS, batch_digest, check_name, labels_text, storable_text
from holter.types import Batch, Column, Delivery, DenseColumns, SeriesKey, SeriesLayout

_MAX_ROWS = 2**31
_DELIVERY_BYTES = 2000
_SETTING_BYTES = 500
_COLUMN_BYTES = 500  # of memory for the arrays and the name of a column
_ROW_BYTES = 16  # a step and a time
_POINT_BYTES = 16  # a value and its row

# layouts whose names were validated: the same layouts come with every flush
_valid_layouts: WeakSet[SeriesLayout] = WeakSet()


@dataclass(frozen=True, eq=False, slots=True)
class EncodedDelivery:
    """A delivery ready for the log. `body` is its encoded block without the series ids.

    `repeats` are points that have step, time and value of another one of the delivery: they are stored once.
    """

    delivery: Delivery
    batch: Batch
    digest: bytes
    block: PointBlock | None  # None without points
    body: bytes
    points: int
    repeats: int = 0
    own_columns: int = 0  # those whose names and arrays are not shared with other deliveries

    @property
    def _overhead(self) -> int:
        settings = _SETTING_BYTES * len(self.batch.config)
        return _DELIVERY_BYTES + settings + _COLUMN_BYTES * self.own_columns

    @property
    def size(self) -> int:
        """Approximate bytes of memory."""
        arrays = _ROW_BYTES * len(self.batch.steps) + _POINT_BYTES * self.points
        return arrays + len(self.body) + self._overhead


def encode_delivery(delivery: Delivery) -> EncodedDelivery:
    """Validate and encode a delivery. Raises ValueError with what is wrong."""
    batch = delivery.batch
    is_shared = isinstance(batch.columns, DenseColumns) and batch.columns.layout in _valid_layouts
    _check_names(delivery)
    _check_shape(batch)
    batch = Batch(
        steps=np.ascontiguousarray(batch.steps, dtype=np.int64),
        times=np.ascontiguousarray(batch.times, dtype=np.float64),
        columns=_with_values(batch.columns),
        attempt=batch.attempt,
        restarts=batch.restarts,
        config=batch.config,
    )
    return encode_batch(delivery, batch, own_columns=0 if is_shared else len(batch.columns))


def encode_batch(delivery: Delivery, batch: Batch, *, own_columns: int = 0) -> EncodedDelivery:
    """Encode a batch, which may have fewer columns than the delivery."""
    block = batch_to_block(batch, np.arange(len(batch.columns))) if len(batch.columns) else None
    body = encode_body(block) if block else b""
    points = len(block.values) if block else 0
    repeats = count_repeats(block) if block else 0
    digest = batch_digest(delivery.batch_id)
    return EncodedDelivery(delivery, batch, digest, block, body, points, repeats, own_columns)


def _with_values(columns: Sequence[Column]) -> Sequence[Column]:
    if isinstance(columns, DenseColumns):
        return columns if columns.values.shape[1] else ()
    return tuple(column for column in columns if len(column.values))


def _check_names(delivery: Delivery) -> None:
    for what in ("project", "run", "writer"):
        name = getattr(delivery, what)
        check_name(what, name)
        if not name:
            raise ValueError(f"{what} is empty")
    columns = delivery.batch.columns
    if not isinstance(columns, DenseColumns):
        _check_keys(column.key for column in columns)
    elif columns.layout not in _valid_layouts:
        _check_keys(columns.layout.keys)
        _valid_layouts.add(columns.layout)
    if delivery.batch.attempt is not None:
        check_name("attempt", delivery.batch.attempt)
    if delivery.cursor is not None:
        check_name("source", delivery.cursor.source)


def _check_keys(keys: Iterable[SeriesKey]) -> None:
    keys = list(keys)
    if not any(key.labels for key in keys) and _are_storable([key.metric for key in keys]):
        return
    for key in keys:
        check_name("metric", key.metric)
        if key.labels:
            check_name("labels", labels_text(key.labels))


def _are_storable(metrics: Sequence[str]) -> bool:
    """Whether all of these names can be stored; thousands are checked as one joined string."""
    if max(map(len, metrics), default=0) > LIMITS["metric"]:
        return False
    text = "".join(metrics)
    return storable_text(text) == text


def _check_shape(batch: Batch) -> None:
    rows = len(batch.steps)
    if rows >= _MAX_ROWS or len(batch.times) != rows:
        raise ValueError(f"{rows} steps and {len(batch.times)} times, expected equal numbers")
    if isinstance(batch.columns, DenseColumns):
        _check_dense(batch.columns, rows)
    else:
        _check_columns(batch, rows)


def _check_dense(columns: DenseColumns, rows: int) -> None:
    if len(columns.layout.index) != len(columns.layout.keys):
        raise ValueError("a series is in the batch twice")
    if columns.values.shape[1] != rows:
        raise ValueError(f"the columns have {columns.values.shape[1]} values for {rows} rows")


def _check_columns(batch: Batch, rows: int) -> None:
    keys = {column.key for column in batch.columns}
    if len(keys) != len(batch.columns):
        raise ValueError("a series is in the batch twice")
    for column in batch.columns:
        if column.rows is None:
            if len(column.values) != rows:
                raise ValueError(f"{column.key} has {len(column.values)} values for {rows} rows")
        elif len(column.rows) != len(column.values):
            raise ValueError(f"{column.key} has {len(column.values)} values at {len(column.rows)} rows")
        elif len(column.rows) and not (
            column.rows[0] >= 0 and column.rows[-1] < rows and np.all(column.rows[1:] > column.rows[:-1])
        ):
            raise ValueError(f"the rows of {column.key} are not ascending rows of the batch")
