"""Logged changes: where a learning rate, a setting, the mixture or the loss scale left its own course."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from holter.detectors.causes.symptom import Symptom
from holter.detectors.positions import attempt_rows, rows_of_attempt, rows_up_to
from holter.detectors.robust_statistics import MAD_TO_SIGMA
from holter.detectors.thresholds import Thresholds
from holter.roles import Role, role_of
from holter.types import FloatArray, IntArray, Series, SeriesKey


class CauseCode(StrEnum):
    """The kinds of causes. The values are part of the findings contract."""

    LEARNING_RATE = "learning_rate"
    BATCH_SIZE = "batch_size"
    SEQUENCE_LENGTH = "sequence_length"
    MIXTURE = "mixture"
    PRECISION = "precision"
    LOSS_SCALE = "loss_scale"
    GRADIENT_CLIPPING = "gradient_clipping"
    HYPERPARAMETER = "hyperparameter"
    RESTART = "restart"
    RESTART_SETTINGS = "restart_settings"
    SLOW_RANK = "slow_rank"
    SLOW_COLLECTIVES = "slow_collectives"
    GPU_FAULT = "gpu_fault"


@dataclass(frozen=True, kw_only=True)
class LoggedChangeThresholds(Thresholds):
    """When a series has left its own course."""

    rows: int = 2048
    """Rows before the onset that show how a series usually moves."""
    rate_ratio: float = 1.1
    """Ratio from which on a learning rate counts as changed. Schedules move it by less from row to row."""
    setting_ratio: float = 1.02
    """The same for batch size, sequence length and other settings: larger than the rounding of ragged
    batches."""
    usual_quantile: float = 0.9
    """Quantile of the moves from row to row that is the usual one."""
    usual_moves: float = 5.0
    """Times the usual move that a change must exceed."""
    constant_rows: int = 3
    """Rows for which a setting must have been constant before a change."""
    first_rows: int = 16
    """Rows at the beginning whose moves are no changes: a warm-up begins with its largest ratios."""
    climb_ratio: float = 1.2
    """Ratio to the highest rate before, from which on a learning rate has climbed without a jump."""
    spacing_rows: int = 64
    """Rows whose median distance is the spacing of a series."""
    share: float = 0.02
    """Difference of a dataset's share from which on it counts as changed."""
    share_errors: float = 6.0
    """Standard errors that the difference of a share must exceed: a hundred places are tried."""
    share_rows: int = 32
    """Rows on both sides of a place whose means are compared."""
    share_rows_after: int = 1
    """Rows after a place without which nothing is compared."""
    most_datasets: int = 64
    """Datasets whose shares are examined."""
    halvings: float = 2.0
    """Halvings of the loss scale within the steps that are searched: one is the normal work of dynamic loss
    scaling."""


@dataclass(frozen=True, kw_only=True)
class LoggedChange:
    """A change of one series near an onset.

    `rows_apart`: its distance from the onset in rows of its own series. `alike`: how many such changes of its
    series there are among the `rows` up to the finding's detection; `changes`: those of all series, at
    different places. `usual`: the usual ratio of neighbouring values.
    `lasts`: still in effect at the last row. `is_known`: the run has had the new value before. `at_restart`:
    at the first row of an attempt. `gradual`: without a jump. `others`: names of further series that changed.
    """

    code: CauseCode
    key: SeriesKey
    step: int
    before: float
    after: float
    rows_apart: float
    alike: int
    rows: int
    changes: int = 1
    usual: float = 1.0
    lasts: bool = True
    is_known: bool = False
    at_restart: bool = False
    gradual: bool = False
    others: tuple[str, ...] = ()

    @property
    def chance(self) -> float:
        """The probability that some change that has nothing to do with the onset is as close to it."""
        return min(1.0, max(self.alike, self.changes) * (self.rows_apart + 2) / max(self.rows, 1))


@dataclass(frozen=True)
class _RowsBefore:
    """Steps and usable values of a series up to the detection; `restart` is the attempt's first index."""

    step: IntArray
    value: FloatArray
    restart: int
    spacing: int

    def within(self, symptom: Symptom) -> slice:
        """The indices of the steps among which a cause may lie."""
        first, after = np.searchsorted(self.step, (symptom.earliest_step, symptom.latest_step + 1)).tolist()
        return slice(first, after)


