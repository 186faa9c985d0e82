"""A server in a process of its own, begun in a moment, to be killed at any other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command_runner import CommandRunner


@pytest.fixture
def command_runner(tmp_path: Path) -> Iterator[CommandRunner]:
    """Begins commands that are as short-lived as a test wants them."""
    command_runner = CommandRunner(tmp_path)
    yield command_runner
    command_runner.close()
