"""Repeated data: after a resume the data stream started again from an earlier place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from holter.detectors.figures import figure
from holter.detectors.repeated.replay import Match, Trace, match, refined, trace_of
from holter.detectors.tuning import Tuning
from holter.metrics import Role, role_of
from holter.types import Finding, IntArray, Kind, RunData, Series, Severity

_SMALL_PAST = 50_000
_AROUND, _FEWEST = 64, 8


@dataclass(frozen=True)
class RepeatedData:
    """Looks after every resume whether the noise of the loss has been seen before, and where.

    A match at the same steps is a right resume after a rollback. A match at earlier steps says from
    where the stream is replayed, and so when unseen data will begin and the loss will jump back up.
    """

    name: ClassVar[str] = "repeated_data"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.REPEATED_DATA})
    tuning: Tuning = Tuning()

    def detect(self, run: RunData) -> Iterable[Finding]:
        """At most one finding per resume."""
        channels = _channels(run)
        if not channels:
            return
        loss = channels[0]
        attempts = np.unique(loss.attempt).tolist()
        past: list[Trace] = []
        stream = _Stream()
        for number, attempt in enumerate(attempts):
            step = loss.step[loss.attempt == attempt]
            found = self._look(channels, attempt, len(step), past) if number else None
            replay = stream.resume(attempt, int(step[0]), int(step[-1]), found and found[0])
            if found and replay and _is_worth_a_word(replay, step):
                yield _finding(channels, attempt, found, replay, past)
            whole = trace_of(channels, attempt) if number + 1 < len(attempts) else None
            if whole is not None:
                past.append(whole)

    def _look(
        self, channels: list[Series], attempt: int, points: int, past: list[Trace]
    ) -> tuple[Match, int] | None:
        """The first sure match, and how many points of the attempt it took."""
        sensitivity = self.tuning.of(channels[0].key.metric).sensitivity
        sizes = _looks(sum(one.residual.shape[1] for one in past))
        for size in (one for one in sizes if one <= points):
            new = trace_of(channels, attempt, points=size)
            if new is not None and past:
                best = match(new, past, looks=len(sizes), sensitivity=sensitivity)
                if best is not None and best.sure:
                    return best, size
        return None


def _channels(run: RunData) -> list[Series]:
    """The training loss, and the gradient norm if it is logged."""
    channels = []
    for role in (Role.LOSS, Role.GRAD_NORM):
        keys = [key for key in sorted(run.series) if role_of(key) is role and len(run.series[key])]
        whole = [key for key in keys if not any(name == "rank" for name, _ in key.labels)]
        if not whole and role is Role.LOSS:
            return []
        channels += [run.series[key] for key in whole[:1]]
    return channels


def _looks(past: int) -> list[int]:
    """After how many points one looks: seldom where the past is long, a look takes its time there."""
    doubling = [16 << power for power in range(9)]
    between = [24 << power for power in range(8)]
    return sorted(doubling + between) if past <= _SMALL_PAST else doubling


def _is_worth_a_word(replay: Replay, step: IntArray) -> bool:
    # a step or two that is seen twice at a resume wastes nothing, and may be a matter of counting from 1
    return replay.first_unseen - int(step[0]) >= _FEWEST * int(np.median(np.diff(step[:_AROUND])))


@dataclass(frozen=True, kw_only=True)
class Replay:
    """The new attempt's step s reads the stream where step `s - lag` of `source_attempt` read it."""

    lag: int
    source_attempt: int
    source_step: int
    first_unseen: int


@dataclass
class _Stream:
    """Which places of the data stream the model has seen.

    A segment is (attempt, first step, last step, behind): its step s read place `s - behind`.
    Only those segments count whose steps the model still rests on: a rollback takes steps back.
    """

    segments: list[tuple[int, int, int, int]] = field(default_factory=list)
    behind: dict[int, int] = field(default_factory=dict)

    def resume(self, attempt: int, first: int, last: int, found: Match | None) -> Replay | None:
        """Note an attempt; the replay it is, None where the stream went on or the match does not say."""
        kept = [(a, f, min(end, first - 1), b) for a, f, end, b in self.segments if f < first]
        expected = kept[-1][3] if kept else 0
        behind = expected
        if found is not None:
            behind = found.lag + self.behind.get(found.attempt, 0)
        self.segments = [*kept, (attempt, first, last, behind)]
        self.behind[attempt] = behind
        if found is None or not kept or behind <= expected:
            return None
        seen = max(end - b for _, _, end, b in kept)
        if first - behind > seen:
            return None
        return Replay(
            lag=found.lag,
            source_attempt=found.attempt,
            source_step=first - found.lag,
            first_unseen=seen + 1 + behind,
        )


def _finding(
    channels: list[Series], attempt: int, found: tuple[Match, int], replay: Replay, past: list[Trace]
) -> Finding:
    (best, points), loss = found, channels[0]
    here = np.flatnonzero(loss.attempt == attempt)
    step = loss.step[here]
    first, until = int(step[0]), replay.first_unseen
    new = trace_of(channels, attempt, points=max(points, int(np.searchsorted(step, until))))
    old = next(one for one in past if one.attempt == best.attempt)
    better = best.lag if new is None else refined(new, old, best.lag)
    source, until = first - better, until + better - best.lag
    over = bool(step[-1] >= until) or bool((loss.attempt > attempt).any())
    end = min(until - 1, int(step[-1])) if over else None
    lies = _under_report(loss, here, until)
    wasted = min(until, int(step[-1]) + 1) - first
    return Finding(
        kind=Kind.REPEATED_DATA,
        metric=loss.key.metric,
        labels=loss.key.labels,
        attempt=attempt,
        start_step=first,
        peak_step=None,
        end_step=end,
        detected_step=int(step[points - 1]),
        classified_step=int(step[points - 1]),
        severity=Severity.WARNING,
        confidence=float(min(0.999, 1 - np.exp(-best.score / 1.5))),
        summary=_summary(best.attempt, source, first, end, until, lies, wasted),
        advice=(
            f"Stop, restore the sampler's place with the checkpoint, and resume at step {first:,}. "
            f"The loss before step {until:,} compares with nothing; expect it to jump up there."
        ),
        evidence={
            "lag": better,
            "source_attempt": best.attempt,
            "source_step": source,
            "first_unseen_step": until,
            "expected_step": replay.first_unseen,
            "under_reported": lies,
            "correlation": best.correlation,
            "score": best.score,
            "points": points,
        },
    )


def _under_report(loss: Series, here: IntArray, until: int) -> float:
    """By how much the loss reads too low: the jump when unseen data begins, or the drop since before."""
    step, value = loss.step[here], loss.value[here]
    during, after = value[step < until][-_AROUND:], value[step >= until][:_AROUND]
    earlier = (np.arange(len(loss)) < here[0]) & (loss.step < step[0])
    before = loss.value[earlier][-_AROUND:]
    beside = after if len(after) >= _FEWEST else before
    during, beside = during[np.isfinite(during)], beside[np.isfinite(beside)]
    return float(np.median(beside) - np.median(during)) if len(during) and len(beside) else 0.0


def _summary(
    attempt: int, source: int, first: int, end: int | None, until: int, lies: float, wasted: int
) -> str:
    past = f"Since the resume at step {first:,} the run sees data again that attempt {attempt} saw from step"
    lasts = f"until unseen data begins at step {until:,}" if end is None else f"until step {end:,}"
    low = f"the loss reads about {figure(lies)} too low" if lies > 0 else "the loss reads too low"
    return f"{past} {source:,} on, {lasts}: {low}, and {wasted:,} steps are wasted."