OFF = 1e30
"""Stands for a limit that is off (zero, negative or infinite), as one that is never reached."""
_CODES: Mapping[Role, CauseCode] = {
    Role.LEARNING_RATE: CauseCode.LEARNING_RATE,
    Role.BATCH_SIZE: CauseCode.BATCH_SIZE,
    Role.SEQUENCE_LENGTH: CauseCode.SEQUENCE_LENGTH,
    Role.GRADIENT_CLIPPING: CauseCode.GRADIENT_CLIPPING,
    Role.PRECISION: CauseCode.PRECISION,
    Role.HYPERPARAMETER: CauseCode.HYPERPARAMETER,
    Role.LOSS_SCALE: CauseCode.LOSS_SCALE,
    Role.MIXTURE: CauseCode.MIXTURE,
}
CAUSE_ROLES = frozenset(_CODES)
"""Roles of the series that are examined."""


def find_logged_changes(
    candidates: list[Series], symptom: Symptom, thresholds: LoggedChangeThresholds
) -> list[LoggedChange]:
    """The changes near an onset, of series with one of `CAUSE_ROLES`; uses no point after its detection."""
    mixtures, changes, steps = [], [], set[int]()
    for series in candidates:
        code = _CODES[role_of(series.key)]
        rows = _rows_before(series, symptom, code, thresholds)
        if rows is None:
            continue
        if code is CauseCode.MIXTURE:
            mixtures.append((series.key, rows))
            continue
        if code is CauseCode.LOSS_SCALE:
            found = list(_overflows(series.key, rows, symptom, thresholds))
        else:
            found = list(_jumps(series.key, code, rows, thresholds))
            if code is CauseCode.LEARNING_RATE and not any(symptom.may_follow(each.step) for each in found):
                found += _climb(series.key, rows, symptom, thresholds)
        # several series of one change are one change
        known = tuple(steps)
        steps.update(
            each.step for each in found if all(abs(each.step - step) > _SAME * rows.spacing for step in known)
        )
        changes += [
            _placed(each, rows, symptom) for each in found if each.gradual or symptom.may_follow(each.step)
        ]
    found = list(_mixture_change(mixtures[: thresholds.most_datasets], symptom, thresholds))
    steps.update(each.step for each in found)
    return [replace(each, changes=len(steps)) for each in (*changes, *found)]


_SAME = 4
"""Rows within which changes of several series are at one place."""


def _placed(change: LoggedChange, rows: _RowsBefore, symptom: Symptom) -> LoggedChange:
    """The change with its distance from the onset, as far as that is not known yet."""
    apart = abs(symptom.start_step - change.step) / rows.spacing
    return replace(change, rows_apart=max(change.rows_apart, apart))


def _rows_before(
    series: Series, symptom: Symptom, code: CauseCode, thresholds: LoggedChangeThresholds
) -> _RowsBefore | None:
    """The rows of the symptom's attempt, continued backwards by those of the attempts that it continues."""
    span = rows_of_attempt(series, symptom.attempt)
    upto = rows_up_to(series, (symptom.attempt, symptom.detected_step))
    first = max(span.first, upto - thresholds.rows)
    if upto <= first:
        return None
    parts, begin, missing = [slice(first, upto)], int(series.step[first]), thresholds.rows - (upto - first)
    if first == span.first:
        for earlier in reversed(attempt_rows(series)) if first else ():
            if missing <= 0 or earlier.attempt >= symptom.attempt:
                continue
            end = rows_up_to(series, (earlier.attempt, begin - 1))
            start = max(earlier.first, end - missing)
            if end > start:
                parts.insert(0, slice(start, end))
                begin, missing = int(series.step[start]), missing - (end - start)
    step = np.concatenate([series.step[part] for part in parts])
    value = np.concatenate([series.value[part] for part in parts])
    if code is CauseCode.GRADIENT_CLIPPING:
        value = np.where((value <= 0) | np.isinf(value), OFF, value)
    usable = np.isfinite(value) & ((value > 0) | (code not in _POSITIVE))
    before_restart = int(np.count_nonzero(usable[: len(value) - (upto - first)]))
    step, value = step[usable], value[usable]
    if len(step) <= thresholds.constant_rows:
        return None
    distance = np.diff(step[-thresholds.spacing_rows :])
    restart = before_restart if first == span.first else -1
    return _RowsBefore(step, value, restart, max(int(np.median(distance)), 1))


