"""The first points of a run, of which too few are known to measure their noise."""

from __future__ import annotations

import numpy as np
import pytest

from holter.detectors import IncrementalState, find
from holter.types import Finding, FloatArray, Kind
from tests.support.loss_curves import detect_all, run_of


def flat(points: int, seed: int, *, level: float = 2.0) -> FloatArray:
    return level + np.random.default_rng(seed).normal(0, 0.02, points)


def loss_findings(loss: FloatArray) -> list[Finding]:
    return [each for each in detect_all(run_of(loss)) if each.kind is not Kind.OUTLIER_BATCH]


@pytest.mark.parametrize("seed", range(4))
def test_a_spike_within_the_first_twenty_points_is_found(seed: int) -> None:
    loss = flat(500, seed)
    loss[12:18] += 3 * np.exp(-np.arange(6) / 3)
    (finding,) = loss_findings(loss)
    assert finding.kind is Kind.SPIKE_FAST
    assert finding.start_step == 12
    assert finding.end_step is not None


@pytest.mark.parametrize("seed", range(4))
def test_a_loss_that_doubles_in_a_run_of_thirty_points_has_settled_higher(seed: int) -> None:
    loss = flat(30, seed)
    loss[18:] += 2
    (finding,) = loss_findings(loss)
    assert finding.kind is Kind.SPIKE_UNRECOVERED
    assert finding.start_step == 18


def test_a_lone_point_there_is_left_alone() -> None:
    loss = flat(200, 0)
    loss[12] = 5
    assert not loss_findings(loss)


def eval_losses(seed: int) -> FloatArray:
    """A loss of one point per evaluation: it falls by two thirds, with hardly any noise."""
    step = np.arange(76)
    noise = np.random.default_rng(seed).normal(0, 0.002, len(step))
    return 0.27 + 0.8 / (1 + step) ** 1.5 + noise


@pytest.mark.parametrize("seed", range(4))
def test_jumps_are_found_beside_a_fall_that_is_far_larger(seed: int) -> None:
    loss = eval_losses(seed)
    loss[30:38] += 0.09 * np.exp(-np.arange(8) / 2)
    loss[46] += 0.08
    assert [(each.kind, each.start_step) for each in loss_findings(loss)] == [
        (Kind.SPIKE_FAST, 30),
        (Kind.SPIKE_FAST, 46),
    ]
    assert all(each.end_step is not None for each in loss_findings(loss))


@pytest.mark.parametrize("seed", range(20))
def test_a_fall_alone_has_no_jumps(seed: int) -> None:
    assert not loss_findings(eval_losses(seed))


def test_findings_there_stay_when_the_loss_is_shifted_and_scaled() -> None:
    loss = flat(500, 0)
    loss[12:18] += 3 * np.exp(-np.arange(6) / 3)
    (plain,), (moved,) = loss_findings(loss), loss_findings(100 * loss - 3)
    assert (moved.start_step, moved.detected_step, moved.end_step) == (
        plain.start_step,
        plain.detected_step,
        plain.end_step,
    )


@pytest.mark.parametrize("noise", ["normal", "lognormal", "student"])
def test_noise_alone_is_no_event_there(noise: str) -> None:
    rng = np.random.default_rng(1)
    draws = {
        "normal": lambda: rng.normal(0, 0.1, 32),
        "lognormal": lambda: 0.1 * rng.lognormal(0, 0.5, 32),
        "student": lambda: 0.1 * rng.standard_t(3, 32),
    }
    assert sum(len(loss_findings(2 + draws[noise]())) for _ in range(150)) <= 1


def test_a_loss_that_rises_a_little_before_it_falls_is_no_event() -> None:
    step = np.arange(200)
    loss = 8 * np.exp(-step / 60) + 2 + 0.5 * np.exp(-(((step - 12) / 4.0) ** 2))
    assert not loss_findings(loss + np.random.default_rng(0).normal(0, 0.02, 200))


def test_one_step_of_a_coarsely_rounded_loss_is_no_jump() -> None:
    loss = np.full(60, 0.003)  # as logs of three decimals show it
    loss[[7, 25, 59]] = 0.004
    assert not loss_findings(loss)


def test_a_coarsely_rounded_loss_that_jumps_by_many_steps_is_found() -> None:
    loss = np.full(60, 0.003)
    loss[[7, 25]] = 0.004
    loss[50:] = 0.03
    (finding,) = loss_findings(loss)
    assert finding.start_step == 50
    assert finding.evidence["strength"] < 100


def switched_on(seed: int, points: int = 600) -> FloatArray:
    """A term of a loss that is exactly 0 until its weight is."""
    level = np.concatenate((np.zeros(250), 2 + 0.5 * np.exp(-np.arange(points - 250) / 40)))
    return np.where(level > 0, level + np.random.default_rng(seed).normal(0, 0.02, points), 0.0)


@pytest.mark.parametrize("seed", range(4))
def test_what_never_varied_has_no_noise_that_a_rise_could_exceed(seed: int) -> None:
    state = IncrementalState()
    for stop in (8, 249, 251, 252, 258, 270, 300, 600):
        data = run_of(switched_on(seed)[:stop])
        assert find(data, state=state) == find(data) == []


def test_a_spike_after_a_term_was_switched_on_is_found() -> None:
    loss = switched_on(0, points=900)
    loss[800:810] += 2
    (finding,) = loss_findings(loss)
    assert (finding.kind, finding.start_step) == (Kind.SPIKE_FAST, 800)
