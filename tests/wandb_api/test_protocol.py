"""The protocol of wandb clients, request by request."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy.orm import Session

from holter.server import tokens
from holter.server.context import ServerContext
from holter.settings import Settings
from holter.types import SeriesKey
from tests.support.servers import Serve
from tests.support.wandb_protocol import ProtocolClient

LOSS = SeriesKey("loss")


def rows(first: int, count: int, time: float, **more: Any) -> list[dict[str, Any]]:
    """Rows of the counter from `first` on, a second apart from `time` on."""
    return [
        {"_step": first + i, "_timestamp": time + i, "_runtime": float(i), "loss": 1.0 / (1 + first + i)}
        | more
        for i in range(count)
    ]


def attempts(wandb: ProtocolClient, run: str) -> list[tuple[int, int]]:
    return [(each["first_step"], each["last_step"]) for each in wandb.run(run)["strip"]["attempts"]]


def test_rows_are_stored_with_nan_and_nested_names(wandb: ProtocolClient) -> None:
    wandb.upsert("a", config=json.dumps({"lr": {"value": 0.1}}), tags=["x"], notes="first try")
    wandb.history("a", 0, rows(0, 3, 1000.0, nested={"x": 1}, bad=float("nan")))
    assert wandb.points("a") == {"loss": 3, "nested/x": 3, "bad": 3}
    run = wandb.run("a")
    assert run["config"] == {"lr": 0.1}
    assert (run["description"]["tags"], run["description"]["notes"]) == (["x"], "first try")


def test_rows_that_are_sent_again_are_stored_once_whatever_their_borders(wandb: ProtocolClient) -> None:
    sent = rows(0, 20, 1000.0)
    wandb.history("a", 0, sent[:10])
    wandb.history("a", 0, sent[:10])  # the answer was lost
    wandb.history("a", 0, sent[:15])  # wandb sync
    wandb.history("a", 15, sent[15:])
    assert wandb.points("a") == {"loss": 20}
    assert attempts(wandb, "a") == [(0, 19)]


def test_the_same_id_again_is_a_new_attempt(wandb: ProtocolClient) -> None:
    wandb.history("a", 0, rows(0, 10, 1000.0))
    wandb.history("a", 0, rows(0, 5, 2000.0))
    assert attempts(wandb, "a") == [(0, 9), (0, 4)]
    wandb.history("a", 0, rows(0, 10, 1000.0))  # wandb sync of the first one
    assert attempts(wandb, "a") == [(0, 9), (0, 4)]
    assert wandb.points("a") == {"loss": 15}


def test_five_resumes_with_a_rollback_lose_no_point(wandb: ProtocolClient) -> None:
    wandb.upsert("a")
    wandb.history("a", 0, rows(0, 10, 1000.0))
    for launch in range(1, 6):
        bucket = wandb.resume("a")
        line, last = bucket["historyLineCount"], json.loads(json.loads(bucket["historyTail"])[0])["_step"]
        assert line == 10 * launch
        assert "t" in json.loads(bucket["wandbConfig"])
        wandb.upsert("a")
        first = last + 1 if launch != 3 else 5  # rolled back
        wandb.history("a", line, rows(first, 10, 1000.0 + 1000 * launch))
    assert wandb.points("a") == {"loss": 60}
    assert attempts(wandb, "a") == [(0, 9), (10, 19), (20, 29), (5, 14), (15, 24), (25, 34)]


def test_a_fork_begins_with_the_history_of_its_parent(wandb: ProtocolClient, context: ServerContext) -> None:
    wandb.upsert("parent")
    wandb.history("parent", 0, rows(0, 10, 1000.0))
    config = {"_wandb": {"value": {"branch_point": {"run_id": "parent", "step": 2}}}}
    wandb.upsert("child", config=json.dumps(config))
    wandb.history("child", 0, rows(3, 4, 2000.0))
    assert attempts(wandb, "child") == [(0, 2), (3, 6)]
    assert wandb.run("child")["description"]["parent_run"] == "parent"


def test_a_rewound_run_keeps_what_was_after_the_step(wandb: ProtocolClient) -> None:
    wandb.upsert("a")
    wandb.history("a", 0, rows(0, 10, 1000.0))
    answer = wandb.graphql("RewindRun", runName="a", project="demo", metricName="_step", metricValue=3)
    wandb.upsert("a")
    wandb.history("a", answer["rewindRun"]["rewoundRun"]["historyLineCount"], rows(4, 3, 2000.0))
    assert attempts(wandb, "a") == [(0, 9), (4, 6)]
    assert wandb.points("a") == {"loss": 13}


def test_writers_of_a_shared_run_log_into_one_attempt(wandb: ProtocolClient) -> None:
    wandb.upsert("a")
    wandb.history("a", 0, rows(0, 5, 1000.0), client="one")
    wandb.history("a", 0, [{"_step": 0, "_timestamp": 1006.0, "rank1/loss": 1.0}], client="two")
    assert attempts(wandb, "a") == [(0, 4)]
    assert wandb.points("a") == {"loss": 5, "rank1/loss": 1}


def test_a_framework_step_is_the_step_and_the_counter_a_series(
    wandb: ProtocolClient, context: ServerContext
) -> None:
    sent = [row | {"train/global_step": 100 * (1 + row["_step"])} for row in rows(0, 3, 1000.0)]
    wandb.history("a", 0, [*sent, {"_step": 3, "_timestamp": 1003.0, "extra": 1.0}])
    assert attempts(wandb, "a") == [(100, 300)]
    assert wandb.points("a") == {"loss": 3, "train/global_step": 3, "_step": 4, "extra": 1}


def test_a_defined_step_metric_is_waited_for(wandb: ProtocolClient) -> None:
    wandb.upsert("a")
    sent = [row | {"my_step": 10 * row["_step"]} for row in rows(0, 3, 1000.0)]
    chunk = {"wandb-history.jsonl": {"offset": 0, "content": [json.dumps(row) for row in sent]}}
    answer = wandb.stream("a", files=chunk)
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "2")
    definitions = [{"2": "val/*", "5": 2}, {"1": "my_step"}]
    wandb.upsert("a", config=json.dumps({"_wandb": {"value": {"m": definitions}}}))
    wandb.stream("a", files=chunk).raise_for_status()
    assert attempts(wandb, "a") == [(0, 20)]


def test_system_metrics_are_at_the_step_before_them(wandb: ProtocolClient, context: ServerContext) -> None:
    event = json.dumps({"_timestamp": 1002.5, "system.gpu.0.gpu": 97.0})
    history = [json.dumps(row) for row in rows(0, 5, 1000.0)]
    files = {"wandb-history.jsonl": {"offset": 0, "content": history}}
    files["wandb-events.jsonl"] = {"offset": 0, "content": [event]}
    for _ in range(2):
        wandb.stream("a", files=files).raise_for_status()
    key = SeriesKey("system.gpu.0.gpu")
    run = context.runs.run_id(wandb.run("a")["id"])
    assert context.store.read(run, [key])[key].step.tolist() == [2]


def test_the_end_of_a_run_and_its_exit_code(wandb: ProtocolClient) -> None:
    wandb.upsert("a")
    wandb.history("a", 0, rows(0, 2, 1000.0))
    wandb.stream("a", complete=True, exitcode=1).raise_for_status()
    run = wandb.run("a")
    assert run["state"] == "finished"
    assert (run["description"]["reported_state"], run["description"]["exit_code"]) == ("failed", 1)


def test_an_alert_is_one_incident_however_often_it_is_sent(wandb: ProtocolClient) -> None:
    wandb.upsert("a")
    for _ in range(3):
        alert = {"title": "Low accuracy", "text": "0.3", "severity": "WARN"}
        wandb.graphql("NotifyScriptableRunAlert", runName="a", projectName="demo", **alert)
    found = httpx.get(f"{wandb.address}/api/v1/runs/{wandb.run('a')['id']}/incidents", timeout=60).json()[
        "incidents"
    ]
    assert [(each["kind"], each["severity"]) for each in found] == [("user_alert", "warning")]


def test_a_request_to_stop_is_answered_until_the_run_is_resumed(wandb: ProtocolClient) -> None:
    wandb.upsert("a")
    wandb.history("a", 0, rows(0, 2, 1000.0))
    path = f"{wandb.address}/api/v1/runs/{wandb.run('a')['id']}/stop"
    httpx.post(path, json={"by": "ana", "reason": "diverged"}, timeout=60).raise_for_status()
    assert wandb.stream("a").json()["stopped"] is True
    asked = wandb.graphql("RunStoppedStatus", projectName="demo", runId="a")
    assert asked["project"]["run"]["stopped"] is True
    wandb.stream("a", complete=True, exitcode=255)
    stop = wandb.run("a")["stop"]
    assert (stop["by"], stop["reason"], stop["stopped_at"] is not None) == ("ana", "diverged", True)
    wandb.resume("a")
    wandb.upsert("a")
    assert wandb.stream("a").json()["stopped"] is False
    assert wandb.run("a")["stop"] is None


def test_a_launch_begins_where_a_client_resumes_by_name_and_id(wandb: ProtocolClient) -> None:
    wandb.upsert("a")
    wandb.history("a", 0, rows(0, 3, 1000.0))
    wandb.resume("a")
    wandb.graphql("UpsertBucket", id=wandb.run("a")["id"], name="a", project="demo", host="node7")
    wandb.history("a", 3, rows(3, 4, 2000.0))
    assert [(each["first_step"], each["last_step"]) for each in wandb.run("a")["strip"]["attempts"]] == [
        (0, 2), (3, 6),
    ]  # fmt: skip


def test_media_are_discarded_and_noted_once(wandb: ProtocolClient) -> None:
    picture = {"_type": "image-file", "path": "media/a.png", "size": 3}
    wandb.history("a", 0, rows(0, 3, 1000.0, picture=picture))
    wandb.history("a", 3, rows(3, 3, 1003.0, picture=picture))
    assert wandb.points("a") == {"loss": 6}
    assert [each["place"] for each in wandb.run("a")["unreadable"]] == ["media"]


def test_files_are_uploaded_to_signed_addresses_only(wandb: ProtocolClient, context: ServerContext) -> None:
    wandb.upsert("a")
    answer = wandb.graphql("CreateRunFiles", run="a", project="demo", files=["requirements.txt", "model.pt"])
    addresses = {each["name"]: each["uploadUrl"] for each in answer["createRunFiles"]["files"]}
    for name, address in addresses.items():
        assert httpx.put(address, content=b"numpy==2.0\n", timeout=60).status_code == 200, name
        assert httpx.put(address.replace(name, f"other-{name}"), content=b"x", timeout=60).status_code == 403
    stored = context.run_details.attributes(context.runs.run_id(wandb.run("a")["id"]), "file.")
    assert stored == {"file.requirements.txt": "numpy==2.0\n"}


def test_the_environment_of_a_launch_is_what_its_files_state_without_secrets_and_paths(
    wandb: ProtocolClient, context: ServerContext
) -> None:
    wandb.upsert("a")
    wandb.history("a", 0, rows(0, 3, 1000.0))
    commit = "0123456789abcdef0123456789abcdef01234567"
    metadata = {
        "os": "Linux-6.1-x86_64", "python": "3.11.7", "host": "node7", "gpu": "NVIDIA H100", "gpu_count": 8,
        "git": {"remote": "https://ana:pw@example.com/a.git", "commit": commit}, "email": "ana@example.com",
        "args": ["--token", "hf_abcdefghijklmnop"], "cudaVersion": "ghp_" + 36 * "x",
    }  # fmt: skip
    files = {
        "wandb-metadata.json": json.dumps(metadata).encode(),
        "requirements.txt": b"numpy==2.0\ntorch==2.4.0+cu121\nours @ git+https://ana:pw@example.com/a.git\n",
        "diff.patch": b"diff --git a/train.py b/train.py\n--- a/train.py\n+password = 'hunter2'\n",
    }
    answer = wandb.graphql("CreateRunFiles", run="a", project="demo", files=list(files))
    for each in answer["createRunFiles"]["files"]:
        assert httpx.put(each["uploadUrl"], content=files[each["name"]], timeout=60).status_code == 200
    run = context.runs.run_id(wandb.run("a")["id"])
    stated = {key.name: list(values.values()) for key, values in context.store.environment(run).items()}
    assert stated == {
        "python": ["3.11.7"], "system": ["Linux-6.1-x86_64"], "host": ["node7"], "gpus": ["8 x NVIDIA H100"],
        "git_commit": [commit], "packages/numpy": ["2.0"], "packages/torch": ["2.4.0+cu121"],
        "git_changed": [1], "git_changed_files": ["train.py"],
    }  # fmt: skip
    assert not context.run_details.attributes(run, "file.diff")


@pytest.mark.parametrize("content", [b"{", b"[]", b"null", 100_000 * b"[", b'{"git": 3, "gpu_count": "x"}'])
def test_files_about_the_environment_may_have_any_content(wandb: ProtocolClient, content: bytes) -> None:
    wandb.upsert("a")
    answer = wandb.graphql("CreateRunFiles", run="a", project="demo", files=["wandb-metadata.json"])
    assert (
        httpx.put(answer["createRunFiles"]["files"][0]["uploadUrl"], content=content, timeout=60).status_code
        == 200
    )


def test_old_clients_ask_for_types_without_naming_the_operation(wandb: ProtocolClient) -> None:
    query = 'query ProbeServerCapabilities { MutationType: __type(name: "Mutation") { fields { name } } }'
    answer = httpx.post(f"{wandb.address}/graphql", json={"query": query, "variables": {}}, timeout=60).json()
    fields = {each["name"] for each in answer["data"]["MutationType"]["fields"]}
    assert {"createRunFiles", "upsertBucket", "notifyScriptableRunAlert"} <= fields


@pytest.mark.parametrize("body", [b"{", b"[1]", b'{"files": {"wandb-history.jsonl": {"offset": -1}}}'])
def test_a_malformed_chunk_is_never_answered_with_4xx(wandb: ProtocolClient, body: bytes) -> None:
    answer = httpx.post(f"{wandb.address}/files/local/demo/a/file_stream", content=body, timeout=60)
    assert answer.status_code == 503


def test_a_foreign_key_is_refused_and_neither_stored_nor_logged(
    sqlite_url: str, serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    foreign = "f00dfacef00dfacef00dfacef00dfacef00dface"
    settings = Settings(database_url=sqlite_url, password="correct horse")  # type: ignore[arg-type]
    with serve(settings) as (context, address):
        with Session(context.engine) as session, session.begin():
            own = tokens.create(session, "job", now=0.0)
        assert len(own) == 40
        body = {"query": "mutation UpsertBucket", "variables": {"name": "a", "project": "demo"}}
        for key, status in ((foreign, 401), (own, 200)):
            header = {"Authorization": f"Basic {base64.b64encode(f'api:{key}'.encode()).decode()}"}
            context.authenticator.refresh()
            answer = httpx.post(f"{address}/graphql", json=body, headers=header, timeout=60)
            assert answer.status_code == status, answer.text
            stream = httpx.post(
                f"{address}/files/local/demo/a/file_stream", content=b"{}", headers=header, timeout=60
            )
            assert stream.status_code == (200 if status == 200 else 503)
        assert "holter token create" in httpx.post(f"{address}/graphql", json=body, timeout=60).text
    folder = Path(sqlite_url.removeprefix("sqlite:///")).parent
    assert all(foreign.encode() not in file.read_bytes() for file in folder.rglob("*") if file.is_file())
    assert foreign not in caplog.text
