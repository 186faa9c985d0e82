"""Where series end: the newest point of each, as columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from holter.server.store.encoding.block import Block
from holter.server.store.encoding.merge import merge
from holter.types import FloatArray, IntArray


class Ends(NamedTuple):
    """The newest point of each of some series: the last step of its newest attempt, arrays [c].

    The ids ascend and stand once.
    """

    ids: IntArray
    attempt: IntArray
    step: IntArray
    time: FloatArray
    value: FloatArray

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return sum(column.nbytes for column in self)


def _none() -> Ends:
    whole, real = np.empty(0, dtype=np.int64), np.empty(0)
    return Ends(whole, whole, whole, real, real)


NO_ENDS = _none()


def of_entry(attempt: int, block: Block) -> Ends:
    """The newest points of a batch as it was logged: its steps and series in any order."""
    if block.rows is not None and _goes_back(block):
        block = merge([block])
    if block.rows is None:
        # of several writes of a step the last one counts
        row = len(block.steps) - 1 - int(np.argmax(block.steps[::-1]))
        rows = np.full(len(block.ids), row)
        values = block.values.reshape(len(block.ids), -1)[:, row]
    else:
        last = block.offsets[1:] - 1
        rows, values = block.rows[last], block.values[last]
    attempts = np.full(len(block.ids), attempt, dtype=np.int64)
    ends = Ends(block.ids, attempts, block.steps[rows], block.times[rows], values)
    if np.all(ends.ids[1:] > ends.ids[:-1]):
        return ends
    order = np.argsort(ends.ids)
    return Ends._make(column[order] for column in ends)


def _goes_back(block: Block) -> bool:
    """Whether the steps of any series of a sparse block do not ascend."""
    steps = block.steps[block.rows]
    back = steps[1:] < steps[:-1]
    back[block.offsets[1:-1] - 1] = False  # from one series to the next
    return bool(back.any())


def later(known: Ends, newer: Ends) -> Ends:
    """Of each series the later point; of two at one step that of `newer`, which was written later."""
    if not len(known.ids) or not len(newer.ids):
        return newer if len(newer.ids) else known
    at = np.searchsorted(known.ids, newer.ids)
    place = np.minimum(at, len(known.ids) - 1)
    there = known.ids[place] == newer.ids
    attempt, step = known.attempt[place], known.step[place]
    wins = there & ((newer.attempt > attempt) | ((newer.attempt == attempt) & (newer.step >= step)))
    if wins.all() and len(newer.ids) == len(known.ids):
        return newer
    found: list[Any] = []
    for old, new in zip(known, newer, strict=True):
        column = old.copy()
        column[place[wins]] = new[wins]
        found.append(column if there.all() else np.insert(column, at[~there], new[~there]))
    return Ends._make(found)


def floor(ends: Ends, ids: IntArray) -> tuple[int, int]:
    """Attempt and step from which on all of these series end."""
    at = np.searchsorted(ends.ids, ids)
    attempt = int(ends.attempt[at].min())
    return attempt, int(ends.step[at][ends.attempt[at] == attempt].min())
