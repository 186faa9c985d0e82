"""A loss that turns in its first rows and stays high is known from the rows that follow."""

from __future__ import annotations

import numpy as np
import pytest

from holter.detectors import IncrementalState, find
from holter.types import Finding, FloatArray, RunData
from tests.support.curves import run, series, until

ROWS, TURN = 50, 5


def turned(seed: int, height: float, *, noise: float = 0.01, rows: int = ROWS) -> FloatArray:
    """A loss that falls to 1.0 within five rows, rises by `height` within twenty, and stays there."""
    at = np.arange(rows)
    level = 1.0 + 0.8 * np.exp(-at / 1.2) + height * (1 - np.exp(-np.clip(at - TURN, 0, None) / 8))
    return np.asarray(level * np.exp(noise * np.random.default_rng(seed).standard_normal(rows)))


def reported(curves: RunData) -> list[Finding]:
    return [finding for finding in find(curves) if finding.severity != "info"]


def early_rises(curves: RunData) -> list[Finding]:
    return [finding for finding in find(curves) if "soon after the run began" in finding.summary]


@pytest.mark.parametrize("seed", range(3101, 3106))
@pytest.mark.parametrize("metric", ["loss", "val_loss"])
def test_a_loss_that_turns_at_row_five_and_stays_high_is_reported_once(metric: str, seed: int) -> None:
    (finding,) = reported(run(series(metric, turned(seed, 0.9))))
    assert finding.kind in ("divergence", "spike_unrecovered"), "which of them, few rows do not show"
    assert TURN - 2 <= finding.start_step <= finding.detected_step - 1
    assert finding.detected_step < ROWS / 2


@pytest.mark.parametrize("seed", range(3101, 3106))
def test_a_loss_that_falls_to_its_level_and_stays_there_is_not(seed: int) -> None:
    assert reported(run(series("loss", turned(seed, 0.0, noise=0.1)))) == []


def test_a_jump_in_the_first_rows_that_stays_is_an_unrecovered_spike() -> None:
    loss = turned(3108, 0.0)
    loss[TURN:] += 0.9
    (finding,) = reported(run(series("loss", loss)))
    assert (finding.kind, finding.start_step, finding.severity) == ("spike_unrecovered", TURN, "warning")


def test_a_small_part_of_the_fall_is_no_early_rise() -> None:
    assert reported(run(series("loss", turned(3101, 0.2, noise=0.005)))) == []


def test_a_loss_that_wanders_about_zero_has_no_early_rise() -> None:
    assert len(early_rises(run(series("loss", turned(3109, 0.9) + 1.0)))) == 1
    assert early_rises(run(series("loss", turned(3109, 0.9) - 1.2))) == []


def test_an_early_rise_that_comes_back_is_information() -> None:
    loss = turned(3102, 0.9, rows=120)
    loss[40:] = turned(3103, 0.0, rows=120)[40:]
    curves = run(series("loss", loss))
    (finding,) = find(curves)
    assert (finding.severity, finding.end_step is None) == ("info", False)
    (while_high,) = reported(until(curves, 0, 39))
    assert while_high.start_step == finding.start_step


def test_an_early_rise_with_a_larger_batch_is_explained() -> None:
    batch = np.where(np.arange(ROWS) < TURN, 32.0, 64.0)
    loss = turned(3104, 0.9)
    assert len(early_rises(run(series("loss", loss)))) == 1
    assert early_rises(run(series("loss", loss), series("batch_size", batch))) == []


def test_only_a_launch_has_an_early_rise() -> None:
    """An attempt that continues the run is compared with what was before it."""
    launch, later = turned(3105, 0.0), turned(3106, 0.9)
    value = np.concatenate((launch, later))
    for first, expected in ((0, "early"), (ROWS, "none")):
        steps = np.concatenate((np.arange(ROWS), first + np.arange(ROWS)))
        curves = run(series("loss", value, step=steps, attempt=np.repeat([0, 1], ROWS)))
        assert (len(early_rises(curves)), expected) in ((1, "early"), (0, "none"))


@pytest.mark.parametrize("height", [0.0, 0.9])
def test_early_rises_are_the_same_row_by_row(height: float) -> None:
    curves, state = run(series("loss", turned(3107, height, rows=200))), IncrementalState()
    for last in range(0, 200, 7):
        seen = until(curves, 0, last)
        assert find(seen, state=state) == find(seen)
