"""Counts with a total that continue while the epochs below them begin anew: `Pruning iteration 2 / 5`.

Each part of a launch, such as the fine-tuning behind a pruning, counts its own epochs. That the outer count
continues shows that they are of one launch, also behind its last part. A count that states how far epochs
are, such as `Checkpoint 2/5`, has other epochs below it each time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holter.ingest.console.line.line_counters import Counter

_COUNT, _SHOWN = "outer count", "epochs begin anew"
_MOST_PARTS = 99
"""Parts of a launch: what has a larger total counts steps, files or samples."""


def is_outer_count(counts: Mapping[Counter, tuple[int, int]]) -> bool:
    """Whether what a line counts, without any values, may be the parts of a launch."""
    if len(counts) != 1 or Counter.EPOCH in counts:
        return False
    [(number, total)] = counts.values()
    return 0 <= number <= total and 0 < total <= _MOST_PARTS


def note_outer_count(counts: Mapping[Counter, tuple[int, int]], axis: dict[str, Any]) -> None:
    """Note the count of a line without values, if it may be one of the parts of a launch.

    `outer count` has it with the total, the first and the last epoch below, and the epoch which is expected
    next: the first one below the count before, if there were several.
    """
    if not is_outer_count(counts):
        return
    [(number, total)] = counts.values()
    last, last_total, first_epoch, epoch, _ = axis.get(_COUNT, (None, None, None, None, None))
    continues = last is not None and (number, total) == (last + 1, last_total)
    if not continues:
        axis.pop(_SHOWN, None)
    has_several = continues and epoch is not None and epoch > first_epoch
    axis[_COUNT] = [number, total, None, None, first_epoch if has_several else None]


def note_epoch_within(number: int, axis: dict[str, Any]) -> None:
    """Note an epoch, which may be below an outer count."""
    if (outer := axis.get(_COUNT)) is None:
        return
    if outer[2] is None:
        outer[2] = number
        if number == outer[4]:
            axis[_SHOWN] = True
        else:
            axis.pop(_SHOWN, None)
    outer[3] = number


def are_epochs_within(axis: Mapping[str, Any]) -> bool:
    """Whether epochs begin anew within the launch, below counts that continue."""
    return _SHOWN in axis


def forget_outer_count(axis: dict[str, Any]) -> None:
    """Forget the count: another launch begins."""
    axis.pop(_COUNT, None)
    axis.pop(_SHOWN, None)
