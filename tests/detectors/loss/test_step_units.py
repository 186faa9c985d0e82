"""Limits in steps are meant in optimizer steps, and limits in points in points."""

from __future__ import annotations

import numpy as np
import pytest

from holter.detectors.detector import DetectorContext
from holter.detectors.loss.spike import SpikeDetector
from holter.detectors.step_unit import step_unit
from holter.types import Finding, Kind, Severity
from tests.support.curves import run, series, until
from tests.support.loss_curves import curve, decay


def findings(loss: np.ndarray, step: np.ndarray, *, seen: int | None = None) -> list[Finding]:
    data = run(series("loss", loss, step=step))
    data = data if seen is None else until(data, 0, int(step[seen]))
    return list(SpikeDetector().detect(data, DetectorContext()))


@pytest.mark.parametrize(
    ("increment", "unit"),
    [(1, 1), (10, 1), (16, 1), (50, 1), (500, 1), (1000, 1), (256, 256), (448, 448), (2048, 2048)],
)
def test_an_increment_is_an_interval_of_logging_or_a_batch(increment: int, unit: int) -> None:
    assert step_unit(series("loss", np.ones(40), step=increment * np.arange(40))) == unit


def test_the_unit_rests_on_the_first_rows() -> None:
    step = np.cumsum(np.where(np.arange(400) < 100, 1, 4096))
    assert step_unit(series("loss", np.ones(400), step=step)) == 1


def test_one_bad_row_in_a_sparse_log_is_never_critical() -> None:
    loss, step = curve(400, noise=0.01, seed=2), 500 * np.arange(400)
    loss[200] *= 2
    for seen in (*range(200, 215), 399):
        (finding,) = findings(loss, step, seen=seen)
        assert finding.kind is Kind.SPIKE_FAST
        assert finding.severity in (Severity.INFO, Severity.WARNING)
        assert finding.severity is Severity.WARNING or seen > 200


@pytest.mark.parametrize("unit", [256, 1_000_000])
def test_steps_that_count_samples_or_tokens_have_the_kinds_of_optimizer_steps(unit: int) -> None:
    loss = curve(2000, noise=0.01, seed=3) + decay(2000, 600, 2.0, 5) + decay(2000, 1200, 2.0, 150)
    usual = findings(loss, np.arange(2000))
    assert [each.kind for each in usual] == [Kind.SPIKE_FAST, Kind.SPIKE_SLOW]
    counted = findings(loss, unit * np.arange(2000))
    assert [each.kind for each in counted] == [each.kind for each in usual]
    assert [each.end_step for each in counted] == [unit * (each.end_step or 0) for each in usual]


@pytest.mark.parametrize(("fine", "coarse"), [(1, 500), (1, 10), (10, 100)])
def test_rows_that_become_sparse_are_no_event(fine: int, coarse: int) -> None:
    rows = np.arange(600)
    step = np.cumsum(np.where(rows < 300, fine, coarse))
    level = 2 + 7 * (1 + step / 200) ** -0.4
    for seed in range(5):
        noise = np.random.default_rng(seed).standard_normal(len(rows))
        assert findings(level * (1 + 0.01 * noise), step) == []


def test_irregular_steps_give_the_findings_of_regular_ones() -> None:
    loss = curve(3000, noise=0.02, seed=5) + decay(3000, 1500, 2.0, 5)
    step = np.cumsum(np.random.default_rng(0).integers(5, 16, 3000))
    (finding,) = findings(loss, step)
    assert finding.start_step == step[1500]
