"""What a server imports decides what it holds while nobody asks anything."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("matplotlib", "numba", "pandas", "pyarrow", "scipy.signal", "scipy.stats", "tensorboard", "torch")


def test_a_server_imports_nothing_heavy() -> None:
    script = (
        "import sys, holter.cli.commands.serve, holter.server.app, holter.server.context; print(*sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert set(HEAVY).isdisjoint(found.split())
