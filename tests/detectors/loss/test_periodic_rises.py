"""A rise that a run repeats at its period is no event; another one, or a larger one, is."""

from __future__ import annotations

import numpy as np
import pytest

from holter.detectors.detector import DetectorContext
from holter.detectors.loss.excursions.periodic_jumps import PeriodicJumpThresholds, count_equal_jumps
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


def test_a_rise_is_at_no_boundary_where_epochs_are_shorter_than_the_log() -> None:
    loss = 2.0 + 0.02 * np.random.default_rng(4).standard_normal(POINTS)
    loss[1500:1503] += (3.0, 1.0, 0.4)
    loss[2310:2312] += (1.0, 0.4)
    for rows in (0.6, 1, 4):
        epoch = series("epoch", np.floor(np.arange(POINTS) / rows))
        found = SpikeDetector().detect(run(series("loss", loss), epoch), DetectorContext())
        assert [each.start_step for each in found] == [1500, 2310]


def averaged_anew(seed: int, *, length: int = 300, epochs: int = 12) -> FloatArray:
    """The mean of all batches since each epoch began."""
    random = np.random.default_rng(seed)
    batches = 2.0 + 0.15 * random.standard_normal((epochs, length))
    return np.asarray((np.cumsum(batches, axis=1) / np.arange(1, length + 1)).ravel())


def test_an_average_that_begins_anew_is_information_whichever_way_it_jumps() -> None:
    for seed in range(12):
        found = findings(averaged_anew(seed), with_epoch=False)
        assert [each for each in found if each.severity != "info" and each.start_step > 700] == []


def test_a_fault_in_such_an_average_is_an_event_also_at_the_boundary_of_an_epoch() -> None:
    for seed, row in enumerate((1950, 2100)):
        loss = averaged_anew(seed)
        loss[row:] += 1.5
        last = findings(loss, with_epoch=False)[-1]
        assert (last.kind, last.start_step) == ("spike_unrecovered", row)
        assert last.severity != "info"


def test_jumps_are_counted_up_to_the_one_at_which_a_rise_begins() -> None:
    loss, limits = averaged_anew(3), PeriodicJumpThresholds()
    for epoch, count in ((1, 0), (2, 2), (3, 3), (6, 4)):
        row = epoch * 300
        jump = np.append(loss[:row], loss[row - 1] + 0.1)
        assert count_equal_jumps(jump, row, limits) == count
    within = np.append(loss[:1700], loss[1699] + 0.1)
    assert count_equal_jumps(within, 1700, limits) < 2
    assert count_equal_jumps(2.0 + 0.1 * np.random.default_rng(0).standard_normal(900), 700, limits) == 0


@pytest.mark.parametrize("digits", [3, 4])
def test_the_last_digit_of_an_average_that_hardly_moves_is_no_jump(digits: int) -> None:
    random, rows, epochs = np.random.default_rng(digits), 1500, 8
    batch = 0.2 * (1 + 0.3 * random.standard_normal((epochs, rows)))
    loss = (np.cumsum(batch, axis=1) / np.arange(1, rows + 1)).ravel().round(digits)
    limits = PeriodicJumpThresholds()
    for epoch in range(3, epochs):
        row = epoch * rows
        assert count_equal_jumps(np.append(loss[:row], loss[row - 1] + 0.05), row, limits) >= 3
