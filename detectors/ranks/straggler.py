"""Straggler: one rank computes longer than its peers, and they wait for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from holter.detectors.ranks.lag import Lag, lags
from holter.detectors.ranks.ranks import Ranks, beyond_peers, by_rank, peer_median
from holter.detectors.tuning import Tuning
from holter.metrics import Role
from holter.types import Finding, Kind, RunData, SeriesKey, Severity

_MAJOR = 0.1


@dataclass(frozen=True)
class Straggler:
    """Compares every rank's compute time with the median of its peers, and with its own past.

    Time spent in collectives is read the other way round: who computes long waits short, and all
    others wait long. So compute times decide where they are logged, and step times of ranks otherwise.
    """

    name: ClassVar[str] = "straggler"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.STRAGGLER})
    tuning: Tuning = Tuning()

    def detect(self, run: RunData) -> Iterable[Finding]:
        """One finding per slow rank, or per group of ranks that became slow together."""
        waits = list(by_rank(run, Role.COLLECTIVE_TIME))
        timed = list(by_rank(run, Role.COMPUTE_TIME)) or list(by_rank(run, Role.STEP_TIME))
        for ranks in timed:
            yield from self._in_ranks(ranks, next((one for one in waits if _same_rows(one, ranks)), None))
        if not timed:
            for wait in waits:
                yield from self._in_ranks(_hurry(wait), None)

    def _in_ranks(self, ranks: Ranks, wait: Ranks | None) -> Iterator[Finding]:
        sensitivity = self.tuning.of(ranks.keys[0].metric).sensitivity
        found = lags(beyond_peers(ranks), sensitivity=sensitivity)
        for lag in sorted(found, key=lambda one: one.detected):
            yield _finding(ranks, wait, lag)


def _same_rows(one: Ranks, other: Ranks) -> bool:
    return one.value.shape == other.value.shape and bool(
        np.array_equal(one.step, other.step) and np.array_equal(one.attempt, other.attempt)
    )


def _hurry(wait: Ranks) -> Ranks:
    """Waits turned round: the rank that waits least is the one that is furthest behind."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return Ranks(keys=wait.keys, attempt=wait.attempt, step=wait.step, value=1 / wait.value)


def _finding(ranks: Ranks, wait: Ranks | None, lag: Lag) -> Finding:
    key, step = ranks.keys[lag.rank], ranks.step
    slower = float(np.expm1(lag.size))
    last = len(step) if lag.end is None else lag.end
    end = None if lag.end is None else int(step[min(lag.end, len(step) - 1)])
    duty = min(1.0, len(lag.slow) / max(last - lag.start, 1))
    cost = _cost(ranks, wait, lag, last)
    evidence = {
        "slower_by": slower,
        "noise": lag.noise,
        "duty": duty,
        "ranks": [_number(ranks.keys[rank]) for rank in (lag.rank, *lag.together)],
        **cost,
    }
    return Finding(
        kind=Kind.STRAGGLER,
        metric=key.metric,
        labels=key.labels,
        attempt=int(ranks.attempt[lag.start]),
        start_step=int(step[lag.start]),
        peak_step=int(step[lag.worst]),
        end_step=end,
        detected_step=int(step[lag.detected]),
        classified_step=int(step[lag.detected]),
        severity=Severity.CRITICAL if slower >= _MAJOR else Severity.WARNING,
        confidence=min(0.99, 0.7 + 0.03 * lag.size / lag.noise),
        summary=_summary(key, slower, duty, cost.get("share_of_step_lost"), (int(step[lag.start]), end)),
        advice="Look at this rank's node: clocks, temperature, other processes. Drain it if it stays slow.",
        evidence=evidence,
    )


def _number(key: SeriesKey) -> int | str:
    rank = dict(key.labels)["rank"]
    return int(rank) if rank.isdecimal() else rank


def _cost(ranks: Ranks, wait: Ranks | None, lag: Lag, last: int) -> dict[str, float]:
    """What the others lose: time a step, in the log's unit, and as a share where waits are logged too."""
    rows = slice(lag.start, last)
    usual, own = peer_median(ranks)[rows], ranks.value[rows, lag.rank]
    known = np.isfinite(usual) & np.isfinite(own)
    if wait is not None:
        waiting = peer_median(wait)[rows]
        known &= np.isfinite(waiting)
    if not known.any():
        return {}
    lost = float(np.mean(np.maximum(own - usual, 0.0)[known]))
    if wait is None:
        return {"lost_per_step": lost}
    return {
        "lost_per_step": lost,
        "share_of_step_lost": lost / float(np.median((usual + waiting)[known])),
        "own_wait": float(np.median(wait.value[rows, lag.rank][known])),
        "others_wait": float(np.median(waiting[known])),
    }


def _summary(
    key: SeriesKey, slower: float, duty: float, lost: float | None, span: tuple[int, int | None]
) -> str:
    rank, (start, end) = dict(key.labels)["rank"], span
    often = "all the time" if duty > 0.8 else f"{duty:.0%} of the time"
    until = "" if end is None else f" until step {end:,}"
    what = "computes" if lost is not None else "takes"
    cost = "" if lost is None else f" The others wait for it: {lost:.1%} of each step is lost."
    return (
        f"Rank {rank} {what} {slower:.0%} longer than its peers, {often}, since step {start:,}{until}.{cost}"
    )
