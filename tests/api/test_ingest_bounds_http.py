"""Limits of POST /ingest: memory, rates, quotas, and the reasons of refusals."""

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing
from typing import Any

import httpx
import msgspec
import numpy as np
import pytest
import zstandard

from holter.server.context import ServerContext
from holter.server.ingest_http.receiver import Receiver
from holter.settings import Settings
from holter.settings.projects import ProjectSettings
from tests.support.waiting import wait_for

Serve = Callable[[Settings], AbstractContextManager[tuple[ServerContext, str]]]
INGEST = "/api/v1/ingest"


def body(step: int, *metrics: str, project: str = "p") -> dict[str, Any]:
    return {"project": project, "run": "r", "columns": {"step": [step], **{name: [1.0] for name in metrics}}}


@pytest.fixture
def limited(sqlite_url: str, serve: Serve) -> Iterator[tuple[httpx.Client, ServerContext]]:
    """A server where the project `few` may have 2 series a run, and `slow` 10 points a second."""
    projects = {
        "few": ProjectSettings.model_validate({"quota": {"max_series_per_run": 2}}),
        "slow": ProjectSettings.model_validate(
            {"quota": {"max_points_per_second": 10, "burst_seconds": 0.1}}
        ),
    }
    with (
        serve(Settings(database_url=sqlite_url, projects=projects)) as (context, address),
        httpx.Client(base_url=address, timeout=60) as client,
    ):
        yield client, context


def test_the_response_names_series_beyond_a_quota_and_the_run_shows_them(
    limited: tuple[httpx.Client, ServerContext],
) -> None:
    client, _ = limited
    reply = client.post(INGEST, json=body(1, "a", "b", "c", project="few")).json()
    assert reply["accepted"] == 2
    [refused] = reply["refused"]
    assert (refused["metric"], refused["series"]) == ("max_series_per_run", 1)
    assert "refused" not in client.post(INGEST, json=body(1, "a", "b", "c")).json()
    run = client.get(f"/api/v1/runs/{reply['run_id']}").json()
    assert run["unreadable"][0]["reason"] == refused["reason"]


def test_a_batch_entirely_beyond_a_quota_is_refused(
    limited: tuple[httpx.Client, ServerContext],
) -> None:
    client, _ = limited
    client.post(INGEST, json=body(1, "a", "b", project="few"))
    answer = client.post(INGEST, json=body(2, "c", project="few"))
    assert answer.status_code == 422
    assert "max_series_per_run" in answer.json()["detail"][0]["msg"]


def test_too_many_points_per_second_get_a_time_to_retry(limited: tuple[httpx.Client, ServerContext]) -> None:
    client, _ = limited
    assert client.post(INGEST, json=body(1, *"abcdefghijklmno", project="slow")).status_code == 200
    answer = client.post(INGEST, json=body(2, "a", project="slow"))
    assert answer.status_code == 429
    assert int(answer.headers["retry-after"]) >= 1
    assert client.post(INGEST, json=body(2, "a")).status_code == 200  # nobody else's business


def test_a_run_ends_with_its_last_points_or_without_any(limited: tuple[httpx.Client, ServerContext]) -> None:
    client, _ = limited
    for name, last in (("with", body(1, "a") | {"finished": True}), ("without", {"finished": True})):
        client.post(INGEST, json=body(0, "a") | {"run": name})
        reply = client.post(INGEST, json={"project": "p"} | last | {"run": name}).json()
        assert client.get(f"/api/v1/runs/{reply['run_id']}").json()["state"] == "finished"


