"""Straggler: one rank computes longer than its peers, which wait for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from holter.detectors.detector import DetectorContext
from holter.detectors.incremental import Checkpoint, ScanCheckpoints
from holter.detectors.positions import rows_up_to
from holter.detectors.ranks.lag_detector import LagCost, LagScan, LagThresholds, RankLag
from holter.detectors.ranks.naming import rank_as_evidence
from holter.detectors.ranks.rank_matrix import (
    RankMatrix,
    build_rank_matrix,
    common_key,
    hosts_of_ranks,
    series_by_rank,
)
from holter.detectors.ranks.timing_rows import build_timing_rows
from holter.detectors.thresholds import Thresholds
from holter.roles import Role, role_of
from holter.types import Finding, Kind, RunData, Series, SeriesKey, Severity


@dataclass(frozen=True, kw_only=True)
class StragglerThresholds(Thresholds):
    """When a slow rank is reported, and how severe it is."""

    lag: LagThresholds = LagThresholds()
    """When a rank counts as behind its peers."""
    major_slowdown: float = 0.1
    """Share of the peers' time. A rank slower by this much is critical: Greyhound verifies changes of 10 %.
    """
    constant_duty: float = 0.8
    """Share of the rows. A rank that is slow in more of them is called slow all the time."""
    max_confidence: float = 0.99
    """Confidence. The most that is stated."""
    base_confidence: float = 0.7
    """Confidence of a lag of the size of the noise."""
    confidence_per_noise: float = 0.03
    """Confidence added per noise of the lag's size."""


_CHECKPOINT_DISTANCES = (0, 32, 256, 2048, 16_384)
"""Rows from the newest at which a checkpoint is saved, since rows of ranks that are behind come later."""


@dataclass(frozen=True)
class StragglerDetector:
    """Compares every rank's compute time with the median of its peers, and with its own past.

    Time spent in collectives is read the other way round: a rank that computes long waits briefly, and all
    others wait long. Therefore compute times decide where they are logged, and step times of ranks otherwise.
    """

    name: ClassVar[str] = "straggler"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.STRAGGLER})
    thresholds: StragglerThresholds = StragglerThresholds()

    def detect(self, run: RunData, context: DetectorContext) -> Iterable[Finding]:
        """One finding per slow rank, or per group of ranks that became slow together."""
        waits = series_by_rank(run, Role.COLLECTIVE_TIME)
        timed = series_by_rank(run, Role.COMPUTE_TIME) or series_by_rank(run, Role.STEP_TIME)
        for series in timed:
            wait = next((candidate for candidate in waits if _is_same_steps(candidate, series)), [])
            yield from self._in_ranks(run, series, wait, context)
        if not timed:
            for wait in waits:
                yield from self._in_ranks(run, wait, [], context, inverted=True)

    def _in_ranks(
        self,
        run: RunData,
        series: list[Series],
        wait: list[Series],
        context: DetectorContext,
        *,
        inverted: bool = False,
    ) -> Iterator[Finding]:
        scan = self._scan(series, wait, context, inverted=inverted)
        for lag in sorted(scan.lags, key=lambda lag: lag.detected.row):
            finding = _finding(series, lag, scan.row, self.thresholds, has_waits=bool(wait))
            yield _with_hosts(finding, run)

    def _scan(
        self, series: list[Series], wait: list[Series], context: DetectorContext, *, inverted: bool
    ) -> LagScan:
        metric, both = series[0].key.metric, [*series, *wait]
        checkpoints: ScanCheckpoints[LagScan] = context.state.checkpoints(
            (self.name, common_key(series[0].key)), both
        )
        checkpoint = checkpoints.latest(both)
        first = checkpoint.rows if checkpoint else (0,) * len(both)
        if checkpoint:
            scan = checkpoint.state.copy()
        else:
            sensitivity = context.tuning.of(metric).sensitivity
            scan = LagScan(len(series), sensitivity, self.thresholds.lag)
        ranks = build_rank_matrix(series, first[: len(series)])
        begin, end = scan.row, scan.row + len(ranks.step)
        waits = build_rank_matrix(wait, first[len(series) :]) if wait else None
        rows = build_timing_rows(_inverted(ranks) if inverted else ranks, waits, begin)
        for state in scan.scan(rows):
            scan = state
            position = ranks.position_before(scan.row - begin)
            saves = self._is_checkpoint_row(end - scan.row)
            if scan.complete_chunks and position is not None and saves:
                upto = tuple(rows_up_to(each, position) for each in both)
                checkpoints.save(Checkpoint(scan.copy(), upto, upto=position))
        return scan

    def _is_checkpoint_row(self, rows_left: int) -> bool:
        # rows of a rank that is behind invalidate later checkpoints: an earlier one remains valid
        chunk = self.thresholds.lag.chunk_rows
        return any(0 <= rows_left - distance < chunk for distance in _CHECKPOINT_DISTANCES)


