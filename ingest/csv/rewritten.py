"""Recognises rows that were read before, when a logger rewrites its complete file."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holter.ingest.csv.csv_table import CsvTable

Hashes = NDArray[np.uint64]


class RowFingerprint:
    """A fingerprint of the rows read so far, in their order, whatever the order of the columns.

    In addition to the sum over all rows it stores that of the first 1, 2, 4, 8 ... rows, so that another file
    can be recognised as such before it is complete.
    """

    def __init__(self, state: Mapping[str, Any]) -> None:
        self.rows: int = state.get("rows", 0)
        self._sum: int = int(state.get("sum", "0"), 16)
        self._marks: list[int] = [int(mark, 16) for mark in state.get("marks", ())]

    def state(self) -> dict[str, Any]:
        """The fingerprint as JSON-able values: a few hundred bytes at most."""
        return {"rows": self.rows, "sum": f"{self._sum:x}", "marks": [f"{mark:x}" for mark in self._marks]}

    def extend(self, table: CsvTable, start: int, stop: int) -> None:
        """Add rows [start, stop) of a table."""
        if start == stop:
            return
        order = np.arange(self.rows + 1, self.rows + 1 + stop - start, dtype=np.uint64)
        sums = np.cumsum(_mix(_rows(table)[start:stop] + _mix(order)), dtype=np.uint64)
        while (mark := 1 << len(self._marks)) <= self.rows + stop - start:
            self._marks.append((self._sum + int(sums[mark - self.rows - 1])) % 2**64)
        self._sum = (self._sum + int(sums[-1])) % 2**64
        self.rows += stop - start

    def agrees(self, known: RowFingerprint) -> bool:
        """Whether these rows are the first of the known ones, as far as the stored sums show."""
        if self.rows == known.rows:
            return self._sum == known._sum
        return self.rows < known.rows and self._marks == known._marks[: len(self._marks)]


def _rows(table: CsvTable) -> Hashes:
    """A hash of every row: the sum of its cells' hashes."""
    hashes = _mix(table.steps.astype(np.uint64)) * _name("step")
    hashes += np.where(np.isnan(table.times), np.uint64(0), _mix(table.times.view(np.uint64)))
    for cells in table.columns:
        column_hashes = _mix(cells.values.view(np.uint64)) * _name(cells.name)
        if cells.rows is None:
            hashes += column_hashes
        else:
            hashes[cells.rows] += column_hashes
    return hashes


@lru_cache(maxsize=4096)
def _name(name: str) -> np.uint64:
    digest = hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little") | 1)


def _mix(values: Hashes) -> Hashes:
    """Stafford's variant 13 of the splitmix64 finaliser: every bit in changes half of the bits out."""
    mixed = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))