@pytest.mark.slow
@pytest.mark.parametrize("coding", ["identity", "gzip", "zstd"])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_a_table_arrives_bit_by_bit_in_every_compression(
    client: httpx.Client, coding: str, dtype: str
) -> None:
    table = np.random.default_rng(0).normal(size=(50, 3)).astype(f"<{dtype}")
    raw = msgspec.msgpack.encode(
        {
            "project": "p", "run": coding + dtype, "steps": np.arange(50, dtype="<i8").tobytes(),
            "metrics": ["a", "b", "c"], "values": table.tobytes(), "dtype": dtype,
        }
    )  # fmt: skip
    packed = {"gzip": gzip.compress, "zstd": zstandard.ZstdCompressor().compress}.get(coding, bytes)(raw)
    headers = {"Content-Type": "application/msgpack", "Content-Encoding": coding}
    reply = client.post(INGEST, content=packed, headers=headers).json()
    for place, metric in enumerate("abc"):
        data = client.get(f"/api/v1/runs/{reply['run_id']}/data", params={"metric": metric}).json()
        values = [value for segment in data["series"][0]["segments"] for value in segment["value"]]
        assert values == table[:, place].astype(float).tolist()


def connected(address: str) -> closing[socket.socket]:
    host, port = address.removeprefix("http://").split(":")
    return closing(socket.create_connection((host, int(port)), timeout=60))


def head(size: int) -> bytes:
    return (
        f"POST {INGEST} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Length: {size}\r\n\r\n"
    ).encode()


def test_a_body_that_arrives_too_slowly_is_dropped(
    context: ServerContext, server: tuple[ServerContext, str]
) -> None:
    context.receiver = Receiver(context.store, limit=2**20, body_seconds=0.3)
    with connected(server[1]) as line:
        line.sendall(head(1000) + b"{")
        received = b""
        while piece := line.recv(4096):  # until the server hangs up
            received += piece
        assert received.startswith(b"HTTP/1.1 408")
    assert context.receiver.arriving.used == 0


def test_stalled_senders_do_not_block_others(
    context: ServerContext, server: tuple[ServerContext, str], client: httpx.Client
) -> None:
    context.receiver = Receiver(context.store, limit=2**20, budget_bytes=2**20)
    with ExitStack() as lines:
        for _ in range(2):
            line = lines.enter_context(connected(server[1]))
            line.sendall(head(2**20) + b" " * 1_000_000)
        wait_for(lambda: context.receiver.arriving.used == 2_000_000)
        content = json.dumps(body(1, "a")).encode() + b" " * 200_000
        headers = {"Content-Type": "application/json"}
        wait_for(lambda: client.post(INGEST, content=content, headers=headers).status_code == 200)
        assert context.receiver.arriving.used == 1_000_000  # one of the stalled bodies has made room
        assert context.receiver.budget.used == 0
    wait_for(lambda: context.receiver.arriving.used == 0)


def test_a_full_queue_and_a_stopping_server_respond_503_with_retry_after(
    context: ServerContext, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked() -> httpx.Response:
        return client.post(INGEST, json=body(1, "loss"))

    with monkeypatch.context() as full:
        full.setattr("holter.server.store.writer._MAX_QUEUED", 0)
        busy = asked()
    context.store.close()
    fast = "points come in faster than they can be stored"
    for answer, why in ((busy, fast), (asked(), "the server is stopping")):
        assert answer.status_code == 503
        assert int(answer.headers["retry-after"]) >= 1
        assert answer.json()["detail"] == f"{why}: send the same batch_id again"


def send_without_reading(line: socket.socket, request: bytes) -> None:
    for _ in range(40_000):
        line.sendall(request)


@pytest.mark.slow
def test_a_client_that_does_not_read_responses_takes_no_memory(
    context: ServerContext, server: tuple[ServerContext, str], client: httpx.Client
) -> None:
    content = json.dumps(body(1, "a") | {"batch_id": "same"}).encode() + b" " * 5000
    with connected(server[1]) as line:
        line.settimeout(0.1)
        with pytest.raises(TimeoutError):  # the server stops reading before it has remembered much
            send_without_reading(line, head(len(content)) + content)
        assert client.post(INGEST, json=body(2, "a")).status_code == 200
        assert context.receiver.arriving.used + context.receiver.budget.used < 2**20
