"""Repeated data: after a resume the data stream started again from an earlier place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from holter.detectors.detector import DetectorContext
from holter.detectors.findings.data import REPEATED_DATA
from holter.detectors.formatting import figure
from holter.detectors.incremental import Checkpoint, ScanCheckpoints
from holter.detectors.positions import (
    AttemptRows,
    attempt_rows,
    last_common_position,
    position_of,
    rows_up_to,
    values_before,
)
from holter.detectors.repeated_data.matching import Match, Trace, match, refined, trace_of
from holter.plurals import counted, verb
from holter.roles import Role, role_of
from holter.types import Finding, IntArray, Kind, RunData, Series

_SMALL_PAST = 50_000
_AROUND, _FEWEST = 64, 8
_ENOUGH = 1 << 16
"""Points from which the lag is known to the step."""


@dataclass(frozen=True)
class RepeatedData:
    """Looks after every resume whether the noise of the loss has been seen before, and where.

    A match at the same steps is a right resume after a rollback. A match at earlier steps says from
    where the stream is replayed, and so when unseen data will begin and the loss will jump back up.
    """

    name: ClassVar[str] = "repeated_data"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.REPEATED_DATA})

    def detect(self, run: RunData, context: DetectorContext) -> Iterable[Finding]:
        """At most one finding per resume."""
        channels = _channels(run)
        if not channels:
            return
        known = self._known(channels, context)
        loss, stream = channels[0], _Stream()
        spans = attempt_rows(loss)
        for number, span in enumerate(spans):
            step = loss.step[span.rows]
            look = known.looks.get(span.attempt, _Look())
            replay = stream.resume(span.attempt, int(step[0]), int(step[-1]), look.match)
            if look.match and replay and _is_worth_a_word(replay, step):
                lag = known.lag(channels, span, look, replay.first_unseen, is_over=number + 1 < len(spans))
                yield _finding(loss, span, look, replay, lag, is_over=number + 1 < len(spans))

    def _known(self, channels: list[Series], context: DetectorContext) -> _Known:
        """What the looks after every resume have found."""
        loss = channels[0]
        sensitivity = context.tuning.of(loss.key.metric).sensitivity
        checkpoints: ScanCheckpoints[_Known] = context.state.checkpoints((self.name, loss.key), channels)
        checkpoint = checkpoints.latest(channels)
        known, done = (checkpoint.state, checkpoint.rows[0]) if checkpoint else (_Known(), 0)
        # what the channel that is behind will say still counts; and it may have ended for good
        for place in sorted({last_common_position(channels), position_of(loss, len(loss) - 1)}):
            upto = rows_up_to(loss, place)
            if upto > done:
                known, done = _and_then(known, channels, upto, sensitivity), upto
                checkpoints.save(
                    Checkpoint(known, tuple(rows_up_to(one, place) for one in channels), upto=place)
                )
        return known


def _and_then(known: _Known, channels: list[Series], upto: int, sensitivity: float) -> _Known:
    """What is known after so many rows of the loss."""
    spans = [span for span in attempt_rows(channels[0]) if span.first < upto]
    looks = dict(known.looks)
    known = replace(known, kept=dict(known.kept))  # what is older keeps what it had
    for number, span in enumerate(spans[1:], start=1):
        points = min(span.after, upto) - span.first
        look = looks.get(span.attempt)
        if look is None or look.is_due(points):
            past = known.traces(channels, spans[:number])
            looks[span.attempt] = _look(look, channels, span.attempt, points, past, sensitivity)
    last = looks.get(spans[-1].attempt) if spans else None
    going_on = last is not None and last.match is None and bool(last.sizes)
    return _Known(looks=looks, kept=known.kept if going_on else {}, lags=dict(known.lags))


def _look(
    look: _Look | None,
    channels: list[Series],
    attempt: int,
    points: int,
    past: list[Trace],
    sensitivity: float,
) -> _Look:
    """Look after every number of points that is due; the first sure match stands."""
    every = _looks(sum(one.residual.shape[1] for one in past))
    sizes = every if look is None else look.sizes
    while sizes and sizes[0] <= points:
        new = trace_of(channels, attempt, points=sizes[0])
        if new is not None and past:
            best = match(new, past, looks=len(every), sensitivity=sensitivity)
            if best is not None and best.sure:
                return _Look(best, sizes[0])
        sizes = sizes[1:]
    return _Look(sizes=sizes)


@dataclass(frozen=True)
class _Look:
    """What was found after a resume, and how many points it took; or the numbers of points still to come
    after which one looks again."""

    match: Match | None = None
    points: int = 0
    sizes: tuple[int, ...] = ()

    def is_due(self, points: int) -> bool:
        return bool(self.sizes) and self.sizes[0] <= points


@dataclass(frozen=True)
class _Known:
    """The looks after each attempt's beginning. What is `kept` (traces of attempts that are over, lags by
    attempt and number of points) is computed again where it is not."""

    looks: Mapping[int, _Look] = field(default_factory=dict)
    kept: dict[int, Trace | None] = field(default_factory=dict)
    lags: dict[tuple[int, int], int] = field(default_factory=dict)

    def traces(self, channels: list[Series], spans: Sequence[AttemptRows]) -> list[Trace]:
        """The traces of attempts that are over, those that have one."""
        for span in spans:
            if span.attempt not in self.kept:
                self.kept[span.attempt] = trace_of(channels, span.attempt)
        traces = [self.kept[span.attempt] for span in spans]
        return [trace for trace in traces if trace is not None]

    def lag(self, channels: list[Series], span: AttemptRows, look: _Look, until: int, *, is_over: bool) -> int:
        """The lag of a replay in steps, from more points than it was found with: with twice as many each
        time, with all once unseen data begins."""
        assert look.match is not None
        step = channels[0].step[span.rows]
        points = int(np.searchsorted(step, until))
        if points == len(step) and not is_over:
            points = 1 << points.bit_length() - 1
        points = max(look.points, min(points, _ENOUGH))
        if (span.attempt, points) not in self.lags:
            new, old = trace_of(channels, span.attempt, points=points), trace_of(channels, look.match.attempt)
            lag = look.match.lag
            self.lags[span.attempt, points] = lag if new is None or old is None else refined(new, old, lag)
        return self.lags[span.attempt, points]


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


def _looks(past: int) -> tuple[int, ...]:
    """After how many points one looks: seldom where the past is long, a look takes its time there."""
    doubling = [16 << power for power in range(9)]
    between = [24 << power for power in range(8)]
    return tuple(sorted(doubling + between) if past <= _SMALL_PAST else doubling)


def _is_worth_a_word(replay: Replay, step: IntArray) -> bool:
    # a step or two that is seen twice at a resume wastes nothing, and may be a matter of counting from 1
    return replay.first_unseen - int(step[0]) >= _FEWEST * int(np.median(np.diff(step[:_AROUND])))


@dataclass(frozen=True, kw_only=True)
class Replay:
    """The new attempt's step s reads the stream where step `s - lag` of an earlier one read it."""

    lag: int
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
        return Replay(lag=found.lag, first_unseen=seen + 1 + behind)


