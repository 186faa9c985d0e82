"""Straggler: one rank computes longer than its peers, and they wait for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from holter.detectors.detector import DetectorContext
from holter.detectors.incremental import Checkpoint, ScanCheckpoints
from holter.detectors.positions import rows_upto
from holter.detectors.ranks.lag_detector import CHUNK, LagCost, LagScan, RankLag
from holter.detectors.ranks.rank_matrix import (
    RankMatrix,
    build_rank_matrix,
    common_key,
    hosts_of_ranks,
    rank_of,
    series_by_rank,
)
from holter.detectors.ranks.timing_rows import build_timing_rows
from holter.roles import Role, role_of
from holter.types import Finding, Kind, RunData, Series, SeriesKey, Severity

_MAJOR = 0.1
_APART = (0, 32, 256, 2048, 16_384)
"""Rows from the newest at which what is known is kept."""


@dataclass(frozen=True)
class StragglerDetector:
    """Compares every rank's compute time with the median of its peers, and with its own past.

    Time spent in collectives is read the other way round: who computes long waits short, and all
    others wait long. So compute times decide where they are logged, and step times of ranks otherwise.
    """

    name: ClassVar[str] = "straggler"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.STRAGGLER})

    def detect(self, run: RunData, context: DetectorContext) -> Iterable[Finding]:
        """One finding per slow rank, or per group of ranks that became slow together."""
        waits = series_by_rank(run, Role.COLLECTIVE_TIME)
        timed = series_by_rank(run, Role.COMPUTE_TIME) or series_by_rank(run, Role.STEP_TIME)
        for series in timed:
            same = next((wait for wait in waits if _beside(wait, series)), [])
            yield from self._in_ranks(run, series, same, context)
        if not timed:
            for wait in waits:
                yield from self._in_ranks(run, wait, [], context, turned=True)

    def _in_ranks(
        self,
        run: RunData,
        series: list[Series],
        wait: list[Series],
        context: DetectorContext,
        *,
        turned: bool = False,
    ) -> Iterator[Finding]:
        lags = self._scanned(series, wait, context, turned=turned)
        for lag in sorted(lags.found, key=lambda one: one.detected.row):
            yield _with_hosts(_finding(series, lag, lags.row, has_waits=bool(wait)), run)

    def _scanned(
        self, series: list[Series], wait: list[Series], context: DetectorContext, *, turned: bool
    ) -> LagScan:
        metric, both = series[0].key.metric, [*series, *wait]
        checkpoints: ScanCheckpoints[LagScan] = context.state.checkpoints(
            (self.name, common_key(series[0].key)), both
        )
        checkpoint = checkpoints.latest(both)
        first = checkpoint.rows if checkpoint else (0,) * len(both)
        lags = (
            checkpoint.state.copy()
            if checkpoint
            else LagScan(len(series), context.tuning.of(metric).sensitivity)
        )
        ranks = build_rank_matrix(series, first[: len(series)])
        begin, end = lags.row, lags.row + len(ranks.step)
        waits = build_rank_matrix(wait, first[len(series) :]) if wait else None
        rows = build_timing_rows(_hurry(ranks) if turned else ranks, waits, begin)
        for after in lags.over(rows):
            lags = after
            place = ranks.place_before(lags.row - begin)
            if lags.is_whole and place is not None and _worth_a_mark(end - lags.row):
                checkpoints.save(
                    Checkpoint(lags.copy(), tuple(rows_upto(one, place) for one in both), upto=place)
                )
        return lags


def _worth_a_mark(left: int) -> bool:
    # a rank that is behind takes marks back that its rows come before: one lies further back than it
    return any(0 <= left - apart < CHUNK for apart in _APART)


def _beside(wait: list[Series], series: list[Series]) -> bool:
    """Whether waits are those of the same ranks at the same steps."""
    return _ranks(wait) == _ranks(series) and wait[0].key.own_steps == series[0].key.own_steps


def _ranks(series: list[Series]) -> list[str | None]:
    return [rank_of(one.key) for one in series]


def _hurry(wait: RankMatrix) -> RankMatrix:
    """Waits turned round: the rank that waits least is the one that is furthest behind."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return RankMatrix(keys=wait.keys, attempt=wait.attempt, step=wait.step, value=1 / wait.value)


def _finding(series: list[Series], lag: RankLag, rows: int, *, has_waits: bool) -> Finding:
    """The finding of a lag, with so many rows seen."""
    key, start = series[lag.rank].key, lag.start.step
    slower = float(np.expm1(lag.size))
    last = rows if lag.end is None else lag.end.row
    end = None if lag.end is None else lag.end.step
    duty = min(1.0, lag.count / max(last - lag.start.row, 1))
    cost = _cost(lag.cost if lag.end is None else lag.settled, has_waits=has_waits)
    evidence = {
        "slower_by": slower,
        "noise": lag.noise,
        "duty": duty,
        "ranks": [_number(series[rank].key) for rank in (lag.rank, *lag.together)],
        **cost,
    }
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
        severity=Severity.CRITICAL if slower >= _MAJOR else Severity.WARNING,
        confidence=min(0.99, 0.7 + 0.03 * lag.size / lag.noise),
        summary=_summary(key, slower, duty, cost.get("share_of_step_lost"), (start, end)),
        advice="Look at this rank's node: clocks, temperature, other processes. Drain it if it stays slow.",
        evidence=evidence,
    )


def _with_hosts(finding: Finding, run: RunData) -> Finding:
    """The finding with the hosts of its ranks, where the log names them."""
    known = hosts_of_ranks(run, map(str, finding.evidence["ranks"]))
    if not known:
        return finding
    advice = finding.advice.replace("this rank's node", f"{' and '.join(known)}, where it runs")
    return replace(finding, advice=advice, evidence={**finding.evidence, "hosts": known})


def _number(key: SeriesKey) -> int | str:
    rank = dict(key.labels)["rank"]
    return int(rank) if rank.isdecimal() else rank


def _cost(cost: LagCost, *, has_waits: bool) -> dict[str, float]:
    """What the others lose: time a step, in the log's unit, and as a share where waits are logged too."""
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
    key: SeriesKey, slower: float, duty: float, lost: float | None, span: tuple[int, int | None]
) -> str:
    rank, (start, end) = dict(key.labels)["rank"], span
    often = "all the time" if duty > 0.8 else f"{duty:.0%} of the time"
    step = key.own_steps or "step"
    until = "" if end is None else f" until {step} {end:,}"
    if role_of(key) is Role.COLLECTIVE_TIME:
        return (
            f"The others wait for rank {rank}: they are {slower:.0%} longer in this collective than it is, "
            f"{often}, since {step} {start:,}{until}."
        )
    what = "computes" if lost is not None else "takes"
    cost = "" if lost is None else f" The others wait for it: {lost:.1%} of each step is lost."
    since = f"since {step} {start:,}{until}"
    return f"Rank {rank} {what} {slower:.0%} longer than its peers, {often}, {since}.{cost}"
