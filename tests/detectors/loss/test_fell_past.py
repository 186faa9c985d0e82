"""A loss that settles higher and falls on from there reaches its old level some day: it has not recovered."""

from __future__ import annotations

import numpy as np
import pytest

from holter.detectors.detector import DetectorContext
from holter.detectors.loss.spike import SpikeDetector
from holter.types import Finding, FloatArray
from tests.support.curves import run, series

N, AT, SIGMA = 6000, 2500, 0.02


def falling(seed: int) -> FloatArray:
    """A loss that falls by a power law, with noise."""
    step = np.arange(N)
    noise = SIGMA * np.random.default_rng(seed).standard_normal(N)
    return np.asarray(2.0 + 4.0 / (1 + step / 60) ** 0.4 + noise)


def found(extra: FloatArray, seed: int, *, upto: int = N) -> Finding:
    loss = (falling(seed) + extra)[:upto]
    findings = SpikeDetector().detect(run(series("loss", loss)), DetectorContext())
    (finding,) = [each for each in findings if each.severity != "info"]
    return finding


@pytest.mark.parametrize("seed", [0, 4])
def test_a_step_up_is_not_back_when_the_loss_has_fallen_as_far(seed: int) -> None:
    step = 0.14 * (np.arange(N) >= AT)
    finding = found(step, seed)
    assert (finding.kind, abs(finding.start_step - AT) < 10) == ("spike_unrecovered", True)
    if finding.end_step is not None:
        assert "settled higher and fell on from there" in finding.summary
        assert finding.evidence["recovery_steps"] == finding.end_step - finding.start_step
        before = found(step, seed, upto=finding.end_step)
        assert (before.kind, before.start_step) == (finding.kind, finding.start_step)


@pytest.mark.parametrize("decay", [200, 400])
def test_a_rise_that_decays_is_back(decay: int) -> None:
    for seed in range(4):
        after = np.arange(N) - AT
        spike = np.where(after < 0, 0.0, 0.8 * np.exp(-after.clip(0) / decay))
        assert found(spike, seed).kind == "spike_slow"
