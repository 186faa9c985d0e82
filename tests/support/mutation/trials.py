"""Tries faults one by one, each in a process forked from a pytest that has imported all tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
            raise SystemExit("the tests could not be collected")
        executed = self._record(session)
        self._functions = {
            module: functions_of(module) for module in {fault.module for fault in self._mutants}
        }
        for number, mutant in enumerate(self._mutants):
            self._report(number, self._try(session, executed, mutant))
        return True

    def _record(self, session: pytest.Session) -> Executed:
        def record() -> Executed | str:
            recorder = ExecutionRecorder({mutant.module for mutant in self._mutants})
            session.config.pluginmanager.register(recorder)
            recorder.start()
            failed = _first_failure(session, session.items)
            return failed or recorder.finish()

        executed = run_forked(record, self._folder, _RECORDING_SECONDS)
        if not isinstance(executed, Executed):
            output = (self._folder / "result.txt").read_text()
            raise SystemExit(f"{output}\nwithout any fault the tests fail: {executed}")
        return executed

    def _try(self, session: pytest.Session, executed: Executed, mutant: Mutant) -> Trial:
        source = mutant.module.read_text()
        lines = statement_lines(source, mutant.line)
        items = executed.choose(session.items, mutant.module, lines)
        if not items:
            return Trial(mutant, None, 0)

        def attempt() -> str:
            plant(self._functions[mutant.module], source, mutant.code())
            for item in items:
                item.add_marker(pytest.mark.timeout(_limit(executed.seconds_of(item))), append=False)
            return _first_failure(session, items) or ""

        noticed_by = run_forked(attempt, self._folder, _limit(sum(map(executed.seconds_of, items))) + 60)
        if noticed_by is None:
            noticed_by = "time, or the end of the process"
        return Trial(mutant, noticed_by or None, len(items))


def _limit(seconds: float) -> float:
    return _SLOWER * seconds + _SPARE_SECONDS


def _first_failure(session: pytest.Session, items: list[pytest.Item]) -> str | None:
    """Run tests until one fails; its node id."""
    failures = _Failures()
    session.config.pluginmanager.register(failures)
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if failures.first is not None:
            return failures.first
    return None


class _Failures:
    """A plugin of pytest that remembers the first test that failed."""

    def __init__(self) -> None:
        self.first: str | None = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Of setup, call or teardown."""
        if report.failed and self.first is None:
            self.first = report.nodeid
