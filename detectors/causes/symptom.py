"""A symptom: what a search for causes knows of a finding. It does not change after the detection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from holter.detectors.positions import rows_of_attempt, rows_up_to
from holter.detectors.step_unit import step_unit
from holter.detectors.thresholds import Thresholds
from holter.roles import Role, role_of
from holter.types import Finding, RunData, Series, SeriesKey


@dataclass(frozen=True, kw_only=True)
class SymptomThresholds(Thresholds):
    """How long before an onset, and how long after the stated one, a cause may lie."""

    reaction_steps: int = 64
    """Optimizer steps within which a loss or a throughput reacts to a change. Source: gradient norms lead
    losses by a few steps (PaLM, GLM-130B); a loss reacts to a larger learning rate within tens of steps."""
    reaction_rows: int = 24
    """Rows of the finding's series that are searched at least, where those are further apart..."""
    reaction_steps_sparse: int = 256
    """Optimizer steps up to which so many rows are searched, and..."""
    reaction_rows_sparse: int = 3
    """Rows that are searched in any case: in sparse logs an effect may be visible only in the next row."""
    onset_errors: float = 2.0
    """Times the delay of detection by which a change may precede the onset in addition: a rise that is
    detected late began slowly, and its onset is stated late rather than early."""
    farthest_rows: int = 512
    """Rows before the onset that are searched at most."""
    later_rows: int = 2
    """Rows after the stated onset in which a cause may lie: a lone point may precede a rise."""
    later_errors: float = 0.25
    """Times the delay of detection after the stated onset in which a cause may lie, too."""
    spacing_rows: int = 64
    """Rows before the onset whose median distance is the spacing of the series."""


@dataclass(frozen=True, kw_only=True)
class Symptom:
    """The position of a finding, and the steps among which its causes are searched.

    `spacing` is the distance of the rows of its series in steps, `first_attempt` the first of the run.
    `attempt_begin` is the first step of its attempt; None where its series is not among those of the run.
    """

    role: Role
    attempt: int
    start_step: int
    detected_step: int
    spacing: int
    earliest_step: int
    latest_step: int
    first_attempt: int
    attempt_begin: int | None
    rows_before: int

    def may_follow(self, step: int) -> bool:
        """Whether a change at a step of its attempt is close enough to be its cause."""
        return self.earliest_step <= step <= self.latest_step


def symptom_of(finding: Finding, run: RunData, thresholds: SymptomThresholds) -> Symptom:
    """The symptom that a finding reports."""
    series = _series_of(finding, run.series)
    spacing, unit, first_attempt, begin, rows_before = 1, 1, 0, None, 0
    if series is not None and len(series):
        span = rows_of_attempt(series, finding.attempt)
        rows_before = rows_up_to(series, (finding.attempt, finding.start_step - 1))
        steps = series.step[max(rows_before - thresholds.spacing_rows, span.first) : rows_before]
        spacing = max(int(np.median(np.diff(steps))), 1) if len(steps) > 1 else 1
        unit, first_attempt = step_unit(series), int(series.attempt[0])
        begin = int(series.step[span.first]) if span.first < span.after else None
    delay = max(finding.detected_step - finding.start_step, 0)
    reach = max(
        thresholds.reaction_steps * unit,
        min(thresholds.reaction_rows * spacing, thresholds.reaction_steps_sparse * unit),
        thresholds.reaction_rows_sparse * spacing,
    )
    role = Role.OTHER if series is None else role_of(series.key)
    if role is Role.EVAL_LOSS:
        # what an evaluation measures happened since the one before
        reach = 2 * spacing
    reach = min(reach + int(thresholds.onset_errors * delay), thresholds.farthest_rows * spacing)
    later = max(thresholds.later_rows * spacing, int(thresholds.later_errors * delay))
    return Symptom(
        role=role,
        attempt=finding.attempt,
        start_step=finding.start_step,
        detected_step=finding.detected_step,
        spacing=spacing,
        earliest_step=finding.start_step - reach,
        latest_step=min(finding.start_step + later, finding.detected_step),
        first_attempt=first_attempt,
        attempt_begin=begin,
        rows_before=rows_before,
    )


def _series_of(finding: Finding, series: Mapping[SeriesKey, Series]) -> Series | None:
    """The series of a finding; a dataset may be in its labels alone."""
    exact = series.get(SeriesKey(finding.metric, finding.labels))
    if exact is not None:
        return exact
    labels = tuple(label for label in finding.labels if label[0] != "dataset")
    return series.get(SeriesKey(finding.metric, labels))
