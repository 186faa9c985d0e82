"""Lone points that the noise of the run itself explains: information, and no event."""

from __future__ import annotations

import numpy as np

from holter.types import Kind, Severity
from tests.detectors.loss.curves import curve, falling, found_in, run_of, the_one_in


def heavy(seed: int, points: int = 20_000) -> np.ndarray:
    random = np.random.default_rng(seed)
    return falling(points) * (1 + 0.1 * random.standard_t(4, points) / 2**0.5)


def lognormal(seed: int, points: int = 20_000) -> np.ndarray:
    random = np.random.default_rng(seed)
    noise = np.exp(0.5 * random.standard_normal(points) - 0.125) - 1
    return falling(points) * (1 + 0.1 * noise / 0.533)


def test_outliers_of_heavy_tails_are_information() -> None:
    found = [one for seed in range(6) for one in found_in(run_of(heavy(seed)))]
    outliers = [one for one in found if one.kind is Kind.OUTLIER_BATCH]
    assert len(outliers) >= 3
    assert len(found) - len(outliers) <= 4
    assert {one.severity for one in outliers} == {Severity.INFO}


def test_outliers_of_noise_that_is_skewed_all_over_are_information() -> None:
    found = [one for seed in range(4) for one in found_in(run_of(lognormal(seed)))]
    alarms = [one for one in found if one.kind is not Kind.OUTLIER_BATCH]
    # 80,000 points, which raised 45 alarms when only what lies below was looked at
    assert len(alarms) <= 8


def test_a_bad_batch_in_calm_noise_is_a_spike() -> None:
    value = curve(8000, seed=8, noise=0.03)
    value[5000] *= 1.4
    assert the_one_in(run_of(value)).kind is Kind.SPIKE_FAST


def test_an_outlier_that_does_not_come_back_is_no_outlier() -> None:
    value = heavy(1)
    value[15_000:15_012] *= 1.6
    ones = [one for one in found_in(run_of(value)) if 14_990 <= one.start_step <= 15_012]
    assert [one.kind for one in ones] == [Kind.SPIKE_FAST]


def test_noise_that_is_larger_for_a_while_on_both_sides_is_no_event() -> None:
    random = np.random.default_rng(3)
    size = np.where(np.arange(20_000) % 2000 < 80, 2.5, 1.0)
    value = falling(20_000) * (1 + 0.03 * size * random.standard_normal(20_000))
    assert len(found_in(run_of(value))) <= 2  # of ten such times
