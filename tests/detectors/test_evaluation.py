"""Evaluation losses of few points: findings, and how rarely healthy ones have any."""

from __future__ import annotations

import numpy as np
import pytest

from holter.detectors import find
from holter.detectors.detector import DetectorContext
from holter.detectors.evaluation.eval_loss import EvaluationDetector
from holter.types import Finding, FloatArray, Kind, Severity
from tests.support.curves import loss_curve, run, series
from tests.support.filtered_noise import filtered

EVERY = 500


def level(points: int) -> FloatArray:
    curve: FloatArray = 2.0 + 4.0 * (np.arange(points) + 2.0) ** -0.6
    return curve


def evaluated(points: int = 60, *, noise: float = 0.004, seed: int = 0) -> FloatArray:
    random = np.random.default_rng(seed)
    return level(points) * (1 + noise * random.standard_normal(points))


def detect(value: FloatArray, *, step: np.ndarray | None = None) -> list[Finding]:
    at = EVERY * np.arange(len(value)) if step is None else step
    return find(run(series("eval/loss", value, step=at)))


def single_finding(value: FloatArray) -> Finding:
    findings = detect(value)
    assert len(findings) == 1, [(finding.kind.value, finding.start_step) for finding in findings]
    return findings[0]


def healthy(seed: int, points: int = 50) -> tuple[np.ndarray, FloatArray]:
    """Steps and an evaluation loss: a power, an exponential, a plateau or steps down, irregular every other
    time, with independent or slightly correlated noise of 0.3 to 10 %."""
    random = np.random.default_rng(seed)
    at = np.arange(points)
    shapes = (
        2 + random.uniform(0.5, 8) * (at + random.uniform(0.2, 3)) ** -random.uniform(0.2, 1.0),
        1.5 + 2 * np.exp(-at / random.uniform(3, 30)),
        3.0 - (at > points * random.uniform(0.2, 0.8)),
        4.0 - 0.5 * (at[:, None] > random.integers(0, points, 4)).sum(axis=1),
    )
    noise = filtered(random.standard_normal(points), decay=random.choice([0.0, 0.0, 0.3]))
    step = EVERY * at if seed % 2 else np.cumsum(random.integers(200, 2000, points))
    return step, shapes[seed // 2 % 4] * (1 + random.choice([0.003, 0.01, 0.03, 0.1]) * noise)


@pytest.mark.slow
def test_of_four_hundred_healthy_series_at_most_two_have_a_finding() -> None:
    alarms = 0
    for seed in range(400):
        step, value = healthy(seed)
        alarms += bool(
            list(EvaluationDetector().detect(run(series("eval/loss", value, step=step)), DetectorContext()))
        )
    assert alarms <= 2


@pytest.mark.parametrize("seed", range(4))
def test_a_lasting_jump_is_detected_at_once_with_undetermined_cause(seed: int) -> None:
    value = evaluated(seed=seed)
    value[40:] *= 1.08
    finding = single_finding(value)
    assert (finding.kind, finding.start_step, finding.detected_step) == (
        Kind.SPIKE_UNRECOVERED,
        20_000,
        20_000,
    )
    assert finding.end_step is None
    assert finding.evidence["cause"] == "undetermined"


def test_one_bad_evaluation_is_fast_and_three_are_slow() -> None:
    for many, kind in ((1, Kind.SPIKE_FAST), (3, Kind.SPIKE_SLOW)):
        value = evaluated()
        value[40 : 40 + many] *= 1.15
        finding = single_finding(value)
        assert (finding.kind, finding.start_step, finding.end_step) == (kind, 20_000, 20_000 + EVERY * many)


@pytest.mark.parametrize("seed", range(4))
def test_an_upward_turn_is_divergence_and_overfitting_where_the_training_loss_falls(seed: int) -> None:
    value = evaluated(seed=seed)
    value[35:] += 0.03 * np.arange(25)
    loss = loss_curve(np.random.default_rng(seed), 30_000)
    evaluation = series("eval/loss", value, step=EVERY * np.arange(60))
    (finding,) = find(run(series("loss", loss), evaluation))
    assert (finding.kind, finding.metric, finding.severity) == (
        Kind.DIVERGENCE,
        "eval/loss",
        Severity.WARNING,
    )
    assert 35 * EVERY <= finding.start_step <= finding.detected_step <= 47 * EVERY
    assert finding.evidence["cause"] == "evaluation"
    assert "overfits" in finding.advice


def test_too_few_evaluations_have_no_finding() -> None:
    value = evaluated(9)
    value[8] *= 1.05
    assert detect(value) == []


def test_accuracies_are_ignored() -> None:
    rises = 0.2 + 0.6 * (1 - np.exp(-np.arange(60) / 10))
    at = EVERY * np.arange(60)
    assert find(run(series("eval/accuracy", rises, step=at), series("val/acc", rises[::-1], step=at))) == []


def test_a_nan_evaluation_is_detected_and_nan_between_evaluations_is_not() -> None:
    value = evaluated()
    value[30] = np.nan
    finding = single_finding(value)
    assert (finding.kind, finding.start_step, finding.end_step) == (Kind.NONFINITE, 15_000, 15_500)
    sparse = np.full(3000, np.nan)
    sparse[::50] = evaluated()
    assert detect(sparse, step=np.arange(3000)) == []


def test_evaluations_that_rise_together_are_one_event() -> None:
    parts = [evaluated(seed=seed) for seed in range(3)]
    for part in parts:
        part[40:] *= 1.1
    at = EVERY * np.arange(60)
    named = [series(f"eval/{name}_loss", part, step=at) for name, part in zip("abc", parts, strict=True)]
    (finding,) = find(run(*named))
    assert finding.metric == "eval/a_loss"
    assert len(finding.evidence["also"]) == 2


def test_a_rise_that_the_training_loss_showed_first_is_no_second_event() -> None:
    loss = loss_curve(np.random.default_rng(1), 30_000)
    loss[19_800:] += 0.6
    value = evaluated()
    value[40:] += 0.6
    (finding,) = find(run(series("loss", loss), series("eval/loss", value, step=EVERY * np.arange(60))))
    assert (finding.metric, finding.start_step) == ("loss", 19_800)
    (other,) = finding.evidence["also"]
    assert (other["kind"], other["metric"], other["start_step"]) == ("spike_unrecovered", "eval/loss", 20000)


def test_a_restart_that_evaluates_worse_is_a_resume_artifact() -> None:
    value = evaluated()
    value[40:] *= 1.1
    where = {"step": EVERY * np.arange(60), "attempt": (np.arange(60) >= 40).astype(int)}
    (finding,) = find(run(series("eval/loss", value, **where)))
    assert (finding.kind, finding.attempt, finding.start_step) == (Kind.RESUME_ARTIFACT, 1, 20_000)


@pytest.mark.parametrize(("lasts", "severity"), [(False, "info"), (True, "warning")])
def test_a_rise_after_a_warm_restart_of_the_learning_rate_is_information_unless_it_stays(
    lasts: bool, severity: str
) -> None:
    at, value = np.arange(30_000), evaluated(noise=0.004)
    rate = 3e-4 * (0.5 + 0.5 * np.cos(np.pi * (at % 10_000) / 10_000)) + 1e-6
    value[40:] += 0.4 if lasts else 0.4 * np.exp(-np.arange(20) / 2)
    evaluation = series("eval/loss", value, step=EVERY * np.arange(60))
    (finding,) = find(run(series("lr", rate), evaluation))
    assert (finding.start_step, finding.severity) == (20_000, severity)
    (finding,) = find(run(series("lr", 1e-4 + 0 * rate), evaluation))
    assert (finding.start_step, finding.severity) == (20_000, "warning")


def test_a_planned_warm_restart_of_the_learning_rate_explains_a_worse_evaluation() -> None:
    at = np.arange(30_000)
    rate = 3e-4 * (0.5 + 0.5 * np.cos(np.pi * (at % 10_000) / 10_000)) + 1e-6
    value = evaluated(noise=0.004)
    value[np.isin(np.arange(60), (40, 41))] *= 1.015
    evaluation = series("eval/loss", value, step=EVERY * np.arange(60))
    assert find(run(series("lr", rate), evaluation)) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_findings_stay_whatever_is_evaluated_later(seed: int) -> None:
    random = np.random.default_rng(seed)
    value = evaluated(150, noise=0.01, seed=seed)
    value[random.integers(20, 150, 3)] *= 1.3
    value[random.integers(60, 150) :] *= 1.2
    at = np.cumsum(random.integers(100, 900, 150))
    final = [
        _position(finding)
        for finding in EvaluationDetector().detect(
            run(series("eval/loss", value, step=at)), DetectorContext()
        )
    ]
    assert final
    for points in range(1, 150):
        prefix = run(series("eval/loss", value[:points], step=at[:points]))
        early = [_position(finding) for finding in EvaluationDetector().detect(prefix, DetectorContext())]
        assert early == [position for position in final if position[-1] <= at[points - 1]]


def _position(finding: Finding) -> tuple[int, int, int]:
    return finding.attempt, finding.start_step, finding.detected_step


def test_flat_and_rounded_curves_have_no_findings() -> None:
    assert detect(np.full(80, 2.5)) == []
    assert detect(np.round(evaluated(80, noise=0.002), 2)) == []


@pytest.mark.parametrize(("change", "cause"), [(0.3, "undetermined"), (-0.02, "evaluation")])
def test_one_training_loss_per_evaluation_shows_that_it_did_not_rise_only_where_it_fell(
    change: float, cause: str
) -> None:
    step = EVERY * np.arange(60)
    evaluation, training = evaluated(), evaluated(seed=1)
    evaluation[20:23] *= 1.3
    training[20:23] *= 1 + change
    findings = find(
        run(series("eval/loss", evaluation, step=step), series("train/loss", training, step=step))
    )
    found = [each for each in findings if each.metric == "eval/loss"]
    assert {each.evidence["cause"] for each in found} <= {cause}
    assert all(("training loss did not" in each.summary) is (change < 0) for each in found)
    assert found or change > 0  # a rise of both is one event


def test_a_model_that_overfits_slowly_is_compared_with_its_best() -> None:
    """Fifty evaluations rise by less each than their noise, and by three quarters of the fall together."""
    random = np.random.default_rng(1)
    at = np.arange(100)
    best = 1.1 + 0.5 * np.exp(-at / 10) + 0.007 * np.maximum(at - 40, 0)
    (finding,) = detect(best + 0.025 * random.standard_normal(100))
    assert (finding.kind, finding.start_step >= 40 * EVERY) == (Kind.DIVERGENCE, True)
    for seed in range(5):
        random = np.random.default_rng(seed)
        assert detect(1.1 + 0.5 * np.exp(-at / 10) + 0.025 * random.standard_normal(100)) == []


def test_one_step_of_a_coarsely_rounded_evaluation_loss_is_no_rise() -> None:
    loss = np.full(60, 0.003)  # as logs of three decimals show it
    loss[[7, 25, 59]] = 0.004
    assert find(run(series("validate/avg_loss", loss))) == []
    loss[50:] = 0.03
    assert [each.metric for each in find(run(series("validate/avg_loss", loss)))] == ["validate/avg_loss"]
