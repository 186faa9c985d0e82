"""How far back detection looks in a run that was thinned: what was said of it before stays said."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import Connection, Engine, select

from holter.detectors.positions import Place, span_of
from holter.server.database import reading
from holter.server.models import DownsamplingRow
from holter.types import Finding, Kind, RunData, Series


@dataclass(frozen=True, slots=True)
class Horizon:
    """Older attempts than `attempt`, and its own steps before `whole_from`, may have lost points.

    What began up to `last_step` of it is settled. Up to `seen`, everything was looked at while it was whole.
    """

    attempt: int
    whole_from: int
    last_step: int
    seen: Place

    @property
    def begin(self) -> Place:
        """What stands before is not looked at."""
        return self.attempt, self.whole_from

    def settled(self, finding: Finding) -> bool:
        """Whether nothing new is said of it any more. A stall ends when points come, whenever."""
        if finding.kind is Kind.STALL:
            return False
        return (finding.attempt, finding.start_step) <= (self.attempt, self.last_step)

    def said(self, finding: Finding) -> bool:
        """Whether it would have been said while everything was whole; then it is right that it was or was
        not."""
        if finding.kind is Kind.STALL:
            return False
        return (finding.attempt, max(finding.start_step, finding.detected_step)) <= self.seen

    def cut(self, run: RunData) -> RunData:
        """The part of a run that has all of its points."""
        series = {key: self._cut(one) for key, one in run.series.items()}
        return replace(run, series={key: one for key, one in series.items() if len(one)})

    def _cut(self, series: Series) -> Series:
        first = self.first_whole(series)
        if not first:
            return series
        return Series(
            key=series.key,
            attempt=series.attempt[first:],
            step=series.step[first:],
            time=series.time[first:],
            value=series.value[first:],
        )

    def first_whole(self, series: Series) -> int:
        """The row from which on a series has all of its points; one with steps of its own has them all."""
        span = span_of(series, self.attempt)
        if series.key.own_steps is not None:
            return span.first
        return span.first + int(np.searchsorted(series.step[span.rows], self.whole_from))


def horizon_of(engine: Engine, run_id: int) -> Horizon | None:
    """The horizon of a run, None if it has all of its points."""
    with reading(engine) as connection:
        return horizon_in(connection, run_id)


def horizon_in(connection: Connection, run_id: int) -> Horizon | None:
    """The same within a transaction."""
    names = ("attempt", "whole_from", "last_step", "seen_attempt", "seen_step")
    query = select(*(getattr(DownsamplingRow, name) for name in names))
    row = connection.execute(query.where(DownsamplingRow.run_id == run_id)).one_or_none()
    if row is None:
        return None
    seen = (row.attempt, row.last_step) if row.seen_step is None else (row.seen_attempt, row.seen_step)
    return Horizon(row.attempt, row.whole_from, row.last_step, seen)
