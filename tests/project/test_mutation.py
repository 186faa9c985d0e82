"""Mutation testing measures what exists, and states how sure its scores are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.mutation.score import score_table, wilson_interval
from tests.support.mutation.targets import MUTATION_TARGETS

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", MUTATION_TARGETS)
def test_every_target_has_modules_and_tests(name: str) -> None:
    target = MUTATION_TARGETS[name]
    for pattern in (*target.modules, *target.tests):
        assert list(ROOT.glob(pattern)), pattern
    assert all(pattern.startswith("tests/") for pattern in target.tests)


def test_no_module_is_in_two_targets() -> None:
    modules = [path for one in MUTATION_TARGETS.values() for name in one.modules for path in ROOT.glob(name)]
    assert len(modules) == len(set(modules))


@pytest.mark.parametrize(
    ("killed", "tried", "low", "high"),
    # of tables of the Wilson interval
    [(0, 10, 0.0, 0.278), (5, 10, 0.237, 0.763), (10, 10, 0.722, 1.0), (81, 263, 0.255, 0.366)],
)
def test_the_interval_of_a_score(killed: int, tried: int, low: float, high: float) -> None:
    assert wilson_interval(killed, tried) == pytest.approx((low, high), abs=5e-4)


def test_the_table_adds_the_targets_up() -> None:
    lines = score_table({"spool": (9, 10), "access": (10, 10)}).splitlines()
    assert lines[1].split() == ["spool", "9", "10", "90%", "60%", "to", "98%"]
    assert lines[-1].split()[:4] == ["all", "19", "20", "95%"]
