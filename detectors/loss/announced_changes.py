"""Announced changes: what the run logged that explains a rise of its loss as planned.

A learning rate that jumps up to a value it had before is a warm restart of its schedule; a batch size, a
sequence length or a stage of difficulty that was constant and steps to another value is a planned stage. The
rise that follows is information, unless it grows on or stays.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from holter.detectors.loss.excursions.excursion import Excursion
from holter.detectors.loss.excursions.segment import AttemptSegment
from holter.detectors.positions import rows_of_attempt, rows_up_to
from holter.detectors.thresholds import Thresholds
from holter.detectors.throughput.work_per_step import is_input_size
from holter.roles import Role, role_of
from holter.types import FloatArray, IntArray, RunData, Series, SeriesKey

_FIRST_POINTS = 8
"""Points from the detection on whose mean is the height that an announced change explains."""
_STAGE_ROLES = frozenset({Role.BATCH_SIZE, Role.SEQUENCE_LENGTH})
_STAGE_NAME = re.compile(r"(^|[/_.-])(difficulty|curriculum|stage|phase)($|[/_.-])", re.IGNORECASE)
_SETTING_NAME = re.compile(
    r"(^|[/_.-])(weight|coef|coeff|coefficient|alpha|lambda|ratio|prob|frozen|trainable)s?($|[/_.-])",
    re.IGNORECASE,
)
"""Names of settings of the objective or the data, which are planned where they hardly ever change."""
_NUMBER = re.compile(r"(^|[/_.-])\d+($|[/_.-])")
"""A number in the name of a layer: what is logged of its weights is no setting."""


@dataclass(frozen=True, kw_only=True)
class AnnouncedChangeThresholds(Thresholds):
    """When a logged change explains a rise of the loss as planned."""

    stage_rows: int = 32
    """Rows before the onset among which a stage may have begun."""
    constant_rows: int = 8
    """Rows for which a stage must have been constant before."""
    setting_changes: int = 16
    """Changes of a setting, at most, since the attempt began: what changes more often is measured, or adapts
    itself to the training."""
    restart_rows: int = 256
    """Rows before the onset among which a learning rate may have been raised again."""
    rate_ratio: float = 1.1
    """Ratio of learning rates from which on a rise is a warm restart."""
    new_rate: float = 1.5
    """Times the highest learning rate before, from which on a rate is a cause of its own."""
    rate_known: float = 1.02
    """Times the highest learning rate before, up to which it is one that the run has had."""
    earlier_rows: int = 65_536
    """Rows before the onset that are read at most."""
    growth: float = 2.0
    """Times its height after the onset from which on a rise has more causes than the announced change."""
    level_points: int = 25
    """Points whose mean is a level of the loss: many enough that a lone point hardly moves it."""


def find_announced_change(
    run: RunData, attempt: int, start_step: int, detected_step: int, thresholds: AnnouncedChangeThresholds
) -> dict[str, Any] | None:
    """The change that announced an event which began and was detected at these steps, or None.

    It has `what`, the `metric`, the value `before` and the `value` then, and its `step`; a warm restart also
    has `same_rate_step`, the last step before at which the learning rate was as high as it became.
    """
    if _has_new_rate(run, attempt, start_step, detected_step, thresholds):
        return None
    for key in sorted(run.series):
        role, is_setting = role_of(key), _is_setting(key)
        is_stage = is_setting or _is_of_stages(key)
        if not (is_stage or role is Role.LEARNING_RATE) or key.rank is not None:
            continue
        step, value, onset = _rows_around(run.series[key], attempt, start_step, detected_step, thresholds)
        if is_setting and np.count_nonzero(np.diff(value)) > thresholds.setting_changes:
            continue
        find = _find_stage if is_stage else _find_warm_restart
        row = find(value, onset, thresholds)
        if row is not None:
            change = {"before": float(value[row - 1]), "value": float(value[row]), "step": int(step[row])}
            if not is_stage:
                as_high = np.flatnonzero(thresholds.rate_known * value[:row] >= value[row:].max())
                change["same_rate_step"] = int(step[as_high[-1]])
            return {"what": role.value, "metric": key.metric, **change}
    return None


def stage_began(
    run: RunData, attempt: int, from_step: int, to_step: int, thresholds: AnnouncedChangeThresholds
) -> bool:
    """Whether a planned stage of an attempt began between two steps, or shortly before."""
    for key in sorted(run.series):
        if _is_of_stages(key) and key.rank is None:
            _, value, onset = _rows_around(run.series[key], attempt, from_step, to_step, thresholds)
            if _find_stage(value, onset, thresholds) is not None:
                return True
    return False


def may_announce_change(key: SeriesKey) -> bool:
    """Whether a series is named after a stage of the training or a setting of its objective or data."""
    return _is_setting(key) or _is_of_stages(key)


def _is_of_stages(key: SeriesKey) -> bool:
    role = role_of(key)
    is_stage = role is Role.OTHER and _STAGE_NAME.search(key.metric) is not None
    return role in _STAGE_ROLES or is_stage or is_input_size(key)


def _is_setting(key: SeriesKey) -> bool:
    is_named = _SETTING_NAME.search(key.metric) is not None and _NUMBER.search(key.metric) is None
    return role_of(key) is Role.OTHER and is_named


@dataclass(frozen=True, kw_only=True)
class ChangeDevelopment:
    """What became of a change while its event lasted.

    `count`: how often the value has changed, each time by a stage that may raise the loss again. `lasts`: a
    stage, or a learning rate that is still higher than before, for as long as which a loss may be higher.
    """

    count: int
    lasts: bool


def follow_change(
    run: RunData, change: dict[str, Any], attempt: int, until_step: int, thresholds: AnnouncedChangeThresholds
) -> ChangeDevelopment:
    """What became of an announced change by a step of its attempt."""
    of_run = (key for key in sorted(run.series) if key.rank is None)
    series = next(run.series[key] for key in of_run if key.metric == change["metric"])
    first = max(rows_up_to(series, (attempt, change["step"] - 1)), 0)
    values = series.value[first : rows_up_to(series, (attempt, until_step))]
    values = np.concatenate(([change["before"]], values[np.isfinite(values)]))
    if "same_rate_step" in change:
        return ChangeDevelopment(count=1, lasts=bool(values[-1] > thresholds.rate_ratio * values[0]))
    return ChangeDevelopment(count=max(int(np.count_nonzero(np.diff(values))), 1), lasts=True)


def outgrows_change(
    change: dict[str, Any],
    development: ChangeDevelopment,
    excursion: Excursion,
    segment: AttemptSegment,
    thresholds: AnnouncedChangeThresholds,
) -> bool:
    """Whether a rise has become higher than the change that announced it explains.

    A learning rate that is raised again undoes what its decay had gained: up to the level that the loss had
    when the rate was last as high, the rise is explained. Other rises are compared with their own height
    after the onset, times the number of stages since. Points from which on other excursions may begin belong
    to those.
    """
    size = thresholds.level_points
    values = segment.value[excursion.start : excursion.start + excursion.recovery.next_scan]
    total = np.concatenate(([0.0], np.cumsum(values)))
    width = min(size, len(values))
    highest = float((total[width:] - total[:-width]).max()) / width
    if "same_rate_step" in change:
        row = int(np.searchsorted(segment.step, change["same_rate_step"]))
        if highest <= float(np.mean(segment.value[row : row + size])) + excursion.noise.sigma:
            return False
    first = float(np.mean(segment.value[excursion.start : excursion.detected + _FIRST_POINTS]))
    growth = thresholds.growth * development.count
    return highest - excursion.baseline > growth * (first - excursion.baseline)


def _has_new_rate(
    run: RunData, attempt: int, start_step: int, detected_step: int, thresholds: AnnouncedChangeThresholds
) -> bool:
    """Whether a learning rate rose far beyond all that the run has had: no stage explains what follows."""
    for key in sorted(run.series):
        if role_of(key) is Role.LEARNING_RATE and key.rank is None:
            _, value, onset = _rows_around(run.series[key], attempt, start_step, detected_step, thresholds)
            first = max(onset - thresholds.stage_rows, 0)
            known = value[:first].max(initial=0.0)
            if known > 0 and value[first:].max(initial=0.0) > thresholds.new_rate * known:
                return True
    return False


def _rows_around(
    series: Series, attempt: int, start_step: int, detected_step: int, thresholds: AnnouncedChangeThresholds
) -> tuple[IntArray, FloatArray, int]:
    """An attempt's steps and finite values up to the step of detection, and the index of the onset."""
    upto = rows_up_to(series, (attempt, detected_step))
    first = max(rows_of_attempt(series, attempt).first, upto - thresholds.earlier_rows)
    step, value = series.step[first:upto], series.value[first:upto]
    finite = np.isfinite(value)
    return step[finite], value[finite], int(np.searchsorted(step[finite], start_step))


def _find_stage(value: FloatArray, onset: int, thresholds: AnnouncedChangeThresholds) -> int | None:
    """The last row about the onset at which a value that was constant steps to another one."""
    first = max(onset - thresholds.stage_rows, thresholds.constant_rows)
    begins = np.flatnonzero(value[1:] != value[:-1]) + 1
    held = np.diff(begins, prepend=0)
    rows = begins[(held >= thresholds.constant_rows) & (begins >= first)]
    return int(rows[-1]) if len(rows) else None


def _find_warm_restart(value: FloatArray, onset: int, thresholds: AnnouncedChangeThresholds) -> int | None:
    """The last row about the onset at which a learning rate was raised to a value the run has had before."""
    first = max(onset - thresholds.restart_rows, 1)
    if first >= len(value):
        return None
    raised = value[first:] > thresholds.rate_ratio * value[first - 1 : -1]
    if not raised.any():
        return None
    row = first + int(np.flatnonzero(raised)[-1])
    is_known = float(value[row:].max()) <= thresholds.rate_known * float(value[:row].max())
    return row if is_known else None
