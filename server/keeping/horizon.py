"""How far back detection looks in a run that was thinned: what was said of it before stays said."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import Engine, select

from holter.detectors.places import span_of
from holter.server.database import reading
from holter.server.models import Thinning
from holter.types import Finding, Kind, RunData, Series


@dataclass(frozen=True, slots=True)
class Horizon:
    """Older attempts than `attempt`, and its own steps before `whole_from`, may have lost points.

    Up to `last_step` of it, everything was looked at while it was whole.
    """

    attempt: int
    whole_from: int
    last_step: int

    def settled(self, finding: Finding) -> bool:
        """Whether a finding belongs to what was looked at then. A stall ends when points come, whenever."""
        if finding.kind is Kind.STALL:
            return False
        return (finding.attempt, finding.start_step) <= (self.attempt, self.last_step)

    def cut(self, run: RunData) -> RunData:
        """The part of a run that has all of its points."""
        series = {key: self._cut(one) for key, one in run.series.items()}
        return replace(run, series={key: one for key, one in series.items() if len(one)})

    def _cut(self, series: Series) -> Series:
        span = span_of(series, self.attempt)
        first = span.first + int(np.searchsorted(series.step[span.rows], self.whole_from))
        if not first:
            return series
        return Series(
            key=series.key,
            attempt=series.attempt[first:],
            step=series.step[first:],
            time=series.time[first:],
            value=series.value[first:],
        )


def horizon_of(engine: Engine, run_id: int) -> Horizon | None:
    """The horizon of a run, None if it has all of its points."""
    query = select(Thinning.attempt, Thinning.whole_from, Thinning.last_step)
    with reading(engine) as connection:
        row = connection.execute(query.where(Thinning.run_id == run_id)).one_or_none()
    return None if row is None else Horizon(*row)
