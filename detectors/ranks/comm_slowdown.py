"""Communication slow-down: collectives take longer for all ranks, including the last one to arrive."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from math import exp, log
from typing import ClassVar

import numpy as np

from holter.detectors.detector import DetectorContext
from holter.detectors.findings.speed import COMM_SLOWDOWN
from holter.detectors.formatting import from_to
from holter.detectors.incremental import Checkpoint, ScanCheckpoints
from holter.detectors.positions import RowPosition, last_common_position, rows_up_to
from holter.detectors.ranks.rank_matrix import (
    RankMatrix,
    build_rank_matrix,
    common_key,
    peer_median,
    series_by_rank,
)
from holter.detectors.thresholds import Thresholds
from holter.detectors.throughput.block_medians import BlockCursor, BlockPoints, MedianBlock, cut_into_blocks
from holter.detectors.throughput.established_level import LevelShift, LevelShiftThresholds
from holter.detectors.throughput.level_shift import LevelShiftScan
from holter.roles import Role
from holter.types import Finding, FloatArray, Kind, RunData, Series, SeriesKey


@dataclass(frozen=True, kw_only=True)
class CommSlowdownThresholds(Thresholds):
    """When a rise of the transfer time of collectives is reported."""

    level: LevelShiftThresholds = LevelShiftThresholds()
    """When a level is established and left."""
    smallest_rise: float = log(1.2)
    """Logarithm of the transfer time. Collectives are a part of the step: a smaller rise costs little."""
    max_confidence: float = 0.99
    """Confidence. The most that is stated."""
    base_confidence: float = 0.6
    """Confidence of a rise without any noise to compare with."""
    confidence_per_noise: float = 0.03
    """Confidence added per noise of the rise."""
    noise_floor: float = 1e-3
    """Logarithm. Noise is not taken to be lower when confidence is computed."""


@dataclass(frozen=True)
class CommSlowdownDetector:
    """Watches the shortest time in collectives, row by row.

    The rank that arrives last does not wait: its time is that of the transfer. A straggler lengthens the
    waits of all others and leaves the shortest time unchanged; a slow fabric lengthens that one, too.
    """

    name: ClassVar[str] = "comm_slowdown"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.COMM_SLOWDOWN})
    thresholds: CommSlowdownThresholds = CommSlowdownThresholds()

    def detect(self, run: RunData, context: DetectorContext) -> Iterable[Finding]:
        """One finding per rise of the transfer time."""
        for series in series_by_rank(run, Role.COLLECTIVE_TIME):
            key = common_key(series[0].key)
            for shift in self._scan(series, context).shift_scan.shifts:
                yield _finding(key, shift, self.thresholds)

    def _scan(self, series: list[Series], context: DetectorContext) -> _TransferScan:
        metric, limits = series[0].key.metric, self.thresholds
        checkpoints: ScanCheckpoints[_TransferScan] = context.state.checkpoints(
            (self.name, common_key(series[0].key)), series
        )
        checkpoint = checkpoints.latest(series)
        first = checkpoint.rows if checkpoint else (0,) * len(series)
        if checkpoint:
            scan = checkpoint.state
        else:
            sensitivity = context.tuning.of(metric).sensitivity
            scan = _TransferScan(
                LevelShiftScan(smallest=limits.smallest_rise, sensitivity=sensitivity, limits=limits.level)
            )
        matrix = build_rank_matrix(series, first)
        begin = scan.cursor.row
        # rows of a rank that is behind will still arrive, unless it has ended for good
        for upto in sorted({matrix.rows_up_to(last_common_position(series)), len(matrix.step)}):
            if begin + upto > scan.cursor.row:
                scan = scan.after(series, matrix, begin, upto, limits.level)
                position = matrix.position_before(scan.cursor.row - begin)
                if position is not None:
                    rows = tuple(rows_up_to(each, position) for each in series)
                    checkpoints.save(Checkpoint(scan, rows, upto=position))
        return scan


@dataclass(frozen=True)
class _TransferScan:
    """State of a scan over the rows up to `cursor.row`."""

    shift_scan: LevelShiftScan
    cursor: BlockCursor = field(default_factory=BlockCursor)

    def after(
        self,
        series: list[Series],
        matrix: RankMatrix,
        begin: int,
        upto: int,
        limits: LevelShiftThresholds,
    ) -> _TransferScan:
        """The state after `upto` rows of a matrix whose first row has the number `begin`."""
        part = matrix.slice_rows(self.cursor.row - begin, upto)
        shortest = _shortest(part)
        known = np.flatnonzero(np.isfinite(shortest))
        points = BlockPoints(
            row=self.cursor.row + known,
            attempt=part.attempt[known],
            step=part.step[known],
            value=np.log(shortest[known]),
            segment=part.attempt[known],
            group=np.zeros(len(known), dtype=np.int64),
        )
        blocks, cursor = cut_into_blocks(self.cursor, points, limits.blocks, after=begin + upto)
        shift_scan = self.shift_scan
        if blocks:
            shift_scan = shift_scan.copy()
            shift_scan.scan(blocks, partial(_points, series))
        return _TransferScan(shift_scan, cursor)


def _points(series: list[Series], block: MedianBlock) -> tuple[list[RowPosition], FloatArray]:
    before, last = (block.attempt, block.first_step - 1), (block.attempt, block.last_step)
    first = [rows_up_to(each, before) for each in series]
    matrix = build_rank_matrix(series, first, [rows_up_to(each, last) for each in series])
    shortest = _shortest(matrix)
    known = np.flatnonzero(np.isfinite(shortest)).tolist()
    positions = [RowPosition(block.first + row, block.attempt, int(matrix.step[row])) for row in known]
    return positions, np.log(shortest[known])


def _shortest(ranks: RankMatrix) -> FloatArray:
    """The shortest time of each row [rows]; NaN where too few ranks logged."""
    good = np.where(np.isfinite(ranks.value) & (ranks.value > 0), ranks.value, np.inf)
    return np.where(np.isfinite(peer_median(ranks)), good.min(axis=1), np.nan)


def _finding(key: SeriesKey, shift: LevelShift, limits: CommSlowdownThresholds) -> Finding:
    baseline, worst = exp(shift.reference), exp(min(shift.reference + shift.rise, 700.0))
    end = None if shift.end is None else shift.end.step
    step = key.step_unit or "step"
    until = "" if end is None else f" until {step} {end:,}"
    noises = shift.rise / max(shift.noise, limits.noise_floor)
    return Finding(
        kind=Kind.COMM_SLOWDOWN,
        metric=key.metric,
        labels=key.labels,
        attempt=shift.start.attempt,
        start_step=shift.start.step,
        peak_step=shift.worst.step,
        end_step=end,
        detected_step=shift.detected.step,
        classified_step=shift.detected.step,
        severity=COMM_SLOWDOWN.only_severity,
        confidence=min(limits.max_confidence, limits.base_confidence + limits.confidence_per_noise * noises),
        summary=(
            f"Collectives take longer on all ranks since {step} {shift.start.step:,}{until}: "
            f"{from_to(baseline, worst)} even on the rank that waits least."
        ),
        advice=COMM_SLOWDOWN.advice,
        evidence={"baseline": baseline, "worst": worst, "noise": shift.noise, "gradual": shift.gradual},
    )
