"""Families of odd curves: they are many, seeded and judged as written; detection holds on a cheap subset."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from holter.detectors import find
from holter.types import Finding, Kind, Severity

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def odd() -> Any:
    sys.path.insert(0, str(BENCHMARKS))
    try:
        names = ("curve", "judge", "command")
        modules = {name: importlib.import_module(f"odd_curves.{name}") for name in names}
    finally:
        sys.path.remove(str(BENCHMARKS))
    return SimpleNamespace(**modules, families=modules["curve"].FAMILIES)


def finding(kind: Kind, step: int, severity: Severity = Severity.WARNING) -> Finding:
    return Finding(
        kind=kind,
        metric="loss",
        attempt=0,
        start_step=step,
        detected_step=step,
        severity=severity,
        confidence=0.9,
        summary="",
        advice="",
    )


def test_there_are_more_than_a_hundred_described_families(odd: Any) -> None:
    assert len(odd.families) >= 100
    assert all(family.description.endswith(".") for family in odd.families.values())


def test_a_family_yields_the_same_run_for_a_seed_and_another_one_for_another(odd: Any) -> None:
    family = odd.families["fast_spike"]
    first, again, other = family.curve(1), family.curve(1), family.curve(2)
    assert np.array_equal(first.series[0].value, again.series[0].value)
    assert first.events == again.events
    assert not np.array_equal(first.series[0].value, other.series[0].value)


def test_events_are_judged_by_kind_and_step(odd: Any) -> None:
    curve = odd.curve.OddCurve((), (odd.curve.must("spike_fast", 10, 20),))
    assert odd.judge.judge(curve, [finding(Kind.SPIKE_FAST, 12)]).right == 1
    assert odd.judge.judge(curve, [finding(Kind.SPIKE_SLOW, 12)]).misnamed == 1
    late = odd.judge.judge(curve, [finding(Kind.SPIKE_FAST, 30)])
    assert (late.missed, late.warnings) == (1, 1)
    assert odd.judge.judge(curve, []).missed == 1


def test_information_is_no_false_alarm_and_an_allowance_excuses_warnings_only(odd: Any) -> None:
    curve = odd.curve.OddCurve((), (), (odd.curve.may(last=50),))
    judged = [
        odd.judge.judge(curve, [finding(Kind.DIVERGENCE, 10, severity)])
        for severity in (Severity.INFO, Severity.WARNING, Severity.CRITICAL)
    ]
    assert [(each.warnings, each.critical) for each in judged] == [(0, 0), (0, 0), (0, 1)]


@pytest.mark.parametrize(
    "name", ["fast_spike", "divergence", "unrecovered", "nan_in_the_loss", "pause_of_hours"]
)
def test_plain_events_are_told_rightly(odd: Any, name: str) -> None:
    curve = odd.families[name].curve(0)
    score = odd.judge.judge(curve, find(odd.judge.as_run(curve)))
    assert (score.right, score.misnamed, score.warnings, score.critical) == (1, 0, 0, 0), score.details
