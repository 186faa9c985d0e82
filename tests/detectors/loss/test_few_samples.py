"""The loss of one dataset rests on few samples: one point means little, several mean as much as elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from holter.detectors.loss.spike import SpikeThresholds
from holter.types import RunData
from tests.support.loss_curves import detect_all, run_of

POINTS = 1600


def run_with(seed: int, *, height: float, points: int, after: float = 0.0) -> RunData:
    """Two datasets with a noise of 0.3; one is higher by so many sigmas for so many points, and the point
    after them by `after` sigmas above the level."""
    noise = np.random.default_rng(seed).normal(0, 0.3, (2, POINTS))
    web, code = 2 + noise
    code[1200 : 1200 + points] += 0.3 * height
    if after:
        code[1200 + points] = 2 + 0.3 * after
    return run_of((web + code) / 2, loss__web=web, loss__code=code)


@pytest.mark.parametrize("seed", range(4))
def test_a_bad_batch_of_eight_points_is_found(seed: int) -> None:
    (finding,) = detect_all(run_with(seed, height=4.5, points=8))
    assert (finding.metric, dict(finding.labels)) == ("loss/code", {"dataset": "code"})
    assert 1198 <= finding.start_step <= 1201


@pytest.mark.parametrize("seed", range(4))
def test_one_point_must_be_further_out_than_in_the_total(seed: int) -> None:
    assert not detect_all(run_with(seed, height=7, points=1))
    (finding,) = detect_all(run_with(seed, height=30, points=1))
    assert finding.metric == "loss/code"


@pytest.mark.parametrize("seed", range(4))
def test_one_point_far_out_and_an_ordinary_one_after_it_are_no_two(seed: int) -> None:
    assert not detect_all(run_with(seed, height=7, points=1, after=2.0))


def test_datasets_share_the_chance_of_a_false_alarm() -> None:
    thresholds = SpikeThresholds()
    one, many = (thresholds.of_one_dataset(count).alarms for count in (1, 50))
    assert one.mean_errors == pytest.approx(thresholds.excursions.alarms.mean_errors)
    assert one.sum_chance == thresholds.excursions.alarms.sum_chance
    assert 6.0 < many.mean_errors < 6.4
    assert many.sum_chance == pytest.approx(one.sum_chance / 50)


def heavy_run(seed: int, *, height: float) -> RunData:
    """A loss whose noise has a heavy tail, and which is higher by so many sigmas for ten points."""
    noise = np.random.default_rng(seed).standard_t(5, POINTS)
    noise[1200:1210] += height
    return run_of(2 + 0.3 * noise)


def found_at_the_rise(height: float) -> int:
    """In how many of twenty runs."""
    runs = (heavy_run(seed, height=height) for seed in range(20))
    return sum(any(1190 <= each.start_step <= 1212 for each in detect_all(run)) for run in runs)


def test_ten_points_well_above_a_heavy_tail_are_found() -> None:
    assert found_at_the_rise(4.5) >= 15


def test_ten_points_that_rise_as_calm_logs_do_are_no_event() -> None:
    assert found_at_the_rise(1.8) <= 2
