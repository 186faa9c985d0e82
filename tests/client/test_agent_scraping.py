"""`holter agent --scrape`: an exporter on the node of the runs that the agent follows."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.support.forked_commands import ForkedCommand
from tests.support.metrics_exporter import NODE, exporter, page

if TYPE_CHECKING:
    from tests.support.client_server import Server

pytestmark = pytest.mark.slow

Eventually = Callable[..., Any]


def series_of(server: Server, run: str) -> list[str]:
    runs = httpx.get(f"{server.url}/api/v1/runs", timeout=60).json()["runs"]
    run_id = next((each["id"] for each in runs if each["name"] == run), None)
    if run_id is None:
        return []
    response = httpx.get(f"{server.url}/api/v1/runs/{run_id}/series", timeout=60).json()
    return [series["metric"] for series in response["series"]]


def test_metrics_of_an_exporter_are_added_to_the_run_that_is_followed(
    server: Server, tmp_path: Path, eventually: Eventually
) -> None:
    logs = tmp_path / "logs" / "llm"
    logs.mkdir(parents=True)
    (logs / "metrics.jsonl").write_text("".join(f'{{"step": {s}, "loss": 2.5}}\n' for s in range(50)))
    (tmp_path / "holter.toml").write_text("[scrape]\nevery = 1\n")
    with exporter(page(NODE)) as address:
        agent = ["agent", tmp_path / "logs", "--server", server.url]
        options = ["--state", tmp_path / "state", "--poll", "0.1", "--scrape", address]
        process = ForkedCommand([*agent, *options], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        try:
            eventually(lambda: "node_load1" in series_of(server, "llm"))
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
        finally:
            process.kill()
            process.communicate()
    assert "loss" in series_of(server, "llm")
