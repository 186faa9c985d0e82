"""Communication slow-down: collectives take longer for all ranks, the last to arrive included."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from math import exp, log
from typing import ClassVar

import numpy as np

from holter.detectors.figures import figure
from holter.detectors.ranks.ranks import Ranks, by_rank, peer_median
from holter.detectors.throughput.blocks import Block, Cut, Points, cut_into_blocks
from holter.detectors.throughput.levels import Departure, Watch
from holter.detectors.tuning import Tuning
from holter.metrics import Role
from holter.types import Finding, FloatArray, IntArray, Kind, RunData, Severity

_SMALLEST = log(1.2)
"""Collectives take a part of the step: what they lose is small before that."""


@dataclass(frozen=True)
class CommSlowdown:
    """Watches the shortest times in collectives, row by row.

    Who arrives last waits for nobody: its time is that of the transfer. A straggler lengthens the waits
    of all others and leaves that one alone; a slow fabric lengthens it too.
    """

    name: ClassVar[str] = "comm_slowdown"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.COMM_SLOWDOWN})
    tuning: Tuning = Tuning()

    def detect(self, run: RunData) -> Iterable[Finding]:
        """One finding per rise of the time that the transfers take."""
        for ranks in by_rank(run, Role.COLLECTIVE_TIME):
            shortest = _shortest(ranks)
            known = np.flatnonzero(np.isfinite(shortest))
            points = Points(
                row=known,
                step=ranks.step[known],
                value=np.log(shortest[known]),
                stretch=ranks.attempt[known],
                group=np.zeros(len(known), dtype=np.int64),
            )
            blocks, _ = cut_into_blocks(Cut(), points, after=len(shortest))
            sensitivity = self.tuning.of(ranks.keys[0].metric).sensitivity
            watch = Watch(smallest=_SMALLEST, sensitivity=sensitivity)
            watch.look_at(blocks, partial(_points, shortest))
            for departure in watch.departures:
                yield _finding(ranks, departure, list(range(len(shortest))))


def _points(shortest: FloatArray, block: Block) -> tuple[IntArray, FloatArray]:
    rows = block.first + np.flatnonzero(np.isfinite(shortest[block.first : block.last + 1]))
    return rows, np.log(shortest[rows])


def _shortest(ranks: Ranks) -> FloatArray:
    """The shortest time of each row [rows]; NaN where too few ranks logged."""
    good = np.where(np.isfinite(ranks.value) & (ranks.value > 0), ranks.value, np.inf)
    return np.where(np.isfinite(peer_median(ranks)), good.min(axis=1), np.nan)


def _finding(ranks: Ranks, departure: Departure, known: list[int]) -> Finding:
    def step_of(point: int) -> int:
        return int(ranks.step[known[point]])

    usual, slow = exp(departure.reference), exp(min(departure.reference + departure.rise, 700.0))
    end = None if departure.end is None else step_of(departure.end)
    until = "" if end is None else f" until step {end:,}"
    return Finding(
        kind=Kind.COMM_SLOWDOWN,
        metric=ranks.keys[0].metric,
        attempt=int(ranks.attempt[known[departure.start]]),
        start_step=step_of(departure.start),
        peak_step=step_of(departure.worst),
        end_step=end,
        detected_step=step_of(departure.detected),
        classified_step=step_of(departure.detected),
        severity=Severity.WARNING,
        confidence=min(0.99, 0.6 + 0.03 * departure.rise / max(departure.noise, 1e-3)),
        summary=(
            f"Collectives take all ranks longer since step {step_of(departure.start):,}{until}: "
            f"from {figure(usual)} to {figure(slow)} even where nobody is waited for."
        ),
        advice="It is the fabric, not a rank: look at links, switches, routing, other jobs on the network.",
        evidence={"baseline": usual, "worst": slow, "noise": departure.noise, "gradual": departure.gradual},
    )
