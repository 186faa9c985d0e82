"""The scan of an evaluation loss: each evaluation is compared with earlier ones that are part of no event.

An attempt continues with what was known at its first step. The level of an event that has lasted long enough
becomes the reference, so that a further rise is detected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from holter.detectors.evaluation.noise import EvaluationNoiseThresholds, measure_evaluation_noise
from holter.detectors.evaluation.outcome import EvaluationRise, RiseOutcomeThresholds, find_return
from holter.detectors.evaluation.rise_strength import EvaluationRiseThresholds, rise_evidence
from holter.detectors.thresholds import Thresholds
from holter.types import FloatArray, IntArray

_STORED_EVALUATIONS = 128
"""Latest evaluations that are stored: as many as the longest windows and the noise rest on."""
_FIRST_CHUNK, _LONGEST_CHUNK = 64, 4096
"""Evaluations that are scanned together, at first and at most."""
_NO_STEPS, _NO_VALUES = np.empty(0, dtype=np.int64), np.empty(0)

EvidenceWeight = Callable[[int, int], FloatArray]
"""The factor on the evidence at the evaluations from one index to another (exclusive)."""


@dataclass(frozen=True, kw_only=True)
class EvaluationScanThresholds(Thresholds):
    """How rises of an evaluation loss are detected and followed."""

    onset_share: float = 0.5
    """Share of the mean height of a rise that its first evaluation must have."""
    restart_evaluations: int = 2
    """Evaluations after a restart. A rise that begins within them belongs to the restart."""
    settled: int = 12
    """Evaluations, the later half no higher than the earlier one, after which a level is the new baseline."""
    strongest: float = 1e6
    """Strengths are limited to this, so that they stay finite."""
    noise: EvaluationNoiseThresholds = EvaluationNoiseThresholds()
    """How the noise of evaluations is measured."""
    rises: EvaluationRiseThresholds = EvaluationRiseThresholds()
    """How much evidence makes a rise."""
    outcome: RiseOutcomeThresholds = RiseOutcomeThresholds()
    """When a rise is over, a jump, a drift or settled."""


@dataclass(frozen=True, eq=False)
class EvaluationHistory:
    """The latest evaluations [n] that belong to no event, and how many there were in total."""

    step: IntArray = field(default_factory=lambda: _NO_STEPS)
    value: FloatArray = field(default_factory=lambda: _NO_VALUES)
    count: int = 0

    def before(self, step: int) -> EvaluationHistory:
        """The history before a step, from which an attempt continues the run."""
        stop = int(np.searchsorted(self.step, step))
        return EvaluationHistory(self.step[:stop], self.value[:stop], self.count - (len(self.step) - stop))

    def extended(self, step: IntArray, value: FloatArray) -> EvaluationHistory:
        """The history with further evaluations [n]."""
        return EvaluationHistory(
            np.concatenate((self.step, step))[-_STORED_EVALUATIONS:],
            np.concatenate((self.value, value))[-_STORED_EVALUATIONS:],
            self.count + len(step),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class EvaluationScanState:
    """The state of a scan before evaluation `index` of an attempt, with the rises detected so far.

    `is_final`: further evaluations do not change this state.
    """

    attempt: int
    history: EvaluationHistory
    rises: tuple[EvaluationRise, ...] = ()
    index: int = 0
    chunk: int = _FIRST_CHUNK
    after_restart: bool = False
    is_final: bool = True

    def next_attempt(self, attempt: int, step: int) -> EvaluationScanState:
        """The state at the beginning of another attempt, which continues the run at a step."""
        return EvaluationScanState(
            attempt=attempt,
            history=self.history.before(step),
            rises=self.rises,
            after_restart=self.attempt >= 0,
        )


def scan_evaluations(
    state: EvaluationScanState,
    step: IntArray,
    value: FloatArray,
    weight: EvidenceWeight,
    thresholds: EvaluationScanThresholds,
) -> Iterator[EvaluationScanState]:
    """The states of the scan of an attempt's evaluations [n], all of them finite, chunk by chunk."""
    while state.index < len(step):
        stop = min(state.index + state.chunk, len(step))
        rise = _first_rise(step, value, state, stop, weight, thresholds)
        if rise is not None:
            state = _state_after(rise, step, value, state, thresholds)
        else:
            state = replace(
                state,
                index=stop,
                history=state.history.extended(step[state.index : stop], value[state.index : stop]),
                chunk=min(2 * state.chunk, _LONGEST_CHUNK),
                is_final=stop == state.index + state.chunk,
            )
        yield state


