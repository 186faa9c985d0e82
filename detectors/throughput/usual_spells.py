"""How long a run has to be slow before that is more than one of its own short spells.

Saving checkpoints, evaluations and neighbours on a shared cluster make a run slow for a while, again and
again. The lengths of the spells that a run has shown predict that of the longest among as many more; what
lasts longer is no spell.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from holter.detectors.thresholds import Thresholds


@dataclass(frozen=True, kw_only=True)
class UsualSpellThresholds(Thresholds):
    """When a run that is slow counts as in one of its usual spells."""

    longest_blocks: int = 16
    """Blocks. A slow-down that is over within so many is a short spell, and part of the run's variation."""
    chance: float = 0.05
    """Spells expected to last longer than the limit, among as many more as the run has shown."""


def spell_lengths(is_slow: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The lengths of the runs of slow blocks among blocks [n] in order."""
    edges = np.flatnonzero(np.diff(is_slow.astype(np.int8), prepend=0, append=0))
    return np.asarray(edges[1::2] - edges[::2])


def longest_by_chance(lengths: NDArray[np.int64], limits: UsualSpellThresholds) -> float:
    """The length that hardly any of as many more spells will exceed, in blocks; 0 where there are none yet.

    Lengths are taken to have an exponential tail beyond their mean, as long as the standard deviation that
    they show; while few are known, as long as the mean, as for spells that end at random. The longest of N
    values of such a tail exceeds it log(N / chance) times with this chance.
    """
    short = lengths[lengths <= limits.longest_blocks]
    count = len(short)
    if not count:
        return 0.0
    mean = float(short.mean())
    tail = sqrt((float(((short - mean) ** 2).sum()) + 2 * mean**2) / (count + 1))
    return mean + tail * log(count / limits.chance)
