"""Mixture shift: the total loss moves because the datasets' shares did, while each dataset's loss goes on.

The change of a total splits in two (Kitagawa): what the datasets' losses did at equal shares, and what
the shares did at equal losses. The total less the datasets at their established shares shows the second
alone, and with hardly any noise: the batches' luck is in both.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from holter.detectors.detector import DetectorContext
from holter.detectors.formatting import figure
from holter.detectors.incremental import Checkpoint, ScanCheckpoints
from holter.detectors.mixture.scan import Scan, Shift, Standing
from holter.detectors.mixture.shares import Parts, Sources, fitted, parts_of, sources_of
from holter.detectors.positions import last_common_position, rows_up_to
from holter.types import Finding, FloatArray, Kind, RunData, Series, Severity

_RESUME_ROWS, _WAIT_ROWS = 50, 150
"""A shift that begins with an attempt waits for what the restart itself is found to have done."""
_LOGGED = 0.02
_APART = (0, 4096, 32_768, 262_144)
"""Rows from the newest at which what is known is kept: others may come yet."""


@dataclass(frozen=True)
class MixtureShift:
    """Watches what the datasets' losses at their usual shares leave unexplained of the total loss."""

    name: ClassVar[str] = "mixture_shift"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.MIXTURE_SHIFT, Kind.RESUME_ARTIFACT})

    def detect(self, run: RunData, context: DetectorContext) -> Iterable[Finding]:
        """One finding per shift of the shares, on the total loss."""
        sources = sources_of(run)
        if sources is None:
            return
        checkpoints = context.state.checkpoints(self.name, sources.series)
        sensitivity = context.tuning.of(sources.total.key.metric).sensitivity
        for shift in _shifts(sources, checkpoints, sensitivity):
            spoken = _spoken(shift)
            if spoken is not None:
                finding = _finding(sources, shift, spoken)
                yield finding if _restart(shift) is None else _with_restart(finding, shift)


def _shifts(sources: Sources, checkpoints: ScanCheckpoints[Standing], sensitivity: float) -> list[Shift]:
    """Every shift, in the order in which they are seen; looked for from where the last look ended."""
    series = sources.series
    checkpoint = checkpoints.latest(series)
    since, first = (checkpoint.state, checkpoint.rows) if checkpoint else (Standing(), (0,) * len(series))
    rows = parts_of(sources, first, since.behind)
    scan, last, after = Scan(since, sources, rows, sensitivity), None, since.at + len(rows)
    # what a series that is behind will say still counts
    behind = rows.rows_upto(last_common_position([one for one in series if len(one)])) if len(rows) else 0
    worth = {behind, *(after - apart for apart in _APART)}
    for standing in scan.run():
        if last is not None and any(last.at <= row < standing.at for row in worth):
            _keep(last, series, checkpoints)
        last = standing
    if last is not None:
        _keep(last, series, checkpoints)
    return scan.found


def _keep(standing: Standing, series: list[Series], checkpoints: ScanCheckpoints[Standing]) -> None:
    kept = standing.kept()
    assert kept.behind is not None
    place = int(kept.behind.attempt[-1]), int(kept.behind.step[-1])
    checkpoints.save(Checkpoint(kept, tuple(rows_up_to(one, place) for one in series), upto=place))


def _spoken(shift: Shift) -> int | None:
    """The row, of those around it, at which a shift is spoken, None while that has not come; with a restart,
    later."""
    rows, seen = shift.around, shift.seen - int(shift.around.row[0])
    first = _restart(shift)
    if first is None:
        return seen
    last = int(np.searchsorted(rows.attempt, rows.attempt[first], side="right")) - 1
    waited = max(seen, first + _WAIT_ROWS)
    if waited <= last:
        return waited
    return last if last + 1 < len(rows) and last >= seen else None


def _restart(shift: Shift) -> int | None:
    """The first row, of those around it, of the later attempt with which a shift began, None if it began by
    itself."""
    rows, start = shift.around, shift.start - int(shift.around.row[0])
    first = int(np.searchsorted(rows.attempt, rows.attempt[start]))
    return first if first > 0 and start - first <= _RESUME_ROWS else None


