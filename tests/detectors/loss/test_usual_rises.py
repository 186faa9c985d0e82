"""A rise must be unlikely under what the run has shown over its horizon: walks and waves are expected."""

from __future__ import annotations

import numpy as np
import pytest

from holter.detectors.loss.excursions.usual_rises import UsualRiseMeter, UsualRises, UsualRiseThresholds
from holter.types import Kind, Severity
from tests.support.loss_curves import detect_all, run_of

POINTS = 8192


@pytest.mark.parametrize("points", [8, 32, 128])
def test_independent_noise_has_no_usual_rises(points: int) -> None:
    noise = np.random.default_rng(0).standard_normal(POINTS)
    assert usual(noise).limit(points, 10 * points) < 0.5


def test_a_random_walk_rises_with_the_root_of_the_horizon() -> None:
    walk = np.cumsum(np.random.default_rng(1).standard_normal(POINTS))
    rises = usual(walk)
    near, far = rises.limit(128, 256), rises.limit(128, 4096)
    assert near == pytest.approx(4 * 256**0.5, rel=0.6)
    assert 2 < far / near < 8


def test_a_falling_loss_has_no_usual_rises() -> None:
    noise = 0.01 * np.random.default_rng(2).standard_normal(POINTS)
    falling = 2 + 3 * (1 + np.arange(POINTS) / 50) ** -0.5 + noise
    assert usual(falling).limit(128, 1024) < 0.01


def test_rises_grow_with_the_scale_and_ignore_a_constant() -> None:
    walk = np.cumsum(np.random.default_rng(3).standard_normal(POINTS))
    assert usual(8 * walk + 1024).limit(32, 64) == pytest.approx(8 * usual(walk).limit(32, 64))


def test_nothing_is_known_of_the_first_points() -> None:
    assert usual(np.arange(40.0)).limit(512, 1280) == 0


def test_a_loss_that_walks_has_no_events_and_a_drift_of_a_calm_one_has() -> None:
    random = np.random.default_rng(4)
    noise = 0.02 * random.standard_normal(6000)
    walk = 0.04 * np.cumsum(random.standard_normal(6000)) / 6000**0.5
    findings = detect_all(run_of(2 + noise + 2 * walk))
    # of a series of a few hundred points it is not known yet that it walks
    assert [each for each in findings if each.severity != Severity.INFO and each.start_step > 512] == []
    drift = 1e-4 * np.maximum(np.arange(6000) - 3000, 0)
    (found,) = detect_all(run_of(2 + noise + drift))
    assert found.kind == Kind.DIVERGENCE
    assert 2900 < found.start_step < found.detected_step < 3400


def test_a_horizon_is_known_once_eight_rises_fit_into_the_run() -> None:
    noise = np.random.default_rng(5).standard_normal(POINTS)
    assert not usual(noise[: 8 * 96]).knows(64, 96)
    assert usual(noise[: 9 * 96]).knows(64, 96)


def test_a_loss_that_turns_upwards_is_found_although_its_rise_is_a_third_of_what_is_known() -> None:
    noise = 0.3 * np.random.default_rng(7).standard_normal(1500)
    points = np.arange(1500)
    turn = 1.7 + 0.7 * np.exp(-points / 300) + 0.6 * np.clip((points - 850) / 250, 0, 1)
    found = detect_all(run_of(turn + noise))
    assert [each.kind for each in found] == [Kind.DIVERGENCE]
    assert 850 < found[0].start_step < found[0].detected_step < 1200


def usual(values: np.ndarray) -> UsualRises:
    return UsualRiseMeter(values, UsualRiseThresholds()).before(len(values))


def test_rises_are_the_same_when_others_were_measured_before() -> None:
    values = np.cumsum(np.random.default_rng(3).standard_normal(40_000))
    meter = UsualRiseMeter(values, UsualRiseThresholds())
    for index in (64, 1024, 17_000, 16_000, 20_480, 20_544, 39_999):
        fresh = UsualRiseMeter(values, UsualRiseThresholds()).before(index)
        for known, alone in zip(meter.before(index).spreads, fresh.spreads, strict=True):
            assert np.array_equal(known, alone)
