"""The limit of detection in a downsampled run: findings before it are final."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import Connection, Engine, bindparam, select

from holter.detectors.positions import Position, rows_of_attempt
from holter.server.database import reading
from holter.server.models import DownsamplingRow
from holter.types import Finding, Kind, RunData, Series

_COLUMNS = ("attempt", "whole_from", "last_step", "seen_attempt", "seen_step")
# built once, since every analysis pass runs it
_HORIZON = select(*(getattr(DownsamplingRow, name) for name in _COLUMNS)).where(
    DownsamplingRow.run_id == bindparam("run")
)


@dataclass(frozen=True, slots=True)
class DownsamplingHorizon:
    """Older attempts than `attempt`, and its steps before `full_from`, may have lost points.

    Findings that began up to its `last_step` are final. Up to `seen`, detection has seen all points.
    """

    attempt: int
    full_from: int
    last_step: int
    seen: Position

    @property
    def begin(self) -> Position:
        """The first position that is analysed."""
        return self.attempt, self.full_from

    def is_final(self, finding: Finding) -> bool:
        """Whether a finding cannot change any more. A stall ends whenever points arrive."""
        if finding.kind is Kind.STALL:
            return False
        return (finding.attempt, finding.start_step) <= (self.attempt, self.last_step)

    def is_onset_final(self, finding: Finding) -> bool:
        """Whether the finding's onset was detected at full resolution: downsampled data must neither open nor
        close it.
        """
        if finding.kind is Kind.STALL:
            return False
        return (finding.attempt, max(finding.start_step, finding.detected_step)) <= self.seen

    def restrict(self, run: RunData) -> RunData:
        """Return the part of a run that has all of its points."""
        series = {key: self._restrict_series(series) for key, series in run.series.items()}
        return replace(run, series={key: series for key, series in series.items() if len(series)})

    def _restrict_series(self, series: Series) -> Series:
        first_row = self.first_full_row(series)
        if not first_row:
            return series
        return Series(
            key=series.key,
            attempt=series.attempt[first_row:],
            step=series.step[first_row:],
            time=series.time[first_row:],
            value=series.value[first_row:],
        )

    def first_full_row(self, series: Series) -> int:
        """The row from which on a series has all of its points; a series with steps of its own has them
        all.
        """
        span = rows_of_attempt(series, self.attempt)
        if series.key.step_unit is not None:
            return span.first
        return span.first + int(np.searchsorted(series.step[span.rows], self.full_from))


def load_horizon(engine: Engine, run_id: int) -> DownsamplingHorizon | None:
    """Return the horizon of a run, None if it has all of its points."""
    with reading(engine) as connection:
        return query_horizon(connection, run_id)


def query_horizon(connection: Connection, run_id: int) -> DownsamplingHorizon | None:
    """Return the horizon of a run within a transaction, see `load_horizon`."""
    row = connection.execute(_HORIZON, {"run": run_id}).one_or_none()
    if row is None:
        return None
    seen = (row.attempt, row.last_step) if row.seen_step is None else (row.seen_attempt, row.seen_step)
    return DownsamplingHorizon(row.attempt, row.whole_from, row.last_step, seen)
