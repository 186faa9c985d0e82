"""What comes before the queue: a delivery is checked and encoded in the thread that brings it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from weakref import WeakSet

import numpy as np

from holter.server.store.encoding.block import Block, block_of, encode_body
from holter.server.store.keys import LIMITS, as_text, check_name, digest_of, labels_text
from holter.types import Batch, Column, Delivery, DenseColumns, SeriesKey, Shape

_ROWS = 2**31
_ROOM_OF_A_PARCEL = 2000
_ROOM_OF_A_SETTING = 500

# shapes whose names are known to be good: the same ones come with every flush
_checked: WeakSet[Shape] = WeakSet()


@dataclass(frozen=True, eq=False, slots=True)
class Parcel:
    """A delivery ready for the log. `body` is its encoded block without the ids of its series."""

    delivery: Delivery
    batch: Batch
    digest: bytes
    block: Block | None  # None: no points
    body: bytes
    points: int

    @property
    def _room(self) -> int:
        return _ROOM_OF_A_PARCEL + _ROOM_OF_A_SETTING * len(self.batch.config)

    @property
    def size(self) -> int:
        """About how many bytes of memory it takes."""
        return 16 * len(self.batch.steps) + 16 * self.points + len(self.body) + self._room


def parcel(delivery: Delivery) -> Parcel:
    """Check and encode a delivery. Raises ValueError saying what is wrong with it."""
    batch = delivery.batch
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
    return pack(delivery, batch)


def pack(delivery: Delivery, batch: Batch) -> Parcel:
    """A parcel of these columns, which may be fewer than those of the delivery."""
    block = block_of(batch, np.arange(len(batch.columns))) if len(batch.columns) else None
    body = encode_body(block) if block else b""
    points = len(block.values) if block else 0
    return Parcel(delivery, batch, digest_of(delivery.batch_id), block, body, points)


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
    elif columns.shape not in _checked:
        _check_keys(columns.shape.keys)
        _checked.add(columns.shape)
    if delivery.batch.attempt is not None:
        check_name("attempt", delivery.batch.attempt)
    if delivery.cursor is not None:
        check_name("source", delivery.cursor.source)


def _check_keys(keys: Iterable[SeriesKey]) -> None:
    keys = list(keys)
    if not any(key.labels for key in keys) and _are_good([key.metric for key in keys]):
        return
    for key in keys:
        check_name("metric", key.metric)
        if key.labels:
            check_name("labels", labels_text(key.labels))


def _are_good(metrics: Sequence[str]) -> bool:
    """Whether all of these names can be kept: thousands are looked at as one text."""
    if max(map(len, metrics), default=0) > LIMITS["metric"]:
        return False
    text = "".join(metrics)
    return as_text(text) == text


def _check_shape(batch: Batch) -> None:
    rows = len(batch.steps)
    if rows >= _ROWS or len(batch.times) != rows:
        raise ValueError(f"{rows} steps and {len(batch.times)} times, expected as many of both")
    if isinstance(batch.columns, DenseColumns):
        _check_dense(batch.columns, rows)
    else:
        _check_columns(batch, rows)


def _check_dense(columns: DenseColumns, rows: int) -> None:
    if len(columns.shape.index) != len(columns.shape.keys):
        raise ValueError("a series stands in the batch twice")
    if columns.values.shape[1] != rows:
        raise ValueError(f"the columns have {columns.values.shape[1]} values for {rows} rows")


def _check_columns(batch: Batch, rows: int) -> None:
    keys = {column.key for column in batch.columns}
    if len(keys) != len(batch.columns):
        raise ValueError("a series stands in the batch twice")
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
