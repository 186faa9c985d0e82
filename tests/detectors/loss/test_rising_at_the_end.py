"""Rises that go on at the end of a run of few steps: they are drifts by their shape, not by their steps."""

from __future__ import annotations

import numpy as np
import pytest

from holter.detectors import IncrementalState, find
from holter.types import FloatArray, Kind
from tests.support.loss_curves import run_of


def accelerating(seed: int, *, rising: int = 40) -> FloatArray:
    """A range test of the learning rate: the loss rises ever faster, a point per step."""
    rise = 8 * (np.exp(np.arange(rising) / 8) - 1) / (np.exp(rising / 8) - 1)
    loss = np.concatenate((np.full(45, 2.0), 2.0 + rise))
    return loss + 0.004 * np.random.default_rng(seed).standard_normal(len(loss))


@pytest.mark.parametrize("step", [1, 5])
@pytest.mark.parametrize("seed", range(4))
def test_an_accelerating_rise_is_a_divergence_whatever_the_unit_of_its_steps(seed: int, step: int) -> None:
    loss = accelerating(seed)
    (finding,) = find(run_of(loss, step=step * np.arange(len(loss))))
    assert finding.kind is Kind.DIVERGENCE
    assert 45 <= finding.start_step // step <= 70


@pytest.mark.parametrize("seed", range(4))
def test_a_jump_that_stays_for_as_many_points_is_no_divergence(seed: int) -> None:
    loss = accelerating(seed)
    loss[45:] = 6.0 + 0.004 * np.random.default_rng(seed + 10).standard_normal(40)
    (finding,) = find(run_of(loss))
    assert finding.kind is Kind.SPIKE_UNRECOVERED


def test_looks_at_a_rise_that_goes_on_find_what_one_look_finds() -> None:
    loss, state = accelerating(0), IncrementalState()
    for stop in range(40, len(loss) + 1, 3):
        data = run_of(loss[:stop])
        assert find(data, state=state) == find(data)
