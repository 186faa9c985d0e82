"""How a run's launches are set up, as pages see it, and what is to be remarked on that.

Curves that are worked out and not stored, thinned to what a screen can show: every extreme stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from holter.attempts.config_diff import attempts_with_config, list_changes, list_settings
from holter.curves import LineSegment, between
from holter.detectors.launch_checks import run_launch_checks
from holter.flops.peaks import Peaks
from holter.flops.throughput import run_throughput, throughput_json
from holter.json_values import plain
from holter.server.maintenance.select_points import select_points
from holter.server.store import Store
from holter.server.store.cache import LruCache
from holter.server.store.encoding.block import SeriesPoints
from holter.types import Diagnostic, RunData, Series, SeriesKey

_STAY = 4  # of each bucket: the first, the last, the lowest, the highest


def curve_segments(series: Series, points: int) -> list[dict[str, Any]]:
    """A curve's stretches, attempt by attempt, superseded ones apart, of about so many points together.

    Points without a value are left out: nothing is known there.
    """
    if not len(series):
        return []
    drawn = between(series, int(series.step.min()), int(series.step.max())).stretches
    known = [(one, np.isfinite(one.value)) for one in drawn]
    many = sum(int(np.count_nonzero(there)) for _, there in known)
    bucket = max(1, -(-_STAY * many // points))
    return [_thinned(one, there, bucket) for one, there in known if there.any()]


def _thinned(one: LineSegment, there: np.ndarray[Any, np.dtype[np.bool_]], bucket: int) -> dict[str, Any]:
    step, value = one.step[there], one.value[there]
    if bucket > _STAY:
        clock = np.full(len(step), np.nan)
        stay = select_points(SeriesPoints(step, clock, value), bucket, np.zeros(len(step), dtype=bool))
        step, value = step[stay], value[stay]
    return {"attempt": one.attempt, "ghost": one.ghost, "step": step.tolist(), "value": value.tolist()}


SHOWN_SETTINGS = 2000
SHOWN_CHANGES = 200
_REMARK_BYTES = 2000
_THROUGHPUT_BYTES = 2000
_MEMORY = 8 * 2**20


class _Series(Mapping[SeriesKey, Series]):
    """A run's series, each read when it is asked for: checks look at few of them."""

    def __init__(self, store: Store, run_id: int) -> None:
        self._store = store
        self._run_id = run_id
        self._keys = dict.fromkeys(one.key for one in store.series(run_id))
        self._read: dict[SeriesKey, Series] = {}

    def __getitem__(self, key: SeriesKey) -> Series:
        if key not in self._keys:
            raise KeyError(key)
        if key not in self._read:
            self._read |= self._store.read(self._run_id, [key])
        return self._read[key]

    def __iter__(self) -> Iterator[SeriesKey]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


class LaunchReader:
    """Answers for the pages, worked out when they are asked for, and remembered by version.

    `peaks`: those of accelerators.
    """

    def __init__(self, store: Store, peaks: Peaks) -> None:
        self._store = store
        self._peaks = peaks
        self._memory = LruCache(_MEMORY)

    def config(self, run_id: int, q: str | None = None) -> dict[str, Any]:
        """What is stated of each launch; `q`: part of a setting's name or value. All changes are told."""
        stated = self._store.config(run_id)
        found = [one for one in list_settings(stated) if q is None or _says(one, q.lower())]
        return {
            "attempts": attempts_with_config(stated),
            "settings": found[:SHOWN_SETTINGS],
            "settings_count": len(found),
            "changes": [
                {
                    "attempt": one["attempt"],
                    "settings": one["settings"][:SHOWN_CHANGES],
                    "settings_count": len(one["settings"]),
                }
                for one in list_changes(stated)
            ],
        }

    def run_launch_checks(self, run_id: int, version: tuple[int, int]) -> list[dict[str, Any]]:
        """What all checks remark on a version of a run, the gravest first. Raises CorruptDataError."""
        known = self._memory.get(run_id)
        if known is not None and known[0] == version:
            found: list[dict[str, Any]] = known[1]
            return found
        told = [_as_json(one) for one in run_launch_checks(self._data(run_id), peaks=self._peaks)]
        self._memory.put(run_id, (version, told), _REMARK_BYTES * (1 + len(told)))
        return told

    def throughput(self, run_id: int, version: tuple[int, int]) -> dict[str, Any]:
        """What a version of a run reports of its throughput, and Holter's own. Raises CorruptDataError."""
        place = (run_id, "throughput")
        known = self._memory.get(place)
        if known is None or known[0] != version:
            told = plain(throughput_json(run_throughput(self._data(run_id), self._peaks)))
            known = version, told
            self._memory.put(place, known, _THROUGHPUT_BYTES * (2 + len(told["reported"])))
        found: dict[str, Any] = known[1]
        return found

    def curve(self, run_id: int, quantity: str, points: int) -> list[dict[str, Any]]:
        """One of Holter's own figures of a run as a curve. Raises CorruptDataError."""
        own = run_throughput(self._data(run_id), self._peaks).own
        drawn = own.curve(quantity, getattr(own, quantity))
        return [] if drawn is None else curve_segments(drawn, points)

    def _data(self, run_id: int) -> RunData:
        return RunData(series=_Series(self._store, run_id), config=self._store.config(run_id))


def _as_json(remark: Diagnostic) -> dict[str, Any]:
    told: dict[str, Any] = plain(remark.as_json() | {"labels": dict(remark.labels)})
    return told


def _says(setting: Mapping[str, Any], words: str) -> bool:
    return words in setting["name"].lower() or any(
        words in str(one["value"]).lower() for one in setting["values"]
    )
