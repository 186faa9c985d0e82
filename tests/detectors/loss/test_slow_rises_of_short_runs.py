"""A loss that turns and rises over hundreds of steps is a divergence also where little was known before."""

from __future__ import annotations

import numpy as np
import pytest

from holter.types import Kind, Severity
from tests.support.loss_curves import detect_all, run_of


def turning(seed: int, *, rows: int, rise: float) -> np.ndarray:
    """A loss that falls for 750 of 1,900 steps and then rises over 600, by so many sigmas, logged in rows."""
    step = np.linspace(0, 1900, rows)
    level = 2.8 + 0.5 * np.exp(-step / 150) + 0.04 * rise * np.clip((step - 750) / 600, 0, 1)
    return level + 0.04 * np.random.default_rng(seed).standard_normal(rows)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rows", [380, 1900])
def test_a_rise_does_not_become_usual_while_it_lasts(rows: int, seed: int) -> None:
    (finding,) = detect_all(run_of(turning(seed, rows=rows, rise=6.0)))
    assert finding.kind in {Kind.DIVERGENCE, Kind.SPIKE_UNRECOVERED}
    assert finding.severity in {"warning", "critical"}
    assert 750 <= finding.start_step * 1900 / rows <= 1200


@pytest.mark.parametrize("seed", range(4))
def test_a_run_that_falls_on_is_healthy(seed: int) -> None:
    assert detect_all(run_of(turning(seed, rows=1900, rise=0.0))) == []


def test_growth_that_undoes_nothing_visible_is_no_critical_alarm() -> None:
    """The loss of one term of a physical model: it falls by ten decades at once and then creeps up."""
    at = np.arange(1500)
    creep = 1 + 0.01 * np.maximum(at - 400, 0) / 1100 + 1e-5 * np.random.default_rng(0).standard_normal(1500)
    for height, severity in ((1e10, Severity.WARNING), (0.02, Severity.CRITICAL)):
        findings = detect_all(run_of(creep + height * np.exp(-at / 15)))
        assert {finding.severity for finding in findings} == {severity}


@pytest.mark.parametrize("seed", range(8))
def test_a_weak_drift_is_one_finding(seed: int) -> None:
    at = np.arange(6000)
    drift = 0.18 * ((at - 2600) / 1500).clip(0, 1.5)
    loss = 3.0 + drift + 0.05 * np.random.default_rng(seed).standard_normal(6000)
    alarms = [each for each in detect_all(run_of(loss)) if each.severity is not Severity.INFO]
    assert [each.kind for each in alarms] in (["divergence"], ["spike_unrecovered"])


@pytest.mark.parametrize("seed", range(8))
def test_a_moving_average_that_moves_from_its_first_value_to_its_level_is_healthy(seed: int) -> None:
    loss = 2.0 + 0.06 * np.random.default_rng(seed).standard_normal(3000)
    loss[0] = 1.85
    for row in range(1, len(loss)):
        loss[row] = 0.98 * loss[row - 1] + 0.02 * loss[row]
    assert [each for each in detect_all(run_of(loss)) if each.severity is not Severity.INFO] == []
