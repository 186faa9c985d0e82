"""The same events at all levels, intervals, smoothing and gaps; and rare shapes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from holter.types import Finding, Kind, Severity
from tests.support.filtered_noise import filtered
from tests.support.loss_curves import (
    Floats,
    curve,
    decay,
    detect_all,
    falling,
    prefix,
    run_of,
    single_finding,
)

POINTS, AT = 1600, 900
LEVELS: dict[str, Callable[[int], Floats]] = {
    "power": falling,
    "flat": lambda points: np.full(points, 2.0),
    "small": lambda points: 1e-3 * falling(points),
    "negative": lambda points: -3.0 + 2.0 * np.exp(-np.arange(points) / 300),
    "through zero": lambda points: 0.5 - np.arange(points) / points,
    "to zero": lambda points: 0.02 + 0.7 * np.exp(-np.arange(points) / 500),
}


def healthy(name: str, seed: int, points: int = POINTS, *, noise: float = 0.03) -> tuple[Floats, float]:
    """A curve at one of the levels, and the size of its noise: a share of the median level."""
    level = LEVELS[name](points)
    size = noise * float(np.median(np.abs(level))) if name != "to zero" else noise
    return level + size * np.random.default_rng(seed).standard_normal(points), size


@pytest.mark.parametrize("name", LEVELS)
@pytest.mark.parametrize("seed", range(2))
def test_a_spike_is_the_only_finding_on_every_level(name: str, seed: int) -> None:
    value, size = healthy(name, seed)
    assert detect_all(run_of(value)) == []
    finding = single_finding(run_of(value + decay(POINTS, AT, 25 * size, 5)))
    assert (finding.kind, finding.start_step) == (Kind.SPIKE_FAST, AT)


@pytest.mark.parametrize("name", LEVELS)
def test_a_lasting_rise_is_detected_on_every_level(name: str) -> None:
    value, size = healthy(name, 3, 2400)
    drift = np.clip((np.arange(2400) - AT) / 600, 0, None) * 25 * size
    finding = single_finding(run_of(value + 1.5 * drift))
    assert finding.kind is Kind.DIVERGENCE
    assert finding.detected_step - AT < 400


@pytest.mark.parametrize("interval", [1, 3, 10, 30, 100, 300, 1000])
def test_a_single_high_row_is_a_fast_spike_at_every_interval(interval: int) -> None:
    value, size = healthy("power", 5)
    value[AT] += 20 * size
    finding = single_finding(run_of(value, step=interval * np.arange(POINTS)))
    assert (finding.kind, finding.start_step) == (Kind.SPIKE_FAST, AT * interval)


@pytest.mark.parametrize("interval", [(1, 20), (20, 1), (10, 100)])
def test_a_spike_after_the_interval_changed(interval: tuple[int, int]) -> None:
    apart = np.repeat(interval, POINTS // 2)
    noise = 0.06 * np.random.default_rng(2).standard_normal(POINTS) / np.sqrt(apart)
    value = 2.5 * (1 + noise) + decay(POINTS, AT + 100, 1.5, 3)
    finding = single_finding(run_of(value, step=np.cumsum(apart)))
    assert abs(finding.start_step - int(np.cumsum(apart)[AT + 100])) <= apart[-1]


@pytest.mark.parametrize("smoothing", [0.9, 0.99])
def test_a_smoothed_loss_has_only_its_spike(smoothing: float) -> None:
    raw = falling(6000) * (1 + 0.05 * np.random.default_rng(4).standard_normal(6000))
    spiked = raw + decay(6000, 4000, 3.0, 10)

    def smooth(value: Floats) -> Floats:
        return filtered(value, gain=1 - smoothing, decay=smoothing, first=raw[0])

    assert detect_all(run_of(smooth(raw))) == []
    finding = single_finding(run_of(smooth(spiked)))
    assert 4000 <= finding.start_step <= 4010
    assert finding.detected_step <= 4020


def test_rounded_values_and_bfloat16_have_no_findings() -> None:
    value = curve(6000, noise=0.002, seed=1)
    brain = (value.astype(np.float32).view(np.uint32) & 0xFFFF0000).view(np.float32).astype(np.float64)
    assert detect_all(run_of(np.round(value, 2))) == detect_all(run_of(brain)) == []


def test_a_pattern_that_repeats_every_epoch_is_no_event() -> None:
    random = np.random.default_rng(6)
    own = np.resize(random.standard_normal(97), 6000)
    value = falling(6000) * (1 + 0.05 * (0.9 * own + 0.4 * random.standard_normal(6000)))
    assert detect_all(run_of(value)) == []


def test_planned_warm_restarts_are_no_finding_however_long_the_loss_is_higher() -> None:
    within = (np.arange(20_000) % 5000) / 5000
    rate = 3e-4 * (0.5 + 0.5 * np.cos(np.pi * within)) + 1e-6
    level = falling(20_000) * (1 + 0.03 * (1 - within))
    assert detect_all(run_of(curve(20_000, noise=0.03, level=level, seed=2), lr=rate)) == []


def test_a_slow_wave_around_zero_within_the_noise_is_information_at_most() -> None:
    # of nine such waves one was told, by evidence that just sufficed
    at = np.arange(20_000)
    for seed in range(3):
        noise = 0.002 * np.random.default_rng(seed).standard_normal(20_000)
        wave = 0.002 * np.sin(2 * np.pi * at / (15_000 + 5_000 * seed))
        assert {finding.severity for finding in detect_all(run_of(wave + noise))} <= {Severity.INFO}


def test_missing_rows_hide_no_spike() -> None:
    value, size = healthy("power", 7)
    rows = np.random.default_rng(7).random(POINTS) < 0.6
    rows[AT : AT + 4] = True
    value += decay(POINTS, AT, 30 * size, 5)
    finding = single_finding(run_of(value[rows], step=np.flatnonzero(rows)))
    assert (finding.kind, finding.start_step) == (Kind.SPIKE_FAST, AT)


class TestRareShapes:
    def test_a_rise_that_ends_in_a_plateau_is_a_drift(self) -> None:
        ramp = np.clip((np.arange(4000) - 1500) / 300, 0, 1)
        finding = single_finding(run_of(curve(4000, seed=1) + 0.8 * ramp))
        assert (finding.kind, finding.severity, finding.end_step) == (
            Kind.DIVERGENCE,
            Severity.CRITICAL,
            None,
        )

    def test_an_exponential_divergence_is_one_event_however_long_it_lasts(self) -> None:
        steps = 10 * np.arange(3000)
        away = np.where(steps > 20_000, np.expm1(np.clip(steps - 20_000, 0, 1200) / 200.0) * 0.05, 0.0)
        finding = single_finding(run_of(curve(3000, seed=1) + away, step=steps))
        assert finding.kind is Kind.DIVERGENCE

    def test_each_spike_of_a_train_is_a_finding(self) -> None:
        train = sum(decay(4000, at, 1.5, 4) for at in (1500, 1650, 1790, 1960))
        findings = detect_all(run_of(curve(4000, seed=2) + train))
        assert [finding.start_step for finding in findings] == [1500, 1650, 1790, 1960]
        assert {finding.kind for finding in findings} == {Kind.SPIKE_FAST}

    def test_a_growing_oscillation_is_at_most_a_few_events_not_one_per_swing(self) -> None:
        since = np.clip(np.arange(4000) - 1500, 0, None)
        findings = detect_all(run_of(curve(4000, seed=2) + np.clip(since / 1000, 0, 1) * np.sin(since / 10)))
        assert len(findings) <= 5
        swings = 2500 / (20 * np.pi)
        assert swings > 30

    @pytest.mark.slow
    def test_findings_of_a_train_of_spikes_on_datasets_stay(self) -> None:
        parts = [curve(seed=n, noise=0.03) for n in range(2)]
        for at in range(1500, 1900, 40):
            parts[at // 40 % 2] += decay(3000, at, 1.5, 6)
        losses = {f"loss__{name}": part for name, part in zip("ab", parts, strict=True)}
        run = run_of(np.asarray(sum(parts)) / 2, **losses)
        final = {_position(finding) for finding in detect_all(run)}
        assert final
        for step in range(1490, 2000, 7):
            early = {_position(finding) for finding in detect_all(prefix(run, attempt=0, step=step))}
            assert early == {position for position in final if position[-1] <= step}

    def test_a_step_up_that_returns_slowly_is_a_slow_spike(self) -> None:
        since = np.arange(4000) - 1500
        back = np.exp(-np.clip(since - 300, 0, None) / 80)
        finding = single_finding(run_of(curve(4000, seed=3) + np.where(since < 0, 0.0, 0.6 * back)))
        assert (finding.kind, finding.start_step) == (Kind.SPIKE_SLOW, 1500)

    def test_a_burst_of_nan_and_the_spike_after_it_are_two_findings(self) -> None:
        value = curve(4000, seed=4) + decay(4000, 1504, 2.0, 6)
        value[1500:1504] = np.nan
        findings = {finding.kind: finding for finding in detect_all(run_of(value))}
        assert findings.keys() == {Kind.NONFINITE, Kind.SPIKE_FAST}
        assert findings[Kind.SPIKE_FAST].start_step == 1504

    def test_a_spike_on_some_datasets_of_many_names_the_total(self) -> None:
        parts = [curve(seed=n, noise=0.03) for n in range(4)]
        for part in parts[:3]:
            part += decay(3000, 1800, 2.0, 10)
        others = {f"loss__{name}": part for name, part in zip("abcd", parts, strict=True)}
        assert single_finding(run_of(np.asarray(sum(parts)) / 4, **others)).metric == "loss"

    def test_a_spike_just_before_a_rollback_belongs_to_the_first_attempt(self) -> None:
        first = curve(2010, seed=5) + decay(2010, 2000, 3.0, 50)
        second = curve(3000, seed=55)[1800:]
        step = np.concatenate((np.arange(2010), np.arange(1800, 3000)))
        run = run_of(np.concatenate((first, second)), step=step, attempt=np.repeat([0, 1], [2010, 1200]))
        finding = single_finding(run)
        assert (finding.attempt, finding.start_step) == (0, 2000)

    def test_a_falling_accuracy_is_ignored(self) -> None:
        falls = 0.7 - np.clip(np.arange(3000) - 1500, 0, None) / 4000
        assert detect_all(run_of(falls, metric="train/accuracy")) == []


@pytest.mark.parametrize("seed", range(3))
def test_findings_stay_in_rare_shapes(seed: int) -> None:
    random = np.random.default_rng(seed)
    value = falling(2400) * (1 + 0.04 * random.standard_t(3, 2400) / 3**0.5)
    value += decay(2400, 700, 1.5, 4) + decay(2400, 850, 1.5, 4)
    value += np.clip(np.arange(2400) - 1500, 0, 300) / 300
    run = run_of(value)
    final = {_position(finding) for finding in detect_all(run)}
    assert len(final) >= 3
    for step in sorted(random.choice(np.arange(300, 2400), 25, replace=False).tolist()):
        early = {_position(finding) for finding in detect_all(prefix(run, attempt=0, step=step))}
        assert early == {position for position in final if position[-1] <= step}


def _position(finding: Finding) -> tuple[str, int, int]:
    return finding.metric, finding.start_step, finding.detected_step
