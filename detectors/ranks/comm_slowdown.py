"""Communication slow-down: collectives take longer for all ranks, the last to arrive included."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from math import exp, log
from typing import ClassVar

import numpy as np

from holter.detectors.detector import DetectorContext
from holter.detectors.findings.ranks import COMM_SLOWDOWN
from holter.detectors.formatting import figure
from holter.detectors.incremental import Checkpoint, ScanCheckpoints
from holter.detectors.positions import At, rows_upto, settled
from holter.detectors.ranks.rank_matrix import (
    RankMatrix,
    build_rank_matrix,
    common_key,
    peer_median,
    series_by_rank,
)
from holter.detectors.throughput.block_medians import BlockCursor, BlockPoints, MedianBlock, cut_into_blocks
from holter.detectors.throughput.level_shift import LevelShift, LevelShiftScan
from holter.roles import Role
from holter.types import Finding, FloatArray, Kind, RunData, Series, SeriesKey

_SMALLEST = log(1.2)
"""Collectives take a part of the step: what they lose is small before that."""


@dataclass(frozen=True)
class CommSlowdownDetector:
    """Watches the shortest times in collectives, row by row.

    Who arrives last waits for nobody: its time is that of the transfer. A straggler lengthens the waits
    of all others and leaves that one alone; a slow fabric lengthens it too.
    """

    name: ClassVar[str] = "comm_slowdown"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.COMM_SLOWDOWN})

    def detect(self, run: RunData, context: DetectorContext) -> Iterable[Finding]:
        """One finding per rise of the time that the transfers take."""
        for series in series_by_rank(run, Role.COLLECTIVE_TIME):
            key = common_key(series[0].key)
            for departure in self._scanned(series, context).watch.departures:
                yield _finding(key, departure)

    def _scanned(self, series: list[Series], context: DetectorContext) -> _Scan:
        metric = series[0].key.metric
        checkpoints: ScanCheckpoints[_Scan] = context.state.checkpoints(
            (self.name, common_key(series[0].key)), series
        )
        checkpoint = checkpoints.latest(series)
        first = checkpoint.rows if checkpoint else (0,) * len(series)
        sensitivity = context.tuning.of(metric).sensitivity
        scan = (
            checkpoint.state
            if checkpoint
            else _Scan(LevelShiftScan(smallest=_SMALLEST, sensitivity=sensitivity))
        )
        table = build_rank_matrix(series, first)
        begin = scan.cut.row
        # a rank that is behind comes yet, unless it has ended for good
        for upto in sorted({table.rows_upto(settled(series)), len(table.step)}):
            if begin + upto > scan.cut.row:
                scan = scan.and_then(series, table, begin, upto)
                place = table.position_before(scan.cut.row - begin)
                if place is not None:
                    checkpoints.save(
                        Checkpoint(scan, tuple(rows_upto(one, place) for one in series), upto=place)
                    )
        return scan


@dataclass(frozen=True)
class _Scan:
    """What the rows up to `cut.row` have shown."""

    watch: LevelShiftScan
    cut: BlockCursor = field(default_factory=BlockCursor)

    def and_then(self, series: list[Series], table: RankMatrix, begin: int, upto: int) -> _Scan:
        """What is known after so many rows of a table whose first row has the number `begin`."""
        part = table.slice_rows(self.cut.row - begin, upto)
        shortest = _shortest(part)
        known = np.flatnonzero(np.isfinite(shortest))
        points = BlockPoints(
            row=self.cut.row + known,
            attempt=part.attempt[known],
            step=part.step[known],
            value=np.log(shortest[known]),
            stretch=part.attempt[known],
            group=np.zeros(len(known), dtype=np.int64),
        )
        blocks, cut = cut_into_blocks(self.cut, points, after=begin + upto)
        watch = self.watch
        if blocks:
            watch = watch.copy()
            watch.look_at(blocks, partial(_points, series))
        return _Scan(watch, cut)


def _points(series: list[Series], block: MedianBlock) -> tuple[list[At], FloatArray]:
    before, last = (block.attempt, block.first_step - 1), (block.attempt, block.last_step)
    first = [rows_upto(one, before) for one in series]
    table = build_rank_matrix(series, first, [rows_upto(one, last) for one in series])
    shortest = _shortest(table)
    known = np.flatnonzero(np.isfinite(shortest)).tolist()
    places = [At(block.first + row, block.attempt, int(table.step[row])) for row in known]
    return places, np.log(shortest[known])


def _shortest(ranks: RankMatrix) -> FloatArray:
    """The shortest time of each row [rows]; NaN where too few ranks logged."""
    good = np.where(np.isfinite(ranks.value) & (ranks.value > 0), ranks.value, np.inf)
    return np.where(np.isfinite(peer_median(ranks)), good.min(axis=1), np.nan)


def _finding(key: SeriesKey, departure: LevelShift) -> Finding:
    usual, slow = exp(departure.reference), exp(min(departure.reference + departure.rise, 700.0))
    end = None if departure.end is None else departure.end.step
    step = key.own_steps or "step"
    until = "" if end is None else f" until {step} {end:,}"
    return Finding(
        kind=Kind.COMM_SLOWDOWN,
        metric=key.metric,
        labels=key.labels,
        attempt=departure.start.attempt,
        start_step=departure.start.step,
        peak_step=departure.worst.step,
        end_step=end,
        detected_step=departure.detected.step,
        classified_step=departure.detected.step,
        severity=COMM_SLOWDOWN.only_severity,
        confidence=min(0.99, 0.6 + 0.03 * departure.rise / max(departure.noise, 1e-3)),
        summary=(
            f"Collectives take all ranks longer since {step} {departure.start.step:,}{until}: "
            f"from {figure(usual)} to {figure(slow)} even where nobody is waited for."
        ),
        advice=COMM_SLOWDOWN.advice,
        evidence={"baseline": usual, "worst": slow, "noise": departure.noise, "gradual": departure.gradual},
    )
