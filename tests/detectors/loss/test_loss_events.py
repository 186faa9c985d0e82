"""Findings for events planted into healthy curves."""

from __future__ import annotations

import numpy as np
import pytest

from holter.types import Kind, RunData, Severity
from tests.support.filtered_noise import filtered
from tests.support.loss_curves import curve, decay, detect_all, falling, prefix, run_of, single_finding

POINTS = 3000


def plateau(at: int, height: float, points: int = POINTS) -> np.ndarray:
    return np.where(np.arange(points) >= at, height, 0.0)


def ramp(at: int, slope: float, points: int = POINTS) -> np.ndarray:
    return np.maximum(np.arange(points) - at, 0) * slope


@pytest.mark.parametrize("seed", range(5))
def test_a_spike_that_is_over_within_a_hundred_steps_is_fast(seed: int) -> None:
    finding = single_finding(run_of(curve(seed=seed) + decay(POINTS, 2000, 1.5, 6)))
    assert finding.kind is Kind.SPIKE_FAST
    assert finding.start_step == finding.detected_step == finding.peak_step == 2000
    assert finding.severity is Severity.INFO
    assert finding.end_step is not None
    assert finding.end_step - 2000 < 60
    assert "Note the batch of step 2,000: if it causes another spike, skip it." in finding.advice


@pytest.mark.parametrize("seed", range(5))
def test_a_spike_that_needs_longer_is_slow(seed: int) -> None:
    finding = single_finding(run_of(curve(seed=seed) + decay(POINTS, 1500, 2.0, 90)))
    assert finding.kind is Kind.SPIKE_SLOW
    assert finding.severity is Severity.WARNING
    assert 1500 <= finding.start_step <= 1501
    assert finding.end_step is not None
    assert 200 < finding.end_step - 1500 < 600


@pytest.mark.parametrize("seed", range(5))
def test_a_spike_that_settles_higher_is_unrecovered(seed: int) -> None:
    value = curve(seed=seed) + decay(POINTS, 1500, 2.0, 40) + plateau(1500, 0.4)
    finding = single_finding(run_of(value))
    assert finding.kind is Kind.SPIKE_UNRECOVERED
    assert finding.severity is Severity.CRITICAL
    assert finding.end_step is None
    assert (
        "Roll back to the latest checkpoint up to step 1,400, and skip the batches of steps 1,5"
        in finding.advice
    )


def test_a_divergence_names_the_level_that_it_reached_and_no_single_point_as_such() -> None:
    value = curve(seed=4) + ramp(1500, 0.002)
    value[2700] += 20
    (finding,) = (each for each in detect_all(run_of(value)) if each.kind is Kind.DIVERGENCE)
    assert finding.peak_step == 2700
    drift, remark = finding.summary.split(", single points up to ")
    reached, by = drift.split(" to ")[1].split(" by step ")
    assert float(reached) == pytest.approx(np.median(value[-8:]), abs=0.1)
    assert int(by.replace(",", "")) > 2900
    assert remark.rstrip(".") == f"{value[2700]:.3g}"


@pytest.mark.parametrize("noise", [0.01, 0.03, 0.1])
def test_a_slow_drift_upwards_is_divergence(noise: float) -> None:
    finding = single_finding(run_of(curve(noise=noise, seed=4) + ramp(1500, 0.002)))
    assert finding.kind is Kind.DIVERGENCE
    assert 1450 <= finding.start_step <= 1750
    assert finding.detected_step < 1800


@pytest.mark.parametrize("noise", [0.005, 0.02])
def test_a_drift_invisible_in_hundreds_of_points_is_divergence(noise: float) -> None:
    level = falling(16_000) + ramp(10_000, 0.4 / 6000, points=16_000)
    finding = single_finding(run_of(curve(16_000, noise=noise, level=level, seed=2)))
    assert finding.kind is Kind.DIVERGENCE
    assert finding.detected_step < 14_000


@pytest.mark.slow
def test_a_level_that_has_always_wandered_gives_few_findings() -> None:
    late = []
    for seed in range(8):
        random = np.random.default_rng(seed)
        wandering = filtered(random.standard_normal(20_000), gain=0.1, decay=0.995)
        value = 2.5 * (1 + 0.03 * random.standard_normal(20_000) + 0.01 * wandering)
        late += [finding for finding in detect_all(run_of(value)) if finding.start_step > 4000]
    # 128,000 points; without the measured wander of means there are three times as many
    assert len(late) <= 4


