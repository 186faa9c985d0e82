"""What a line counts: the numbers of its step, its batch and its epoch, each with its total."""

from __future__ import annotations

from collections.abc import Mapping

from holter.ingest.console.line.line_counters import Counter

Counts = Mapping[Counter, tuple[int, int]]
"""The numbers that a line counts, each with its total, 0 without one."""
NO_STEPS = frozenset({Counter.EPOCH, Counter.OTHER})
"""Counters of which a line may have one that counts no step of an epoch."""


def inner_count(counts: Counts) -> tuple[int, int] | None:
    """What a line counts within an epoch, with its total: steps or batches."""
    return counts.get(Counter.STEP) or counts.get(Counter.BATCH)


def is_epoch_of_all(counts: Counts) -> bool:
    """Whether an epoch is stated twice, of a launch and of all: `Epoch 1 (1/200):`."""
    if counts.keys() != {Counter.EPOCH, Counter.BATCH}:
        return False
    return counts[Counter.BATCH][1] > 0 and counts[Counter.BATCH][0] - counts[Counter.EPOCH][0] in (0, 1)
