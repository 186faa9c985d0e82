"""Where findings stand in a run's data: when they began, and whether a newer attempt has replaced them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from holter.detectors.positions import attempt_rows, rows_of_attempt
from holter.types import Finding, Kind, Series, SeriesKey

_OF_THE_CURVE = frozenset(
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
"""What a rollback undoes. A slow node or a job that hangs is not mended by going back."""


def wall_time_of(series: Mapping[SeriesKey, Series], finding: Finding) -> float | None:
    """The wall time at which a finding begins, None where the log has no clock.

    A finding may name a series that was derived: then any series of its attempt tells the time.
    """
    if isinstance(told := finding.evidence.get("wall_time"), float):
        return told
    for one in _tellers(series, finding):
        span = rows_of_attempt(one, finding.attempt)
        at = span.first + int(np.searchsorted(one.step[span.rows], finding.start_step))
        if at < span.after:
            moment = float(one.time[at])
            return moment if np.isfinite(moment) else None
    return None


def replaced_by(series: Mapping[SeriesKey, Series], finding: Finding) -> int | None:
    """The newest attempt that went back behind a finding and has passed it, None if there is none."""
    if finding.kind not in _OF_THE_CURVE:
        return None
    passed = max(finding.start_step, finding.detected_step, finding.peak_step or 0)
    for one in _tellers(series, finding):
        for span in reversed(attempt_rows(one, rows_of_attempt(one, finding.attempt).after)):
            if one.step[span.first] <= finding.start_step and one.step[span.after - 1] > passed:
                return span.attempt
        return None
    return None


def _tellers(series: Mapping[SeriesKey, Series], finding: Finding) -> Iterator[Series]:
    """The finding's own series first, then the others."""
    own = series.get(SeriesKey(finding.metric, finding.labels))
    if own is not None:
        yield own
    yield from (one for one in series.values() if one.key.step_unit is None)
