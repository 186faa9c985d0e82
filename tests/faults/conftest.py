"""A server in a process of its own, begun in a moment, to be killed at any other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command_runner import CommandForks, CommandRunner


@pytest.fixture(scope="session")
def command_forks() -> Iterator[CommandForks]:
    """What commands fork from: to import Holter takes longer than most tests."""
    forks = CommandForks()
    yield forks
    forks.close()


@pytest.fixture
def command_runner(tmp_path: Path, command_forks: CommandForks) -> Iterator[CommandRunner]:
    """Begins commands that are as short-lived as a test wants them."""
    command_runner = CommandRunner(tmp_path, command_forks)
    yield command_runner
    command_runner.close()
