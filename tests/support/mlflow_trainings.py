"""Trainings that log with MLflow's own client, in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).with_name("mlflow_program.py")
Training = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def train(tmp_path: Path) -> Iterator[Training]:
    """Starts a task of `mlflow_program` that logs to an address."""
    processes: list[subprocess.Popen[str]] = []

    def start(task: str, address: str, **environment: str) -> subprocess.Popen[str]:
        variables = {
            "MLFLOW_TRACKING_URI": address,
            "MLFLOW_DISABLE_TELEMETRY": "true",
            "MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING": "false",
            "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
            "HOME": str(tmp_path),
        }
        processes.append(
            subprocess.Popen(
                [sys.executable, PROGRAM, task],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
                env=os.environ | variables | environment,
            )
        )  # fmt: skip
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def result_of(process: subprocess.Popen[str]) -> dict[str, Any]:
    """What a training printed at its end."""
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    printed: dict[str, Any] = json.loads(output.splitlines()[-1])
    return printed
