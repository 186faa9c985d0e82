"""Single points that the noise of the run itself explains: information, not an alarm."""

from __future__ import annotations

import numpy as np
import pytest

from holter.types import Kind, Severity
from tests.support.loss_curves import curve, detect_all, falling, run_of, single_finding


def heavy(seed: int, points: int = 20_000) -> np.ndarray:
    random = np.random.default_rng(seed)
    return falling(points) * (1 + 0.1 * random.standard_t(4, points) / 2**0.5)


def lognormal(seed: int, points: int = 20_000, *, spread: float = 0.5) -> np.ndarray:
    random = np.random.default_rng(seed)
    noise = np.exp(spread * random.standard_normal(points) - spread**2 / 2) - 1
    return falling(points) * (1 + 0.1 * noise / np.sqrt(np.expm1(spread**2)))


def test_outliers_of_heavy_tails_are_information() -> None:
    findings = [finding for seed in range(6) for finding in detect_all(run_of(heavy(seed)))]
    outliers = [finding for finding in findings if finding.kind is Kind.OUTLIER_BATCH]
    assert len(outliers) >= 3
    assert len(findings) - len(outliers) <= 4
    assert {finding.severity for finding in outliers} == {Severity.INFO}


def test_outliers_of_skewed_noise_are_information() -> None:
    findings = [finding for seed in range(4) for finding in detect_all(run_of(lognormal(seed)))]
    alarms = [finding for finding in findings if finding.kind is not Kind.OUTLIER_BATCH]
    # 80,000 points, which raised 45 alarms when only the tail below was measured
    assert len(alarms) <= 8


@pytest.mark.slow
def test_a_point_as_high_as_the_noise_reaches_does_not_delay_a_return() -> None:
    # one point in thirty of this noise is six sigmas above the level: 60 steps without one are rare
    findings = [finding for seed in range(2) for finding in detect_all(run_of(lognormal(seed, spread=1.0)))]
    assert len(findings) >= 10
    assert all(finding.end_step - finding.start_step <= 8 for finding in findings if finding.end_step)
    assert Kind.SPIKE_SLOW not in {finding.kind for finding in findings}


def test_a_bad_batch_in_calm_noise_is_a_spike() -> None:
    value = curve(8000, seed=8, noise=0.03)
    value[5000] *= 1.4
    assert single_finding(run_of(value)).kind is Kind.SPIKE_FAST


def test_an_outlier_that_does_not_come_back_is_no_outlier() -> None:
    value = heavy(1)
    value[15_000:15_012] *= 1.6
    findings = [finding for finding in detect_all(run_of(value)) if 14_990 <= finding.start_step <= 15_012]
    assert [finding.kind for finding in findings] == [Kind.SPIKE_FAST]


def test_temporarily_larger_noise_is_no_event() -> None:
    random = np.random.default_rng(3)
    size = np.where(np.arange(20_000) % 2000 < 80, 2.5, 1.0)
    value = falling(20_000) * (1 + 0.03 * size * random.standard_normal(20_000))
    assert len(detect_all(run_of(value))) <= 2  # of ten such periods


def test_noise_that_grows_tenfold_as_learning_begins_is_no_event() -> None:
    # a plateau before the loss falls: the noise measured on it is outdated sixteen points later
    alarms = [finding for seed in range(30) for finding in detect_all(run_of(plateau_then_fall(seed)))]
    assert len(alarms) <= 1


def plateau_then_fall(seed: int, points: int = 300) -> np.ndarray:
    random = np.random.default_rng(seed)
    learned = np.clip((np.arange(points) - 50) / 60.0, 0.0, 1.0)
    return 2.3 - 0.9 * learned + (0.015 + 0.13 * learned) * random.standard_normal(points)


def with_wrong_labels(seed: int, points: int = 3000) -> np.ndarray:
    """A plateau, after which all examples but the few with a wrong label are learned."""
    random = np.random.default_rng(seed)
    learned = 1 / (1 + np.exp((1100 - np.arange(points)) / 30))
    wrong = random.binomial(16, 0.02, points) * random.exponential(0.5, points)
    right = 0.25 * random.gamma(8, 1 / 8, points)
    return (1 - learned) * (2.1 + 0.02 * random.standard_normal(points)) + learned * (right + wrong)


def test_the_calm_plateau_before_does_not_hide_that_the_noise_is_skewed_now() -> None:
    findings = [finding for seed in range(10) for finding in detect_all(run_of(with_wrong_labels(seed)))]
    alarms = [finding for finding in findings if finding.kind is not Kind.OUTLIER_BATCH]
    # 30,000 points, of which a quarter are above the others; they raised 73 alarms by the shape of all points
    assert len(alarms) <= 50


def test_a_young_run_with_an_upper_tail_has_no_spike_in_its_ordinary_points() -> None:
    alarms = [
        finding
        for seed in range(20)
        for finding in detect_all(run_of(1 + np.random.default_rng(seed).exponential(0.25, 160)))
        if finding.kind is not Kind.OUTLIER_BATCH
    ]
    assert len(alarms) <= 1  # six of thirty such runs, while normal noise was assumed


@pytest.mark.parametrize("seed", [5, 103, 132, 299])
def test_a_burst_of_noise_on_a_rising_level_is_at_most_information(seed: int) -> None:
    random = np.random.default_rng(seed)
    level = 3 + 8e-5 * np.maximum(np.arange(2448) - 2000, 0)
    noise = 0.02 * random.standard_normal(2448)
    noise[2400:] *= 2.5
    assert {finding.severity for finding in detect_all(run_of(level + noise))} <= {Severity.INFO}


def test_blips_some_rows_apart_do_not_keep_a_spike_from_being_back() -> None:
    loss = np.full(120, 0.42) + 1e-9 * np.random.default_rng(0).standard_normal(120)
    loss[90:92] = (0.63, 0.4209)
    loss[[98, 105, 113]] = (0.437, 0.428, 0.4241)
    first = detect_all(run_of(loss, step=50 * np.arange(120)))[0]
    assert (first.kind, first.start_step, first.end_step) == (Kind.SPIKE_FAST, 4500, 4600)


def test_outliers_that_follow_one_another_cost_no_progress() -> None:
    findings = detect_all(run_of(lognormal(17, points=500, spread=1.2)))
    assert Kind.SPIKE_SLOW in {finding.kind for finding in findings}
    assert {finding.severity for finding in findings} == {Severity.INFO}


def test_a_spike_that_returns_slowly_is_a_warning() -> None:
    value = curve(8000, seed=8, noise=0.03)
    value[5000:5400] *= 1 + 0.4 * np.exp(-np.arange(400) / 80)
    finding = single_finding(run_of(value))
    assert (finding.kind, finding.severity) == (Kind.SPIKE_SLOW, Severity.WARNING)


def test_a_second_outlier_soon_after_the_first_is_no_slow_spike_that_matters() -> None:
    """A loss of few samples, logged every 50 steps: two outliers within 400 steps, and nothing between."""
    random = np.random.default_rng(3)
    value = 0.06 + 0.02 * random.standard_normal(4000)
    value[3000], value[3007] = 0.32, 0.21
    findings = detect_all(run_of(value, step=50 * np.arange(4000)))
    assert findings
    assert {finding.severity for finding in findings} == {Severity.INFO}
    value[3000:3030] = 0.06 + 0.2 * np.exp(-np.arange(30) / 12) + 0.02 * random.standard_normal(30)
    (finding,) = detect_all(run_of(value, step=50 * np.arange(4000)))
    assert (finding.kind, finding.severity) == (Kind.SPIKE_SLOW, Severity.WARNING)