_POSITIVE = frozenset(
    {CauseCode.LEARNING_RATE, CauseCode.BATCH_SIZE, CauseCode.SEQUENCE_LENGTH, CauseCode.LOSS_SCALE}
)


def _jumps(
    key: SeriesKey, code: CauseCode, rows: _RowsBefore, thresholds: LoggedChangeThresholds
) -> Iterator[LoggedChange]:
    """The jumps of a series from one level to another, as far as they are no usual moves of it."""
    is_rate = code is CauseCode.LEARNING_RATE
    least = float(np.log(thresholds.rate_ratio if is_rate else thresholds.setting_ratio))
    level = np.log(np.maximum(np.abs(rows.value), 1e-300))
    moved = np.abs(np.diff(level))
    if float(moved.max()) <= least:
        return
    usual = float(np.quantile(moved, thresholds.usual_quantile))
    starts, ends = _runs_of(moved > max(least, thresholds.usual_moves * usual))
    rises = level[ends + 1] - level[starts]
    for start, end, rise in zip(starts.tolist(), ends.tolist(), rises.tolist(), strict=True):
        at_restart = start + 1 == rows.restart
        if start < thresholds.first_rows and not at_restart:
            continue  # the beginning of a warm-up
        if is_rate and rise < 0 and not at_restart:
            continue  # a lower learning rate raises no loss
        earlier = level[max(start + 1 - thresholds.constant_rows, 0) : start + 1]
        if not is_rate and float(np.ptp(earlier)) > least:
            continue
        known = level[: start + 1].max() if rise > 0 else -level[: start + 1].min()
        yield LoggedChange(
            code=code,
            key=key,
            step=int(rows.step[start + 1]),
            before=float(rows.value[start]),
            after=float(rows.value[end + 1]),
            rows_apart=0.0,
            alike=int(np.count_nonzero(np.sign(rises) == np.sign(rise))),
            rows=len(rows.step),
            usual=float(np.exp(usual)),
            lasts=bool(abs(level[-1] - level[start]) > abs(rise) / 2),
            is_known=bool(np.sign(rise) * level[end + 1] <= known + np.log(thresholds.setting_ratio)),
            at_restart=at_restart,
        )


def _runs_of(marks: NDArray[np.bool_]) -> tuple[IntArray, IntArray]:
    """The first and the last index of each run of true values."""
    edges = np.diff(np.concatenate(([0], marks.astype(np.int8), [0])))
    return np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - 1


def _climb(
    key: SeriesKey, rows: _RowsBefore, symptom: Symptom, thresholds: LoggedChangeThresholds
) -> Iterator[LoggedChange]:
    """A learning rate that climbs little by little, from shortly before the onset on."""
    within = rows.within(symptom)
    if within.start < thresholds.constant_rows or within.stop <= within.start:
        return
    peak = within.start + int(np.argmax(rows.value[within]))
    moved = np.diff(np.log(rows.value[: peak + 1]))
    still = np.flatnonzero(moved <= 0)
    start = int(still[-1]) + 1 if len(still) else 0
    before, after = float(rows.value[start]), float(rows.value[peak])
    if after <= thresholds.climb_ratio * before or start >= peak:
        return
    # a rate that climbs as fast for much of the run, as in a warm-up or in cycles, is a coincidence
    pace = float(np.log(after / before)) / (peak - start)
    warmed_up = int(still[0]) if len(still) else 0
    climbing = int(np.count_nonzero(moved[warmed_up:] >= pace / 2))
    yield LoggedChange(
        code=CauseCode.LEARNING_RATE,
        key=key,
        step=int(rows.step[start + 1]),
        before=before,
        after=after,
        rows_apart=climbing - 2.0,
        alike=1,
        rows=len(rows.step),
        is_known=after <= thresholds.setting_ratio * float(rows.value[: start + 1].max()),
        gradual=True,
    )


