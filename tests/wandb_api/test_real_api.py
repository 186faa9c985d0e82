"""`wandb.Api()` of the newest client, unmodified, reads back what was logged, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.requirements import needs_package
from tests.support.wandb_protocol import ProtocolClient

pytestmark = [pytest.mark.slow, needs_package("wandb")]

SCRIPT = """
import json, wandb
api = wandb.Api(timeout=30)
run = api.run("local/demo/a")
said = {"viewer": api.viewer.username, "entity": api.default_entity}
said["projects"] = [project.name for project in api.projects("local")]
said["runs"] = [each.id for each in api.runs("local/demo", filters={"config.lr": 0.1}, order="-created_at")]
said["count"] = len(api.runs("local/demo"))
said["config"], said["state"], said["summary"] = dict(run.config), run.state, run.summary["loss"]
said["scan"] = [(row["_step"], row["loss"], row["_timestamp"]) for row in run.scan_history(page_size=7)]
said["keys"] = [(row["_step"], row["nested/x"]) for row in run.scan_history(keys=["nested/x"], page_size=7)]
said["history"] = [row["_step"] for row in run.history(samples=3, pandas=False)]
said["sampled"] = run.history(keys=["bad"], samples=2, pandas=False)
said["nan"] = [str(row["bad"]) for row in run.scan_history() if "bad" in row]
said["system"] = [row["system.cpu"] for row in run.history(stream="system", pandas=False)]
said["files"] = [file.name for file in run.files()]
run.tags.append("good")
run.update()
said["tags"] = api.run("local/demo/a").tags
run.stop()
try:
    run.delete()
except Exception as error:
    said["deletion"] = str(error)
print(json.dumps(said))
"""


def test_the_api_reads_back_what_was_logged(wandb: ProtocolClient, tmp_path: Path) -> None:
    wandb.upsert("a", config=json.dumps({"lr": {"value": 0.1}}))
    wandb.upsert("b", config=json.dumps({"lr": {"value": 0.2}}))
    rows: list[dict[str, Any]] = [
        {"_step": i, "_timestamp": 1000.0 + i, "loss": 1 / (1 + i), "nested": {"x": i}} for i in range(30)
    ]
    rows[5]["bad"] = float("nan")
    wandb.history("a", 0, rows)
    events = [json.dumps({"_timestamp": 1003.0, "_runtime": 3.0, "system.cpu": 17.5})]
    summary = [json.dumps({"loss": 1 / 30, "_step": 29})]
    files = {"wandb-events.jsonl": events, "wandb-summary.json": summary}
    chunks = {name: {"offset": 0, "content": content} for name, content in files.items()}
    wandb.stream("a", files=chunks).raise_for_status()
    environment = os.environ | {
        "WANDB_BASE_URL": wandb.address,
        "WANDB_API_KEY": "0" * 40,
        "WANDB_DIR": str(tmp_path),
        "WANDB_CACHE_DIR": str(tmp_path),
        "WANDB_ERROR_REPORTING": "false",
    }
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert "holter db delete" in said.pop("deletion")
    assert said.pop("viewer")
    assert said == {
        "entity": "local",
        "projects": ["demo"],
        "runs": ["a"],
        "count": 2,
        "config": {"lr": 0.1},
        "state": "crashed",
        "summary": 1 / 30,
        "scan": [[i, 1 / (1 + i), 1000.0 + i] for i in range(30)],
        "keys": [[i, float(i)] for i in range(30)],
        "history": [0, 14, 29],
        "sampled": [{"_step": 5, "bad": "NaN"}],
        "nan": ["nan"],
        "system": [17.5],
        "files": [],
        "tags": ["good"],
    }
    assert wandb.run("a")["stop"] is not None
