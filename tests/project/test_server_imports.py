"""A server imports no heavy libraries at its start, which bounds its memory when idle."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

HEAVY = ("matplotlib", "numba", "pandas", "pyarrow", "scipy.signal", "scipy.stats", "tensorboard", "torch")


def test_a_server_imports_nothing_heavy() -> None:
    script = (
        "import sys, holter.cli.commands.serve, holter.server.app, holter.server.context; print(*sys.modules)"
    )
    modules = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout
    assert set(HEAVY).isdisjoint(modules.split())