def test_one_logged_point_is_a_fast_spike_whatever_the_interval() -> None:
    value = curve(1200, seed=3)
    value[700] += 1.0
    finding = single_finding(run_of(value, step=100 * np.arange(1200)))
    assert (finding.kind, finding.end_step) == (Kind.SPIKE_FAST, 70_100)


@pytest.mark.parametrize("seed", range(5))
def test_a_divergence_that_leaps_is_one_event(seed: int) -> None:
    leaps = sum(decay(POINTS, at, 0.5, 8) for at in (1760, 1850, 1930))
    finding = single_finding(run_of(curve(noise=0.03, seed=seed) + ramp(1500, 0.002) + leaps))
    assert finding.kind is Kind.DIVERGENCE
    assert finding.start_step < 1750


@pytest.mark.parametrize("seed", range(3))
def test_the_first_far_larger_leap_of_a_divergence_is_an_event_of_its_own(seed: int) -> None:
    leaps = sum(decay(POINTS, at, 4.0, 8) for at in (1760, 1850, 1930))
    found = detect_all(run_of(curve(noise=0.03, seed=seed) + ramp(1500, 0.002) + leaps))
    assert found[0].kind is Kind.DIVERGENCE
    assert found[0].start_step < 1750
    assert found[1].start_step == 1760


def test_a_spike_is_detected_at_once_and_classified_as_it_develops() -> None:
    run = run_of(curve(seed=3) + decay(POINTS, 1500, 2.0, 40) + plateau(1500, 0.4))
    kinds = [single_finding(prefix(run, attempt=0, step=1500 + later)).kind for later in (0, 50, 200, 900)]
    assert kinds == [Kind.SPIKE_FAST, Kind.SPIKE_FAST, Kind.SPIKE_SLOW, Kind.SPIKE_UNRECOVERED]


def test_a_level_that_comes_back_late_was_a_slow_spike() -> None:
    run = run_of(curve(seed=3) + plateau(1000, 0.5) - plateau(2200, 0.5))
    assert single_finding(prefix(run, attempt=0, step=2000)).kind is Kind.SPIKE_UNRECOVERED
    assert single_finding(run).kind is Kind.SPIKE_SLOW


def test_two_spikes_are_two_findings_even_close_together() -> None:
    value = curve(seed=1)
    value[[1500, 1528]] += 1.5
    first, second = detect_all(run_of(value))
    assert (first.start_step, second.start_step) == (1500, 1528)
    assert first.kind is second.kind is Kind.SPIKE_FAST


def test_an_aftershock_is_part_of_its_spike() -> None:
    value = curve(seed=1) + decay(POINTS, 1500, 3.0, 5)
    value[1530] += 0.6
    assert single_finding(run_of(value)).start_step == 1500


def test_a_spike_while_the_previous_one_is_not_back_is_a_second_finding() -> None:
    value = curve(seed=2) + plateau(1000, 0.5) + decay(POINTS, 2200, 3.0, 5)
    first, second = detect_all(run_of(value))
    assert first.kind is Kind.SPIKE_UNRECOVERED
    assert (second.kind, second.start_step) == (Kind.SPIKE_FAST, 2200)


@pytest.mark.parametrize("interval", [1, 5, 10, 50, 100])
def test_recovery_counts_steps_whatever_the_interval_of_the_log(interval: int) -> None:
    steps = np.arange(1, 1201) * interval
    excess = np.where(steps >= 600 * interval, 2.0 * np.exp(-(steps - 600.0 * interval) / (20 * interval)), 0)
    finding = single_finding(run_of(curve(1200, seed=7) + excess, step=steps))
    assert finding.start_step == 601 * interval or finding.start_step == 600 * interval
    assert finding.end_step is not None
    lasted = finding.end_step - finding.start_step
    assert finding.kind is (Kind.SPIKE_FAST if lasted < 100 else Kind.SPIKE_SLOW)
    assert 30 * interval < lasted < 130 * interval


def test_spikes_are_detected_in_losses_near_and_below_zero() -> None:
    random = np.random.default_rng(5)
    value = -0.5 + 0.02 * random.standard_normal(POINTS)
    value[2000:2010] += 0.5
    assert single_finding(run_of(value)).kind is Kind.SPIKE_FAST


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_nonfinite_loss_is_detected_at_once(bad: float) -> None:
    value = curve(seed=1)
    value[1800:] = bad
    finding = single_finding(run_of(value))
    assert (finding.kind, finding.start_step, finding.detected_step) == (Kind.NONFINITE, 1800, 1800)
    assert finding.severity is Severity.CRITICAL
    assert finding.end_step is None


