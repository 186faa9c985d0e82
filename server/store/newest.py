"""The newest point of each series of a run: of its summary, and of what the log has got since."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from sqlalchemy import text

from holter.server.store.block import decode_entry, series_of
from holter.server.store.ends import NO_ENDS, Ends, floor, later, of_entry
from holter.server.store.memory import Memory
from holter.server.store.names import NOBODY, Names, decode_names
from holter.server.store.naming import named
from holter.server.store.numbers import decode_ends
from holter.server.store.snapshot import Snapshot
from holter.server.store.values import Newest

# as texts: composed in no time by whoever asks first in a process
_STORED = text("SELECT entry, chunks, log, names FROM summary WHERE run_id = :run")
_SINCE = text(
    "SELECT id, attempt, step_max, payload FROM log WHERE run_id = :run AND id > :entry ORDER BY id DESC"
)


class _Held(NamedTuple):
    """The newest points of a run as of a version of it, and the last row of its log that is in them."""

    version: tuple[int, int] = (-1, -1)
    entry: int = 0
    ends: Ends = NO_ENDS
    names: Names = NOBODY


def newest(snapshot: Snapshot, memory: Memory) -> Newest:
    """The newest point of each series of the run, in the order of their keys. Raises CorruptDataError."""
    before, found = memory.get(("newest", snapshot.run_id)) or (_Held(), None)
    if before.version != snapshot.version:
        held = _brought_up(snapshot, before)
        found = _in_order(held)
        size = held.ends.size + held.names.size + 32 * len(found.step)
        memory.put(("newest", snapshot.run_id), (held, found), size)
    assert isinstance(found, Newest)
    return found


def _brought_up(snapshot: Snapshot, held: _Held) -> _Held:
    if held.version[0] != snapshot.version[0]:
        held = _summarised(snapshot, held.names)
    entry, ends = _since(snapshot, held.entry)
    ends = later(held.ends, ends)
    names = named(snapshot.connection, snapshot.run_id, held.names, ends.ids).only(ends.ids)
    return _Held(snapshot.version, entry, ends, names)


def _in_order(held: _Held) -> Newest:
    names, ends = held.names, held.ends
    if len(names.ids) < len(ends.ids):  # rows of series are gone
        named = np.isin(ends.ids, names.ids)
        ends = Ends._make(column[named] for column in ends)
    order = names.order
    return Newest(names, ends.attempt[order], ends.step[order], ends.time[order], ends.value[order])


def _summarised(snapshot: Snapshot, names: Names) -> _Held:
    """As the summary has it; names that are known already serve where it has none."""
    row = snapshot.connection.execute(_STORED, {"run": snapshot.run_id}).one_or_none()
    if row is None:
        return _Held(snapshot.version, names=names)
    place = "series in numbers".format
    chunks, log = (snapshot.decoded(decode_ends, blob, place) for blob in (row.chunks, row.log))
    if row.names is not None:
        names = snapshot.decoded(decode_names, row.names, "names of series".format)
    return _Held(snapshot.version, row.entry, later(chunks, log), names)


def _since(snapshot: Snapshot, entry: int) -> tuple[int, Ends]:
    """The newest points of what the log has after an entry, and the last entry that there is.

    From the newest entry back: an older one of the same series, at steps that these have passed, is not
    decoded.
    """
    ends, passed = NO_ENDS, dict[bytes, tuple[int, int]]()
    asked = {"run": snapshot.run_id, "entry": entry}
    for number, attempt, step_max, payload in snapshot.connection.execute(_SINCE, asked):
        entry = max(entry, number)
        place = partial("log entry {}".format, number)
        series = snapshot.decoded(series_of, payload, place)
        if series not in passed or (attempt, step_max) > passed[series]:
            block = snapshot.decoded(decode_entry, payload, place)
            ends = later(of_entry(attempt, block), ends)
            passed[series] = floor(ends, block.ids)
    return entry, ends
