"""The SLURM job of docs/examples, run: against a real server, with a stand-in for the launcher alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.client_server import Server

pytestmark = pytest.mark.slow

JOB = Path(__file__).parents[2] / "docs" / "examples" / "train.sbatch"
BIN = Path(sys.executable).parent

# what stands in for SLURM's launcher: two tasks side by side, each line behind its task's number
SRUN = """#!/bin/bash
while [[ $1 == --* ]]; do shift; done
for task in 0 1; do
  SLURM_PROCID=$task "$@" 2>&1 | sed -u "s/^/$task: /" &
  tasks+=($!)
done
wait
exit "${SRUN_CODE:-0}"
"""
TRAIN = """#!/bin/bash
for step in $(seq "$FIRST" $((FIRST + 29))); do
  echo "iter $step: loss 2.5$SLURM_PROCID, time 10.00ms, mfu 0.19%"
done
"""


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    """A folder with a launcher, a training and holter on its path."""
    holter = f'#!/bin/sh\nexec "{BIN}/holter" "$@"\n'
    for name, text in (("srun", SRUN), ("train.sh", TRAIN), ("holter", holter)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "token").touch()  # this machine alone reaches the server: no login
    return tmp_path


def submit(
    bench: Path, server: str, *, restart: int, first: int, code: int = 0
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", str(JOB)],
        cwd=bench,
        env={
            "PATH": f"{bench}:{os.environ['PATH']}",
            "HOME": str(bench),
            "HOLTER_SERVER": server,
            "HOLTER_TOKEN_FILE": str(bench / "token"),
            "SLURM_JOB_ID": "812",
            "SLURM_JOB_NAME": "gpt-7b",
            "SLURM_RESTART_COUNT": str(restart),
            "SRUN_CODE": str(code),
            "FIRST": str(first),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_each_launch_of_a_requeued_job_is_an_attempt_of_its_run(server: Server, bench: Path) -> None:
    for restart, (first, code) in enumerate([(1, 3), (21, 0)]):
        ran = submit(bench, server.url, restart=restart, first=first, code=code)
        assert ran.returncode == code, "the training's exit code: " + ran.stderr
        assert f"1: iter {first}: loss 2.51" in ran.stdout, "the text is in the job's own output"
        assert "run gpt-7b-812 of project llm" in ran.stderr
    found = {(attempt, step) for attempt, step, _ in server.points("gpt-7b-812", "loss")}
    assert found == {(0, step) for step in range(1, 31)} | {(1, step) for step in range(21, 51)}
    assert not list((bench / ".cache" / "holter" / "spool").iterdir()), "everything is sent"