def test_skipped_steps_are_one_finding_each_and_over_soon() -> None:
    value = curve(seed=1)
    value[[1000, 1001, 1040]] = np.nan
    first, second = detect_all(run_of(value))
    assert (first.start_step, first.end_step, second.start_step) == (1000, 1002, 1040)
    assert first.severity is Severity.WARNING


class TestDatasets:
    """Several datasets logged separately."""

    def run(self, *, rise: tuple[float, float], seed: int = 0) -> RunData:
        events = decay(POINTS, 1800, 1.0, 12)
        parts = [curve(seed=seed + n, noise=0.03) + height * events for n, height in enumerate(rise)]
        return run_of(0.6 * parts[0] + 0.4 * parts[1], loss__web=parts[0], loss__code=parts[1])

    def test_a_spike_on_a_single_dataset_names_it(self) -> None:
        finding = single_finding(self.run(rise=(0.0, 3.0)))
        assert finding.metric == "loss/code"
        assert dict(finding.labels) == {"dataset": "code"}
        assert "code alone" in finding.summary

    def test_a_spike_on_all_names_the_total(self) -> None:
        finding = single_finding(self.run(rise=(2.0, 2.5)))
        assert (finding.metric, finding.labels) == ("loss", ())

    @pytest.mark.parametrize("seed", range(4))
    def test_the_level_of_a_dataset_falls_on_until_it_rises(self, seed: int) -> None:
        level = 1.5 + 3 * np.exp(-np.arange(400) / 60)
        parts = [curve(400, noise=0.01, level=level, seed=2 * seed + n) for n in range(2)]
        parts[1][150:153] += 0.35
        finding = single_finding(
            run_of(0.5 * parts[0] + 0.5 * parts[1], loss__web=parts[0], loss__code=parts[1])
        )
        assert finding.metric == "loss/code"

    def test_a_rise_too_small_for_the_total_is_detected_on_its_dataset(self) -> None:
        web = curve(seed=3, noise=0.03)
        code = curve(seed=4, noise=0.03) + decay(POINTS, 1800, 1.5, 30)
        finding = single_finding(run_of(0.98 * web + 0.02 * code, loss__web=web, loss__code=code))
        assert finding.metric == "loss/code"


class TestResumes:
    """An attempt that ends at step 1999, and the next one, which continues the run."""

    def run(
        self, second: np.ndarray, *, rate: np.ndarray | None = None, at: int = 1900, seed: int = 0
    ) -> RunData:
        first = curve(2000, seed=seed)
        step = np.concatenate((np.arange(2000), np.arange(at, at + len(second))))
        attempt = np.repeat([0, 1], [2000, len(second)])
        others = {} if rate is None else {"lr": rate}
        return run_of(np.concatenate((first, second)), step=step, attempt=attempt, **others)

    def healthy(self, seed: int = 50) -> np.ndarray:
        return curve(3000, seed=seed)[1900:]

    @pytest.mark.parametrize("seed", range(10))
    def test_a_resume_with_other_batches_is_no_finding(self, seed: int) -> None:
        assert detect_all(self.run(self.healthy(seed + 50), seed=seed)) == []

    def test_a_resume_that_repeats_every_value_is_no_finding(self) -> None:
        assert detect_all(self.run(curve(2000, seed=0)[1900:], seed=0)) == []

    def test_a_spike_with_the_first_points_belongs_to_the_resume(self) -> None:
        finding = single_finding(self.run(self.healthy() + decay(1100, 5, 0.8, 40)))
        assert (finding.kind, finding.attempt, finding.start_step) == (Kind.RESUME_ARTIFACT, 1, 1900)
        assert finding.end_step is not None

    def test_a_level_that_is_higher_from_the_resume_on_belongs_to_it(self) -> None:
        finding = single_finding(self.run(self.healthy() + 0.06))
        assert (finding.kind, finding.start_step) == (Kind.RESUME_ARTIFACT, 1900)
        assert finding.detected_step < 1960

    def test_a_level_that_is_lower_from_the_resume_on_belongs_to_it(self) -> None:
        finding = single_finding(self.run(self.healthy() - 0.12))
        assert (finding.kind, finding.start_step) == (Kind.RESUME_ARTIFACT, 1900)
        assert "lower" in finding.summary

    @pytest.mark.parametrize("seed", range(4))
    def test_a_rise_with_a_resume_of_a_young_run_belongs_to_it(self, seed: int) -> None:
        first, second = curve(150, seed=seed), curve(300, seed=seed + 50)[140:]
        step = np.concatenate((np.arange(150), np.arange(140, 300)))
        attempt = np.repeat([0, 1], [150, 160])
        rise = decay(160, 0, 0.6, 10)
        finding = single_finding(run_of(np.concatenate((first, second + rise)), step=step, attempt=attempt))
        assert (finding.kind, finding.start_step) == (Kind.RESUME_ARTIFACT, 140)
        assert detect_all(run_of(np.concatenate((first, second)), step=step, attempt=attempt)) == []

    def test_a_spike_long_after_the_resume_is_a_spike(self) -> None:
        finding = single_finding(self.run(self.healthy() + decay(1100, 400, 1.5, 5)))
        assert (finding.kind, finding.start_step) == (Kind.SPIKE_FAST, 2300)

    def test_a_learning_rate_that_was_not_restored_is_detected_before_the_loss_shows_it(self) -> None:
        rate = np.concatenate((np.full(2000, 3e-4), np.linspace(1e-6, 3e-4, 1100)))
        finding = single_finding(self.run(self.healthy(), rate=rate))
        assert (finding.kind, finding.start_step, finding.detected_step) == (Kind.RESUME_ARTIFACT, 1900, 1901)
        assert "learning rate" in finding.summary

    def test_a_learning_rate_that_continues_is_no_finding(self) -> None:
        schedule = np.linspace(3e-4, 1e-5, 3000)
        rate = np.concatenate((schedule[:2000], schedule[1900:]))
        assert detect_all(self.run(self.healthy(), rate=rate)) == []


