"""What several detectors find of one event is one finding, with the kind of its cause."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from holter.detectors import find, fingerprint
from holter.detectors.findings.evidence import reference_text
from holter.types import Finding, RunData
from tests.support.curves import loss_curve, run, series, until

N = 4000
T = np.arange(N)


def loss(seed: int = 0) -> np.ndarray:
    return loss_curve(np.random.default_rng(seed), N)


def one(data: RunData) -> Finding:
    (finding,) = find(data)
    return finding


def described(references: list[dict[str, Any]]) -> list[str]:
    return [reference_text(reference) for reference in references]


def overflowing(*, loss_too: bool) -> RunData:
    """Gradients that overflow from step 2000 on, and a loss scale that is halved each time."""
    norm, curve = np.exp(np.random.default_rng(1).normal(0, 0.2, N)), loss()
    scale = np.full(N, 2.0**16)
    norm[2000:2008] = np.inf
    scale[2001:] = np.exp2(np.maximum(16.0 - np.arange(1, N - 2000), 8))
    if loss_too:
        curve[2000:2008] = np.nan
    return run(series("loss", curve), series("grad_norm", norm), series("loss_scale", scale))


def test_gradients_that_overflow_while_the_scale_collapses_are_the_collapse() -> None:
    data = overflowing(loss_too=False)
    finding = one(data)
    assert (finding.kind, finding.metric, finding.start_step) == ("loss_scale_collapse", "grad_norm", 2000)
    assert described(finding.evidence["also"]) == ["NaN or infinity at step 2,000 (grad_norm)"]


def test_a_loss_that_is_nan_makes_the_scale_collapse_and_keeps_its_name() -> None:
    finding = one(overflowing(loss_too=True))
    assert (finding.kind, finding.metric, finding.start_step) == ("nonfinite", "loss", 2000)
    assert described(finding.evidence["also"]) == ["Loss scale collapse at step 2,001 (loss_scale)"]


def test_a_renamed_finding_has_the_same_fingerprint() -> None:
    data = overflowing(loss_too=False)
    finding = one(data)
    early = one(until(data, 0, finding.detected_step))
    assert early.kind == "nonfinite"
    assert fingerprint(early) == fingerprint(finding)


def test_a_curve_that_comes_back_from_zero_did_not_spike() -> None:
    curve = loss()
    curve[2000:2200] = 0.0
    finding = one(run(series("loss", curve)))
    assert (finding.kind, finding.start_step, finding.end_step) == ("hidden_nonfinite", 2000, 2200)


def test_an_absurd_value_is_no_additional_spike() -> None:
    curve = loss()
    curve[2000:2010] = 3e38
    assert one(run(series("loss", curve))).kind == "hidden_nonfinite"


def test_a_loss_that_explodes_until_it_is_nan_is_not_masked() -> None:
    curve = loss()
    curve[2000:2002], curve[2002:] = (2e15, 9e36), np.nan
    data = run(series("loss", curve))
    finding = one(data)
    assert (finding.kind, finding.severity, finding.start_step) == ("nonfinite", "critical", 2000)
    assert finding.summary == "loss rose to 2P at step 2,000. Loss became NaN at step 2,002."
    assert finding.advice == "Stop the run; roll back to a checkpoint before step 2,000."
    early = one(until(data, 0, 2001))
    assert early.kind == "hidden_nonfinite"
    assert fingerprint(early) == fingerprint(finding)


def test_absurd_values_that_a_good_one_follows_stay_masked_though_nan_comes_later() -> None:
    curve = loss()
    curve[2000], curve[2005:] = 3e38, np.nan
    assert one(run(series("loss", curve))).kind == "hidden_nonfinite"


def test_a_restart_with_other_data_is_a_resume_artifact() -> None:
    rng = np.random.default_rng(0)
    attempt, shares = (T >= 2000).astype(int), np.where(T < 2000, 0.2, 0.8)
    losses = np.array([[1.8], [3.2]]) * (1 + 0.02 * rng.normal(0, 1, (2, N)))
    total = (1 - shares) * losses[0] + shares * losses[1]
    data = run(
        series("loss", total, attempt=attempt),
        series("loss/a", losses[0], attempt=attempt),
        series("loss/b", losses[1], attempt=attempt),
    )
    finding = one(data)
    assert (finding.kind, finding.attempt, finding.start_step) == ("resume_artifact", 1, 2000)
    assert finding.evidence["shares"]["b"] == pytest.approx(0.8, abs=0.1)


def test_a_hang_that_ranks_explain_is_no_additional_stall() -> None:
    rows = 300
    number = 40.0 * np.arange(rows)[:, None] + np.zeros((rows, 4))
    number[290:] = number[290]
    number[290:, 2] -= 1
    ranks = [series("coll_sn", number[:, rank], rank=rank) for rank in range(4)]
    curve = series("loss", loss()[:290])
    end = float(ranks[0].time[-1])
    data = run(curve, *ranks, now=end + 7200)
    finding = one(data)
    assert (finding.kind, dict(finding.labels)["rank"]) == ("desync", "2")
    assert any(other["kind"] == "stall" for other in finding.evidence["also"])


def test_distant_events_stay_separate() -> None:
    curve, scale = loss(), np.full(N, 2.0**16)
    curve[1000:1020] += 4.0
    scale[3000:] = 2.0**10
    assert [found.kind for found in find(run(series("loss", curve), series("loss_scale", scale)))] == [
        "spike_fast",
        "loss_scale_collapse",
    ]


@pytest.mark.parametrize("stays", [True, False])
def test_an_evaluation_that_is_worse_since_a_rise_of_little_weight_gives_its_severity(stays: bool) -> None:
    curve, at = loss(3), np.arange(0, N, 100)
    curve[2002:2012] += 1.5
    worse = np.where((at >= 2100) & (stays | (at < 2700)), 1.8, 1.0)
    noise = 1 + 0.004 * np.random.default_rng(4).standard_normal(len(at))
    alone, both = run(series("loss", curve)), (2.0 + 4.0 * (at / 100 + 2.0) ** -0.6) * worse * noise
    assert one(alone).severity == "info"
    finding = one(run(series("loss", curve), series("eval/loss", both, step=at)))
    assert (finding.kind, finding.metric, finding.severity) == ("spike_fast", "loss", "warning")
    assert finding.summary.startswith(f"{one(alone).summary} Evaluation loss eval/loss rose from")
    assert finding.advice != one(alone).advice


def lost_at(row: int, scale: float, seed: int) -> np.ndarray:
    """Something that is learned, and of which four fifths are lost."""
    at, noise = np.arange(1200), 0.01 * np.random.default_rng(seed).standard_normal(1200)
    value: np.ndarray = scale * ((1 - np.exp(-at / 150)) * np.where(at < row, 1.0, 0.2) + noise)
    return value


def test_accuracies_and_rewards_that_are_lost_together_are_one_event() -> None:
    accuracy, f1 = (
        series("val/accuracy", lost_at(800, 0.9, 0)),
        series("train/accuracy", lost_at(800, 0.7, 1)),
    )
    finding = one(run(accuracy, f1, series("train/reward", lost_at(800, 60.0, 2))))
    assert (finding.kind, finding.severity, len(finding.evidence["also"])) == (
        "metric_collapse",
        "warning",
        2,
    )
    apart = find(run(accuracy, series("train/accuracy", lost_at(1000, 0.7, 1))))
    assert [each.metric for each in apart] == ["val/accuracy", "train/accuracy"]


@pytest.mark.parametrize("rows", [50, 100])
def test_a_mean_of_a_reward_over_many_rows_is_lost_with_the_reward(rows: int) -> None:
    reward = lost_at(800, 60.0, 2)
    mean = np.convolve(np.concatenate((np.full(rows - 1, reward[0]), reward)), np.ones(rows) / rows, "valid")
    finding = one(run(series("train/reward", reward), series("train/reward_mean", mean)))
    assert (finding.metric, finding.kind) == ("train/reward", "metric_collapse")
    assert [each["metric"] for each in finding.evidence["also"]] == ["train/reward_mean"]
