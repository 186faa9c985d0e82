"""The noise of young runs: what a fall at the beginning, and a skew that few points show, do to it."""

from __future__ import annotations

import numpy as np
import pytest

from holter.detectors.detector import DetectorContext
from holter.detectors.loss.excursions.baseline import BaselineThresholds, LossHistory, measure_noise
from holter.detectors.loss.excursions.noise_tails import (
    NO_REACH,
    NoiseTailThresholds,
    measure_reach,
    measure_young_reach,
)
from holter.detectors.loss.spike import SpikeDetector
from tests.support.curves import run, series

TAILS = NoiseTailThresholds()


def test_the_shape_of_the_noise_is_that_after_the_first_fall() -> None:
    random = np.random.default_rng(0)
    score = random.standard_normal(224)
    falling = score.copy()
    falling[:48] -= np.linspace(6, 1, 48)
    noise = [measure_noise(each, each, each, 0.0, BaselineThresholds()) for each in (score[48:], falling)]
    assert noise[1].spread == pytest.approx(noise[0].spread, abs=0.05)
    assert noise[1].correlation == pytest.approx(noise[0].correlation, abs=0.05)


def test_a_level_that_wanders_is_no_first_fall() -> None:
    score = np.random.default_rng(0).standard_normal(400)
    score[200:248] -= 3
    whole = measure_noise(score, score, score, 0.0, BaselineThresholds())
    assert whole.correlation > 0.3


def test_a_run_that_swings_into_its_level_from_below_does_not_rise() -> None:
    first = [0.7, 0.02, 4.1, 0.03, 1.2, 0.004, 0.009, 0.02, 0.051, 0.046]
    loss = np.concatenate((first, 0.045 + 1e-9 * np.random.default_rng(0).standard_normal(300)))
    assert list(SpikeDetector().detect(run(series("loss", loss)), DetectorContext())) == []


@pytest.mark.parametrize("points", [32, 64, 128])
def test_a_young_body_is_skewed_where_it_is_so_beyond_chance(points: int) -> None:
    random = np.random.default_rng(points)
    normal = [measure_young_reach(random.standard_normal(points), TAILS) for _ in range(300)]
    assert np.mean([reach == NO_REACH for reach in normal]) > 0.95
    skewed = [measure_young_reach(np.exp(0.7 * random.standard_normal(128)) - 1, TAILS) for _ in range(100)]
    assert np.mean([reach.rare > 8 for reach in skewed]) > 0.9


def test_the_latest_points_show_a_skew_that_the_points_before_hide() -> None:
    # the noise of a plateau is normal; once most examples are learned, a few wrong labels stand out
    random = np.random.default_rng(7)
    plateau = random.standard_normal(1500)
    normal, skewed = random.standard_normal(256), np.exp(0.8 * random.standard_normal(256)) - 1
    known = measure_reach(plateau, TAILS)
    assert measure_reach(np.concatenate((plateau, normal)), TAILS).typical < 1.2 * known.typical
    assert measure_reach(np.concatenate((plateau, skewed)), TAILS).typical > 2 * known.typical


def test_the_noise_after_a_steep_first_fall_is_no_share_of_that_fall() -> None:
    random = np.random.default_rng(3)
    loss = np.concatenate((np.geomspace(2000, 0.1, 12), 0.05 + 0.002 * random.standard_normal(70)))
    history = LossHistory.empty(BaselineThresholds())
    for point in range(0, len(loss), 2):
        values = loss[point : point + 2]
        history = history.extend(values, history.running_medians(values), np.ones(2, dtype=np.int64), None)
    noise = history.noise(1)
    assert noise is not None
    assert noise.sigma == pytest.approx(0.002, rel=0.5)
