"""What trainings that log with another tracker's client come to, and how their processes are ended."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import Any

_RUN_SECONDS = 300


@dataclass(frozen=True, kw_only=True)
class TrackerOutcome:
    """How many rows a client logged, and how many are stored; `exact`: each once and with its values."""

    sent: int
    stored: int
    exact: bool
    attempts: int
    note: str = ""


def result_of(process: subprocess.Popen[str]) -> dict[str, Any]:
    """What a training printed at its end. Raises AssertionError where it failed."""
    try:
        output, errors = process.communicate(timeout=_RUN_SECONDS)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, errors[-3000:]
    printed: dict[str, Any] = json.loads(output.splitlines()[-1])
    return printed
