"""The state of a scan for excursions between two looks at a run that grows."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from holter.detectors.loss.excursions.baseline import LossHistory
from holter.detectors.loss.excursions.excursion import Excursion
from holter.detectors.loss.excursions.restart_level import RestartLevel
from holter.detectors.loss.excursions.segment import AttemptSegment


@dataclass(frozen=True, eq=False, kw_only=True)
class ExcursionScanState:
    """The state of a scan between two chunks: before point `index` of the segment with a `number`.

    The first `count` of `excursions` were detected by then; `current` is the number of the last one reported.
    Excursions detected from here on begin at point `first_onset` or later.
    `mismatched` are the attempts so far that began with another learning rate.
    """

    number: int
    index: int
    history: LossHistory
    restart: RestartLevel | None
    is_low: bool
    current: int | None
    first_onset: int
    excursions: list[Excursion]
    count: int
    mismatched: frozenset[int]

    def is_valid(self, segments: list[AttemptSegment], mismatched: Collection[int]) -> bool:
        """Whether a scan may continue from here.

        Attempts that began since must continue the run at a later point, or at one that is still to be
        scanned; and the learning rates with which attempts so far began must be judged as before.
        """
        begun = frozenset(segment.attempt for segment in segments[: self.number + 1])
        if self.mismatched != begun & set(mismatched):
            return False
        begins = np.array([segment.step[0] for segment in segments])
        ends = np.array([segment.step[-1] for segment in segments])
        for number in range(self.number + 1, len(segments)):
            first = int(begins[number])
            rolled_back = np.flatnonzero((begins[:number] < first) & (first <= ends[:number]))
            if not len(rolled_back):
                continue
            last = int(rolled_back[-1])
            index = int(np.searchsorted(segments[last].step, first))
            if last < self.number or (last == self.number and index < self.index):
                return False
        return True


def mismatched_so_far(segments: list[AttemptSegment], mismatched: Collection[int]) -> list[frozenset[int]]:
    """For each segment, the mismatched attempts among those up to it."""
    result, known = [], frozenset[int]()
    for segment in segments:
        known = known | {segment.attempt} if segment.attempt in mismatched else known
        result.append(known)
    return result
