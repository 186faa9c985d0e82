"""What comes before the queue: a delivery is checked and encoded in the thread that brings it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from holter.server.store.block import Block, block_of, encode_body
from holter.types import Batch, Delivery, Labels

_ROWS = 2**31
_LIMITS = {
    "project": 200,
    "run": 500,
    "writer": 1000,
    "metric": 500,
    "labels": 2000,
    "attempt": 200,
    "source": 1000,
}


@dataclass(frozen=True, eq=False, slots=True)
class Parcel:
    """A delivery ready for the log. `body` is its encoded block without the ids of its series."""

    delivery: Delivery
    batch: Batch
    digest: bytes
    block: Block | None  # None: no points
    body: bytes
    points: int


def parcel(delivery: Delivery) -> Parcel:
    """Check and encode a delivery. Raises ValueError saying what is wrong with it."""
    batch = delivery.batch
    _check_names(delivery)
    _check_shape(batch)
    columns = tuple(column for column in batch.columns if len(column.values))
    batch = Batch(
        steps=np.ascontiguousarray(batch.steps, dtype=np.int64),
        times=np.ascontiguousarray(batch.times, dtype=np.float64),
        columns=columns,
        attempt=batch.attempt,
        restarts=batch.restarts,
    )
    block = block_of(batch, range(len(columns))) if columns else None
    body = encode_body(block) if block else b""
    points = len(block.values) if block else 0
    return Parcel(delivery, batch, digest_of(delivery.batch_id), block, body, points)


def digest_of(batch_id: str) -> bytes:
    """How an idempotency key is kept."""
    return blake2b(batch_id.encode(), digest_size=16).digest()


def labels_text(labels: Labels) -> str:
    """Labels as the series table has them."""
    return json.dumps(labels, ensure_ascii=False, separators=(",", ":"))


def as_text(text: str) -> str:
    """The text as both databases can keep it: what is no character becomes a question mark."""
    return text.replace("\0", "?").encode(errors="replace").decode()


def check_name(what: str, text: str) -> None:
    """Raise ValueError unless both databases can keep the text as a `what`."""
    limit = _LIMITS[what]
    if len(text) > limit:
        raise ValueError(f"{what} {text[:40]!r}… has {len(text)} characters, expected at most {limit}")
    if as_text(text) != text:
        raise ValueError(f"{what} {text!r} contains a character that is no text")


def _check_names(delivery: Delivery) -> None:
    for what in ("project", "run", "writer"):
        name = getattr(delivery, what)
        check_name(what, name)
        if not name:
            raise ValueError(f"{what} is empty")
    for column in delivery.batch.columns:
        check_name("metric", column.key.metric)
        if column.key.labels:
            check_name("labels", labels_text(column.key.labels))
    if delivery.batch.attempt is not None:
        check_name("attempt", delivery.batch.attempt)
    if delivery.cursor is not None:
        check_name("source", delivery.cursor.source)


def _check_shape(batch: Batch) -> None:
    rows = len(batch.steps)
    if rows >= _ROWS or len(batch.times) != rows:
        raise ValueError(f"{rows} steps and {len(batch.times)} times, expected as many of both")
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
