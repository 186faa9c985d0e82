"""Mutation testing measures what exists, and states how sure its scores are."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.mutation.plant import functions_of, plant, statement_lines
from tests.support.mutation.process import run_forked
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


SOURCE = """
from collections.abc import Callable


def wrapped(function: Callable[[int], int]) -> Callable[[int], int]:
    def wrapper(number: int) -> int:
        return function(number) + 1

    return wrapper


@wrapped
def decorated(number: int) -> int:
    return number * 2


class Base:
    def name(self) -> str:
        return "base"


class Counter(Base):
    def __init__(self) -> None:
        self._count = 3

    @property
    def count(self) -> int:
        return self._count

    @count.setter
    def count(self, value: int) -> None:
        if value > 0:
            self._count = value

    def name(self) -> str:
        names = []
        names.append(super().name())
        return ", ".join(names)
"""


@pytest.fixture
def planted(tmp_path: Path) -> Iterator[Callable[[str, str], Any]]:
    """Plants a fault in the functions of an imported module and gives the module."""
    path = tmp_path / "sample_of_faults.py"
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("sample_of_faults", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def plant_fault(right: str, wrong: str) -> Any:
        assert SOURCE.count(right) == 1
        plant(functions_of(path), SOURCE, SOURCE.replace(right, wrong))
        return module

    yield plant_fault
    plant(functions_of(path), SOURCE, SOURCE)


def test_a_fault_is_planted_in_functions_that_others_have_already(
    planted: Callable[[str, str], Any],
) -> None:
    module = planted("number * 2", "number * 3")
    assert module.decorated(2) == 7
    assert planted("function(number) + 1", "function(number) - 1").decorated(2) == 3  # one fault at a time


def test_a_fault_is_planted_in_methods_and_properties(planted: Callable[[str, str], Any]) -> None:
    counter = planted("value > 0", "value > 1").Counter()
    counter.count = 1
    assert counter.count == 3
    assert planted("return self._count", "return -self._count").Counter().count == -3


def test_a_deleted_statement_may_be_the_only_one_that_uses_super(
    planted: Callable[[str, str], Any],
) -> None:
    assert planted("names.append(super().name())", "pass").Counter().name() == ""


def test_the_lines_of_a_statement_are_those_before_its_body() -> None:
    source = "def f(\n    a,\n    b,\n):\n    return (\n        a +\n        b\n    )\n"
    assert statement_lines(source, 6) == range(5, 9)
    assert statement_lines(source, 2) == range(1, 5)


def test_a_forked_process_changes_nothing_here_and_may_die_or_hang(tmp_path: Path) -> None:
    changed: list[int] = []

    def work() -> int:
        changed.append(1)
        return 7

    assert run_forked(work, tmp_path, 60) == 7
    assert changed == []
    assert run_forked(lambda: os._exit(3), tmp_path, 60) is None
    assert run_forked(lambda: time.sleep(600), tmp_path, 0.1) is None


SAMPLE = """
import pytest
from mutated_sample import larger, unused

@pytest.fixture(scope="module")
def shared():
    return larger(5, 1)

def test_equal():
    assert larger(1, 1) == 1

def test_larger(shared):
    assert larger(1, 2) == 2

def test_shared(shared):
    assert shared == 5

def test_broken():
    assert larger(2, 2) == 3
"""


@pytest.mark.slow
def test_faults_are_tried_with_the_tests_that_execute_their_line(tmp_path: Path) -> None:
    pytest.importorskip("cosmic_ray", reason="make mutation installs it")
    pytest.importorskip("coverage", reason="make mutation installs it")
    module = tmp_path / "mutated_sample.py"
    module.write_text("def larger(a, b):\n    return a if a > b else b\n\ndef unused(a):\n    return a + 1\n")
    (tmp_path / "test_sample.py").write_text(SAMPLE)
    program = f"""
import sys, pytest
from pathlib import Path
sys.path.insert(0, {str(tmp_path)!r})
from tests.support.mutation.mutants import all_mutants
from tests.support.mutation.trials import FaultTrials
faults = [fault for place in all_mutants(Path({str(module)!r})) for fault in place]
def report(number, trial):
    print("TRIED", trial.mutant.operator, trial.noticed_by, trial.tests)
arguments = ["-q", "-s", "-p", "no:cacheprovider", "--rootdir", {str(tmp_path)!r}, {str(tmp_path)!r}]
pytest.main(arguments, plugins=[FaultTrials(faults, Path({str(tmp_path)!r}), report)])
"""
    output = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert "left out, since it fails without any fault: test_sample.py::test_broken" in output
    tried = [line.split()[1:] for line in output.splitlines() if line.startswith("TRIED")]
    by_operator = {operator: (noticed, count) for operator, noticed, count in tried}
    assert by_operator["AddNot"][0].startswith("test_sample.py::")
    assert by_operator["ReplaceComparisonOperator_Gt_GtE"] == ("None", "3")  # the same, of equal numbers
    assert by_operator["ReplaceBinaryOperator_Add_Sub"] == ("None", "0")
