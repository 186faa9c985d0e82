"""Losses of reinforcement learning are terms of a policy; those of preference pairs are like others."""

from __future__ import annotations

import numpy as np
import pytest

from holter.detectors import find
from holter.detectors.apply_tuning import with_roles
from holter.detectors.detector import DetectorContext
from holter.detectors.launch_checks.unjudged_run import UnjudgedRunCheck
from holter.roles import Role, role_of
from holter.tuning import Tuning
from holter.types import Kind
from tests.support.curves import loss_curve, run, series

N = 400


def spiking_loss() -> np.ndarray:
    curve = loss_curve(np.random.default_rng(0), N)
    curve[300:340] += 3.0
    return curve


def sparse_rewards() -> np.ndarray:
    """The loss of a value function: it has been learnt that there are none, and then the first ones come."""
    rng = np.random.default_rng(1)
    found = (rng.random(N) < 0.3) & (np.arange(N) > 200)
    return np.where(found, 1e4 * rng.random(N), 4e3 * np.exp(-np.arange(N) / 20) + 1e-4 * rng.random(N))


@pytest.mark.parametrize(
    "others",
    [
        ("rollout/ep_rew_mean",),
        ("train/policy_gradient_loss", "train/value_loss"),
        ("losses/qf1_loss", "losses/actor_loss"),
        ("episode_return",),
    ],
)
def test_the_loss_of_a_policy_causes_no_alarm(others: tuple[str, ...]) -> None:
    rng = np.random.default_rng(2)
    terms = [series(name, rng.normal(1, 0.1, N)) for name in others]
    policy = run(series("train/loss", sparse_rewards()), *terms)
    assert find(policy) == []
    assert find(run(series("train/loss", sparse_rewards()))) != []


def test_what_is_left_alone_is_reported() -> None:
    policy = run(
        series("train/loss", sparse_rewards()), series("rollout/ep_rew_mean", np.zeros(N) + np.arange(N))
    )
    (diagnostic,) = UnjudgedRunCheck().check(with_roles(policy, Tuning()), DetectorContext())
    assert diagnostic.summary.startswith("The losses of a policy depend on the data that it makes")
    assert "train/loss" in diagnostic.summary


@pytest.mark.parametrize(
    "others", [("train/rewards/chosen", "train/rewards/margins"), ("aux_loss",), ("loss_G",), ("kl_loss",)]
)
def test_other_losses_are_examined(others: tuple[str, ...]) -> None:
    rng = np.random.default_rng(3)
    terms = [series(name, rng.normal(1, 0.1, N)) for name in others]
    assert [finding.metric for finding in find(run(series("loss", spiking_loss()), *terms))] == ["loss"]


def test_a_policy_loss_that_becomes_nan_is_critical() -> None:
    loss = sparse_rewards()
    loss[350:] = np.nan
    reward = series("reward", np.random.default_rng(4).normal(1, 0.1, N))
    (finding,) = find(run(series("loss", loss), reward))
    assert (finding.kind, finding.metric, finding.start_step) == (Kind.NONFINITE, "loss", 350)


def test_the_user_decides() -> None:
    policy = run(series("loss", spiking_loss()), series("reward", np.ones(N) + np.arange(N)))
    assert find(policy) == []
    tuned = Tuning(metrics={"loss": Role.LOSS})
    assert [finding.metric for finding in find(policy, tuning=tuned)] == ["loss"]
    assert {role_of(key) for key in with_roles(policy, tuned).series} == {Role.LOSS, Role.REWARD}
