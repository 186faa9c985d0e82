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
