"""Limits on new series of a run: their number, and unbounded names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from holter.server.store.types import SeriesRefusal
from holter.server.store.write.cardinality import (
    MIN_EXPLOSION_SERIES,
    MIN_EXPLOSION_STEPS,
    NamePatterns,
    SeriesStart,
    series_starts,
)
from holter.server.store.write.run_state import RunState
from holter.types import Batch, SeriesKey

_MAX_LISTED = 3  # series listed in a reason


def refused_series(
    run: RunState, batch: Batch, new: Sequence[SeriesKey], max_series: int
) -> dict[SeriesKey, SeriesRefusal]:
    """Return the new series of a batch that must not be added to the run; at most `max_series` stay, 0: no
    limit.
    """
    refused: dict[SeriesKey, SeriesRefusal] = {}
    if len(run.series_index) + len(new) >= MIN_EXPLOSION_SERIES:
        starts = series_starts(batch, new)
        if run.name_patterns is None and _has_many_first_steps(run, starts.values()):
            run.name_patterns = NamePatterns(run.series_index)
        if run.name_patterns is not None:
            exploding = run.name_patterns.exploding_series(starts, run.progress.values())
            refused = {
                key: SeriesRefusal(what=pattern, series=1, reason=reason)
                for key, (pattern, reason) in exploding.items()
            }
    if max_series:
        over = [key for key in new if key not in refused][max(0, max_series - len(run.series_index)) :]
        listed = ", ".join(map(str, over[:_MAX_LISTED])) + (", ..." if len(over) > _MAX_LISTED else "")
        reason = f"the run has {max_series:,} series, as many as max_series_per_run allows; not {listed}"
        refused |= {key: SeriesRefusal(what="max_series_per_run", series=1, reason=reason) for key in over}
    return refused


def _has_many_first_steps(run: RunState, new: Iterable[SeriesStart]) -> bool:
    """Whether the series begin at so many steps that the slow check of their names is worthwhile."""
    steps = {start.step for start in new}
    indices = np.arange(len(run.series_index))
    for attempt in run.progress.values():
        steps.update(np.unique(attempt.counts_and_first_steps(indices)[1]).tolist())
    return len(steps) >= MIN_EXPLOSION_STEPS


def group_refusals(refused: Mapping[SeriesKey, SeriesRefusal]) -> tuple[SeriesRefusal, ...]:
    """Combine the refusals of single series that have the same cause."""
    causes: dict[str, tuple[int, str]] = {}
    for refusal in refused.values():
        count, reason = causes.get(refusal.what, (0, refusal.reason))
        causes[refusal.what] = count + 1, reason
    return tuple(
        SeriesRefusal(what=what, series=count, reason=reason) for what, (count, reason) in causes.items()
    )
