"""Rises that the run's own log announces, and rises that it has come back from before, are information."""

from __future__ import annotations

import numpy as np
import pytest

from holter.types import Finding, Kind, Severity
from tests.support.loss_curves import curve, decay, detect_all, run_of

POINTS = 4000
PLACES = np.arange(POINTS)


def test_a_warm_restart_of_the_learning_rate_announces_the_rise() -> None:
    rate = 1e-3 * (1.0 + np.cos(np.pi * (PLACES % 2000) / 2000)) / 2 + 1e-6
    findings = rises(curve(POINTS, seed=1) + decay(POINTS, 2000, 0.6, 150), lr=rate)
    assert findings
    assert {each.severity for each in findings} == {Severity.INFO}
    assert "learning_rate" in {change["what"] for change in findings[0].evidence["precursors"]}


def test_a_learning_rate_higher_than_ever_announces_nothing() -> None:
    rate = np.where(PLACES < 2000, 1e-3, 2e-2)
    findings = rises(curve(POINTS, seed=1) + decay(POINTS, 2000, 0.6, 150), lr=rate)
    assert [each.severity for each in findings] == [Severity.WARNING]


def test_a_longer_sequence_announces_a_step_of_the_loss() -> None:
    loss = curve(POINTS, seed=2) + 0.3 * (PLACES >= 2000)
    findings = rises(loss, seq_len=np.where(PLACES < 2000, 512.0, 1024.0))
    assert findings
    assert {each.severity for each in findings} == {Severity.INFO}


def test_the_weight_of_another_term_announces_a_higher_loss() -> None:
    loss = curve(POINTS, seed=2) * np.where(PLACES < 2000, 1.0, 1.5)
    findings = rises(loss, distill_weight=0.5 * (PLACES >= 2000))
    assert findings
    assert {each.severity for each in findings} == {Severity.INFO}


def test_a_weight_that_adapts_itself_announces_nothing() -> None:
    loss = curve(POINTS, seed=2) * np.where(PLACES < 2000, 1.0, 1.5)
    findings = rises(loss, penalty_weight=0.5 + 0.1 * (PLACES // 20 % 7))
    assert Severity.INFO not in {each.severity for each in findings}


def test_a_longer_sequence_excuses_no_divergence() -> None:
    loss = curve(POINTS, seed=2) + 0.3 * (PLACES >= 2000) + 0.004 * np.maximum(PLACES - 2000, 0)
    findings = rises(loss, seq_len=np.where(PLACES < 2000, 512.0, 1024.0))
    assert Severity.CRITICAL in {each.severity for each in findings}


def test_the_fourth_slow_spike_of_one_size_is_information() -> None:
    spikes = sum(decay(POINTS, at, 1.0, 60) for at in (800, 1500, 2310, 3300))
    findings = rises(curve(POINTS, seed=3) + spikes)
    assert [each.kind for each in findings] == [Kind.SPIKE_SLOW] * 4
    assert [each.severity for each in findings] == [Severity.WARNING] * 3 + [Severity.INFO]
    assert findings[-1].advice.startswith("Nothing to do")


def test_a_step_without_an_overshoot_is_critical_only_if_it_undoes_progress() -> None:
    small, large = (rises(curve(POINTS, seed=4) + size * (PLACES >= 2000)) for size in (0.3, 2.0))
    assert {each.severity for each in small} == {Severity.WARNING}
    assert {each.severity for each in large} == {Severity.CRITICAL}


def test_two_stages_in_sequence_are_judged_as_steps_and_not_as_a_slow_rise() -> None:
    stages = 0.45 * (PLACES >= 2000) + 0.75 * (PLACES >= 2300)
    assert {each.severity for each in rises(curve(POINTS, seed=4) + stages)} == {Severity.WARNING}
    slow = 1.2 * np.clip((PLACES - 2000) / 600, 0, 1)
    assert {each.severity for each in rises(curve(POINTS, seed=4) + slow)} == {Severity.CRITICAL}


def rises(loss: np.ndarray, **others: np.ndarray) -> list[Finding]:
    return detect_all(run_of(loss, **others))


@pytest.mark.parametrize(
    ("sentence", "factor", "noisier", "rise", "severity"),
    [
        ("it is 10 % higher at once, and goes on as before", 1.1, 1.0, 1, Severity.WARNING),
        ("it rises over some points", 1.1, 1.0, 20, Severity.CRITICAL),
        ("it is noisier from there on", 1.1, 2.0, 1, Severity.CRITICAL),
        ("it is higher than another task is", 1.3, 1.0, 1, Severity.CRITICAL),
    ],
)
def test_a_loss_that_goes_on_at_a_higher_level_may_have_other_data(
    sentence: str, factor: float, noisier: float, rise: int, severity: Severity
) -> None:
    """The step undoes all that was learned; nothing announces it."""
    level = 2 * (1 + 0.1 * np.exp(-PLACES / 800))
    risen = np.clip((PLACES - 1999) / rise, 0, 1)
    noise = 0.02 * np.random.default_rng(1).standard_normal(POINTS) * (1 + (noisier - 1) * (risen > 0))
    assert {each.severity for each in rises((level + noise) * (1 + (factor - 1) * risen))} == {severity}


def test_stages_in_sequence_that_nothing_announces_are_warnings() -> None:
    level = 2 * (1 + 0.1 * np.exp(-PLACES / 800)) + 0.01 * np.random.default_rng(2).standard_normal(POINTS)
    stage = (PLACES >= 1500).astype(float) + (PLACES >= 2000) + (PLACES >= 2600)
    assert {each.severity for each in rises(level * 1.08**stage)} == {Severity.WARNING}