def _finding(loss: Series, span: AttemptRows, look: _Look, replay: Replay, lag: int, *, is_over: bool) -> Finding:
    best, points, step = look.match, look.points, loss.step[span.rows]
    assert best is not None
    first, until = int(step[0]), replay.first_unseen
    source, until = first - lag, until + lag - best.lag
    end = min(until - 1, int(step[-1])) if is_over or int(step[-1]) >= until else None
    lies = _under_report(loss, span, until)
    wasted = min(until, int(step[-1]) + 1) - first
    return Finding(
        kind=Kind.REPEATED_DATA,
        metric=loss.key.metric,
        labels=loss.key.labels,
        attempt=span.attempt,
        start_step=first,
        peak_step=None,
        end_step=end,
        detected_step=int(step[points - 1]),
        classified_step=int(step[points - 1]),
        severity=REPEATED_DATA.only_severity,
        confidence=float(min(0.999, 1 - np.exp(-best.score / 1.5))),
        summary=_summary(best.attempt, source, first, end, until, lies, wasted),
        advice=(
            f"Stop, restore the sampler's place with the checkpoint, and resume at step {first:,}. "
            f"The loss before step {until:,} compares with nothing; expect it to jump up there."
        ),
        evidence={
            "lag": lag,
            "source_attempt": best.attempt,
            "source_step": source,
            "first_unseen_step": until,
            "expected_step": replay.first_unseen,
            "until_step": until - 1,
            "underreported": lies,
            "correlation": best.correlation,
            "score": best.score,
            "points": points,
        },
    )


def _under_report(loss: Series, span: AttemptRows, until: int) -> float:
    """By how much the loss reads too low: the jump when unseen data begins, or the drop since before."""
    step, value = loss.step[span.rows], loss.value[span.rows]
    unseen = int(np.searchsorted(step, until))
    during, after = value[max(unseen - _AROUND, 0) : unseen], value[unseen : unseen + _AROUND]
    beside = after if len(after) >= _FEWEST else values_before(loss, span.attempt - 1, int(step[0]), _AROUND)
    during, beside = during[np.isfinite(during)], beside[np.isfinite(beside)]
    return float(np.median(beside) - np.median(during)) if len(during) and len(beside) else 0.0


def _summary(
    attempt: int, source: int, first: int, end: int | None, until: int, lies: float, wasted: int
) -> str:
    past = f"Since the resume at step {first:,} the run sees data again that attempt {attempt} saw from step"
    lasts = f"until unseen data begins at step {until:,}" if end is None else f"until step {end:,}"
    low = f"the loss reads about {figure(lies)} too low" if lies > 0 else "the loss reads too low"
    lost = f"{counted(wasted, 'step')} {verb(wasted, 'is', 'are')} wasted"
    return f"{past} {source:,} on, {lasts}: {low}, and {lost}."
