"""A loss that turns and rises over hundreds of steps is a divergence also where little was known before."""

from __future__ import annotations

import numpy as np
import pytest

from holter.types import Kind
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
