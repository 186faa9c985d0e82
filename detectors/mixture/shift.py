"""Mixture shifts: the total loss moves because the datasets' shares did, while each dataset's loss continues.

The change of a total splits into two parts (Kitagawa): what the datasets' losses did at equal shares, and
what the shares did at equal losses. The total less the datasets' losses at their established shares shows the
second part alone, and with hardly any noise: the noise of the batches is in both.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from holter.detectors.detector import DetectorContext
from holter.detectors.formatting import from_to
from holter.detectors.incremental import Checkpoint, ScanCheckpoints
from holter.detectors.mixture.scan import (
    MixtureScan,
    MixtureScanState,
    MixtureScanThresholds,
    ShareShift,
)
from holter.detectors.mixture.shares import (
    DatasetLosses,
    LossRows,
    find_dataset_losses,
    fit_shares,
    read_loss_rows,
)
from holter.detectors.positions import last_common_position, rows_up_to
from holter.detectors.thresholds import Thresholds
from holter.types import Finding, FloatArray, Kind, RunData, Series, Severity

_CHECKPOINT_DISTANCES = (0, 4096, 32_768, 262_144)
"""Rows before the newest at which a checkpoint is saved: other series may be logged later."""


@dataclass(frozen=True, kw_only=True)
class MixtureThresholds(Thresholds):
    """When a shift of the shares is reported, and as what."""

    restart_rows: int = 50
    """Rows. A shift that begins within this many rows of an attempt belongs to the restart."""
    restart_wait_rows: int = 150
    """Rows of an attempt after which such a shift is reported, by when the restart's own effects are
    known."""
    logged_share: float = 0.02
    """Change of a logged share from which on the shift counts as logged."""
    confidence: float = 0.8
    """Confidence in shares that are estimated from the losses."""
    confidence_logged: float = 0.9
    """Confidence where the logged shares changed as well."""
    scan: MixtureScanThresholds = MixtureScanThresholds()
    """When a move of the total loss is a shift of the shares."""


@dataclass(frozen=True)
class MixtureShiftDetector:
    """Detects moves of the total loss that the datasets' losses at their established shares do not
    explain."""

    name: ClassVar[str] = "mixture_shift"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.MIXTURE_SHIFT, Kind.RESUME_ARTIFACT})
    thresholds: MixtureThresholds = MixtureThresholds()

    def detect(self, run: RunData, context: DetectorContext) -> Iterable[Finding]:
        """One finding per shift of the shares, on the total loss."""
        datasets = find_dataset_losses(run)
        if datasets is None:
            return
        checkpoints = context.state.checkpoints(self.name, datasets.series)
        sensitivity = context.tuning.of(datasets.total.key.metric).sensitivity
        for shift in _scan_incrementally(datasets, checkpoints, sensitivity, self.thresholds.scan):
            reported = self._reported_index(shift)
            if reported is not None and self._is_due_to_shares(shift, reported):
                finding = self._finding(datasets, shift, reported)
                restart = self._restart_index(shift)
                yield finding if restart is None else _attributed_to_restart(finding, shift, restart)

    def _is_due_to_shares(self, shift: ShareShift, reported: int) -> bool:
        """Whether the shares explain the move, and logged ones did not stay as they were; by the rows up to
        the report."""
        around, established = shift.around, shift.established
        start = shift.start - int(around.row[0])
        before = around.between(int(around.row[0]), shift.start)
        after = around.between(shift.start, int(around.row[reported]) + 1)
        total = after.total - established.middle
        shares = fit_shares(total, after.losses, established.shares, self.thresholds.scan.shares)
        parts = _split_move(before, after, established.shares, shares)
        if abs(parts["by_shares"]) < abs(parts["by_losses"]):
            return False
        if shift.logged is None or self._restart_index(shift) is not None:
            return True  # what is logged is the plan: a restart may not follow it
        old = np.median(shift.logged[:start], axis=0)
        new = np.median(shift.logged[start : reported + 1], axis=0)
        is_known = np.isfinite(old).all() and np.isfinite(new).all()
        return not is_known or bool(np.abs(new - old).max() > self.thresholds.logged_share)

    def _reported_index(self, shift: ShareShift) -> int | None:
        """The index, among the rows around a shift, at which it is reported; None while that has not come.

        A shift that belongs to a restart is reported later.
        """
        rows, detected = shift.around, shift.detected - int(shift.around.row[0])
        first = self._restart_index(shift)
        if first is None:
            return detected
        last = int(np.searchsorted(rows.attempt, rows.attempt[first], side="right")) - 1
        waited = max(detected, first + self.thresholds.restart_wait_rows)
        if waited <= last:
            return waited
        return last if last + 1 < len(rows) and last >= detected else None

    def _restart_index(self, shift: ShareShift) -> int | None:
        """The index, among the rows around a shift, of the first row of the attempt with which it began; None
        if it did not begin with an attempt after the first."""
        rows, start = shift.around, shift.start - int(shift.around.row[0])
        first = int(np.searchsorted(rows.attempt, rows.attempt[start]))
        return first if first > 0 and start - first <= self.thresholds.restart_rows else None

    def _finding(self, datasets: DatasetLosses, shift: ShareShift, reported: int) -> Finding:
        around, established = shift.around, shift.established
        stop = int(around.row[-1]) + 1 if shift.end is None else shift.end.row
        rows, before = around.between(shift.start, stop), around.between(0, shift.start)
        shares = fit_shares(
            rows.total - established.middle,
            rows.losses,
            established.shares,
            self.thresholds.scan.shares,
        )
        level, reached = float(before.total.mean()), float(rows.total.mean())
        logged = self._logged_change(shift, len(before), len(rows))
        old, new = (established.shares, shares) if logged is None else logged
        most = int(np.argmax(new - old))
        start, detected_step = int(rows.step[0]), int(around.step[reported])
        end = None if shift.end is None else shift.end.step
        until = "" if end is None else f" until step {end:,}"
        return Finding(
            kind=Kind.MIXTURE_SHIFT,
            metric=datasets.total.key.metric,
            labels=datasets.total.key.labels,
            attempt=int(rows.attempt[0]),
            start_step=start,
            peak_step=start,
            end_step=end,
            detected_step=detected_step,
            classified_step=detected_step,
            severity=Severity.WARNING if logged is None else Severity.INFO,
            confidence=self.thresholds.confidence if logged is None else self.thresholds.confidence_logged,
            summary=(
                f"Loss moved {from_to(level, reached)} at step {start:,}{until} "
                f"because the data mixture changed: {datasets.names[most]} makes up {new[most]:.0%} instead "
                f"of {old[most]:.0%}; the loss of each dataset continued as before."
            ),
            advice=_ADVICE if logged is None else _ADVICE_WHERE_LOGGED,
            evidence={
                "baseline": level,
                "level": reached,
                "noise": established.noise * float(rows.spread[0]),
                **_split_move(before, rows, established.shares, shares),
                "shares_before": _shares_by_name(datasets, old),
                "shares": _shares_by_name(datasets, new),
                "logged": logged is not None,
            },
        )

    def _logged_change(
        self, shift: ShareShift, rows_before: int, rows_after: int
    ) -> tuple[FloatArray, FloatArray] | None:
        """The logged shares before and after a shift [k]; None where they are not logged or did not
        change."""
        if shift.logged is None:
            return None
        before = np.median(shift.logged[:rows_before], axis=0)
        after = np.median(shift.logged[rows_before : rows_before + rows_after], axis=0)
        is_known = np.isfinite(before).all() and np.isfinite(after).all()
        has_changed = is_known and np.abs(after - before).max() > self.thresholds.logged_share
        return (before, after) if has_changed else None


def _scan_incrementally(
    datasets: DatasetLosses,
    checkpoints: ScanCheckpoints[MixtureScanState],
    sensitivity: float,
    thresholds: MixtureScanThresholds,
) -> list[ShareShift]:
    """Every shift, in the order of detection; the scan continues from the last checkpoint."""
    series = datasets.series
    checkpoint = checkpoints.latest(series)
    state, first = MixtureScanState(), (0,) * len(series)
    if checkpoint is not None:
        state, first = checkpoint.state, checkpoint.rows
    rows = read_loss_rows(datasets, first, state.recent, thresholds.shares)
    scan, last, end = MixtureScan(state, datasets, rows, sensitivity, thresholds), None, state.row + len(rows)
    # points of a series that lags behind may still change the result
    complete = (
        rows.rows_up_to(last_common_position([member for member in series if len(member)]))
        if len(rows)
        else 0
    )
    limits = {complete, *(end - distance for distance in _CHECKPOINT_DISTANCES)}
    for next_state in scan.run():
        if last is not None and any(last.row <= limit < next_state.row for limit in limits):
            _save_checkpoint(last, series, checkpoints, thresholds)
        last = next_state
    if last is not None:
        _save_checkpoint(last, series, checkpoints, thresholds)
    return scan.shifts


def _save_checkpoint(
    state: MixtureScanState,
    series: list[Series],
    checkpoints: ScanCheckpoints[MixtureScanState],
    thresholds: MixtureScanThresholds,
) -> None:
    compact = state.compact(thresholds.state_rows)
    assert compact.recent is not None
    position = int(compact.recent.attempt[-1]), int(compact.recent.step[-1])
    rows = tuple(rows_up_to(member, position) for member in series)
    checkpoints.save(Checkpoint(compact, rows, upto=position))


_ADVICE = "Compare the sampler's weights and positions with those before this step, and restore the ratio."
_ADVICE_WHERE_LOGGED = "The logged shares changed as well. If that was not planned, restore the ratio."


def _attributed_to_restart(finding: Finding, shift: ShareShift, restart: int) -> Finding:
    """The finding as an effect of the restart at an index of `shift.around`: it did not restore the data
    mix."""
    start = int(shift.around.step[restart])
    old, new = finding.evidence["shares_before"], finding.evidence["shares"]
    most = max(new, key=lambda name: new[name] - old[name])
    return replace(
        finding,
        kind=Kind.RESUME_ARTIFACT,
        start_step=start,
        severity=Severity.WARNING,
        summary=(
            f"Since the restart at step {start:,} the data mixture is different: {most} makes up "
            f"{new[most]:.0%} instead of {old[most]:.0%}; the loss of each dataset continued as before."
        ),
        advice=(
            "Unless intended: restore the sampler's weights with the checkpoint, and resume at step "
            f"{start:,} again."
        ),
    )


def _split_move(before: LossRows, after: LossRows, old: FloatArray, new: FloatArray) -> dict[str, float]:
    """The part of the total's move that is due to the shares, and that due to the datasets' losses.

    `old` and `new` are the shares [k].
    """
    losses_before, losses_after = before.losses.mean(axis=0), after.losses.mean(axis=0)
    return {
        "by_shares": float(((losses_before + losses_after) / 2) @ (new - old)),
        "by_losses": float(((old + new) / 2) @ (losses_after - losses_before)),
    }


def _shares_by_name(datasets: DatasetLosses, shares: FloatArray) -> dict[str, float]:
    return {name: round(share, 3) for name, share in zip(datasets.names, shares.tolist(), strict=True)}
