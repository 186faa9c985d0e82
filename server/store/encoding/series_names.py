"""The names of a run's series in the order of their keys, packed so that thousands are read as one blob."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from itertools import compress as select_where
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
    delta_decode,
    delta_encode,
    seal,
    shuffle,
    unseal,
    unshuffle,
)
from holter.types import IntArray, Labels, SeriesKey

_HEADER = Struct("<II")  # number of series, bytes of the metrics
_pack = msgspec.msgpack.encode
_strings, _maps = msgspec.msgpack.Decoder(list[str]), msgspec.msgpack.Decoder(list[dict[str, str]])
_NO_LABELS: dict[str, str] = {}


class SeriesNameRows(NamedTuple):
    """Series ids, metrics and labels as columns."""

    ids: list[int]
    metrics: list[str]
    labels: list[Labels]

    def only(self, wanted: Collection[int]) -> SeriesNameRows:
        """The rows of these ids."""
        if len(self.ids) == len(wanted):
            return self
        selected = list(map(set(wanted).__contains__, self.ids))
        return SeriesNameRows(*(list(select_where(column, selected)) for column in self))  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class SeriesNames:
    """The names of some series of a run.

    `ids` [c] ascend; `order` [c] are the indices into `ids` in the order of the series' keys. In that order,
    as msgpack: `metrics`, a list of strings, and `labels`, a list of maps, or empty bytes if no series has
    labels.
    """

    ids: IntArray
    order: IntArray
    metrics: bytes
    labels: bytes

    @property
    def size(self) -> int:
        """Bytes in memory, including the JSON texts once they were requested."""
        texts = 2 * (len(self.metrics) + len(self.labels)) + 3 * len(self.ids)
        return self.ids.nbytes + self.order.nbytes + texts

    def metric_list(self) -> list[str]:
        """The metric of each series, in key order."""
        return _strings.decode(self.metrics)

    def label_list(self) -> list[dict[str, str]]:
        """The labels of each series, in key order."""
        return _maps.decode(self.labels) if self.labels else [_NO_LABELS] * len(self.ids)

    @property
    def as_msgpack(self) -> tuple[bytes, bytes]:
        """Metrics and labels (a map for each series) as msgpack."""
        return self.metrics, self.labels or _pack(self.label_list())

    @cached_property
    def as_json(self) -> tuple[bytes, bytes]:
        """Metrics and labels as JSON."""
        return msgspec.json.encode(self.metric_list()), msgspec.json.encode(self.label_list())

    def rows(self) -> SeriesNameRows:
        """The series in the order of their keys."""
        no_labels: list[Labels] = [()] * len(self.ids)
        labels = [tuple(label_map.items()) for label_map in self.label_list()] if self.labels else no_labels
        return SeriesNameRows(self.ids[self.order].tolist(), self.metric_list(), labels)

    def by_id(self) -> dict[int, SeriesKey]:
        """Keys by series id, in the order of the keys."""
        ids, metrics, labels = self.rows()
        # thousands of runs share the same names
        return dict(zip(ids, map(SeriesKey, map(intern, metrics), labels), strict=True))

    def keys(self) -> list[SeriesKey]:
        """The key of each series, in key order."""
        return list(self.by_id().values())

    def with_rows(self, more: SeriesNameRows) -> SeriesNames:
        """These names and those of further series."""
        return _from_rows(SeriesNameRows(*map(add, self.rows(), more))) if len(self.ids) else _from_rows(more)

    def only(self, ids: IntArray) -> SeriesNames:
        """The names of those series that are among these ids."""
        if np.array_equal(self.ids, ids) or np.isin(self.ids, ids).all():
            return self
        return _from_rows(self.rows().only(np.intersect1d(self.ids, ids).tolist()))


def _from_rows(rows: SeriesNameRows) -> SeriesNames:
    ids, metrics, labels = rows
    labelled = labels.count(()) < len(labels)
    keys: list[Any] = list(zip(metrics, labels, strict=True)) if labelled else metrics
    order = sorted(range(len(keys)), key=keys.__getitem__)
    id_array = np.array(ids, dtype=np.int64)
    ascending = np.argsort(id_array)
    index_of = np.empty_like(ascending)
    index_of[ascending] = np.arange(len(ascending))
    return SeriesNames(
        ids=id_array[ascending],
        order=index_of[order],
        metrics=_pack([metrics[index] for index in order]),
        labels=_pack([dict(labels[index]) for index in order]) if labelled else b"",
    )


NO_NAMES = _from_rows(SeriesNameRows([], [], []))


def encode_names(names: SeriesNames) -> bytes:
    """Encode the names as one blob."""
    columns = shuffle(delta_encode(names.ids)) + shuffle(delta_encode(names.order))
    header = _HEADER.pack(len(names.ids), len(names.metrics))
    return seal(Codec.ZSTD, header + compress(columns + names.metrics + names.labels))


def decode_names(blob: bytes) -> SeriesNames:
    """Decode names from a blob. Raises CorruptDataError."""
    _, body = unseal(blob)
    count, length = _HEADER.unpack_from(body)
    data = decompress(body[_HEADER.size :])
    ids, order = (delta_decode(unshuffle(data, "<i8", 8 * count * column, count)) for column in range(2))
    start, end = 16 * count, 16 * count + length
    return SeriesNames(ids, order, data[start:end], data[end:])
