"""The environment with torch, apart from the project's own: in a cache folder of this user."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "holter" / "laboratory"
_INSTALLED = CACHE / "environment" / "installed"


def python_with_torch() -> Path:
    """The Python that trains; it is installed at the first call. Raises CalledProcessError."""
    python = CACHE / "environment" / "bin" / "python"
    wanted = "".join(
        line
        for line in (ROOT / "constraints.txt").read_text().splitlines(True)
        if line.startswith(("torch", "numpy"))
    )
    if _INSTALLED.exists() and _INSTALLED.read_text() == wanted:
        return python
    print(f"Installing torch into {CACHE / 'environment'} ...", file=sys.stderr)
    pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    for command in (
        [sys.executable, "-m", "venv", str(CACHE / "environment")],
        [*pip, "-U", "pip>=25.1"],
        [*pip, "-c", "constraints.txt", "--group", "laboratory"],
    ):
        subprocess.run(command, cwd=ROOT, check=True)
    _INSTALLED.write_text(wanted)
    return python
