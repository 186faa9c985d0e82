"""Going on with the scan of a loss where an earlier look ended."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from holter.detectors.incremental import Checkpoint, ScanCheckpoints
from holter.detectors.loss.excursions.excursion import Excursion
from holter.detectors.loss.excursions.scan import Belief, Standing, excursions_of
from holter.detectors.loss.excursions.segment import Stretch
from holter.detectors.positions import last_common_position, position_of, rows_up_to
from holter.types import Series

_APART = (0, 4096, 32_768, 262_144)
"""Rows from the newest at which what is known is kept: an attempt may roll back behind the newest mark."""


def resumed(
    stretches: list[Stretch],
    series: list[Series],
    checkpoints: ScanCheckpoints[Standing],
    *,
    doubtful: Collection[int],
    belief: Belief,
) -> list[Excursion]:
    """Every excursion of the first of these series, which is cut into stretches; what is believed of it
    rests on the others."""
    known = checkpoints.cached_result(series)
    if isinstance(known, _Answer) and known.doubtful == frozenset(doubtful):
        return list(known.found)
    checkpoint = checkpoints.latest(series)
    while checkpoint is not None and not checkpoint.state.holds(stretches, doubtful):
        checkpoint = checkpoints.previous(checkpoint)
    keeper = _Keeper(stretches, series, checkpoints)
    since = None if checkpoint is None else checkpoint.state
    found = excursions_of(stretches, doubtful=doubtful, belief=belief, since=since, keep=keeper.hear)
    keeper.end()
    checkpoints.cache_result(series, _Answer(frozenset(doubtful), tuple(found)))
    return found


class _Answer(NamedTuple):
    """What was found, where these attempts were thought to have begun with another setting."""

    doubtful: frozenset[int]
    found: tuple[Excursion, ...]


class _Keeper:
    """Keeps a few of the places from which a scan might go on: those that are the last before some rows."""

    def __init__(
        self, stretches: list[Stretch], series: list[Series], checkpoints: ScanCheckpoints[Standing]
    ) -> None:
        self._stretches = stretches
        self._series = series
        self._trail = checkpoints
        self._last: tuple[int, Standing] | None = None
        known = [one for one in series if len(one)]
        rows = {len(series[0]) - apart for apart in _APART}
        # what a series that is behind will say still counts
        self._before = sorted(rows | {rows_up_to(series[0], last_common_position(known))}) if known else []

    def hear(self, standing: Standing) -> None:
        stretch = self._stretches[standing.number]
        # where an excursion is left, the point after it has had its say
        row = stretch.row(min(standing.at, len(stretch.step) - 1)) + 1
        if self._last is not None and any(self._last[0] <= one < row for one in self._before):
            self._keep(*self._last)
        self._last = row, standing

    def end(self) -> None:
        if self._last is not None:
            self._keep(*self._last)

    def _keep(self, row: int, standing: Standing) -> None:
        place = position_of(self._series[0], row - 1)
        self._trail.save(
            Checkpoint(standing, tuple(rows_up_to(one, place) for one in self._series), upto=place)
        )
