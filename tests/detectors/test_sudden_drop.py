"""Sudden drops of a loss that stays low, unless a change explains them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from holter.detectors.detector import DetectorContext
from holter.detectors.loss.sudden_drop import SuddenDropDetector
from holter.types import Finding, Series
from tests.support.curves import run, series

N = 6000
T = np.arange(N)


def detect(*all_series: Series) -> list[Finding]:
    return list(SuddenDropDetector().detect(run(*all_series), DetectorContext()))


def base(t: np.ndarray) -> np.ndarray:
    return np.asarray(2.0 + 6.0 * (t + 20.0) ** -0.35)


def skill(at: int, lasting: int = 60, depth: float = 0.25) -> np.ndarray:
    """A fall by this share around a step, as when an induction head forms."""
    return 1 - depth / (1 + np.exp(-(T - at) / (lasting / 4)))


NOISES: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "normal": lambda rng: rng.normal(0, 1, N),
    "heavy": lambda rng: rng.standard_t(3, N) / 1.7,
    "skewed": lambda rng: (rng.gamma(4, 1, N) - 4) / 2,
    "alike": lambda rng: np.convolve(rng.normal(0, 1, N + 3), np.ones(4) / 2, mode="valid"),
}


@pytest.mark.parametrize("kind", NOISES)
@pytest.mark.parametrize("size", [0.005, 0.02, 0.08])
def test_a_fast_improvement_is_information(kind: str, size: float) -> None:
    noise = np.exp(size * NOISES[kind](np.random.default_rng(0)))
    (finding,) = detect(series("loss", base(T) * skill(3000) * noise), series("lr", np.full(N, 1e-4)))
    assert (finding.kind, finding.severity) == ("sudden_drop", "info")
    assert abs(finding.start_step - 3000) < 60
    assert finding.detected_step - finding.start_step < 250
    assert finding.evidence["level"] < 0.9 * finding.evidence["baseline"]


@pytest.mark.parametrize("kind", NOISES)
def test_ordinary_falling_curves_have_no_findings(kind: str) -> None:
    curves = (
        base(T),
        2 + 1.5 * np.cos(np.pi * T / N / 2) ** 2 + 4 * (T + 30.0) ** -0.5,
        np.where(T < 300, 10.9 - 0.01 * T, 2 + 5.9 * np.exp(-(T - 300) / 400)),
        np.full(N, 2.0),
    )
    for number, curve in enumerate(curves):
        for size in (0.003, 0.02, 0.1):
            noise = size * NOISES[kind](np.random.default_rng(number))
            assert detect(series("loss", curve * (1 + noise))) == []


def test_a_decaying_learning_rate_explains_the_fall() -> None:
    down = np.clip((T - 0.8 * N) / (0.2 * N), 0, 1)
    for seed in range(4):
        noise = np.exp(0.02 * np.random.default_rng(seed).normal(0, 1, N))
        curve = (2.2 + 6 * (T + 20.0) ** -0.4 - 0.4 * down) * noise
        assert detect(series("loss", curve), series("lr", 1e-3 * (1 - 0.99 * down))) == []


@pytest.mark.parametrize(
    "why",
    [
        series("lr", np.where(T < 3000, 1e-3, 1e-4)),
        series("batch_size", np.where(T < 3000, 256, 1024)),
        series("mix/code", np.where(T < 3000, 0.2, 0.6)),
        series("epoch", T / 3000),
    ],
    ids=lambda series: series.key.metric,
)
def test_a_change_explains_the_fall(why: Series) -> None:
    noise = np.exp(np.random.default_rng(0).normal(0, 0.02, N))
    assert detect(series("loss", base(T) * skill(3000) * noise), why) == []


def test_metrics_that_are_not_logged_are_named() -> None:
    (finding,) = detect(series("loss", base(T) * skill(3000)))
    assert "learning rate" in finding.evidence["not_logged"]
    assert finding.confidence < 0.7


@pytest.mark.parametrize("lasting", [30, 300, 1200])
def test_the_return_of_a_spike_is_no_improvement(lasting: int) -> None:
    curve = base(T) * np.exp(np.random.default_rng(0).normal(0, 0.02, N))
    curve[2500 : 2500 + lasting] += 2.0
    assert detect(series("loss", curve)) == []


def test_a_fall_with_a_restart_is_no_improvement() -> None:
    step = np.concatenate([np.arange(3000), np.arange(2800, 5800)])
    attempt = np.repeat([0, 1], 3000)
    noise = np.exp(np.random.default_rng(0).normal(0, 0.02, N))
    lower = np.where(attempt == 1, 0.8, 1.0)
    after_spike = 1 + 0.8 * ((attempt == 1) & (step < 3400))
    for change in (lower, after_spike):
        assert detect(series("loss", base(step) * change * noise, step=step, attempt=attempt)) == []


def test_grokking_in_an_evaluation_is_detected_where_the_training_loss_shows_nothing() -> None:
    rng = np.random.default_rng(0)
    shown = np.where(np.arange(120) < 70, 3.0, 0.4) * np.exp(rng.normal(0, 0.02, 120))
    (finding,) = detect(
        series("loss", 0.2 * np.exp(rng.normal(0, 0.05, N))),
        series("eval/loss", shown, step=np.arange(120) * 50),
    )
    assert (finding.metric, finding.start_step) == ("eval/loss", 69 * 50)
