"""Which tests execute which lines: only these can notice a fault there."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from coverage import Coverage


@dataclass(frozen=True, slots=True)
class Executed:
    """What a run of all tests has shown.

    `tests` has, for each module and line, the tests that execute it: node ids, or the path of a file where a
    fixture shared by its tests does. `seconds` is how long each test takes.
    """

    tests: Mapping[str, Mapping[int, frozenset[str]]]
    seconds: Mapping[str, float]

    def choose(self, items: Iterable[pytest.Item], module: Path, lines: Iterable[int]) -> list[pytest.Item]:
        """The tests that execute one of the lines: the ten quickest, then file by file, quick files first.

        Tests of a file stay together, since they share fixtures.
        """
        by_line = self.tests.get(str(module), {})
        names: frozenset[str] = frozenset().union(*(by_line.get(line, frozenset()) for line in lines))
        chosen = [item for item in items if item.nodeid in names or file_of(item) in names]
        quickest = sorted(chosen, key=self.seconds_of)[:10]
        rest = [item for item in chosen if item not in quickest]
        files: dict[str, float] = {}
        for item in rest:
            files[file_of(item)] = files.get(file_of(item), 0.0) + self.seconds_of(item)
        return quickest + sorted(rest, key=lambda item: files[file_of(item)])

    def seconds_of(self, item: pytest.Item) -> float:
        """How long the test took."""
        return self.seconds.get(item.nodeid, 0.0)


def file_of(item: pytest.Item) -> str:
    """The path of the test's file, as node ids begin."""
    return item.nodeid.split("::")[0]


class ExecutionRecorder:
    """A plugin of pytest that records, while tests run, which of them executes which line of some modules."""

    def __init__(self, modules: Iterable[Path]) -> None:
        self._modules = list(modules)
        self._coverage = Coverage(
            data_file=None, config_file=False, include=[os.path.realpath(module) for module in self._modules]
        )
        self._context = ""
        self._seconds: dict[str, float] = {}

    def start(self) -> None:
        """From now on."""
        self._coverage.start()

    def finish(self) -> Executed:
        """What was recorded."""
        self._coverage.stop()
        data = self._coverage.get_data()
        return Executed(
            {
                str(module): {
                    line: frozenset(contexts) - {""}
                    for line, contexts in data.contexts_by_lineno(os.path.realpath(module)).items()
                }
                for module in self._modules
            },
            self._seconds,
        )

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """What happens from here on is this test's."""
        self._context = item.nodeid
        self._coverage.switch_context(item.nodeid)
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        """What a shared fixture does is of all tests of the file."""
        if fixturedef.scope == "function":
            return (yield)
        self._coverage.switch_context(self._context.split("::")[0])
        try:
            return (yield)
        finally:
            self._coverage.switch_context(self._context)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the time of setup, call and teardown."""
        self._seconds[report.nodeid] = self._seconds.get(report.nodeid, 0.0) + report.duration
