"""The published rules that detection is compared with do what their sources say."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

FILE = Path(__file__).parents[2] / "benchmarks" / "published_rules.py"


@pytest.fixture(scope="module")
def published() -> ModuleType:
    spec = importlib.util.spec_from_file_location("published_rules", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def alarms(rule: Any, loss: np.ndarray, norm: np.ndarray | None = None) -> list[int]:
    """The indices of the points at which a rule raises an alarm."""
    instance = rule(len(loss))
    return [
        index
        for index, value in enumerate(loss.tolist())
        if instance.is_alarm(value, None if norm is None else float(norm[index]))
    ]


def calm(points: int = 3000) -> np.ndarray:
    return 2 + np.random.default_rng(0).normal(0, 0.02, points)


@given(values=st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=60), size=st.integers(2, 12))
def test_a_window_s_sums_are_those_of_its_values(
    published: ModuleType, values: list[float], size: int
) -> None:
    window = published.SlidingWindow(size)
    for value in values:
        window.push(value)
    last = np.array(values[-size:])
    assert window.mean == pytest.approx(last.mean(), abs=1e-6)
    assert window.deviation(ddof=1) == pytest.approx(last.std(ddof=1), abs=1e-3)


def test_nan_spoils_a_window_until_it_has_left(published: ModuleType) -> None:
    window = published.SlidingWindow(3)
    for value in (1.0, math.nan, 1.0):
        window.push(value)
    assert math.isnan(window.mean)
    for value in (1.0, 1.0):
        window.push(value)
    assert window.mean == 1.0


def test_kill_loss_spike_wants_five_losses_in_a_row_at_twice_the_mean(published: ModuleType) -> None:
    loss = calm()
    loss[1000:1004] = 5.0
    loss[2000:2005] = 5.0
    assert alarms(published.KillLossSpike, loss) == [2004]


def test_kill_loss_spike_says_nothing_before_its_window_is_full(published: ModuleType) -> None:
    loss = calm(10_000)  # a window of 500
    loss[300:310] = 50.0
    assert not [at for at in alarms(published.KillLossSpike, loss) if at < 500]


def test_skip_step_looks_from_64_points_on_and_learns_from_what_it_skips(published: ModuleType) -> None:
    loss = calm(400)
    loss[62] = 5.0
    assert 62 not in alarms(published.SkipStep, loss)
    loss = calm(400)
    loss[200:260] = 5.0
    indices = alarms(published.SkipStep, loss)
    assert indices[0] == 200
    assert len(indices) < 10


def test_skip_step_skips_all_that_follows_a_nan_while_it_remembers_it(published: ModuleType) -> None:
    loss = calm(500)
    loss[200] = math.nan
    assert alarms(published.SkipStep, loss) == list(range(200, 329))


def test_the_gradient_norm_alarms_too_where_the_rule_looks_at_it(published: ModuleType) -> None:
    loss, norm = calm(400), calm(400)
    norm[300] = 9.0
    assert alarms(published.StabilityMonitor, loss, norm) == [300]
    assert alarms(published.LossStabilityMonitor, loss, norm) == []


def test_the_paper_s_score_counts_what_is_seven_deviations_away(published: ModuleType) -> None:
    loss = calm()
    loss[2000], loss[2500] = 2 + 0.02 * 6, 2 + 0.02 * 8
    assert alarms(published.PaperSpikeScore, loss) == [2500]


def test_megatron_s_reference_is_the_largest_of_the_first_hundred(published: ModuleType) -> None:
    loss = calm()
    loss[50], loss[1000], loss[2000] = 11.0, 109.0, 110.0
    assert alarms(published.SpikyLoss, loss) == [2000]


def test_lightning_wants_twice_the_mean_above_the_mean_and_does_not_learn_from_it(
    published: ModuleType,
) -> None:
    loss = calm(300)
    loss[100], loss[200:220] = 5.9, 6.2
    assert alarms(published.SpikeDetection, loss) == list(range(200, 220))