_COMPARE = "Compare the sampler's weights and positions with those before this step, and restore the ratio."
_LOGGED_TOO = "The shares that are logged changed with it. If that was not planned, restore the ratio."


def _with_restart(finding: Finding, shift: Shift) -> Finding:
    """The same as what a restart did: it did not restore the data mix."""
    first = _restart(shift)
    assert first is not None
    start = int(shift.around.step[first])
    old, new = finding.evidence["shares_before"], finding.evidence["shares"]
    most = max(new, key=lambda name: new[name] - old[name])
    return replace(
        finding,
        kind=Kind.RESUME_ARTIFACT,
        start_step=start,
        severity=Severity.WARNING,
        summary=(
            f"Since the restart at step {start:,} the data is another: {most} makes up {new[most]:.0%} "
            f"instead of {old[most]:.0%}, while the loss of each dataset goes on as before."
        ),
        advice=(
            "Unless it was meant: restore the sampler's weights with the checkpoint, and resume at step "
            f"{start:,} again."
        ),
    )


def _finding(sources: Sources, shift: Shift, spoken: int) -> Finding:
    rows = shift.around.between(
        shift.start, int(shift.around.row[-1]) + 1 if shift.end is None else shift.end.row
    )
    before, usual = shift.around.between(0, shift.start), shift.usual
    shares = fitted(rows.total - usual.middle, rows.parts, usual.shares)
    level, reached = float(before.total.mean()), float(rows.total.mean())
    planned = _planned(shift, len(before), len(rows))
    old, new = (usual.shares, shares) if planned is None else planned
    most = int(np.argmax(new - old))
    start, seen = int(rows.step[0]), int(shift.around.step[spoken])
    end = None if shift.end is None else shift.end.step
    until = "" if end is None else f" until step {end:,}"
    return Finding(
        kind=Kind.MIXTURE_SHIFT,
        metric=sources.total.key.metric,
        labels=sources.total.key.labels,
        attempt=int(rows.attempt[0]),
        start_step=start,
        peak_step=start,
        end_step=end,
        detected_step=seen,
        classified_step=seen,
        severity=Severity.WARNING if planned is None else Severity.INFO,
        confidence=0.9 if planned is not None else 0.8,
        summary=(
            f"Loss moved from {figure(level)} to {figure(reached)} at step {start:,}{until} "
            f"because the data did: {sources.names[most]} makes up {new[most]:.0%} instead of "
            f"{old[most]:.0%}, while the loss of each dataset went on as before."
        ),
        advice=_COMPARE if planned is None else _LOGGED_TOO,
        evidence={
            "baseline": level,
            "level": reached,
            "noise": usual.noise * float(rows.spread[0]),
            **_parts_of_the_move(before, rows, usual.shares, shares),
            "shares_before": _named(sources, old),
            "shares": _named(sources, new),
            "logged": planned is not None,
        },
    )


def _parts_of_the_move(before: Parts, since: Parts, old: FloatArray, new: FloatArray) -> dict[str, float]:
    """What of the total's move the shares made, and what the datasets' own losses; shares [datasets]."""
    was, now = before.parts.mean(axis=0), since.parts.mean(axis=0)
    return {
        "by_shares": float(((was + now) / 2) @ (new - old)),
        "by_losses": float(((old + new) / 2) @ (now - was)),
    }


def _named(sources: Sources, shares: FloatArray) -> dict[str, float]:
    return {name: round(share, 3) for name, share in zip(sources.names, shares.tolist(), strict=True)}


def _planned(shift: Shift, before: int, rows: int) -> tuple[FloatArray, FloatArray] | None:
    """The shares as they were logged in so many rows before and since, where they say that they changed."""
    if shift.logged is None:
        return None
    was = np.median(shift.logged[:before], axis=0)
    now = np.median(shift.logged[before : before + rows], axis=0)
    changed = np.isfinite(was).all() and np.isfinite(now).all() and np.abs(now - was).max() > _LOGGED
    return (was, now) if changed else None
