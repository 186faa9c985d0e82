"""A loss that jumped and comes down too slowly to be back in time has settled, before it is old."""

from __future__ import annotations

import numpy as np
import pytest

from holter.detectors.detector import DetectorContext
from holter.detectors.loss.spike import SpikeDetector
from holter.types import Finding, FloatArray
from tests.support.curves import run, series

ROWS, AT = 700, 500


def jumped(after: FloatArray, seed: int) -> FloatArray:
    """A loss that falls to .11, and is as many times as high as `after` gives from its jump on."""
    random = np.random.default_rng(seed)
    level = 0.1 + 1.4 * (1 + np.arange(AT + len(after)) / 5) ** -0.9
    level[AT:] *= after
    return np.asarray(level * np.exp(0.1 * random.standard_normal(len(level))))


def only_finding(**losses: FloatArray) -> Finding:
    curves = run(*(series(name.replace("__", "/"), loss) for name, loss in losses.items()))
    (finding,) = SpikeDetector().detect(curves, DetectorContext())
    return finding


@pytest.mark.parametrize("seed", range(3101, 3105))
def test_a_jump_to_six_times_the_level_that_stays_there_is_no_slow_spike(seed: int) -> None:
    finding = only_finding(loss=jumped(np.full(200, 6.0), seed))
    assert (finding.kind, finding.severity, finding.start_step) == ("spike_unrecovered", "warning", AT)
    assert finding.classified_step is None, "it may still come back"


@pytest.mark.parametrize("seed", range(3101, 3105))
def test_a_jump_that_decays_as_a_slow_spike_does_is_one(seed: int) -> None:
    finding = only_finding(loss=jumped(1 + 5 * np.exp(-np.arange(200) / 100), seed))
    assert (finding.kind, finding.severity) == ("spike_slow", "warning")


def test_a_jump_that_stayed_and_is_back_at_last_is_a_slow_spike() -> None:
    after = np.where(np.arange(400) < 200, 6.0, 1.0)
    finding = only_finding(loss=jumped(after, 3101))
    assert (finding.kind, finding.end_step) == ("spike_slow", AT + 200)


def test_a_jump_of_the_total_and_of_a_term_is_named_by_the_total() -> None:
    loss = jumped(np.full(200, 6.0), 3102)
    assert only_finding(boundary_loss=0.6 * loss, loss=loss).metric == "loss"
    assert only_finding(a_loss=0.6 * loss, train__total_loss=loss).metric == "train/total_loss"
