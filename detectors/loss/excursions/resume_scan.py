"""Incremental scan of a loss: it continues from the state that an earlier pass saved."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from holter.detectors.incremental import Checkpoint, ScanCheckpoints
from holter.detectors.loss.excursions.evidence_factor import EvidenceFactor
from holter.detectors.loss.excursions.excursion import Excursion
from holter.detectors.loss.excursions.scan import scan_excursions
from holter.detectors.loss.excursions.scan_state import ExcursionScanState
from holter.detectors.loss.excursions.scan_thresholds import ExcursionThresholds
from holter.detectors.loss.excursions.segment import AttemptSegment
from holter.detectors.positions import last_common_position, position_of, rows_up_to
from holter.types import Series

_CHECKPOINT_DISTANCES = (0, 4096, 32_768, 262_144)
"""Rows before the newest at which a checkpoint is saved: an attempt may roll back behind the newest one."""


def scan_incrementally(
    segments: list[AttemptSegment],
    series: list[Series],
    checkpoints: ScanCheckpoints[ExcursionScanState],
    thresholds: ExcursionThresholds,
    *,
    mismatched: Collection[int],
    factor: EvidenceFactor,
) -> list[Excursion]:
    """Every excursion of the first of these series, which is split into segments.

    The evidence factor rests on the other series.
    """
    answer = checkpoints.cached_result(series)
    if isinstance(answer, _ScanResult) and answer.mismatched == frozenset(mismatched):
        return list(answer.excursions)
    checkpoint = checkpoints.latest(series)
    while checkpoint is not None and not checkpoint.state.is_valid(segments, mismatched):
        checkpoint = checkpoints.previous(checkpoint)
    saver = _CheckpointSaver(segments, series, checkpoints)
    since = None if checkpoint is None else checkpoint.state
    excursions = scan_excursions(
        segments, thresholds, mismatched=mismatched, factor=factor, since=since, save=saver.add
    )
    saver.finish()
    checkpoints.cache_result(series, _ScanResult(frozenset(mismatched), tuple(excursions)))
    return excursions


class _ScanResult(NamedTuple):
    """The excursions of a scan, and the attempts that were assumed to begin with another learning rate."""

    mismatched: frozenset[int]
    excursions: tuple[Excursion, ...]


class _CheckpointSaver:
    """Saves a few of the states from which a scan might continue: the last ones before certain rows."""

    def __init__(
        self,
        segments: list[AttemptSegment],
        series: list[Series],
        checkpoints: ScanCheckpoints[ExcursionScanState],
    ) -> None:
        self._segments = segments
        self._series = series
        self._checkpoints = checkpoints
        self._last: tuple[int, ExcursionScanState] | None = None
        logged = [member for member in series if len(member)]
        rows = {len(series[0]) - distance for distance in _CHECKPOINT_DISTANCES}
        # points of a series that lags behind may still change the result
        self._rows = sorted(rows | {rows_up_to(series[0], last_common_position(logged))}) if logged else []

    def add(self, state: ExcursionScanState) -> None:
        segment = self._segments[state.number]
        # at the end of an excursion, the point after it has already contributed
        row = segment.row(min(state.index, len(segment.step) - 1)) + 1
        if self._last is not None and any(self._last[0] <= limit < row for limit in self._rows):
            self._save(*self._last)
        self._last = row, state

    def finish(self) -> None:
        if self._last is not None:
            self._save(*self._last)

    def _save(self, row: int, state: ExcursionScanState) -> None:
        position = position_of(self._series[0], row - 1)
        rows = tuple(rows_up_to(member, position) for member in self._series)
        self._checkpoints.save(Checkpoint(state, rows, upto=position))
