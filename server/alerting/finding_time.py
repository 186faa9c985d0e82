"""Locates findings in a run's data: their wall time, and the newer attempt that replaced them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from holter.detectors.positions import attempt_rows, rows_of_attempt
from holter.types import Finding, Kind, Series, SeriesKey

_UNDONE_BY_ROLLBACK = frozenset(
    {
        Kind.SPIKE_FAST,
        Kind.SPIKE_SLOW,
        Kind.SPIKE_UNRECOVERED,
        Kind.DIVERGENCE,
        Kind.NONFINITE,
        Kind.RESUME_ARTIFACT,
        Kind.REPEATED_DATA,
        Kind.LOSS_SCALE_COLLAPSE,
    }
)
"""Kinds that concern the curve. A rollback repairs neither a slow node nor a job that hangs."""


def wall_time_of(series: Mapping[SeriesKey, Series], finding: Finding) -> float | None:
    """The wall time at which a finding begins (Unix seconds), None where the log has no clock.

    A finding may name a derived series: then any series with points of its attempt has the time.
    """
    if isinstance(wall_time := finding.evidence.get("wall_time"), float):
        return wall_time
    for candidate in _own_series_first(series, finding):
        rows = rows_of_attempt(candidate, finding.attempt)
        index = rows.first + int(np.searchsorted(candidate.step[rows.rows], finding.start_step))
        if index < rows.after:
            time = float(candidate.time[index])
            return time if np.isfinite(time) else None
    return None


def replaced_by(series: Mapping[SeriesKey, Series], finding: Finding) -> int | None:
    """The newest attempt that rolled back behind a finding and has passed it, None if there is none."""
    if finding.kind not in _UNDONE_BY_ROLLBACK:
        return None
    last = max(finding.start_step, finding.detected_step, finding.peak_step or 0)
    for candidate in _own_series_first(series, finding):
        newer = attempt_rows(candidate, rows_of_attempt(candidate, finding.attempt).after)
        for rows in reversed(newer):
            first_step, last_step = candidate.step[rows.first], candidate.step[rows.after - 1]
            if first_step <= finding.start_step and last_step > last:
                return rows.attempt
        return None
    return None


def _own_series_first(series: Mapping[SeriesKey, Series], finding: Finding) -> Iterator[Series]:
    """The finding's own series, then the others that are logged by training step."""
    own = series.get(SeriesKey(finding.metric, finding.labels))
    if own is not None:
        yield own
    yield from (candidate for candidate in series.values() if candidate.key.step_unit is None)
