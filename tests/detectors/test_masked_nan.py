"""Loggers hide NaN as zero, as the last good value, as an absurd number; counters of skipped steps tell."""

from __future__ import annotations

import numpy as np
import pytest

from holter.detectors.detector import DetectorContext
from holter.detectors.numerics.masked_nan import MaskedNanDetector
from holter.types import Finding, Series
from tests.support.curves import loss_curve, run, series

N = 4000


def found(*all_series: Series) -> list[Finding]:
    return list(MaskedNanDetector().detect(run(*all_series), DetectorContext()))


def loss(seed: int = 0) -> np.ndarray:
    return loss_curve(np.random.default_rng(seed), N)


@pytest.mark.parametrize("value", [0.0, "last", 1e18])
@pytest.mark.parametrize("every", [1, 50])
def test_values_that_a_logger_writes_for_nan_are_detected(value: float | str, every: int) -> None:
    curve = loss()
    curve[2000:2040] = curve[1999] if value == "last" else value
    (finding,) = found(series("loss", curve, step=np.arange(N) * every))
    assert (finding.start_step - 2000 * every) // every in (-1, 0)
    assert finding.end_step == 2040 * every
    assert finding.detected_step <= 2005 * every
    assert finding.evidence["points"] in (40, 41)


def test_an_active_event_is_critical() -> None:
    curve = loss()
    curve[3900:] = 0.0
    (finding,) = found(series("loss", curve))
    assert (finding.end_step, finding.severity) == (None, "critical")


def test_a_gradient_norm_of_zero_is_a_warning() -> None:
    norm = np.exp(np.random.default_rng(0).normal(0, 0.3, N))
    norm[2000:] = 0.0
    (finding,) = found(series("grad_norm", norm))
    assert (finding.start_step, finding.severity) == (2000, "warning")


@pytest.mark.parametrize("digits", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("alike", [0.0, 0.9, 0.99])
def test_a_log_with_few_digits_repeats_itself(digits: int, alike: float) -> None:
    for seed in range(4):
        rng = np.random.default_rng(seed)
        wander = np.zeros(N)
        for step in range(1, N):
            wander[step] = alike * wander[step - 1] + rng.normal(0, (1 - alike**2) ** 0.5)
        for level in (2.0, 1e-3):
            assert found(series("loss", np.round(level * (1 + 0.02 * wander), digits))) == []


def test_a_loss_that_fell_to_its_last_digits_repeats_itself() -> None:
    rng = np.random.default_rng(0)
    for slowness in (15, 25, 40):
        curve = 0.3 * np.exp(-np.arange(400) / slowness - 0.15 * rng.random(400)) + 2e-4
        assert found(series("loss", np.round(curve, 4), step=np.arange(400) * 25)) == []
        assert found(series("loss", np.round(np.maximum(curve - 3e-4, 0), 4))) == []
    varied = np.round(0.3 * np.exp(-np.arange(200) / 12) + 5e-4 * np.exp(0.5 * rng.standard_normal(200)), 4)
    varied[164:173] = 3e-4
    assert found(series("loss", varied)) == []


def test_a_small_loss_that_stands_still_while_its_digits_moved_is_detected() -> None:
    rng = np.random.default_rng(0)
    curve = np.round(0.02 * np.exp(rng.normal(0, 0.1, 400)), 4)
    curve[300:330] = curve[300]
    (finding,) = found(series("loss", curve))
    assert (finding.start_step, finding.end_step) == (300, 330)


def test_a_clipped_norm_a_loss_of_zero_advantage_and_a_repeated_value_are_no_nan() -> None:
    rng = np.random.default_rng(0)
    clipped = np.minimum(np.exp(rng.normal(0, 0.3, N) - np.arange(N) / 1500), 1.0)
    advantage = np.where(rng.random(N) < np.linspace(0, 0.6, N), 0.0, rng.normal(0, 0.1, N))
    carried = np.repeat(rng.normal(2, 0.1, N // 5), 5)
    assert found(series("grad_norm", clipped)) == []
    assert found(series("loss", advantage)) == []
    assert found(series("loss", carried)) == []


def test_a_series_that_was_always_zero_is_not_reported() -> None:
    assert found(series("loss", loss()), series("grad_norm", np.zeros(N))) == []


class TestCounters:
    def test_iterations_whose_loss_was_nan_are_reported_at_once(self) -> None:
        count = np.zeros(400)
        count[200] = 2
        (finding,) = found(series("number of nan iterations", count, step=np.arange(400) * 10))
        assert (finding.start_step, finding.detected_step) == (2000, 2000)

    @pytest.mark.parametrize("total", [True, False])
    def test_many_steps_skipped_in_sequence_are_reported(self, total: bool) -> None:
        count = np.zeros(400)
        count[::37] = 1  # as loss scaling does
        count[200:210] = 10
        metric = "skipped_steps_total" if total else "number of skipped iterations"
        shown = np.cumsum(count) if total else count
        (finding,) = found(series(metric, shown, step=np.arange(400) * 10))
        assert finding.start_step == 2000

    def test_the_search_for_a_loss_scale_skips(self) -> None:
        count = np.zeros(400)
        count[:8] = 10
        assert found(series("number of skipped iterations", count, step=np.arange(400) * 10)) == []


def test_masked_nan_in_two_series_at_once_is_one_event() -> None:
    curve, norm = loss(), np.exp(np.random.default_rng(1).normal(0, 0.3, N))
    curve[2000:2100] = 0.0
    norm[2000:2100] = 0.0
    (finding,) = found(series("loss", curve), series("grad_norm", norm))
    assert finding.metric == "loss"
    assert finding.evidence["metrics"] == ["grad_norm", "loss"]


def test_a_cumulative_count_that_has_long_been_constant_is_no_alarm() -> None:
    count = np.minimum(np.arange(600) * 0.7, 40).round()
    data = run(
        series("loss", 2 + 0.01 * np.random.default_rng(0).standard_normal(600)),
        series("skipped_steps", count),
    )
    assert not list(MaskedNanDetector().detect(data, DetectorContext()))
