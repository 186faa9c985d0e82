"""The names of a run's series in the order of their keys: packed, so that thousands are read as one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from itertools import compress as those_of
from operator import add
from struct import Struct
from sys import intern
from typing import Any, NamedTuple

import msgspec
import numpy as np

from holter.server.store.encoding.blob import (
    Codec,
    compress,
    decompress,
    deltas,
    seal,
    shuffle,
    undeltas,
    unseal,
    unshuffle,
)
from holter.types import IntArray, Labels, SeriesKey

_HEAD = Struct("<II")  # series, bytes of the metrics
_pack = msgspec.msgpack.encode
_texts, _maps = msgspec.msgpack.Decoder(list[str]), msgspec.msgpack.Decoder(list[dict[str, str]])
_NOTHING: dict[str, str] = {}


class Rows(NamedTuple):
    """Series with their names, as columns."""

    ids: list[int]
    metrics: list[str]
    labels: list[Labels]

    def only(self, wanted: Collection[int]) -> Rows:
        """The rows of these ids."""
        if len(self.ids) == len(wanted):
            return self
        some = list(map(set(wanted).__contains__, self.ids))
        return Rows(*(list(those_of(column, some)) for column in self))  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Names:
    """The names of some series of a run. `ids` [c] ascend; `order` [c] is where in them the series stand
    in the order of their keys.

    In that order, as msgpack: `metrics`, a list of texts, and `labels`, a list of maps, which is empty bytes
    where no series has any.
    """

    ids: IntArray
    order: IntArray
    metrics: bytes
    labels: bytes

    @property
    def size(self) -> int:
        """Bytes in memory, with the texts once they were asked for."""
        texts = 2 * (len(self.metrics) + len(self.labels)) + 3 * len(self.ids)
        return self.ids.nbytes + self.order.nbytes + texts

    def metric_list(self) -> list[str]:
        """The metric of each series."""
        return _texts.decode(self.metrics)

    def label_list(self) -> list[dict[str, str]]:
        """The labels of each series."""
        return _maps.decode(self.labels) if self.labels else [_NOTHING] * len(self.ids)

    @property
    def as_msgpack(self) -> tuple[bytes, bytes]:
        """Metrics and labels, a map for each series, packed."""
        return self.metrics, self.labels or _pack(self.label_list())

    @cached_property
    def as_json(self) -> tuple[bytes, bytes]:
        """Metrics and labels as JSON texts."""
        return msgspec.json.encode(self.metric_list()), msgspec.json.encode(self.label_list())

    def rows(self) -> Rows:
        """The series in the order of their keys."""
        none: list[Labels] = [()] * len(self.ids)
        labels = [tuple(one.items()) for one in self.label_list()] if self.labels else none
        return Rows(self.ids[self.order].tolist(), self.metric_list(), labels)

    def by_id(self) -> dict[int, SeriesKey]:
        """The keys by the ids of their series, in the order of the keys."""
        ids, metrics, labels = self.rows()
        # thousands of runs have the same names
        return dict(zip(ids, map(SeriesKey, map(intern, metrics), labels), strict=True))

    def keys(self) -> list[SeriesKey]:
        """The key of each series."""
        return list(self.by_id().values())

    def and_those(self, more: Rows) -> Names:
        """With the names of further series."""
        return _packed(Rows(*map(add, self.rows(), more))) if len(self.ids) else _packed(more)

    def only(self, ids: IntArray) -> Names:
        """Those of the series that are among these ids."""
        if np.array_equal(self.ids, ids) or np.isin(self.ids, ids).all():
            return self
        return _packed(self.rows().only(np.intersect1d(self.ids, ids).tolist()))


def _packed(rows: Rows) -> Names:
    ids, metrics, labels = rows
    labelled = labels.count(()) < len(labels)
    keys: list[Any] = list(zip(metrics, labels, strict=True)) if labelled else metrics
    order = sorted(range(len(keys)), key=keys.__getitem__)
    numbers = np.array(ids, dtype=np.int64)
    ascending = np.argsort(numbers)
    places = np.empty_like(ascending)
    places[ascending] = np.arange(len(ascending))
    return Names(
        ids=numbers[ascending],
        order=places[order],
        metrics=_pack([metrics[at] for at in order]),
        labels=_pack([dict(labels[at]) for at in order]) if labelled else b"",
    )


NOBODY = _packed(Rows([], [], []))


def encode_names(names: Names) -> bytes:
    """The names as one blob."""
    columns = shuffle(deltas(names.ids)) + shuffle(deltas(names.order))
    head = _HEAD.pack(len(names.ids), len(names.metrics))
    return seal(Codec.ZSTD, head + compress(columns + names.metrics + names.labels))


def decode_names(blob: bytes) -> Names:
    """The names of a blob. Raises CorruptDataError."""
    _, body = unseal(blob)
    count, length = _HEAD.unpack_from(body)
    data = decompress(body[_HEAD.size :])
    ids, order = (undeltas(unshuffle(data, "<i8", 8 * count * at, count)) for at in range(2))
    start, end = 16 * count, 16 * count + length
    return Names(ids, order, data[start:end], data[end:])
