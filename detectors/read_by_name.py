"""Which series without a role detectors read by their names: all others need not be loaded for them."""

from __future__ import annotations

from functools import lru_cache

from holter.detectors.loss.announced_changes import may_announce_change
from holter.detectors.signals.saturation import may_saturate
from holter.detectors.throughput.evaluation_speed import is_evaluation_duration
from holter.types import SeriesKey


def is_read_by_name(key: SeriesKey) -> bool:
    """Whether a detector reads this series though its role is `OTHER`: those of ranks never."""
    return key.rank is None and _is_read(str(key.metric))


@lru_cache(maxsize=100_000)  # each pass of the server asks about all series of a run
def _is_read(metric: str) -> bool:
    key = SeriesKey(metric)
    return may_announce_change(key) or may_saturate(key) or is_evaluation_duration(key)