def _overflows(
    key: SeriesKey, rows: _RowsBefore, symptom: Symptom, thresholds: LoggedChangeThresholds
) -> Iterator[LoggedChange]:
    """A loss scale that was halved several times before the onset."""
    within = rows.within(symptom)
    if within.start < 1 or within.stop <= within.start:
        return
    level = np.log2(rows.value)
    inside = level[within.start - 1 : within.stop]
    lowest = int(np.argmin(inside))
    highest = int(np.argmax(inside[: lowest + 1]))
    if inside[highest] - inside[lowest] < thresholds.halvings:
        return
    halved = int(np.count_nonzero(np.diff(level) < -0.5))
    first = within.start - 1 + highest + int(np.argmax(np.diff(inside[highest : lowest + 1]) < 0)) + 1
    yield LoggedChange(
        code=CauseCode.LOSS_SCALE,
        key=key,
        step=int(rows.step[first]),
        before=float(rows.value[first - 1]),
        after=float(rows.value[within.start - 1 + lowest]),
        rows_apart=0.0,
        alike=max(int(halved / thresholds.halvings), 1),
        rows=len(rows.step),
    )


def _mixture_change(
    mixtures: list[tuple[SeriesKey, _RowsBefore]], symptom: Symptom, thresholds: LoggedChangeThresholds
) -> Iterator[LoggedChange]:
    """The dataset whose share changed most, naming the others."""
    changes = [
        change
        for key, rows in mixtures
        if (change := _share_change(key, rows, symptom, thresholds)) is not None
    ]
    if changes:
        changes.sort(key=lambda change: (-abs(change.after - change.before), change.key))
        most, *others = changes
        names = tuple(
            f"{dataset_name(change.key)} from {change.before:.1%} to {change.after:.1%}" for change in others
        )
        yield replace(most, others=names)


def dataset_name(key: SeriesKey) -> str:
    """The dataset of a series of shares."""
    return key.label("dataset") or key.metric.rsplit("/", 1)[-1]


def _share_change(
    key: SeriesKey, rows: _RowsBefore, symptom: Symptom, thresholds: LoggedChangeThresholds
) -> LoggedChange | None:
    """The place of the clearest change of a share: means on both sides, by their standard error."""
    within, width = rows.within(symptom), thresholds.share_rows
    first = max(within.start, thresholds.constant_rows)
    place = np.arange(first, min(within.stop, len(rows.value) - thresholds.share_rows_after + 1))
    if not len(place):
        return None
    total = np.concatenate(([0.0], np.cumsum(rows.value)))
    low, high = np.maximum(place - width, 0), np.minimum(place + width, len(rows.value))
    before, after = place - low, high - place
    change = (total[high] - total[place]) / after - (total[place] - total[low]) / before
    moves = np.diff(rows.value[max(first - 4 * width, 0) : first + 1])
    noise = MAD_TO_SIGMA * float(np.median(np.abs(moves))) / 2**0.5 if len(moves) else 0.0
    errors = np.maximum(noise, 1e-9) * np.sqrt(1 / before + 1 / after)
    clear = np.abs(change) / errors
    best = int(np.argmax(np.where(np.isfinite(clear), clear, 0.0)))
    if not np.isfinite(clear[best]) or abs(change[best]) < max(
        thresholds.share, thresholds.share_errors * errors[best]
    ):
        return None
    row = int(place[best])
    old = float((total[row] - total[low[best]]) / before[best])
    return LoggedChange(
        code=CauseCode.MIXTURE,
        key=key,
        step=int(rows.step[row]),
        before=old,
        after=old + float(change[best]),
        rows_apart=abs(symptom.start_step - int(rows.step[row])) / rows.spacing,
        alike=1,
        rows=len(rows.step),
        at_restart=row == rows.restart,
    )
