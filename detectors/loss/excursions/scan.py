"""The scan of a series for excursions: one pass in the order in which the points were logged.

Points that belong to no excursion form the history that later points are compared with. While an excursion
lasts, the level and noise from before it are retained. An attempt that rolls back continues with the history
as it was at its first step.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from itertools import accumulate

import numpy as np

from holter.detectors.loss.excursions.alarm_strength import (
    OUTLIER,
    ExcursionAlarm,
    above_latest,
    first_jumps,
    first_points,
    is_rise_of_level,
    of_means,
    single_points,
    surprise_sums,
    window_means,
)
from holter.detectors.loss.excursions.baseline import (
    LossHistory,
    LossNoise,
    MeasuredNoise,
)
from holter.detectors.loss.excursions.evidence_factor import NO_FACTOR, EvidenceFactor
from holter.detectors.loss.excursions.excursion import Excursion
from holter.detectors.loss.excursions.gradient_evidence import (
    evidence_with_gradient,
    since_restart_with_gradient,
)
from holter.detectors.loss.excursions.periodic_jumps import count_equal_jumps
from holter.detectors.loss.excursions.recovery import untracked_recovery
from holter.detectors.loss.excursions.repeated_steps import RepeatedSteps
from holter.detectors.loss.excursions.restart_level import RestartEvidence, RestartLevel
from holter.detectors.loss.excursions.rise_speed import half_peak_index, is_slow_rise
from holter.detectors.loss.excursions.scan_state import ExcursionScanState, mismatched_so_far
from holter.detectors.loss.excursions.scan_thresholds import ExcursionThresholds
from holter.detectors.loss.excursions.segment import AttemptSegment
from holter.detectors.loss.excursions.usual_rises import UsualRiseMeter
from holter.types import FloatArray, IntArray

_AT_RESTART = 0
"""In place of the width of an alarm: the evidence compares with the level before the restart."""
_SECOND = 1
"""The point of a restart up to which nothing is detected: it shows whether the program was started anew."""
_REPEATED = -2
"""In place of the width of evidence: it compares with the same steps before the restart."""


def scan_excursions(
    segments: list[AttemptSegment],
    thresholds: ExcursionThresholds,
    *,
    mismatched: Collection[int] = (),
    factor: EvidenceFactor = NO_FACTOR,
    since: ExcursionScanState | None = None,
    save: Callable[[ExcursionScanState], None] | None = None,
) -> list[Excursion]:
    """Every excursion of a series, attempt by attempt.

    `mismatched` attempts began with another learning rate. `since` is the state to continue from; `save`
    receives every state from which a later scan might continue.
    """
    excursions = [] if since is None else _updated_excursions(segments, since, thresholds)
    snapshots: dict[int, LossHistory] = {}
    first_steps = [int(segment.step[0]) for segment in segments]
    earliest = list(accumulate(first_steps, min))
    beginnings = sorted(zip(first_steps, range(len(segments)), strict=True))
    begun = mismatched_so_far(segments, mismatched)
    latest = LossHistory.empty(thresholds.baseline)
    for number in range(0 if since is None else since.number, len(segments)):
        segment = segments[number]
        is_first = first_steps[number] <= earliest[number]
        if not is_first and len(segment.step) < 2:
            continue  # the second point shows whether the program was started anew
        within = beginnings[
            bisect_right(beginnings, (first_steps[number], len(segments))) : bisect_right(
                beginnings, (int(segment.step[-1]), len(segments))
            )
        ]
        later_steps = sorted({step for step, later in within if later > number})
        scan = _SegmentScan(segment, excursions, factor, thresholds, later_steps)
        if since is not None and number == since.number:
            scan.restore(since)
        else:
            # nothing of the run lies before the first step of a program that was started anew
            is_fresh = is_first or segment.begins_at_zero
            fresh = LossHistory.empty(thresholds.baseline)
            history = fresh if is_fresh else snapshots.get(first_steps[number], latest)
            restart = None
            if not is_fresh:
                restart = RestartLevel(
                    thresholds=thresholds.restart,
                    history=history,
                    rate_mismatch=segment.attempt in mismatched,
                    repeated=RepeatedSteps.between(
                        segments[number - 1], segment, thresholds.restart.repeated
                    ),
                )
            scan.begin(history, restart)
            if save is not None:  # attempts before this one have ended
                save(scan.state(number, 0, begun[number]))
        for index in scan.run():
            if save is not None:
                save(scan.state(number, index, begun[number]))
        snapshots.update(scan.snapshots)
        latest = scan.history
    return excursions


def _updated_excursions(
    segments: list[AttemptSegment], since: ExcursionScanState, thresholds: ExcursionThresholds
) -> list[Excursion]:
    by_attempt = {segment.attempt: segment for segment in segments}
    return [
        excursion.updated(by_attempt[excursion.attempt], thresholds.recovery)
        for excursion in since.excursions[: since.count]
    ]


class _SegmentScan:
    """The scan of one segment: it maintains the history and saves copies at the steps where others begin."""

    def __init__(
        self,
        segment: AttemptSegment,
        excursions: list[Excursion],
        factor: EvidenceFactor,
        thresholds: ExcursionThresholds,
        later_steps: list[int],
    ) -> None:
        self.segment = segment
        self.excursions = excursions
        self.factor = factor
        self.thresholds = thresholds
        self.snapshot_steps = {int(np.searchsorted(segment.step, step)): step for step in later_steps}
        self.snapshots: dict[int, LossHistory] = {}
        self.usual = UsualRiseMeter(segment.value, thresholds.usual_rises)

    def begin(self, history: LossHistory, restart: RestartLevel | None) -> None:
        """Start at the first point, with what is known there."""
        self.index = 0
        self.history = history
        self.restart = restart
        self.is_low = False
        self.current: int | None = None
        self.first_onset = 0

    def restore(self, since: ExcursionScanState) -> None:
        """Start where another scan of the same segment was."""
        self.index = since.index
        self.history = since.history
        self.restart = since.restart
        self.is_low = since.is_low
        self.current = since.current
        self.first_onset = since.first_onset

    def state(self, number: int, index: int, mismatched: frozenset[int]) -> ExcursionScanState:
        return ExcursionScanState(
            number=number,
            index=index,
            history=self.history,
            restart=self.restart,
            is_low=self.is_low,
            current=self.current,
            first_onset=self.first_onset,
            excursions=self.excursions,
            count=len(self.excursions),
            mismatched=mismatched,
        )

    def run(self) -> Iterator[int]:
        """Scan chunk by chunk; yields each index before which nothing can change any more."""
        index, end = self.index, len(self.segment.step)
        while index < end:
            spacing, is_complete = self._chunk_spacing(index, end)
            stop = index + len(spacing)
            varying = self._varies_from(index, stop)
            if varying is not None:
                index = self.first_onset = varying
                self.history, self.restart = LossHistory.empty(self.thresholds.baseline), None
                yield index
                continue
            measured = self._measured_noise(int(spacing[0]))
            noise = measured.noise
            values = self.segment.value[index:stop]
            medians = self.history.running_medians(values)
            since_restart = None
            if noise is not None:
                since_restart = self._restart_evidence(index, stop, noise)
                if since_restart is not None and not self.is_low:
                    self._detect_low_restart(index, since_restart.down, noise)
            if noise is None:
                noise, alarm = self._first_alarm(index, values)
            else:
                alarm = self._alarm(index, values, medians, noise, since_restart)
            jump = self._first_jump(index, values)
            if jump is not None and (alarm is None or jump[1].index <= alarm.index):
                noise, alarm = jump
            self._snapshot(index, stop if alarm is None else alarm.index, values, medians, measured)
            if alarm is None:
                extended = self.history.extend(values, medians, spacing, measured.noise)
                self.history = replace(extended, measured=measured)
                index = stop
            else:
                assert noise is not None
                excursion = self._open(index, alarm, values, medians, noise)
                if not self._is_part_of_current(excursion):
                    self.current = len(self.excursions)
                    self.excursions.append(excursion)
                index = self._close(excursion)
                is_complete = index < end
            if is_complete:
                yield index

    def _varies_from(self, index: int, stop: int) -> int | None:
        """The first point of a chunk that differs from all before, which were the same: a term of the loss
        that is switched on, or a program that began to learn. Nothing before it tells of the noise."""
        if not self.history.is_constant:
            return None
        differs = self.segment.value[index:stop] != self.history.value[-1]
        return index + int(np.argmax(differs)) if differs.any() else None

    def _is_part_of_current(self, excursion: Excursion) -> bool:
        """Whether an excursion belongs to the current one, which is not back.

        It does if it rises by less than half of what that one rose, if that one is a drift that has not
        settled yet, or if that one is a drift and this one is no higher.
        """
        if self.current is None:
            return False
        earlier = self.excursions[self.current]
        confirmed = earlier.recovery.confirmed
        if confirmed is not None and earlier.start + confirmed <= excursion.detected:
            return False
        values = self.segment.value
        highest = float(values[earlier.start : excursion.start].max(initial=earlier.baseline))
        now = float(values[excursion.start : excursion.detected + 1].mean())
        height = highest - earlier.baseline
        limits = self.thresholds.recovery
        if excursion.width < limits.drift_points and now - highest >= limits.larger_rise * height:
            return False
        if earlier.width >= limits.drift_points and now < highest:
            return True
        if not earlier.recovery.settled and self._is_drift(earlier, excursion.detected):
            return True
        share = self.thresholds.scan.continued_share
        return now - excursion.baseline < share * height

    def _is_drift(self, excursion: Excursion, stop: int) -> bool:
        """Whether an excursion rose slowly, as far as the points before `stop` show."""
        limits = self.thresholds.recovery
        if excursion.width >= limits.drift_points:
            return True
        step = self.segment.clock_from(excursion.start)[: stop - excursion.start]
        excess = self.segment.value[excursion.start : stop] - excursion.baseline
        return is_slow_rise(step, limits, half_peak=half_peak_index(step, excess, limits))

    def _chunk_spacing(self, index: int, end: int) -> tuple[IntArray, bool]:
        """The spacing of the points of the chunk that begins at `index`, and whether more points would not
        change which they are.

        Within a chunk the noise is constant, and the spacing is constant or grows.
        """
        _, grid = self._noise_grid()
        grid_end = index + grid - self.history.count % grid
        stop = min(grid_end, end)
        spacing = self.segment.spacing(index, stop)
        same = self.thresholds.baseline.same_spacing
        finer = np.flatnonzero(spacing[1:] * same < spacing[:-1])
        if len(finer):
            finer = finer[spacing[1:][finer] * same < self.history.finest_spacing()]
        return (spacing[: 1 + int(finer[0])], True) if len(finer) else (spacing, stop == grid_end)

    def _noise_grid(self) -> tuple[int, int]:
        """The numbers of points after which the noise is measured anew, and examined for growth."""
        count, grid = self.history.count, self.thresholds.scan.noise_grid
        return next((points, growth) for limit, points, growth in grid if count < limit)

    def _measured_noise(self, spacing: int) -> MeasuredNoise:
        """The noise as it was last measured, or larger where it has grown since."""
        count, (points, growth) = self.history.count, self._noise_grid()
        known = self.history.recent_noise(spacing, count - count % points)
        if known.noise is None or known.count >= count - count % growth:
            return known
        if not self.history.has_noise_above(self.thresholds.scan.noise_growth * known.noise.sigma, spacing):
            return known
        return MeasuredNoise(self.history.noise(spacing), spacing, known.count)

    def _snapshot(
        self, index: int, stop: int, values: FloatArray, medians: FloatArray, measured: MeasuredNoise
    ) -> None:
        """Save the history at the steps within a chunk at which other attempts begin."""
        for position, step in self.snapshot_steps.items():
            if index <= position < stop:
                count = position - index
                spacing = self.segment.spacing(index, position)
                known = self.history.extend(values[:count], medians[:count], spacing, measured.noise)
                self.snapshots[step] = replace(known, measured=measured)

    def _alarm(
        self,
        index: int,
        values: FloatArray,
        medians: FloatArray,
        noise: LossNoise,
        since_restart: RestartEvidence | None,
    ) -> ExcursionAlarm | None:
        """The first alarm among the points of a chunk, by the statistic that is strongest there."""
        limits, gradient = self.thresholds.alarms, self.factor.gradient
        inputs = (self.history, values, medians, noise, limits)
        least = 1 / self.factor.most  # weaker evidence alarms at no point
        least_of_mean = least if gradient is None else min(least, limits.least_with_gradient)
        rises = window_means(*inputs, lambda points: self.usual.before(index - points), least_of_mean)
        least_of_sum = least if gradient is None else min(least, limits.both_least_sum)
        sums = list(surprise_sums(*inputs, least_of_sum))
        evidence = [*sums, *of_means(rises, noise, limits), *single_points(*inputs, least)]
        no_limit = np.full(len(values), np.inf)
        restart_with_gradient = None
        if since_restart is not None and gradient is not None:
            restart_with_gradient = since_restart_with_gradient(gradient, self.segment, index, since_restart)
        if since_restart is not None and (
            restart_with_gradient is not None or since_restart.up.max() >= least
        ):
            evidence.insert(0, (_AT_RESTART, since_restart.up, no_limit))
        repeated = self._repeated_strength(index, index + len(values), noise)
        if repeated is not None and repeated.max() >= least:
            evidence.insert(0, (_REPEATED, repeated, no_limit))
        if not evidence:
            return None
        candidates = np.minimum([each for _, each, _ in evidence], [most for _, _, most in evidence])
        candidates *= self.factor.deciding(self.segment, index, candidates.max(axis=0))
        certain = np.flatnonzero(candidates.max(axis=0) >= 1)
        upto = int(certain[0]) + 1 if len(certain) else len(values)
        # within an event both move, and a weak rise is a part of it
        over = 0 if self.current is None else self.excursions[self.current].over_from(self.segment)
        places = slice(min(max(over - index, 0), upto), upto)
        both = evidence_with_gradient(gradient, self.segment, index, places, sums, rises, noise, limits)
        if restart_with_gradient is not None:
            both.append((_AT_RESTART, restart_with_gradient, no_limit))
        if not both and not len(certain):
            return None
        evidence += both
        candidates = np.vstack((candidates, *(np.minimum(each, most) for _, each, most in both)))
        widths = np.array([points for points, _, _ in evidence])
        # an outlier is what no other statistic explains
        of_others = candidates[widths != OUTLIER].max(axis=0)
        candidates[(widths == OUTLIER)[:, None] & (of_others >= 1)] = 0.0
        strongest = self._strongest(candidates, widths, values, medians, noise)
        if strongest is None:
            return None
        row, first = strongest
        points = int(widths[row])
        return ExcursionAlarm(
            index=index + first,
            width={OUTLIER: 1, _REPEATED: _AT_RESTART}.get(points, points),
            strength=min(float(candidates[row, first]), self.thresholds.scan.strongest),
            explained=points == OUTLIER,
            repeated=points == _REPEATED,
        )

    def _strongest(
        self,
        candidates: FloatArray,
        widths: IntArray,
        values: FloatArray,
        medians: FloatArray,
        noise: LossNoise,
    ) -> tuple[int, int] | None:
        """Which of some evidence [statistics, n] is strongest at the first point with an alarm, and that
        point; a mean that is higher than its reference, but not than the level, raises none."""
        limits = self.thresholds.alarms
        while True:
            alarms = np.flatnonzero(candidates.max(axis=0) >= 1)
            if not len(alarms):
                return None
            first = int(alarms[0])
            row, upto = int(np.argmax(candidates[:, first])), first + 1
            points = int(widths[row])
            if points < limits.mean_windows[0][0] or is_rise_of_level(
                self.history, values[:upto], medians[:upto], noise, points, limits
            ):
                return row, first
            candidates[row, first] = 0.0

    def _first_alarm(self, index: int, values: FloatArray) -> tuple[LossNoise | None, ExcursionAlarm | None]:
        """The first alarm among the points of a chunk before whose noise too few are known to measure it."""
        noise = self.history.noise_of_few()
        if noise is None:
            return None, None
        strength = first_points(self.history, values, self.thresholds.alarms)
        first = int(np.argmax(strength >= 1))
        if strength[first] < 1:
            return None, None
        strongest = min(float(strength[first]), self.thresholds.scan.strongest)
        return noise, ExcursionAlarm(index=index + first, width=2, strength=strongest)

    def _first_jump(self, index: int, values: FloatArray) -> tuple[LossNoise, ExcursionAlarm] | None:
        """The first jump among the points of a chunk of a young series, and the noise to compare it with."""
        history, limits = self.history, self.thresholds.alarms
        if not history.knows_changes(len(values)):
            return None
        above = above_latest(history, values, limits)
        if not self.factor.can_alarm(first_jumps(above, history.least_usual_change(len(values)), limits)):
            return None
        usual = history.usual_changes(values)
        strength = first_jumps(above, usual, limits)
        if not self.factor.can_alarm(strength):
            return None
        strength *= self.factor.at(self.segment, index, index + len(values))
        first = int(np.argmax(strength >= 1))
        if strength[first] < 1:
            return None
        strongest = min(float(strength[first]), self.thresholds.scan.strongest)
        noise = self.history.noise_of_changes(float(usual[first]))
        return noise, ExcursionAlarm(index=index + first, width=1, strength=strongest)

    def _restart_evidence(self, index: int, stop: int, noise: LossNoise) -> RestartEvidence | None:
        """The evidence at the points of a chunk that the restart moved the loss; None where there is none."""
        if self.restart is None or index >= self.restart.points_examined:
            return None
        least = min(1 / self.factor.most, 1.0)
        evidence = self.restart.evidence(self.segment.value[:stop], noise, least)
        return None if evidence is None else evidence.since(index)

    def _repeated_strength(self, index: int, stop: int, noise: LossNoise) -> FloatArray | None:
        """The strength of evidence at the points of a chunk that the loss is higher than at the same steps
        before the restart; None where no step is repeated."""
        repeated = None if self.restart is None else self.restart.repeated
        if repeated is None or self.segment.step[index] > repeated.step[-1]:
            return None
        return repeated.strength(self.segment.step[:stop], self.segment.value[:stop], noise)[index:]

    def _detect_low_restart(self, index: int, strength: FloatArray, noise: LossNoise) -> None:
        """Append an excursion for a restart after which the loss is lower than it should be.

        The scan does not wait for its end: its points become history, the level that later rises are
        compared with.
        """
        assert self.restart is not None
        if not (strength >= 1).any():
            return
        self.is_low = True
        detected = max(index + int(np.argmax(strength >= 1)), _SECOND)
        level = self.restart.history.clipped[-self.thresholds.scan.level_points :]
        excursion = Excursion(
            attempt=self.segment.attempt,
            start=0,
            detected=detected,
            width=detected + 1,
            baseline=float(np.mean(level)),
            noise=noise,
            strength=min(float(strength.max()), self.thresholds.scan.strongest),
            at_restart=True,
            down=True,
            recovery=untracked_recovery(len(self.segment.step)),
        )
        self.excursions.append(excursion)

    def _open(
        self, index: int, alarm: ExcursionAlarm, values: FloatArray, medians: FloatArray, noise: LossNoise
    ) -> Excursion:
        """The excursion behind an alarm; the history is cut at its start."""
        count = alarm.index - index
        self.history = self.history.extend(
            values[:count], medians[:count], self.segment.spacing(index, alarm.index), noise
        )
        start = self._onset(alarm, noise)
        limits = self.thresholds.restart
        mismatch = self.restart is not None and self.restart.rate_mismatch
        near = limits.mismatch_points if mismatch else limits.first_points
        at_restart = self.restart is not None and start < near and not alarm.explained
        if at_restart:
            start = 0
        self.history = self.history.without_last(alarm.index - start)
        known_before, self.restart = self.restart, self.restart if alarm.explained else None
        baseline = self._level(alarm, noise) if len(self.history.clipped) else float(values[0])
        if baseline >= values[count]:  # the loss fell faster than the mean of so many points
            baseline = min(baseline, float(medians[count]))
        if alarm.repeated and known_before is not None and known_before.repeated is not None:
            baseline = known_before.repeated.level(self.segment.step[: alarm.index + 1])
        excursion = Excursion(
            attempt=self.segment.attempt,
            start=start,
            detected=alarm.index if known_before is None else max(alarm.index, _SECOND),
            width=alarm.width,
            baseline=baseline,
            noise=noise,
            strength=alarm.strength,
            evidence_factor=float(self.factor.at(self.segment, alarm.index, alarm.index + 1)[0]),
            at_restart=at_restart,
            explained=alarm.explained,
            progress=max(float(np.nan_to_num(self.history.first_level - baseline)), 0.0),
            known=self.history.count,
            jumps=count_equal_jumps(self.segment.value[: alarm.index + 1], start, self.thresholds.jumps),
            fall=self.history.fall(noise).per(self.segment.unit),
            recovery=untracked_recovery(0),
        )
        return excursion.updated(self.segment, self.thresholds.recovery)

    def _level(self, alarm: ExcursionAlarm, noise: LossNoise) -> float:
        """The level before an excursion; before a slow rise the lowest of the recent levels."""
        limits = self.thresholds.scan
        points = limits.level_points
        level = float(np.mean(self.history.clipped[-points:]))
        latest = self.history.clipped[-limits.recent_points :]
        error = noise.error(len(latest)) / float(np.sqrt(len(latest)))
        if float(np.mean(latest)) + limits.recent_errors * error < level:
            level = float(np.mean(latest))
        recent = self.history.clipped[-limits.look_back_points :]
        if alarm.width < limits.slow_points or len(recent) < points:
            return level
        total = np.concatenate(([0.0], np.cumsum(recent)))
        return min(level, float(np.min(total[points:] - total[:-points])) / points)

    def _onset(self, alarm: ExcursionAlarm, noise: LossNoise) -> int:
        """The point at which an excursion began.

        Of the points up to the alarm, the run of points that stands out most begins where it is half as high
        as it is on average. The onset is late rather than early, and never before this attempt.
        """
        if alarm.width == _AT_RESTART:
            return 0
        limits = self.thresholds.scan
        first = max(alarm.index - max(alarm.width, limits.onset_points) + 1, self.first_onset)
        window = self.segment.value[first : alarm.index + 1]
        before = self.history.without_last(alarm.index - first).clipped[-limits.level_points :]
        level = float(np.mean(before)) if len(before) else float(window[0])
        unclipped = window - level
        excess = np.minimum(unclipped, limits.onset_clip_sigmas * noise.sigma)
        count = np.arange(len(window), 0, -1)
        suffix_mean = np.cumsum(excess[::-1])[::-1] / count
        start = int(np.argmax(suffix_mean * np.sqrt(count)))
        start = self._jump_within(unclipped, start, noise)
        # means of a few points, of fewer at the end, and of single points that stand out by themselves
        total = np.concatenate(([0.0], np.cumsum(excess[start:])))
        firsts = np.arange(len(total) - 1)
        ends = np.minimum(firsts + limits.onset_mean_points, len(total) - 1)
        mean = (total[ends] - total[:-1]) / (ends - firsts)
        high = mean >= max(limits.onset_share * suffix_mean[start], noise.sigma)
        high &= excess[start:] > limits.onset_point_sigmas * noise.sigma
        onset = first + start + (int(np.argmax(high)) if high.any() else 0)
        # a precursor dates the event: what rose before it was noise, unless it stands out by itself
        factor = self.factor.at(self.segment, onset, alarm.index + 1)
        raised = onset + int(np.argmax(factor > factor[0]))
        own = onset - first
        outlier = unclipped[own : raised - first] > self.thresholds.recovery.first_point_sigmas * noise.sigma
        return onset if outlier.any() else raised

    def _jump_within(self, excess: FloatArray, start: int, noise: LossNoise) -> int:
        """The point from `start` on at which all points jump far beyond those between the two."""
        limits = self.thresholds.scan
        # the least of each point and all after it
        floor = np.minimum.accumulate(excess[::-1])[::-1]
        high = np.flatnonzero(floor[start + 1 :] > limits.onset_clip_sigmas * noise.sigma)
        if not len(high):
            return start
        jump = start + 1 + int(high[0])
        before = max(float(np.mean(excess[start:jump])), noise.sigma)
        return jump if floor[jump] > limits.onset_jump * before else start

    def _close(self, excursion: Excursion) -> int:
        """Continue after the excursion: the points it came back with, or settled at, become the history."""
        recovery = excursion.recovery
        stop = excursion.start + recovery.next_scan
        for position, step in self.snapshot_steps.items():
            if excursion.detected < position < stop:
                # an attempt that rolls back into an excursion continues at the level it had there
                first = max(position - self.thresholds.scan.look_back_points, excursion.start)
                self.snapshots[step] = self._history_with(
                    self._empty_history(), first, position, excursion.noise
                )
        level_start = excursion.start + recovery.level_start
        # a return that is certain stays one: what comes later is another excursion
        self.first_onset = level_start
        is_back = recovery.back is not None and recovery.back == recovery.level_start
        is_larger = recovery.level_start == recovery.next_scan and stop < len(self.segment.step)
        before = self.history if is_back or is_larger else self._empty_history()
        self.history = self._history_with(before, level_start, stop, excursion.noise)
        return stop

    def _empty_history(self) -> LossHistory:
        return LossHistory.empty(self.thresholds.baseline, self.history.first_level)

    def _history_with(self, history: LossHistory, first: int, stop: int, noise: LossNoise) -> LossHistory:
        values = self.segment.value[first:stop]
        medians = history.running_medians(values)
        return history.extend(values, medians, self.segment.spacing(first, stop), noise)
