"""Applies the user's tuning: to a run before the detectors scan it, and to findings afterwards."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from holter.detectors.policy_losses import with_adversarial_losses, with_policy_losses
from holter.detectors.positions import rows_of_attempt, rows_up_to
from holter.roles import MetricWithRole
from holter.tuning import PlannedEvent, Tuning
from holter.types import Finding, RunData, SeriesKey

_SLACK_POINTS = 8
"""Points by which a detected start may precede the event itself: levels are those of blocks of 8 points."""


def with_roles(run: RunData, tuning: Tuning) -> RunData:
    """The run with the roles that the user set for its series, and those that follow from its other series;
    the same series, under equal keys."""
    return with_adversarial_losses(with_policy_losses(_with_user_roles(run, tuning)))


def _with_user_roles(run: RunData, tuning: Tuning) -> RunData:
    if not tuning.metrics and not tuning.metric:
        return run
    series_by_key = {}
    for key, series in run.series.items():
        tuned = tuning.with_role(key)
        series_by_key[tuned] = series if tuned is key else replace(series, key=tuned)
    return replace(run, series=series_by_key)


def drop_unwanted(findings: Iterable[Finding], tuning: Tuning) -> list[Finding]:
    """The findings of the kinds that the user wants to be reported."""
    return [finding for finding in findings if tuning.matters(finding.kind)]


def without_roles(findings: Iterable[Finding]) -> list[Finding]:
    """The findings with plain names of metrics, as they are logged."""
    return [
        replace(finding, metric=str(finding.metric))
        if isinstance(finding.metric, MetricWithRole)
        else finding
        for finding in findings
    ]


def drop_planned(findings: Iterable[Finding], run: RunData, tuning: Tuning) -> list[Finding]:
    """The findings that are not planned events."""
    if not tuning.expected:
        return list(findings)
    return [finding for finding in findings if planned_event_of(finding, run, tuning) is None]


def planned_event_of(finding: Finding, run: RunData, tuning: Tuning) -> PlannedEvent | None:
    """The planned event that a finding is. Depends on fields that never change after detection, and on the
    kind."""
    slack = _SLACK_POINTS * _spacing(finding, run)
    return next((event for event in tuning.expected if event.covers(finding, slack=slack)), None)


def _spacing(finding: Finding, run: RunData) -> int:
    """Steps between the points before a finding; 1 where its series is derived or has too few points."""
    series = run.series.get(SeriesKey(finding.metric, finding.labels))
    if series is None:
        return 1
    first = rows_of_attempt(series, finding.attempt).first
    after = rows_up_to(series, (finding.attempt, finding.start_step))
    before = series.step[max(after - _SLACK_POINTS - 1, first) : after]
    return max(int(np.median(np.diff(before))), 1) if len(before) > 1 else 1
