"""Tries faults one by one, each in a process forked from a pytest that has imported all tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType

import pytest

from tests.support.mutation.executed import Executed, ExecutionRecorder
from tests.support.mutation.mutants import Mutant
from tests.support.mutation.plant import functions_of, plant, statement_lines
from tests.support.mutation.process import run_forked

_SLOWER = 3.0  # times as long as without a fault a test may take, and then counts as failed
_SPARE_SECONDS = 20.0
_RECORDING_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of a fault: the test that noticed it, or None; and how many tests execute its line."""

    mutant: Mutant
    noticed_by: str | None
    tests: int


class FaultTrials:
    """A plugin of pytest that does not run the tests once, but for each fault until one of them fails."""

    def __init__(self, mutants: Sequence[Mutant], folder: Path, report: Callable[[int, Trial], None]) -> None:
        self._mutants = mutants
        self._folder = folder
        self._report = report
        self._functions: dict[Path, list[FunctionType]] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Record what the tests execute, then try the faults."""
        if session.testsfailed:
            raise RuntimeError("the tests could not be collected")
        executed, failed = self._record(session)
        for test in failed:
            print(f"left out, since it fails without any fault: {test}", flush=True)  # noqa: T201
        items = [item for item in session.items if item.nodeid not in failed]
        modules = {mutant.module for mutant in self._mutants}
        self._functions = {module: functions_of(module) for module in modules}
        for number, mutant in enumerate(self._mutants):
            self._report(number, self._try(session, items, executed, mutant))
        return True

    def _record(self, session: pytest.Session) -> tuple[Executed, list[str]]:
        """What the tests execute, and those of them that fail without any fault."""

        def record() -> tuple[Executed, list[str]]:
            recorder = ExecutionRecorder({mutant.module for mutant in self._mutants})
            session.config.pluginmanager.register(recorder)
            recorder.start()
            failed = list(_failures(session, session.items))
            return recorder.finish(), failed

        recorded = run_forked(record, self._folder, _RECORDING_SECONDS)
        if recorded is None:
            raise RuntimeError((self._folder / "result.txt").read_text())
        return recorded

    def _try(
        self, session: pytest.Session, items: list[pytest.Item], executed: Executed, mutant: Mutant
    ) -> Trial:
        lines = statement_lines(mutant.module.read_text(), mutant.line)
        chosen = executed.choose(items, mutant.module, lines)
        left = chosen
        while left:
            noticed_by = self._first_failure(session, left, executed, mutant)
            [test] = [item for item in left if item.nodeid == noticed_by] or [None]
            # a test that fails now and then, on a busy machine, has noticed nothing
            if test is None or self._first_failure(session, [test], executed, None) == "":
                return Trial(mutant, noticed_by or None, len(chosen))
            left = left[left.index(test) + 1 :]
        return Trial(mutant, None, len(chosen))

    def _first_failure(
        self, session: pytest.Session, items: list[pytest.Item], executed: Executed, mutant: Mutant | None
    ) -> str:
        """The first of the tests that fails with a fault, or without any; an empty text for none."""

        def attempt() -> str:
            if mutant is not None:
                plant(self._functions[mutant.module], mutant.module.read_text(), mutant.code())
            for item in items:
                item.add_marker(pytest.mark.timeout(_limit(executed.seconds_of(item))), append=False)
            return next(_failures(session, items), "")

        failure = run_forked(attempt, self._folder, _limit(sum(map(executed.seconds_of, items))) + 60)
        return "time, or the end of the process" if failure is None else failure


def _limit(seconds: float) -> float:
    return _SLOWER * seconds + _SPARE_SECONDS


def _failures(session: pytest.Session, items: list[pytest.Item]) -> Iterator[str]:
    """Run the tests; the node ids of those that fail, each when it has failed."""
    failures = _Failures()
    session.config.pluginmanager.register(failures)
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if item.nodeid in failures.tests:
            yield item.nodeid


class _Failures:
    """A plugin of pytest that remembers the tests that failed."""

    def __init__(self) -> None:
        self.tests: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Of setup, call or teardown."""
        if report.failed:
            self.tests.add(report.nodeid)
