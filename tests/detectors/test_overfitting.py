"""Evaluations that get worse from the first on while the training loss falls: overfitting, of five."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from holter.detectors import find
from holter.types import Finding, RunData, Series
from tests.support.curves import run, series, until

EVERY = 100
WORSE = (1.20, 1.27, 1.36, 1.45, 1.57)
"""Five evaluations, up to 31 % worse."""


def evaluations(value: Sequence[float], metric: str = "eval/loss") -> Series:
    return series(metric, value, step=EVERY * np.arange(1, len(value) + 1))


def training(steps: int = 500, *, falls: bool = True) -> Series:
    step = np.arange(10, steps + 1, 10)
    level = 0.1 + 1.5 * np.exp(-step / 150) if falls else np.full(len(step), 1.6)
    return series("loss", level + 0.01 * np.random.default_rng(3101).standard_normal(len(step)), step=step)


def overfits(curves: RunData) -> list[Finding]:
    return [finding for finding in find(curves) if finding.metric.startswith("eval")]


def test_five_evaluations_that_rise_by_a_third_are_overfitting() -> None:
    (finding,) = overfits(run(training(), evaluations(WORSE)))
    assert (finding.kind, finding.severity) == ("divergence", "warning")
    assert (finding.start_step, finding.detected_step, finding.end_step) == (200, 500, None)
    assert "keep the checkpoint of step 100" in finding.advice
    assert finding.summary == (
        "Evaluation loss eval/loss rose with each of 4 evaluations while the training loss fell: from 1.2 at "
        "step 100 to 1.57 at step 500."
    )


def test_overfitting_that_goes_on_is_one_finding() -> None:
    worse = 1.2 + 0.1 * np.arange(30) + 0.01 * np.random.default_rng(3102).standard_normal(30)
    curves = run(training(3000), evaluations(worse.tolist()))
    (finding,) = overfits(curves)
    (first,) = overfits(until(curves, 0, 500))
    assert (first.start_step, first.detected_step) == (finding.start_step, finding.detected_step)
    assert "each of 4 evaluations up to step 500 while" in finding.summary, "noise may lower later ones"


def test_overfitting_that_came_back_asks_for_nothing() -> None:
    (finding,) = overfits(run(training(1000), evaluations((*WORSE, 1.19, 1.18, 1.17, 1.16, 1.15))))
    assert (finding.severity, finding.end_step) == ("info", 600)
    assert finding.summary.endswith("; it was back at step 600.")
    assert finding.advice.startswith("Nothing to do now")


@pytest.mark.parametrize(
    "value",
    [
        WORSE[:4],
        (1.20, 1.22, 1.25, 1.27, 1.30),
        (1.20, 1.36, 1.27, 1.45, 1.57),
        (1.20, 1.21, 1.22, 1.23, 1.57),
        (1.9, 1.7, 1.5, 1.3, 1.20, *WORSE[1:]),
    ],
    ids=["of four", "by a tenth", "not in order", "the last one alone", "after a fall of four"],
)
def test_of_few_evaluations_only_a_steady_large_rise_from_the_beginning_is_reported(
    value: tuple[float, ...],
) -> None:
    assert overfits(run(training(100 * len(value)), evaluations(value))) == []


def test_without_a_training_loss_that_falls_five_evaluations_show_nothing() -> None:
    assert overfits(run(evaluations(WORSE))) == []
    assert overfits(run(training(falls=False), evaluations(WORSE))) == []


def test_evaluations_that_come_back_are_information() -> None:
    (finding,) = overfits(run(training(800), evaluations((*WORSE, 1.22, 1.21, 1.19))))
    assert (finding.severity, finding.end_step) == ("info", 600)


def test_evaluation_losses_that_rise_together_are_one_overfitting() -> None:
    other = evaluations([2 * value for value in WORSE], "eval/books_loss")
    (finding,) = overfits(run(training(), evaluations(WORSE), other))
    assert [each["metric"] for each in finding.evidence["also"]] == ["eval/loss"]


def test_a_rise_of_many_evaluations_is_no_more_than_a_warning_while_the_training_loss_falls() -> None:
    random = np.random.default_rng(3103)
    level = 1.0 + np.exp(-np.arange(40) / 4) + 0.05 * np.clip(np.arange(40) - 20, 0, None)
    worse = level + 0.005 * random.standard_normal(40)
    (finding,) = overfits(run(training(4000), evaluations(worse.tolist())))
    assert (finding.kind, finding.severity) == ("divergence", "warning")


@pytest.mark.parametrize("value", [(0.31, 0.39, 0.49), (0.3, 0.34, 0.37, 0.41)])
def test_three_or_four_evaluations_that_rise_by_much_are_information(value: tuple[float, ...]) -> None:
    (finding,) = overfits(run(training(100 * len(value)), evaluations(value)))
    assert (finding.kind, finding.severity) == ("divergence", "info")
    assert finding.detected_step == 100 * len(value)
    (later,) = overfits(run(training(700), evaluations((*value, 0.55, 0.61, 0.66, 0.72)[:7])))
    assert (later.start_step, later.detected_step) == (finding.start_step, finding.detected_step)
    assert later.severity == "warning", "five are enough to be certain"


@pytest.mark.parametrize("value", [(0.31, 0.35, 0.4), (0.3, 0.31, 0.33, 0.36), (0.4, 0.36, 0.49)])
def test_three_or_four_evaluations_that_rise_by_less_are_not(value: tuple[float, ...]) -> None:
    assert overfits(run(training(100 * len(value)), evaluations(value))) == []
