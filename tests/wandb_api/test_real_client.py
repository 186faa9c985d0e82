"""The newest wandb client, unmodified, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.support.requirements import needs_package
from tests.support.wandb_protocol import ProtocolClient

pytestmark = [pytest.mark.slow, needs_package("wandb")]

SCRIPT = """
import sys, wandb
run = wandb.init(project="demo", id="a", resume=sys.argv[1] or None, config={"lr": 0.1})
first = run.starting_step
for i in range(first, first + 200):
    run.log({"loss": 1 / (1 + i), "nested": {"x": i}})
if not first:
    run.alert(title="Low accuracy", text="0.3", level="WARN")
run.finish()
"""


def test_a_run_and_its_resume_arrive_row_by_row(wandb: ProtocolClient, tmp_path: Path) -> None:
    environment = os.environ | {
        "WANDB_BASE_URL": wandb.address,
        "WANDB_API_KEY": "0" * 40,
        "WANDB_DIR": str(tmp_path),
        "WANDB_ERROR_REPORTING": "false",
    }
    for resume in ("", "must"):
        command = [sys.executable, "-c", SCRIPT, resume]
        subprocess.run(command, env=environment, cwd=tmp_path, check=True, timeout=120)
    points = wandb.points("a")
    assert (points["loss"], points["nested/x"]) == (400, 400)
    run = wandb.run("a")
    assert [(each["first_step"], each["last_step"]) for each in run["strip"]["attempts"]] == [
        (0, 199),
        (200, 399),
    ]
    assert (run["state"], run["config"], run["description"]["exit_code"]) == ("finished", {"lr": 0.1}, 0)
    incidents = httpx.get(f"{wandb.address}/api/v1/runs/{run['id']}/incidents", timeout=60).json()[
        "incidents"
    ]
    assert [each["summary"] for each in incidents] == ["Low accuracy: 0.3"]