class TestHardNegatives:
    """Events that resemble faults and are none."""

    def test_warm_up(self) -> None:
        level = falling(POINTS)
        level[:60] = np.linspace(11.0, level[60], 60)
        assert detect_all(run_of(curve(level=level, seed=1))) == []

    def test_a_kink_where_the_learning_rate_begins_to_decay(self) -> None:
        level = falling(POINTS) - ramp(1500, 0.0003)
        assert detect_all(run_of(curve(level=level, seed=2))) == []

    def test_a_sudden_legitimate_drop(self) -> None:
        level = falling(POINTS) - 0.6 / (1 + np.exp(-(np.arange(POINTS) - 1500) / 20.0))
        assert detect_all(run_of(curve(level=level, seed=3))) == []

    @pytest.mark.parametrize("interval", [(1, 10), (10, 1)])
    def test_a_change_of_the_log_interval_with_its_noise(self, interval: tuple[int, int]) -> None:
        for seed in range(5):
            random = np.random.default_rng(seed)
            apart = np.repeat(interval, 1500)
            value = 2.5 * (1 + 0.06 * random.standard_normal(POINTS) / np.sqrt(apart))
            assert detect_all(run_of(value, step=np.cumsum(apart))) == []

    def test_a_batch_that_grows_with_its_noise_shrinking(self) -> None:
        noise = 0.1 / np.sqrt(np.repeat([1, 2, 4], 1000))
        random = np.random.default_rng(3)
        assert detect_all(run_of(falling(POINTS) * (1 + noise * random.standard_normal(POINTS)))) == []

    def test_a_planned_warm_restart_of_the_learning_rate(self) -> None:
        rate = np.tile(np.linspace(3e-4, 1e-5, 1000), 3)
        value = curve(seed=4, noise=0.03)
        for start in (1000, 2000):
            value += decay(POINTS, start, 0.1, 200)
        assert detect_all(run_of(value, lr=rate)) == []

    def test_single_points_as_far_above_as_others_are_below(self) -> None:
        random = np.random.default_rng(8)
        value = curve(8000, seed=8, noise=0.03)
        struck = 300 + 97 * np.arange(70)
        value[struck] *= 1 + random.choice([-1, 1], 70) * random.uniform(0.15, 0.4, 70)
        assert [
            finding.start_step for finding in detect_all(run_of(value)) if finding.start_step > 1000
        ] == []
        quiet = curve(8000, seed=8, noise=0.03)
        quiet[5000] *= 1.4
        assert single_finding(run_of(quiet)).start_step == 5000

    def test_high_noise(self) -> None:
        for seed in range(5):
            assert detect_all(run_of(curve(noise=0.3, seed=seed))) == []


def test_a_drift_detected_after_its_first_points_is_the_same_event() -> None:
    """A burst on some of the batches: detected by its first points, back for a moment, and continuing."""
    value = curve(noise=0.1, seed=11)
    at = np.arange(POINTS)
    bad = (at >= 1500) & (at < 1575) & ((at < 1504) | (at > 1520))
    value[bad] += 0.35 * value[bad]
    value[(at >= 1504) & (at <= 1520)] *= 0.97
    findings = [finding for finding in detect_all(run_of(value)) if finding.start_step <= 1575]
    assert len({finding.start_step for finding in findings}) == len(findings)
