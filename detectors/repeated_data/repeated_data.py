"""Repeated data: after a resume the data stream started again from an earlier position."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import ClassVar

import numpy as np

from holter.detectors.detector import DetectorContext
from holter.detectors.findings.loss import REPEATED_DATA
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
from holter.detectors.repeated_data.matching import (
    DataMatch,
    MatchThresholds,
    ResidualTrace,
    find_match,
    read_residual_trace,
    refine_lag,
)
from holter.detectors.thresholds import Thresholds
from holter.plurals import counted, verb
from holter.roles import Role, role_of
from holter.types import Finding, IntArray, Kind, RunData, Series


@dataclass(frozen=True, kw_only=True)
class RepeatedDataThresholds(Thresholds):
    """When data after a resume is reported as repeated."""

    test_points: tuple[int, ...] = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
    """Points after a resume at which the match is tested."""
    test_points_between: tuple[int, ...] = (24, 48, 96, 192, 384, 768, 1536, 3072)
    """Further points at which it is tested while the past is short."""
    short_past_points: int = 50_000
    """Points of the past up to which it is short: a test of a longer one takes its time."""
    searched_attempts: int = 8
    """Earlier attempts up to which all of them are searched."""
    searched_of_many: int = 4
    """Earlier attempts that are searched where there are more, the first and the latest ones: the cost of a
    run grows with its attempts and not with their square."""
    fewest_points_of_many: int = 64
    """Points after a resume at which the match is tested first where there are more earlier attempts."""
    refined_points: int = 65_536
    """Points from which the lag is known to the step."""
    fewest_intervals: int = 8
    """Log intervals that must be repeated: a step or two seen twice wastes nothing, and may be a matter of
    counting from 1. Also the points after the repeated data that suffice to measure how low the loss
    reads."""
    level_points: int = 64
    """Points on which levels and the log interval are measured."""
    confidence_scale: float = 1.5
    """Score over which the doubt in a match falls by a factor e."""
    most_confidence: float = 0.999
    """Confidence, at most."""
    matching: MatchThresholds = MatchThresholds()
    """When residuals match those of an earlier attempt."""


@dataclass(frozen=True)
class RepeatedDataDetector:
    """Tests after every resume whether the noise of the loss has been seen before, and where.

    A match at the same steps is a correct resume after a rollback. A match at earlier steps shows from where
    the stream is replayed, and so when unseen data will begin and the loss will jump back up.
    """

    name: ClassVar[str] = "repeated_data"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.REPEATED_DATA})
    thresholds: RepeatedDataThresholds = RepeatedDataThresholds()

    def detect(self, run: RunData, context: DetectorContext) -> Iterable[Finding]:
        """At most one finding per resume."""
        channels = _channels(run)
        if not channels:
            return
        search = self._search(channels, context)
        loss, stream = channels[0], _DataStream()
        spans = attempt_rows(loss)
        for number, span in enumerate(spans):
            step, is_over = loss.step[span.rows], number + 1 < len(spans)
            result = search.results.get(span.attempt, _ResumeTest())
            replay = stream.add_attempt(span.attempt, int(step[0]), int(step[-1]), result.match)
            if result.match and replay and self._is_reportable(replay, step):
                lag = search.refined_lag(
                    channels, span, result, replay.first_unseen, self.thresholds, is_over=is_over
                )
                yield self._finding(loss, span, result, replay, lag, is_over=is_over)

    def _search(self, channels: list[Series], context: DetectorContext) -> _SearchState:
        """The results of the tests after every resume; only rows since the last checkpoint are tested."""
        loss = channels[0]
        sensitivity = context.tuning.of(loss.key.metric).sensitivity
        checkpoints: ScanCheckpoints[_SearchState] = context.state.checkpoints(
            (self.name, loss.key), channels
        )
        checkpoint = checkpoints.latest(channels)
        state, done = (checkpoint.state, checkpoint.rows[0]) if checkpoint else (_SearchState(), 0)
        # points of a channel that lags behind may still come; and it may have ended for good
        for position in sorted({last_common_position(channels), position_of(loss, len(loss) - 1)}):
            upto = rows_up_to(loss, position)
            if upto > done:
                state, done = self._extended(state, channels, done, upto, sensitivity), upto
                rows = tuple(rows_up_to(series, position) for series in channels)
                checkpoints.save(Checkpoint(state, rows, upto=position))
        return state

    def _extended(
        self, state: _SearchState, channels: list[Series], done: int, upto: int, sensitivity: float
    ) -> _SearchState:
        """The state after the first `upto` rows of the loss, of which the first `done` were searched."""
        spans = [span for span in attempt_rows(channels[0]) if span.first < upto]
        results = dict(state.results)
        state = replace(state, traces=dict(state.traces))  # earlier states keep their own
        step = channels[0].step
        earliest = list(accumulate((int(step[span.first]) for span in spans), min))
        for number in range(max(bisect_right(spans, done, key=lambda span: span.after), 1), len(spans)):
            span = spans[number]
            points = min(span.after, upto) - span.first
            result = results.get(span.attempt)
            if int(step[span.first]) <= earliest[number - 1]:
                # it continues no attempt, so that it can repeat no data that its model rests on
                results[span.attempt] = _ResumeTest()
            elif self._is_many(number) and points < self.thresholds.fewest_points_of_many:
                continue
            elif result is None or result.is_due(points):
                past = state.past_traces(channels, self._searched(spans[:number]), self.thresholds.matching)
                schedule = self._test_schedule(past, number)
                results[span.attempt] = self._test(
                    schedule if result is None else result.remaining,
                    channels,
                    span.attempt,
                    points,
                    past,
                    tests=len(schedule),
                    sensitivity=sensitivity,
                )
        last = results.get(spans[-1].attempt) if spans else None
        is_open = last is not None and last.match is None and bool(last.remaining)
        return _SearchState(results=results, traces=state.traces if is_open else {}, lags=dict(state.lags))

    def _is_many(self, earlier_attempts: int) -> bool:
        return earlier_attempts > self.thresholds.searched_attempts

    def _searched(self, earlier: list[AttemptRows]) -> list[AttemptRows]:
        """The earlier attempts in which a match is searched for: the first and the latest ones of many."""
        latest = self.thresholds.searched_of_many - 1
        return [earlier[0], *earlier[-latest:]] if self._is_many(len(earlier)) else earlier

    def _test(
        self,
        remaining: tuple[int, ...],
        channels: list[Series],
        attempt: int,
        points: int,
        past: list[ResidualTrace],
        *,
        tests: int,
        sensitivity: float,
    ) -> _ResumeTest:
        """The result after each number of points that is due; the first sure match is final."""
        while remaining and remaining[0] <= points:
            new = read_residual_trace(channels, attempt, self.thresholds.matching, points=remaining[0])
            if new is not None and past:
                match = find_match(new, past, self.thresholds.matching, tests=tests, sensitivity=sensitivity)
                if match is not None:
                    return _ResumeTest(match, remaining[0])
            remaining = remaining[1:]
        return _ResumeTest(remaining=remaining)

    def _test_schedule(self, past: list[ResidualTrace], earlier_attempts: int) -> tuple[int, ...]:
        """The numbers of points after which the match is tested."""
        limits = self.thresholds
        if self._is_many(earlier_attempts):
            return tuple(points for points in limits.test_points if points >= limits.fewest_points_of_many)
        if sum(trace.residual.shape[1] for trace in past) > limits.short_past_points:
            return limits.test_points
        return tuple(sorted(limits.test_points + limits.test_points_between))

    def _is_reportable(self, replay: StreamReplay, step: IntArray) -> bool:
        interval = int(np.median(np.diff(step[: self.thresholds.level_points])))
        return replay.first_unseen - int(step[0]) >= self.thresholds.fewest_intervals * interval

    def _finding(
        self,
        loss: Series,
        span: AttemptRows,
        result: _ResumeTest,
        replay: StreamReplay,
        lag: int,
        *,
        is_over: bool,
    ) -> Finding:
        match, points, step = result.match, result.points, loss.step[span.rows]
        assert match is not None
        first, last = int(step[0]), int(step[-1])
        source, until = first - lag, replay.first_unseen + lag - match.lag
        end = min(until - 1, last) if is_over or last >= until else None
        underreported = self._underreported(loss, span, until)
        wasted = min(until, last + 1) - first
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
            confidence=self._confidence(match),
            summary=_summary(match.attempt, source, first, end, until, underreported, wasted),
            advice=(
                f"Stop, restore the sampler's position with the checkpoint, and resume at step {first:,}. "
                f"The loss before step {until:,} is not comparable; expect it to jump up there."
            ),
            evidence={
                "lag": lag,
                "source_attempt": match.attempt,
                "source_step": source,
                "first_unseen_step": until,
                "expected_step": replay.first_unseen,
                "until_step": until - 1,
                "underreported": underreported,
                "correlation": match.correlation,
                "score": match.score,
                "points": points,
            },
        )

    def _confidence(self, match: DataMatch) -> float:
        limits = self.thresholds
        return float(min(limits.most_confidence, 1 - np.exp(-match.score / limits.confidence_scale)))

    def _underreported(self, loss: Series, span: AttemptRows, until: int) -> float:
        """By how much the loss reads too low: the jump when unseen data begins, or the drop since before."""
        count, fewest = self.thresholds.level_points, self.thresholds.fewest_intervals
        step, value = loss.step[span.rows], loss.value[span.rows]
        unseen = int(np.searchsorted(step, until))
        during, after = value[max(unseen - count, 0) : unseen], value[unseen : unseen + count]
        reference = (
            after if len(after) >= fewest else values_before(loss, span.attempt - 1, int(step[0]), count)
        )
        during, reference = during[np.isfinite(during)], reference[np.isfinite(reference)]
        return float(np.median(reference) - np.median(during)) if len(during) and len(reference) else 0.0


@dataclass(frozen=True)
class _ResumeTest:
    """The match after a resume and the number of points it took, or the numbers of points still to come after
    which it is tested again."""

    match: DataMatch | None = None
    points: int = 0
    remaining: tuple[int, ...] = ()

    def is_due(self, points: int) -> bool:
        return bool(self.remaining) and self.remaining[0] <= points


@dataclass(frozen=True)
class _SearchState:
    """The test results by attempt.

    `traces` of attempts that are over, and `lags` by attempt and number of points, are caches: what is not in
    them is computed again.
    """

    results: Mapping[int, _ResumeTest] = field(default_factory=dict)
    traces: dict[int, ResidualTrace | None] = field(default_factory=dict)
    lags: dict[tuple[int, int], int] = field(default_factory=dict)

    def past_traces(
        self, channels: list[Series], spans: Sequence[AttemptRows], thresholds: MatchThresholds
    ) -> list[ResidualTrace]:
        """The traces of attempts that are over, those that have one."""
        for span in spans:
            if span.attempt not in self.traces:
                self.traces[span.attempt] = read_residual_trace(channels, span.attempt, thresholds)
        traces = [self.traces[span.attempt] for span in spans]
        return [trace for trace in traces if trace is not None]

    def refined_lag(
        self,
        channels: list[Series],
        span: AttemptRows,
        result: _ResumeTest,
        until: int,
        thresholds: RepeatedDataThresholds,
        *,
        is_over: bool,
    ) -> int:
        """The lag of a replay in steps, from more points than it was detected with: from twice as many each
        time, and from all once unseen data begins."""
        assert result.match is not None
        step = channels[0].step[span.rows]
        points = int(np.searchsorted(step, until))
        if points == len(step) and not is_over:
            points = 1 << points.bit_length() - 1
        points = max(result.points, min(points, thresholds.refined_points))
        if (span.attempt, points) not in self.lags:
            new = read_residual_trace(channels, span.attempt, thresholds.matching, points=points)
            old = read_residual_trace(channels, result.match.attempt, thresholds.matching)
            lag = result.match.lag
            if new is not None and old is not None:
                lag = refine_lag(new, old, lag, thresholds.matching)
            self.lags[span.attempt, points] = lag
        return self.lags[span.attempt, points]


def _channels(run: RunData) -> list[Series]:
    """The training loss, and the gradient norm if it is logged."""
    channels = []
    for role in (Role.LOSS, Role.GRAD_NORM):
        keys = [key for key in sorted(run.series) if role_of(key) is role and len(run.series[key])]
        of_run = [key for key in keys if key.rank is None]
        if not of_run and role is Role.LOSS:
            return []
        channels += [run.series[key] for key in of_run[:1]]
    return channels


@dataclass(frozen=True, kw_only=True)
class StreamReplay:
    """A replay: the new attempt's step s reads the stream where step `s - lag` of an earlier one read it."""

    lag: int
    first_unseen: int


