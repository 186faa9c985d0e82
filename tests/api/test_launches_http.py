"""Configuration of launches over HTTP: from all ingest formats to config, changes and diagnostics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import holter
from holter.cli.agent.http_sink import encode_delivery
from holter.server.context import ServerContext
from holter.types import Batch, ConfigKey, Delivery
from tests.support.servers import Post


def config_of(client: httpx.Client, run: str, **query: str) -> dict[str, Any]:
    answer = client.get(f"/api/v1/runs/{run}/config", params=query)
    assert answer.status_code == 200, answer.text
    answer_body: dict[str, Any] = answer.json()
    return answer_body


def test_the_config_of_each_attempt_is_listed(client: httpx.Client, post: Post) -> None:
    run = post({"step": [1, 2], "loss": [3.0, 2.9]}, attempt=0, config={"lr": 1e-4, "model": {"layers": 12}})
    post({"step": [2], "loss": [2.9]}, attempt=1, config={"lr": 2e-4, "model": {"layers": 12}})
    answer_body = config_of(client, run["run_id"])
    assert answer_body["attempts"] == [0, 1]
    assert [one["name"] for one in answer_body["settings"]] == ["lr", "model.layers"]
    assert answer_body["changes"] == [
        {
            "attempt": 1,
            "settings": [{"name": "lr", "before": 1e-4, "after": 2e-4, "processes": 0, "labels": []}],
            "settings_count": 1,
        }
    ]
    matches = config_of(client, run["run_id"], q="LAYERS")
    assert ([one["name"] for one in matches["settings"]], matches["settings_count"]) == (["model.layers"], 1)


def test_settings_of_processes_have_their_labels(client: httpx.Client, post: Post) -> None:
    answer_body = [{"name": "nccl.net", "value": "IB", "labels": {"rank": rank}} for rank in range(3)]
    run = post({"step": [1], "loss": [3.0]}, settings=answer_body)["run_id"]
    [setting] = config_of(client, run)["settings"]
    assert (setting["values"][0]["processes"], setting["values"][0]["labels"][2]) == (3, {"rank": "2"})
    assert client.get(f"/api/v1/runs/{run}").json()["config"] == {}


def test_a_launch_without_a_step_has_a_config(client: httpx.Client) -> None:
    body = {"project": "llm", "run": "hangs", "config": {"lr": 1}}
    run = client.post("/api/v1/ingest", json=body).json()["run_id"]
    assert config_of(client, run)["attempts"] == [0]
    answer_body = client.get(f"/api/v1/runs/{run}").json()
    assert (answer_body["config"], answer_body["state"]) == ({"lr": 1}, "running")
    refused = client.post("/api/v1/ingest", json=body | {"settings": [{"name": "x"}]})
    assert refused.status_code == 422
    assert "settings" in refused.text


def test_what_an_agent_sends_arrives_with_its_labels(client: httpx.Client) -> None:
    config = {ConfigKey("nccl.net", (("rank", "3"),)): "Socket", ConfigKey("gpu.count"): 8}
    nothing = np.empty(0)
    batch = Batch(steps=nothing.astype(np.int64), times=nothing, columns=(), attempt="2", config=config)
    body = encode_delivery(Delivery(project="p", run="r", writer="w", batch_id="1", batch=batch))
    sent = client.post("/api/v1/ingest", content=body, headers={"Content-Type": "application/msgpack"})
    answer_body = config_of(client, sent.json()["run_id"])
    assert answer_body["attempts"] == [2]
    assert {one["name"]: one["values"][0]["value"] for one in answer_body["settings"]} == {
        "gpu.count": 8, "nccl.net": "Socket",
    }  # fmt: skip


def test_a_client_sends_its_config_before_points(
    server: tuple[ServerContext, str], client: httpx.Client, tmp_path: Path
) -> None:
    run = holter.init("llm", "a", {"lr": 1e-4}, server=server[1], spool=tmp_path, environ={})
    run.close(10)
    [one] = client.get("/api/v1/runs").json()["runs"]
    assert client.get(f"/api/v1/runs/{one['id']}").json()["config"] == {"lr": 1e-4}


def test_diagnostics_use_the_config_and_are_cached_until_it_changes(client: httpx.Client, post: Post) -> None:
    nets = [
        {"name": "nccl.net", "value": "Socket", "labels": {"host": f"n{at}", "rank": at}} for at in range(2)
    ]
    run = post({"step": [1], "loss": [3.0]}, settings=nets)["run_id"]
    path = f"/api/v1/runs/{run}/remarks"
    [remark] = client.get(path).json()["remarks"]
    assert (remark["code"], remark["attempt"]) == ("nccl-sockets", 0)
    assert client.get(path).json()["remarks"] == [remark]
    clean = post({"step": [1], "loss": [3.0]}, run="b")["run_id"]
    assert client.get(f"/api/v1/runs/{clean}/remarks").json() == {"remarks": []}


@pytest.mark.parametrize("what", ["config", "remarks"])
def test_an_unknown_run_has_no_config(client: httpx.Client, what: str) -> None:
    assert client.get(f"/api/v1/runs/nonsense/{what}").status_code == 404
