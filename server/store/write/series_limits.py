"""What keeps new series out of a run: too many of them, or names that never come again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from holter.server.store.types import Refusal
from holter.server.store.write.cardinality import MANY, STEPS, Beginning, Births, beginnings
from holter.server.store.write.run_state import RunState
from holter.types import Batch, SeriesKey

_NAMED = 3  # series that a reason names


def screen(run: RunState, batch: Batch, new: Sequence[SeriesKey], most: int) -> dict[SeriesKey, Refusal]:
    """Those of a batch's new series that must not be added to the run; `most` series are allowed, 0: any."""
    refused: dict[SeriesKey, Refusal] = {}
    if len(run.places) + len(new) >= MANY:
        begin = beginnings(batch, new)
        if run.births is None and _scattered(run, begin.values()):
            run.births = Births(run.places)
        if run.births is not None:
            found = run.births.culprits(begin, run.progress.values())
            refused = {key: Refusal(what=what, series=1, reason=why) for key, (what, why) in found.items()}
    if most:
        over = [key for key in new if key not in refused][max(0, most - len(run.places)) :]
        named = ", ".join(map(str, over[:_NAMED])) + (", ..." if len(over) > _NAMED else "")
        reason = f"the run has {most:,} series, as many as max_series_per_run allows; not {named}"
        refused |= {key: Refusal(what="max_series_per_run", series=1, reason=reason) for key in over}
    return refused


def _scattered(run: RunState, new: Iterable[Beginning]) -> bool:
    """Whether the series began at so many steps that it is worth looking at their names, which takes long."""
    steps = {one.step for one in new}
    everywhere = np.arange(len(run.places))
    for attempt in run.progress.values():
        steps.update(np.unique(attempt.at(everywhere)[1]).tolist())
    return len(steps) >= STEPS


def gathered(refused: Mapping[SeriesKey, Refusal]) -> tuple[Refusal, ...]:
    """The refusals of single series, those with the same cause in one."""
    causes: dict[str, tuple[int, str]] = {}
    for one in refused.values():
        count, reason = causes.get(one.what, (0, one.reason))
        causes[one.what] = count + 1, reason
    return tuple(Refusal(what=what, series=count, reason=reason) for what, (count, reason) in causes.items())
