"""What the title of a gradual rise of an evaluation loss names: where it began, and the levels."""

from __future__ import annotations

import re

import numpy as np
import pytest

from holter.detectors import find
from tests.support.curves import run, series


@pytest.mark.parametrize("seed", [5201, 5203, 5204, 5205])
def test_the_title_of_a_slow_rise_names_its_lowest_level_and_no_lone_point(seed: int) -> None:
    place = np.arange(100)
    level = 0.08 + 0.35 * np.exp(-place / 6) + 0.0013 * np.clip(place - 45, 0, None)
    value = level * (1 + 0.06 * np.random.default_rng(seed).standard_normal(100))
    value[96] *= 1.6
    findings = [each for each in find(run(series("val_loss", value))) if each.kind == "divergence"]
    assert findings
    numbers = re.search(r"about step (\d+), from ([\d.]+) to (\d[\d.]*\d)", findings[0].summary)
    assert numbers is not None
    began, low, high = (float(each) for each in numbers.groups())
    assert 25 <= began <= 60
    assert low == pytest.approx(0.08, abs=0.006)
    assert high == pytest.approx(0.15, abs=0.02)
    assert f"checkpoint of step {began - 1:.0f}" in findings[0].advice
