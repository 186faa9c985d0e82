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


def wandering(seed: int) -> np.ndarray:
    """The loss of one side of a game: it wanders over four decades."""
    steps = np.random.default_rng(seed).standard_normal(2000)
    level = np.zeros(2000)
    for row in range(1, 2000):
        level[row] = 0.99 * level[row - 1] + 0.14 * steps[row]
    return np.asarray(10 ** (2 * level))


@pytest.mark.parametrize(
    ("generator", "adversary"),
    [
        ("loss/g/total", "loss/d/total"),
        ("gen_loss", "dis_loss"),
        ("train/loss", "D_loss"),
        ("G/loss", "D/loss"),
    ],
)
def test_losses_of_a_generator_and_its_adversary_are_no_critical_alarm(
    generator: str, adversary: str
) -> None:
    for seed in range(3131, 3135):
        both = [series(generator, wandering(seed)), series(adversary, 1 / (1 + wandering(seed)))]
        others = [series(name, wandering(seed + 100)) for name in ("g_loss", "loss/scores/fake")]
        findings = find(run(*both, *others))
        assert [each for each in findings if each.severity == "critical"] == []


def test_the_reconstruction_of_a_generator_is_a_loss() -> None:
    rng = np.random.default_rng(3140)
    terms = [series(name, rng.normal(1, 0.1, N)) for name in ("loss/g/total", "loss/d/total")]
    (finding,) = find(run(series("mel_loss", spiking_loss()), *terms))
    assert finding.metric == "mel_loss"


def test_datasets_named_by_single_letters_have_losses() -> None:
    rng = np.random.default_rng(3141)
    single = run(*(series(f"loss/{name}", rng.normal(1, 0.1, N)) for name in ("c", "d", "e")))
    assert {role_of(key) for key in with_roles(single, Tuning()).series} == {Role.DATASET_LOSS}
