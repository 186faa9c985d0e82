"""A loss that fell below its level for a short time and is back at it has lost nothing that had lasted."""

from __future__ import annotations

import numpy as np
import pytest

from holter.types import Finding, Severity
from tests.support.loss_curves import curve, detect_all, run_of

POINTS = 2000
PLACES = np.arange(POINTS)


def _rises_of(loss: np.ndarray) -> list[Finding]:
    return detect_all(run_of(loss))


def _level_with_dips(*dips: tuple[int, int]) -> np.ndarray:
    """A noisy level of .006 after a fall, with dips that reach a hundred-thousandth."""
    noise = np.exp(0.4 * np.random.default_rng(5).standard_normal(POINTS))
    level = 0.006 * noise * (1 + 40 * np.exp(-PLACES / 40))
    for first, last in dips:
        level[first:last] = 3e-4 * np.exp(-np.arange(last - first) / 8) + 3e-6
    return level


def test_a_return_from_a_dip_is_information_and_names_the_step_of_the_fall() -> None:
    loss = _level_with_dips((700, 745), (1400, 1460))
    loss[[745, 1460]] = 0.09
    findings = [each for each in _rises_of(loss) if each.start_step in (745, 1460)]
    assert findings
    assert {each.severity for each in findings} == {Severity.INFO}
    assert any("It had been as high until it fell at step 1,400" in each.summary for each in findings)


def test_a_return_to_more_than_the_level_before_a_dip_is_a_rise() -> None:
    loss = _level_with_dips((1400, 1460))
    loss[1460:] *= 3
    findings = [each for each in _rises_of(loss) if 1455 <= each.start_step <= 1465]
    assert findings
    assert Severity.INFO not in {each.severity for each in findings}


def test_a_lower_level_that_had_lasted_is_no_dip() -> None:
    loss = 2 + 0.02 * np.random.default_rng(6).standard_normal(6000)
    loss[4000:4700] -= 0.5
    findings = [each for each in _rises_of(loss) if each.start_step >= 4500]
    assert findings
    assert Severity.INFO not in {each.severity for each in findings}


@pytest.mark.parametrize("back", [100, 400, 1000])
def test_a_loss_that_rises_to_what_it_was_while_it_fell_returns_from_no_dip(back: int) -> None:
    loss = curve(POINTS, seed=7)
    loss[1500:] += np.median(loss[1500 - back - 10 : 1500 - back + 10]) - np.median(loss[1480:1500]) + 0.3
    straight = 4 - PLACES / 1000 + 0.01 * np.random.default_rng(8).standard_normal(POINTS)
    straight[1500:] = straight[1500:] + back / 1000
    for each in (loss, straight):
        findings = [found for found in _rises_of(each) if 1495 <= found.start_step <= 1510]
        assert findings
        assert Severity.INFO not in {found.severity for found in findings}
        assert not any("as high until" in found.summary for found in findings)
