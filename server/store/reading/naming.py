"""Looks up the names of series that are not known yet."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import msgspec
import numpy as np
from sqlalchemy import Connection, Text, cast, func, select

from holter.server.models import SeriesRow
from holter.server.store.errors import CorruptDataError
from holter.server.store.format.names import Names, Rows
from holter.server.store.keys import labels_of_text
from holter.types import IntArray, Labels

_NONE = "[]"
_numbers, _texts = msgspec.json.Decoder(list[int]), msgspec.json.Decoder(list[str])


def named(connection: Connection, run_id: int, known: Names, ids: IntArray) -> Names:
    """Names of a run's series, with those of these (ascending) ids that are not known yet."""
    if np.array_equal(known.ids, ids):
        return known
    missing = ids[~np.isin(ids, known.ids)].tolist()
    if missing:
        for _, rows in look_up(connection, [run_id], SeriesRow.id >= missing[0]):
            known = known.and_those(rows.only(missing))
    return known


def look_up(connection: Connection, run_ids: Collection[int], *which: Any) -> Iterator[tuple[int, Rows]]:
    """The names of series of runs. They come as texts: ten thousand rows take five times as long."""
    lite = connection.dialect.name == "sqlite"
    gathered = func.json_group_array if lite else func.json_agg
    columns = [cast(gathered(one), Text) for one in (SeriesRow.id, SeriesRow.metric, SeriesRow.labels)]
    query = select(SeriesRow.run_id, *columns).where(SeriesRow.run_id.in_(run_ids), *which)
    rows: Any = connection.execute(query.group_by(SeriesRow.run_id))
    for run_id, ids, metrics, labels in rows:
        yield run_id, Rows(_numbers.decode(ids), _texts.decode(metrics), _labels(run_id, labels))


def _labels(run_id: int, packed: str) -> list[Labels]:
    texts = _texts.decode(packed)
    if texts.count(_NONE) == len(texts):
        return [()] * len(texts)
    try:
        return list(map(labels_of_text, texts))
    except (ValueError, TypeError) as error:
        raise CorruptDataError(f"run {run_id}: labels of a series are not readable: {error}") from error
