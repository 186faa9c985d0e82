"""Live findings, look by look, equal those of the finished log; a settled verdict never changes."""

from __future__ import annotations

import numpy as np
import pytest

from holter.detectors import IncrementalState
from holter.detectors.detector import DetectorContext
from holter.detectors.loss.spike import SpikeDetector
from holter.types import Finding, FloatArray, Kind, RunData
from tests.support.curves import run, series, until
from tests.support.loss_curves import curve, decay

POINTS = 1100


def slow_decay(rng: np.random.Generator) -> FloatArray:
    return decay(POINTS, int(rng.integers(150, 900)), rng.uniform(0.3, 3), rng.uniform(10, 200))


def ring(rng: np.random.Generator) -> FloatArray:
    start, period, lasting = int(rng.integers(150, 900)), rng.uniform(10, 80), rng.uniform(20, 200)
    elapsed = np.maximum(np.arange(POINTS) - start, 0)
    wave = np.cos(2 * np.pi * elapsed / period) * np.exp(-elapsed / lasting)
    return np.where(np.arange(POINTS) >= start, rng.uniform(0.5, 3) * wave, 0.0)


def half_recovery(rng: np.random.Generator) -> FloatArray:
    start, height = int(rng.integers(150, 900)), rng.uniform(0.5, 3)
    left = rng.uniform(0.02, 0.5) * height * (np.arange(POINTS) >= start)
    return decay(POINTS, start, height, rng.uniform(2, 60)) + left


def two_spikes(rng: np.random.Generator) -> FloatArray:
    first = int(rng.integers(150, 700))
    places = np.cumsum([first, *rng.integers(5, 150, 3)])
    total = np.zeros(POINTS)
    for place in places.tolist():
        total += decay(POINTS, place, rng.uniform(0.5, 3), rng.uniform(1, 20))
    return total


def curriculum(rng: np.random.Generator) -> FloatArray:
    starts = np.sort(rng.integers(150, 1000, 3))
    levels = np.concatenate(([0.0], np.cumsum(rng.uniform(-0.3, 0.5, 3))))
    return levels[np.searchsorted(starts, np.arange(POINTS), side="right")]


def drift(rng: np.random.Generator) -> FloatArray:
    start = int(rng.integers(150, 900))
    elapsed = np.clip(np.arange(POINTS) - start, 0, rng.uniform(100, 900))
    return elapsed * rng.uniform(0.0005, 0.01)


CURVES = {each.__name__: each for each in (slow_decay, ring, half_recovery, two_spikes, curriculum, drift)}


def random_run(name: str, seed: int) -> RunData:
    """A loss of this kind, in one attempt or with a restart, in rows of one, ten or irregular steps."""
    rng = np.random.default_rng(seed)
    loss = curve(POINTS, noise=float(rng.choice([0.005, 0.02, 0.08])), seed=seed) + CURVES[name](rng)
    step = np.cumsum(np.ones(POINTS, dtype=np.int64))
    if seed % 4 == 1:
        step = np.cumsum(rng.integers(5, 16, POINTS))
    elif seed % 4 == 2:
        step = 10 * step
    attempt = np.zeros(POINTS, dtype=np.int64)
    if seed % 3 == 0:
        restart, back = int(rng.integers(300, 1000)), int(rng.integers(0, 100))
        attempt[restart:] = 1
        step[restart:] -= step[restart] - step[restart - back]
    return run(series("loss", loss, step=step, attempt=attempt))


def by_identity(findings: list[Finding]) -> dict[tuple[int, int, int], Finding]:
    return {(each.attempt, each.start_step, each.detected_step): each for each in findings}


def look(data: RunData, state: IncrementalState) -> dict[tuple[int, int, int], Finding]:
    return by_identity(list(SpikeDetector().detect(data, DetectorContext(state=state))))


def verdict(finding: Finding) -> tuple[object, ...]:
    """What is final once the kind is; the kind of a bad resume is so before its end."""
    if finding.kind is Kind.RESUME_ARTIFACT:
        return finding.kind, finding.severity, finding.classified_step
    return (
        finding.kind,
        finding.severity,
        finding.classified_step,
        finding.end_step,
        finding.evidence["recovery_steps"],
    )


def assert_looks_equal(full_run: RunData, seed: int, *, looks: int = 10) -> int:
    """Compare each look with the finished log; returns the number of findings."""
    rng = np.random.default_rng(seed)
    (loss,) = full_run.series.values()
    state = IncrementalState()
    final = look(full_run, IncrementalState())
    for row in [*sorted(rng.choice(len(loss), looks, replace=False).tolist()), len(loss) - 1]:
        position = int(loss.attempt[row]), int(loss.step[row])
        seen = until(full_run, *position)
        live = look(seen, state)
        assert live == look(seen, IncrementalState())
        due = {who for who in final if (who[0], who[2]) <= position}
        assert set(live) == due
        for who, finding in live.items():
            known_at = finding.classified_step
            if known_at is not None:
                assert verdict(finding) == verdict(final[who]), (who, position)
            settled_at = final[who].classified_step
            if settled_at is not None and (who[0], settled_at) <= position:
                assert verdict(finding) == verdict(final[who]), (who, position)
    return len(final)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", CURVES)
def test_each_look_equals_the_finished_log(name: str, seed: int) -> None:
    assert_looks_equal(random_run(name, seed), seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", CURVES)
def test_each_look_equals_the_finished_log_on_many_curves(name: str) -> None:
    found = sum(assert_looks_equal(random_run(name, seed), seed, looks=12) for seed in range(4, 24))
    assert found > 5
