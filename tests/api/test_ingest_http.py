"""POST /ingest over HTTP: durable before acknowledged, complete or not at all, bounded in size."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import httpx
import msgspec
import numpy as np
import zstandard

from holter.server.context import ServerContext
from holter.settings import Settings

Post = Callable[..., dict[str, Any]]
Serve = Callable[[Settings], AbstractContextManager[tuple[ServerContext, str]]]
INGEST = "/api/v1/ingest"
BODY = {"project": "llm", "run": "a", "columns": {"step": [1, 2], "loss": [2.0, "NaN"], "lr": [1e-4, None]}}


def values_of(client: httpx.Client, run_id: str, metric: str) -> list[float]:
    data = client.get(f"/api/v1/runs/{run_id}/data", params={"metric": metric}).json()
    return [value for one in data["series"] for segment in one["segments"] for value in segment["value"]]


def test_points_are_stored_once_they_are_acknowledged(client: httpx.Client, post: Post) -> None:
    reply = post({"step": [1, 2, 3], "loss": [3.0, None, "NaN"], "lr": [0.1, 0.2, 0.3]})
    assert reply["accepted"] == 5
    assert reply["attempt"] == 0
    assert reply["duplicate"] is False
    assert reply["batch_id"]
    assert values_of(client, reply["run_id"], "lr") == [0.1, 0.2, 0.3]
    data = client.get(f"/api/v1/runs/{reply['run_id']}/data", params={"metric": "loss"}).json()
    assert data["series"][0]["nonfinite"] == [{"attempt": 0, "step": 3, "value": "NaN"}]
    assert data["series"][0]["count"] == 2


def test_the_same_batch_again_changes_nothing(client: httpx.Client, post: Post) -> None:
    first = post({"step": [1], "loss": [3.0]}, batch_id="one")
    again = post({"step": [1], "loss": [4.0]}, batch_id="one")
    assert again["duplicate"] is True
    assert again["run_id"] == first["run_id"]
    assert values_of(client, first["run_id"], "loss") == [3.0]


def test_all_points_of_a_step_are_stored_and_repeats_are_accepted_once(
    client: httpx.Client, post: Post
) -> None:
    reply = post({"step": [5, 5, 5, 5], "time": [1, 2, 3, 3], "loss": [3.0, 1.0, 2.0, 2.0]})
    assert reply["accepted"] == 3
    assert values_of(client, reply["run_id"], "loss") == [3.0, 1.0, 2.0]
    assert client.get(f"/api/v1/runs/{reply['run_id']}/latest").json()["value"] == [2.0]


def test_two_writers_of_the_same_steps_are_two_series(client: httpx.Client, post: Post) -> None:
    for shift, writer in enumerate(("a", "b")):
        columns = {"step": list(range(50)), "time": list(range(50)), "loss": [float(shift)] * 50}
        reply = post(columns, writer=writer, attempt=0)
        assert reply["accepted"] == 50
    data = client.get(f"/api/v1/runs/{reply['run_id']}/data", params={"metric": "loss"}).json()
    found = {json.dumps(one["labels"]): one["segments"][0]["value"] for one in data["series"]}
    assert found == {"{}": [0.0] * 50, '{"writer": "b"}': [1.0] * 50}


def test_the_attempt_stated_by_the_log_is_used(post: Post) -> None:
    assert post({"step": [1], "loss": [3.0]}, attempt=0)["attempt"] == 0
    assert post({"step": [1], "loss": [2.9]}, attempt="1")["attempt"] == 1


def packed(run: str, batch_id: str, *steps: int) -> dict[str, Any]:
    values = np.array(steps, "<f8") / 10
    body = {"project": "llm", "run": run, "batch_id": batch_id, "steps": np.array(steps, "<i8").tobytes()}
    return body | {"metrics": ["loss"], "values": values.tobytes()}


def test_several_bodies_come_as_an_array_and_are_stored_in_their_order(client: httpx.Client) -> None:
    headers = {"Content-Type": "application/msgpack"}
    array = [packed("a", "1", 1, 2), packed("b", "1", 5), packed("a", "2", 2, 3), packed("a", "1", 1, 2)]
    answer = client.post(INGEST, content=msgspec.msgpack.encode(array), headers=headers)
    assert answer.status_code == 200
    receipts = answer.json()["batches"]
    assert [(one["batch_id"], one["accepted"], one["duplicate"]) for one in receipts] == [
        ("1", 2, False), ("1", 1, False), ("2", 2, False), ("1", 2, True)
    ]  # fmt: skip
    assert values_of(client, receipts[0]["run_id"], "loss") == [0.1, 0.2, 0.3]
    assert values_of(client, receipts[1]["run_id"], "loss") == [0.5]


def test_an_array_with_a_malformed_body_is_refused_entirely_with_its_index(client: httpx.Client) -> None:
    headers = {"Content-Type": "application/msgpack"}
    array = [packed("whole", "1", 1), packed("whole", "2", 2) | {"steps": b"odd"}]
    answer = client.post(INGEST, content=msgspec.msgpack.encode(array), headers=headers)
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["body", 1, "steps"]
    assert client.get("/api/v1/runs", params={"q": "whole"}).json()["runs"] == []
    for empty in ([], {}):
        assert client.post(INGEST, content=msgspec.msgpack.encode(empty), headers=headers).status_code == 422


def test_bodies_may_be_compressed(client: httpx.Client) -> None:
    plain = json.dumps(BODY).encode()
    for coding, content in (
        ("gzip", gzip.compress(plain)),
        ("zstd", zstandard.ZstdCompressor().compress(plain)),
        ("identity", plain),
    ):
        headers = {"Content-Type": "application/json; charset=utf-8", "Content-Encoding": coding}
        answer = client.post(INGEST, content=content, headers=headers)
        assert answer.status_code == 200, answer.text
        assert answer.json()["accepted"] == 3


def test_the_binary_form_arrives_bit_by_bit(client: httpx.Client) -> None:
    value = np.random.default_rng(0).normal(size=1000)
    body = {
        "project": "llm", "run": "raw", "steps": np.arange(1000, dtype="<i8").tobytes(),
        "times": (1.7e9 + np.arange(1000.0)).astype("<f8").tobytes(),
        "columns": [{"metric": "loss", "labels": {"rank": 3}, "values": value.astype("<f8").tobytes()}],
    }  # fmt: skip
    headers = {"Content-Type": "application/msgpack"}
    answer = client.post(INGEST, content=msgspec.msgpack.encode(body), headers=headers)
    assert answer.status_code == 200, answer.text
    assert values_of(client, answer.json()["run_id"], "loss") == value.tolist()


def test_an_invalid_body_is_refused_with_the_reason(client: httpx.Client) -> None:
    cut = zstandard.ZstdCompressor().compress(b"0" * 1000)[:-1]
    for content, kind, coding, status, reason in (
        (b"{}", "text/plain", "identity", 415, "application/json"),
        (b"{}", "application/json", "br", 415, "gzip"),
        (b"{}", "application/json", "gzip", 400, "not gzip"),
        (gzip.compress(b"{}")[:-4], "application/json", "gzip", 400, "truncated"),
        (gzip.compress(b"{}") + b"x", "application/json", "gzip", 400, "trailing"),
        (cut, "application/json", "zstd", 400, "zstd"),
        (b"{}", "application/json", "identity", 422, "project"),
        (b"{}", "application/msgpack", "identity", 422, "object"),
    ):
        headers = {"Content-Type": kind, "Content-Encoding": coding}
        answer = client.post(INGEST, content=content, headers=headers)
        assert answer.status_code == status, answer.text
        assert reason in answer.text


def test_a_batch_with_one_error_stores_nothing(client: httpx.Client) -> None:
    body = BODY | {"columns": {"step": [1, 2], "loss": [2.0, 1.9], "lr": [1e-4, "x"]}}
    answer = client.post(INGEST, json=body)
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["body", "columns", "lr", 1]
    assert client.get("/api/v1/runs").json()["runs"] == []


def test_bodies_are_bounded_before_and_after_decompression(sqlite_url: str, serve: Serve) -> None:
    zeros = b'{"project":"' + b"0" * 3 * 2**20 + b'"}'
    with serve(Settings(database_url=sqlite_url, max_batch_mb=1)) as (_, address):
        for coding, content in (
            ("identity", zeros),
            ("gzip", gzip.compress(zeros)),
            ("zstd", zstandard.ZstdCompressor().compress(zeros)),
        ):
            headers = {"Content-Type": "application/json", "Content-Encoding": coding}
            answer = httpx.post(address + INGEST, content=content, headers=headers, timeout=60)
            assert answer.status_code == 413, coding
            assert "max_batch_mb" in answer.json()["detail"]


def test_a_configuration_with_points_is_stored_and_extended(client: httpx.Client, post: Post) -> None:
    run = post({"step": [1], "loss": [3.0]}, config={"lr": 1e-4, "model": {"layers": 12}})["run_id"]
    post({"step": [2], "loss": [2.9]}, config={"lr": 2e-4, "seed": 1})
    config = client.get(f"/api/v1/runs/{run}").json()["config"]
    assert config == {"lr": 2e-4, "model.layers": 12, "seed": 1}


def test_many_writers_at_once_lose_nothing(server: tuple[ServerContext, str]) -> None:
    accepted: list[int] = []

    def send(rank: int) -> None:
        with httpx.Client(base_url=server[1], timeout=60) as client:
            for batch in range(10):
                steps = list(range(batch * 10, batch * 10 + 10))
                body = {"project": "llm", "run": "many", "columns": {"step": steps, "loss": [1.0] * 10}}
                answer = client.post(INGEST, json=body | {"labels": {"rank": rank}, "attempt": 0})
                accepted.append(answer.json()["accepted"])

    threads = [threading.Thread(target=send, args=(rank,)) for rank in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert accepted == [10] * 80
    run = httpx.get(f"{server[1]}/api/v1/runs", timeout=60).json()["runs"][0]
    assert run["points"] == 800
    assert run["series"] == 8
    assert run["attempts"] == 1


def test_while_the_store_is_closed_senders_get_503(client: httpx.Client, context: ServerContext) -> None:
    context.store.close()
    answer = client.post(INGEST, json=BODY)
    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) >= 1
