"""Gradual rises in logs of a few dozen rows, which undo little of all that was learned."""

from __future__ import annotations

import numpy as np
import pytest

from holter.detectors import IncrementalState, find
from holter.types import Finding, FloatArray, RunData, Severity
from tests.support.curves import run, series, until

ROWS = 150


def hump(seed: int, factor: float, *, at: int = 80, rows: int = 12, back: bool = True) -> FloatArray:
    """A loss that falls from 5 to .008 within sixty rows, and rises by a factor over some, and back."""
    place = np.arange(ROWS)
    level = 0.008 + 5.0 * np.exp(-place / 8.0)
    x = (place - at) / rows
    shape = np.clip(np.minimum(x, 2 - x) if back else x, 0, 1)
    noise = 0.12 * np.random.default_rng(seed).standard_normal(ROWS)
    return np.asarray(level * np.exp(np.log(factor) * shape + noise))


def _about(curves: RunData) -> list[Finding]:
    return [finding for finding in find(curves) if finding.kind != "spike_fast"]


@pytest.mark.parametrize("seed", range(4101, 4106))
def test_a_loss_that_rises_to_its_threefold_and_comes_back_is_reported_as_information(seed: int) -> None:
    (finding,) = _about(run(series("loss", hump(seed, 4.0))))
    assert 70 <= finding.start_step <= finding.detected_step <= 100
    assert finding.end_step is not None
    assert finding.severity is Severity.INFO
    assert "soon after" not in finding.summary


@pytest.mark.parametrize("seed", range(4101, 4106))
def test_a_loss_that_rises_to_its_fivefold_and_stays_is_a_warning(seed: int) -> None:
    (finding,) = _about(run(series("loss", hump(seed, 5.0, back=False))))
    assert finding.severity is not Severity.INFO
    assert 70 <= finding.start_step <= 100


@pytest.mark.parametrize("seed", range(4111, 4121))
def test_a_noisy_loss_that_stays_where_it_fell_to_has_no_recent_rise(seed: int) -> None:
    assert _about(run(series("loss", hump(seed, 1.0)))) == []


def test_a_lone_point_is_not_the_height_of_a_recent_rise() -> None:
    loss = hump(4101, 3.5)
    loss[90] = 3.0
    spike, finding = sorted(find(run(series("loss", loss))), key=lambda each: each.kind != "spike_fast")
    assert spike.start_step == 90
    assert finding.start_step < 90
    assert finding.evidence["peak"] < 0.1


@pytest.mark.parametrize("factor", [1.0, 3.5, 5.0])
def test_recent_rises_are_the_same_row_by_row(factor: float) -> None:
    curves = run(series("loss", hump(4101, factor, back=factor < 4)))
    state = IncrementalState()
    for last in range(0, ROWS, 3):
        part = until(curves, 0, last)
        assert find(part, state=state) == find(part)


def test_noise_that_grows_once_the_loss_has_fallen_is_no_recent_rise() -> None:
    place = np.arange(ROWS)
    noise = np.where(place < 40, 0.04, 0.16) * np.random.default_rng(4362).standard_normal(ROWS)
    assert _about(run(series("loss", 3.0 + 2.2 * np.exp(-place / 12.0) + noise))) == []


def test_a_rise_of_the_total_that_one_dataset_showed_is_one_finding() -> None:
    draw = np.random.default_rng(4401)
    place = np.arange(250)
    level = 2.0 + 3.0 * np.exp(-place / 40.0)
    bump = np.where((place >= 190) & (place < 196), 4.0, 0.0)
    one, other = (level + 0.06 * draw.standard_normal(len(place)) for _ in range(2))
    one += bump
    curves = run(
        series("loss", (one + other) / 2),
        series("loss/a", one, dataset="a"),
        series("loss/b", other, dataset="b"),
    )
    assert [finding.metric for finding in find(curves)] == ["loss/a"]
