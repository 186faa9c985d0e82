"""A run's collectives, as pages see them: compared when they are asked for, remembered by version."""

from __future__ import annotations

from typing import Any

from holter.detectors.communication import COLLECTIVE_METRICS, compare_collectives
from holter.json_values import plain
from holter.server.store import Store
from holter.server.store.cache import LruCache
from holter.types import RunData

_MEMORY = 16 * 2**20
_ROW_BYTES = 600
_MOST_POINTS = 20_000_000
"""Points that are read for a comparison: some 640 MB."""


class CollectivesReader:
    """Answers for the pages; reads the series of collectives alone."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._memory = LruCache(_MEMORY)

    def of(self, run_id: int, version: tuple[int, int]) -> dict[str, Any]:
        """Everything compared in a version of a run. Raises CorruptDataError."""
        known = self._memory.get(run_id)
        if known is not None and known[0] == version:
            found: dict[str, Any] = known[1]
            return found
        told, left_out = self._data(run_id)
        answer: dict[str, Any] = plain(compare_collectives(told).as_json() | {"series_left_out": left_out})
        rows = sum(len(part) for part in answer.values() if isinstance(part, list))
        self._memory.put(run_id, (version, answer), _ROW_BYTES * (1 + rows))
        return answer

    def _data(self, run_id: int) -> tuple[RunData, int]:
        """The series of collectives, and how many there was no room for."""
        told = [
            one
            for one in self._store.series(run_id)
            if one.key.step_unit is not None and one.key.metric in COLLECTIVE_METRICS
        ]
        chosen, points = [], 0
        for one in sorted(told, key=lambda one: one.key):
            points += one.points
            if points <= _MOST_POINTS:
                chosen.append(one.key)
        series = self._store.read(run_id, chosen) if chosen else {}
        return RunData(series=series, config=self._store.config(run_id)), len(told) - len(chosen)
