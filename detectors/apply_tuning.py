"""What a user said about detection, applied: to a run before the detectors look, to findings after them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from holter.roles import MetricWithRole
from holter.tuning import PlannedEvent, Tuning
from holter.types import Finding, RunData, SeriesKey

_SLACK = 8
"""Points by which an onset may be placed before the event itself: a level is known in blocks of so many."""


def with_roles(run: RunData, tuning: Tuning) -> RunData:
    """The run with the roles that a user gave its series; the same series, under equal keys."""
    if not tuning.metrics and not tuning.metric:
        return run
    series = {}
    for key, one in run.series.items():
        named = tuning.with_role(key)
        series[named] = one if named is key else replace(one, key=named)
    return replace(run, series=series)


def drop_unwanted(findings: Iterable[Finding], tuning: Tuning) -> list[Finding]:
    """Those of the kinds that matter to the user."""
    return [finding for finding in findings if tuning.matters(finding.kind)]


def without_roles(findings: Iterable[Finding]) -> list[Finding]:
    """The findings with plain names of metrics, as they are logged."""
    return [
        replace(one, metric=str(one.metric)) if isinstance(one.metric, MetricWithRole) else one for one in findings
    ]


def drop_planned(findings: Iterable[Finding], run: RunData, tuning: Tuning) -> list[Finding]:
    """Those that nobody planned."""
    if not tuning.expected:
        return list(findings)
    return [finding for finding in findings if planned_event_of(finding, run, tuning) is None]


def planned_event_of(finding: Finding, run: RunData, tuning: Tuning) -> PlannedEvent | None:
    """The planned event that a finding is, by what never changes of it once it is spoken but its kind."""
    slack = _SLACK * _spacing(finding, run)
    return next((event for event in tuning.expected if event.covers(finding, slack=slack)), None)


def _spacing(finding: Finding, run: RunData) -> int:
    """Steps between the points before a finding, 1 where its series is derived or has too few."""
    series = run.series.get(SeriesKey(finding.metric, finding.labels))
    if series is None:
        return 1
    before = series.step[(series.attempt == finding.attempt) & (series.step <= finding.start_step)]
    return max(int(np.median(np.diff(before[-_SLACK - 1 :]))), 1) if len(before) > 1 else 1
