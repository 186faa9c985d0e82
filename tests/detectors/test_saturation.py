"""Ratios of reinforcement learning that mean something at 1: completions cut off, updates clipped."""

from __future__ import annotations

import numpy as np
import pytest

from holter.detectors import find
from holter.types import Finding, FloatArray, RunData, Severity
from tests.support.curves import run, series, until

ROWS = 200


def ratio(at: int, *, until_row: int = ROWS, seed: int = 3101, before: float = 0.2) -> FloatArray:
    """A ratio that wanders about `before` and is nearly 1 from a row on."""
    random = np.random.default_rng(seed)
    row = np.arange(ROWS)
    level = np.where((row >= at) & (row < until_row), 0.99, before)
    return np.asarray(np.clip(level + 0.1 * random.standard_normal(ROWS), 0, 1) ** 0.3)


def cut_off(share: FloatArray, *, metric: str = "completions/clipped_ratio") -> list[Finding]:
    return [finding for finding in find(run(series(metric, share))) if finding.kind == "metric_collapse"]


@pytest.mark.parametrize(
    "metric",
    [
        "completions/clipped_ratio",
        "train/completions/clipped_ratio",
        "response_length/clip_ratio",
        "rollout/truncated_ratio",
        "actor/pg_clipfrac",
    ],
)
def test_a_ratio_that_stays_at_one_is_reported(metric: str) -> None:
    (finding,) = cut_off(ratio(80), metric=metric)
    assert (finding.severity, finding.end_step, finding.metric) == (Severity.WARNING, None, metric)
    assert 78 <= finding.start_step <= 82
    assert finding.detected_step <= 115


@pytest.mark.parametrize(
    "metric",
    ["train/grad_clip_ratio", "clip_ratio/region_mean", "prompt_length/clip_ratio", "critic/vf_clipfrac"],
)
def test_other_ratios_may_be_one(metric: str) -> None:
    assert cut_off(ratio(80), metric=metric) == []


def test_completions_that_are_cut_off_from_the_first_row_on_are_reported() -> None:
    (finding,) = cut_off(ratio(0))
    assert (finding.start_step, finding.detected_step) == (0, 31)
    assert "have been cut off at the length limit since step 0" in finding.summary
    assert "before" not in finding.advice, "there was nothing before"


def test_a_few_rows_at_one_are_usual() -> None:
    assert cut_off(ratio(80, until_row=100)) == []
    assert cut_off(ratio(ROWS, before=0.6)) == []


def test_what_is_over_is_information_and_may_come_again() -> None:
    share = ratio(20, until_row=70)
    share[140:] = ratio(0)[140:]
    first, second = cut_off(share)
    assert (first.severity, second.severity) == (Severity.INFO, Severity.WARNING)
    assert first.end_step == pytest.approx(70, abs=2)
    assert second.start_step >= 140
    assert "were cut off" in first.summary
    assert f"until step {first.end_step} (" in first.summary
    assert [each.advice.startswith("Nothing to do") for each in (first, second)] == [True, False]


def test_percents_are_no_ratio() -> None:
    assert cut_off(100 * ratio(80)) == []


def lengths(mean: FloatArray, limit: float = 256.0) -> RunData:
    longest = np.minimum(limit, 1.6 * mean + 20)
    return run(series("completions/mean_length", mean), series("completions/max_length", longest))


def test_a_mean_length_at_the_maximum_is_reported_where_no_ratio_is_logged() -> None:
    random = np.random.default_rng(3102)
    row = np.arange(ROWS)
    mean = np.where(row < 100, 120.0, 254.0) + random.uniform(-2, 2, ROWS)
    data = lengths(mean)
    (finding,) = find(data)
    assert (finding.metric, finding.severity) == ("completions/mean_length", Severity.WARNING)
    assert finding.start_step == 100
    assert [each.start_step for each in find(until(data, 0, 150))] == [100]


def test_answers_that_always_have_the_same_length_are_not() -> None:
    for length, limit in ((250.0, 250.0), (8.0, 8.0)):
        assert find(lengths(np.full(ROWS, length), limit)) == []
