"""A run without a recognised loss says so, with the names of its curves and how to name one."""

from __future__ import annotations

import numpy as np

from holter.detectors.launch_checks import run_launch_checks
from tests.support.curves import run, series

CURVE = np.linspace(3, 2, 100)


def test_curves_without_a_loss_are_named_with_what_to_do() -> None:
    (diagnostic,) = run_launch_checks(run(series("zeta", CURVE), series("lr", CURVE)))
    assert diagnostic.code == "no-loss-recognised"
    assert "zeta" in diagnostic.summary
    assert "metrics" in diagnostic.advice


def test_terms_of_other_trades_are_left_alone_in_words() -> None:
    (diagnostic,) = run_launch_checks(run(series("g_loss", CURVE)))
    assert "NaN and explosions only" in diagnostic.summary


def test_of_adversaries_and_policies_the_losses_are_named_and_why_they_are_left_alone() -> None:
    others = (series("completions/mean_length", CURVE), series("lr", CURVE))
    (game,) = run_launch_checks(run(series("loss_G", CURVE), series("loss_D", CURVE), *others))
    assert game.summary.startswith("The losses of a generator and its adversary rise as the other learns, so")
    (policy,) = run_launch_checks(run(series("reward", CURVE), series("policy_loss", CURVE), *others))
    for diagnostic, names in ((game, "loss_D, loss_G"), (policy, "policy_loss")):
        assert f"divergence: {names}. Terms" in diagnostic.summary


def test_a_recognised_loss_and_runs_without_curves_need_no_words() -> None:
    assert not run_launch_checks(run(series("mse_loss", CURVE), series("zeta", CURVE)))
    assert not run_launch_checks(run(series("step_time", CURVE)))