@dataclass
class _DataStream:
    """The positions of the data stream that the model has seen.

    A segment is (attempt, first step, last step, offset): its step s read position `s - offset`. Only
    segments count whose steps the model still rests on: a rollback takes steps back.
    """

    segments: list[tuple[int, int, int, int]] = field(default_factory=list)
    offsets: dict[int, int] = field(default_factory=dict)

    def add_attempt(
        self, attempt: int, first: int, last: int, match: DataMatch | None
    ) -> StreamReplay | None:
        """Add an attempt; returns its replay, None where the stream continued or the match leaves it open."""
        # the segments are in the order of their steps and do not overlap: only the latest ones are taken back
        while self.segments and self.segments[-1][1] >= first:
            self.segments.pop()
        if self.segments:
            number, begin, end, latest_offset = self.segments[-1]
            self.segments[-1] = (number, begin, min(end, first - 1), latest_offset)
        remaining = len(self.segments)
        expected = self.segments[-1][3] if remaining else 0
        offset = expected if match is None else match.lag + self.offsets.get(match.attempt, 0)
        self.segments.append((attempt, first, last, offset))
        self.offsets[attempt] = offset
        if match is None or not remaining or offset <= expected:
            return None
        last_seen = max(end - segment_offset for _, _, end, segment_offset in self.segments[:remaining])
        if first - offset > last_seen:
            return None
        return StreamReplay(lag=match.lag, first_unseen=last_seen + 1 + offset)


def _summary(
    attempt: int, source: int, first: int, end: int | None, until: int, underreported: float, wasted: int
) -> str:
    data = f"data that attempt {attempt} saw from step {source:,} on"
    if end is None:
        repeats = (
            f"Since the resume at step {first:,} the run repeats {data}; unseen data "
            f"begins at step {until:,}."
        )
    else:
        repeats = f"From the resume at step {first:,} to step {end:,} the run repeated {data}."
    low = (
        f"The loss reads about {figure(underreported)} too low"
        if underreported > 0
        else "The loss reads too low"
    )
    lost = f"{counted(wasted, 'step')} {verb(wasted, 'is', 'are')} wasted"
    return f"{repeats} {low}, and {lost}."