def _is_same_steps(wait: list[Series], series: list[Series]) -> bool:
    """Whether waits are those of the same ranks at the same steps."""
    return _ranks(wait) == _ranks(series) and wait[0].key.step_unit == series[0].key.step_unit


def _ranks(series: list[Series]) -> list[str | None]:
    return [each.key.rank for each in series]


def _inverted(wait: RankMatrix) -> RankMatrix:
    """The inverse of the waits: the rank that waits least is the one that is furthest behind."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return RankMatrix(keys=wait.keys, attempt=wait.attempt, step=wait.step, value=1 / wait.value)


def _finding(
    series: list[Series], lag: RankLag, rows: int, thresholds: StragglerThresholds, *, has_waits: bool
) -> Finding:
    """The finding of a lag after `rows` rows."""
    key, start = series[lag.rank].key, lag.start.step
    slower = float(np.expm1(lag.size))
    last = rows if lag.end is None else lag.end.row
    end = None if lag.end is None else lag.end.step
    duty = min(1.0, lag.count / max(last - lag.start.row, 1))
    cost = _cost_evidence(lag.cost if lag.end is None else lag.cost_to_last_slow_row, has_waits=has_waits)
    evidence = {
        "slower_by": slower,
        "noise": lag.noise,
        "duty": duty,
        "ranks": [rank_as_evidence(series[rank].key.rank or "") for rank in (lag.rank, *lag.together)],
        **cost,
    }
    often = "all the time" if duty > thresholds.constant_duty else f"{duty:.0%} of the time"
    confidence = thresholds.base_confidence + thresholds.confidence_per_noise * lag.size / lag.noise
    return Finding(
        kind=Kind.STRAGGLER,
        metric=key.metric,
        labels=key.labels,
        attempt=lag.start.attempt,
        start_step=start,
        peak_step=lag.worst.step,
        end_step=end,
        detected_step=lag.detected.step,
        classified_step=lag.detected.step,
        severity=Severity.CRITICAL if slower >= thresholds.major_slowdown else Severity.WARNING,
        confidence=min(thresholds.max_confidence, confidence),
        summary=_summary(key, slower, often, cost.get("share_of_step_lost"), (start, end), len(series)),
        advice="Check this rank's node: clocks, temperature, other processes. Drain it if it stays slow.",
        evidence=evidence,
    )


def _with_hosts(finding: Finding, run: RunData) -> Finding:
    """The finding with the hosts of its ranks, where the log names them."""
    hosts = hosts_of_ranks(run, map(str, finding.evidence["ranks"]))
    if not hosts:
        return finding
    advice = finding.advice.replace("this rank's node", f"{' and '.join(hosts)}, where it runs")
    rank = f"Rank {dict(finding.labels)['rank']}"
    where = f"{rank} on {hosts[0]}" if len(hosts) == 1 else rank
    return replace(
        finding,
        summary=finding.summary.replace(rank, where, 1),
        advice=advice,
        evidence={**finding.evidence, "hosts": hosts},
    )


def _cost_evidence(cost: LagCost, *, has_waits: bool) -> dict[str, float]:
    """What the others lose: time a step in the log's unit, and as a share where waits are logged too."""
    if not cost.rows:
        return {}
    lost = {"lost_per_step": cost.lost / cost.rows}
    if not has_waits:
        return lost
    return {
        **lost,
        "share_of_step_lost": cost.lost / cost.step,
        "own_wait": cost.own_wait / cost.rows,
        "others_wait": cost.others_wait / cost.rows,
    }


def _summary(
    key: SeriesKey, slower: float, often: str, lost: float | None, span: tuple[int, int | None], ranks: int
) -> str:
    start, end = span
    step = key.step_unit or "step"
    since = f"since {step} {start:,}" + ("" if end is None else f" until {step} {end:,}")
    if role_of(key) is Role.COLLECTIVE_TIME:
        return (
            f"Rank {key.rank} is slow: the other {ranks - 1} ranks wait for it ({slower:.0%} more time in "
            f"this collective, {often}) {since}."
        )
    verb = "computes" if lost is not None else "takes"
    cost = "" if lost is None else f" The others wait for it: {lost:.1%} of each step is lost."
    return f"Rank {key.rank} {verb} {slower:.0%} longer than its peers, {often}, {since}.{cost}"
