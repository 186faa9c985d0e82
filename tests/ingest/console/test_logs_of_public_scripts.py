"""Logs in the styles of public training scripts: every record at its step, in one attempt, with its split.

Vision, speech, reinforcement learning, diffusion, language models, tables, recommendation, proteins; several
languages; loggers, launchers, container runtimes and log collectors. The excerpts were written after what
such scripts print; series have the steps of their points and the first value.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holter.ingest.offline.read_run import read_run
from tests.support.documentation import ROOT

CASES: list[dict[str, Any]] = json.loads((ROOT / "tests" / "support" / "script_logs.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_log_is_read_as_its_script_meant_it(tmp_path: Path, case: dict[str, Any]) -> None:
    file = tmp_path / case["file"]
    file.write_text("\n".join(case["lines"]), newline="")
    run = read_run(file)
    found = {}
    for key, series in run.data.series.items():
        labels = ",".join(f"{name}={value}" for name, value in key.labels)
        name = key.metric + (f"{{{labels}}}" if labels else "")
        found[name] = {"steps": series.step.tolist(), "first": series.value.tolist()[0]}
    assert found == case["series"]
    assert run.attempts == case["attempts"]