def _first_rise(
    step: IntArray,
    value: FloatArray,
    state: EvaluationScanState,
    stop: int,
    weight: EvidenceWeight,
    thresholds: EvaluationScanThresholds,
) -> EvaluationRise | None:
    """The first rise among the evaluations of a chunk."""
    history = state.history
    steps = np.concatenate((history.step, step[state.index : stop]))
    values = np.concatenate((history.value, value[state.index : stop]))
    known = len(history.step)
    noise = measure_evaluation_noise(steps.astype(np.float64), values, thresholds.noise)
    strength, width = np.zeros(len(steps) - known), np.zeros(len(steps) - known, dtype=np.int64)
    evidence = rise_evidence(values, noise, known, history.count - known, thresholds.rises, thresholds.noise)
    for points, candidate in evidence:
        better = candidate > strength
        strength[better], width[better] = candidate[better], np.broadcast_to(points, len(width))[better]
    strength *= weight(state.index, stop)
    alarms = np.flatnonzero(strength >= 1)
    if not len(alarms):
        return None
    first = int(alarms[0])
    points = int(width[first])
    begin = max(known + first - points + 1, known)
    level = values[max(begin - thresholds.outcome.drift, 0) : begin]
    baseline = float(np.mean(level)) if len(level) else float(values[begin])
    # the onset is the first evaluation that stands out by half of what they do on average
    high = values[begin : known + first + 1] - baseline
    start = state.index + begin + int(np.argmax(high >= thresholds.onset_share * np.mean(high))) - known
    before = max(begin - 1, 0)
    return EvaluationRise(
        attempt=state.attempt,
        start=start,
        detected=state.index + first,
        width=points,
        baseline=baseline,
        sigma=float(noise.sigma[before]),
        known=int(noise.known[before]),
        strength=min(float(strength[first]), thresholds.strongest),
        at_restart=state.after_restart and start < thresholds.restart_evaluations,
    )


def _state_after(
    rise: EvaluationRise,
    step: IntArray,
    value: FloatArray,
    state: EvaluationScanState,
    thresholds: EvaluationScanThresholds,
) -> EvaluationScanState:
    """The state after a rise that is back or has settled; at the last evaluation while it is neither."""
    rises = (*state.rises, rise)
    before = state.history.extended(step[state.index : rise.start], value[state.index : rise.start])
    back, settled = find_return(rise, value, thresholds.outcome), _settled_index(rise, value, thresholds)
    if back is not None and (settled is None or back + 2 <= settled):
        history = before.extended(step[back : back + 2], value[back : back + 2])
        index = back + 2
    elif settled is not None:
        points = slice(settled - thresholds.settled, settled)
        level = EvaluationHistory().extended(step[points], value[points])
        history, index = replace(level, count=before.count + thresholds.settled), settled
    else:
        return replace(state, index=len(step), history=before, rises=rises, is_final=False)
    return replace(state, index=index, history=history, chunk=_FIRST_CHUNK, rises=rises, is_final=True)


def _settled_index(
    rise: EvaluationRise, value: FloatArray, thresholds: EvaluationScanThresholds
) -> int | None:
    """The evaluation from which on other rises may begin, since this one stays at one level; None while it
    does not."""
    settled = thresholds.settled
    since = value[rise.start :]
    if len(since) < settled:
        return None
    total = np.concatenate(([0.0], np.cumsum(since - since[0])))
    half = settled // 2
    ends = np.arange(max(settled, rise.detected - rise.start + 1), len(total))
    later = total[ends] - total[ends - half]
    earlier = total[ends - half] - total[ends - settled]
    flat = np.flatnonzero(later - earlier <= half * rise.sigma)
    return rise.start + int(ends[flat[0]]) if len(flat) else None
