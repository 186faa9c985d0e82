"""A rise that a run repeats at its period is no event; another one, or a larger one, is."""

from __future__ import annotations

import numpy as np

from holter.detectors.detector import DetectorContext
from holter.detectors.loss.spike import SpikeDetector
from holter.types import Finding, FloatArray
from tests.support.curves import run, series

POINTS, EPOCH = 4000, 400


def sawtooth(seed: int) -> FloatArray:
    """A loss that falls within an epoch and jumps back at its boundary."""
    rng = np.random.default_rng(seed)
    place = np.arange(POINTS)
    return 2.0 + 0.5 * np.exp(-(place % EPOCH) / 60) + 0.02 * rng.standard_normal(POINTS)


def findings(loss: FloatArray, *, with_epoch: bool) -> list[Finding]:
    epoch = [series("epoch", np.arange(POINTS) // EPOCH)] if with_epoch else []
    return list(SpikeDetector().detect(run(series("loss", loss), *epoch), DetectorContext()))


def test_the_jumps_at_epochs_are_told_once_where_the_epoch_is_logged() -> None:
    for seed in range(3):
        found = findings(sawtooth(seed), with_epoch=True)
        assert len(found) <= 1


def test_a_period_is_known_after_two_equal_intervals() -> None:
    for seed in range(3):
        found = findings(sawtooth(seed), with_epoch=False)
        assert len(found) <= 3
        assert all(each.start_step <= 3 * EPOCH + 2 for each in found)


def test_a_larger_jump_or_one_elsewhere_is_an_event() -> None:
    loss = sawtooth(1)
    loss[6 * EPOCH : 6 * EPOCH + 20] += 3.0
    loss[8 * EPOCH + 150 : 8 * EPOCH + 160] += 2.0
    starts = [each.start_step for each in findings(loss, with_epoch=True)]
    assert starts[-2:] == [6 * EPOCH, 8 * EPOCH + 150]
