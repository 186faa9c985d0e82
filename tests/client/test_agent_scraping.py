"""`holter agent --scrape`: an exporter on the node, beside the runs that the agent follows there."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.support.metrics_exporter import NODE, exporter, page

if TYPE_CHECKING:
    from tests.support.client_server import Server

pytestmark = pytest.mark.slow

Eventually = Callable[..., Any]


def series_of(server: Server, run: str) -> list[str]:
    runs = httpx.get(f"{server.url}/api/v1/runs").json()["runs"]
    found = next((one["id"] for one in runs if one["name"] == run), None)
    if found is None:
        return []
    answer = httpx.get(f"{server.url}/api/v1/runs/{found}/series").json()
    return [one["metric"] for one in answer["series"]]


def test_pages_of_an_exporter_go_to_the_run_that_is_followed(
    server: Server, tmp_path: Path, eventually: Eventually
) -> None:
    logs = tmp_path / "logs" / "llm"
    logs.mkdir(parents=True)
    (logs / "metrics.jsonl").write_text("".join(f'{{"step": {s}, "loss": 2.5}}\n' for s in range(50)))
    (tmp_path / "holter.toml").write_text("[scrape]\nevery = 1\n")
    with exporter(page(NODE)) as address:
        agent = [sys.executable, "-m", "holter", "agent", str(tmp_path / "logs"), "--server", server.url]
        more = ["--state", str(tmp_path / "state"), "--poll", "0.1", "--scrape", address]
        process = subprocess.Popen([*agent, *more], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        try:
            eventually(lambda: "node_load1" in series_of(server, "llm"))
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
        finally:
            process.kill()
            process.communicate()
    assert "loss" in series_of(server, "llm")
