"""The live stream: low latency, gathered events, bounded memory with slow readers."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import httpx
import numpy as np
import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from holter.server import tokens
from holter.server.context import ServerContext
from holter.server.live import MAX_QUEUED_EVENTS, LiveEvent, LiveStream
from holter.settings import Settings
from holter.types import Batch, Column, Delivery, SeriesKey

Post = Callable[..., dict[str, Any]]
Serve = Callable[[Settings], AbstractContextManager[tuple[ServerContext, str]]]


def events(lines: Iterator[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Server-sent events as they come, comments left out."""
    name = ""
    for line in lines:
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


def test_a_point_posted_is_on_the_stream_within_a_second(server: tuple[ServerContext, str]) -> None:
    body = {"project": "llm", "run": "a", "columns": {"step": [7], "loss": [1.0]}}
    took = []
    with (
        httpx.Client(base_url=server[1], timeout=60) as sender,
        httpx.Client(base_url=server[1], timeout=60) as reader,
        reader.stream("GET", "/api/v1/stream") as answer,
    ):
        assert answer.headers["content-type"].startswith("text/event-stream")
        news = events(answer.iter_lines())
        for step in range(5):
            body["columns"] = {"step": [step], "loss": [1.0]}
            began = time.monotonic()
            run_id = sender.post("/api/v1/ingest", json=body).json()["run_id"]
            while True:
                name, data = next(news)
                if name == "points" and data["last_step"] == step:
                    break
                assert name == "run"
            took.append(time.monotonic() - began)
            assert data == {"run_id": run_id, "last_step": step, "attempt": 0}
    assert min(took) < 1.0, took  # other load on the machine may delay some


def test_a_stream_of_one_run_is_silent_about_others(
    client: httpx.Client, post: Post, server: tuple[ServerContext, str]
) -> None:
    mine = post({"step": [1], "loss": [1.0]}, run="mine")["run_id"]
    with httpx.stream("GET", f"{server[1]}/api/v1/stream", params={"run": mine}, timeout=60) as answer:
        lines = answer.iter_lines()
        next(lines)
        post({"step": [1], "loss": [1.0]}, run="other")
        post({"step": [2], "loss": [1.0]}, run="mine")
        run_ids = []
        for _, data in events(lines):
            run_ids.append(data["run_id"])
            if data.get("last_step") == 2:
                break
    assert set(run_ids) == {mine}


def test_a_changed_incident_is_on_the_stream(server: tuple[ServerContext, str]) -> None:
    context, address = server
    steps = np.arange(100)
    value = np.full(100, 2.0)
    value[60:] = np.nan
    batch = Batch(
        steps=steps, times=time.time() - 100.0 + steps, columns=(Column(key=SeriesKey("loss"), values=value),)
    )
    with (
        httpx.Client(base_url=address, timeout=60) as reader,
        reader.stream("GET", "/api/v1/stream") as answer,
    ):
        lines = answer.iter_lines()
        next(lines)
        context.store.accept(Delivery(project="llm", run="a", writer="w", batch_id="1", batch=batch))
        incident = next(data for name, data in events(lines) if name == "incident")
    assert incident["kind"] == "nonfinite"
    assert incident["start_step"] == 60
    assert incident == httpx.get(f"{address}/api/v1/incidents/{incident['id']}", timeout=60).json()


def test_the_server_stops_although_streams_are_open(settings: Settings, serve: Serve) -> None:
    ended = threading.Event()

    def read(address: str) -> None:
        with httpx.stream("GET", f"{address}/api/v1/stream", timeout=60) as answer:
            for _ in answer.iter_lines():
                pass
        ended.set()

    with serve(settings) as (context, address):
        thread = threading.Thread(target=read, args=(address,))
        thread.start()
        while not context.live.listeners:
            time.sleep(0.01)
        began = time.monotonic()
    thread.join(60)
    assert ended.is_set()
    assert time.monotonic() - began < 30


async def _collect(live: LiveStream, into: list[bytes], run: str | None = None) -> None:
    async for piece in live.stream(run):
        into.append(piece)


def test_a_flood_of_points_is_gathered_to_the_newest() -> None:
    async def flood() -> list[bytes]:
        live, seen = LiveStream(), list[bytes]()
        live.start()
        listening = asyncio.create_task(_collect(live, seen))
        await asyncio.sleep(0.01)
        for step in range(10_000):
            live.publish(LiveEvent("points", "a", {"run_id": "a", "last_step": step, "attempt": 0}))
        while len(seen) < 2:
            await asyncio.sleep(0.01)
        live.close()
        await listening
        return seen

    seen = asyncio.run(flood())
    assert len(seen) == 2
    assert b'"last_step":9999' in seen[1]


def test_a_slow_reader_is_disconnected_and_takes_no_memory() -> None:
    async def ignore() -> LiveStream:
        live = LiveStream()
        live.start()
        stream = live.stream()
        await anext(stream)
        for number in range(MAX_QUEUED_EVENTS + 10):
            live.publish(LiveEvent("incident", "a", {"id": number}))
        while live.listeners:
            await asyncio.sleep(0.01)
        with pytest.raises(StopAsyncIteration):
            await anext(stream)
        return live

    assert asyncio.run(ignore()).dropped == 1


def test_events_before_start_and_after_close_are_discarded() -> None:
    async def around() -> None:
        live = LiveStream()
        live.publish(LiveEvent("points", "a", {}))
        live.start()
        live.close()
        live.publish(LiveEvent("points", "a", {}))
        assert [piece async for piece in live.stream()] == []

    asyncio.run(around())


@pytest.mark.parametrize("way", ["token", "session"])
def test_a_stream_ends_when_its_token_is_revoked_or_its_session_ends(
    way: str, sqlite_url: str, sqlite_engine: Engine, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holter.server.auth.TOKEN_CACHE_SECONDS", 0.1)
    monkeypatch.setattr("holter.server.live.HEARTBEAT_SECONDS", 0.1)
    with Session(sqlite_engine) as session, session.begin():
        token = tokens.create(session, "job", now=0.0, scope=tokens.TokenScope.ALL)
    settings = Settings(database_url=sqlite_url, password="correct horse")  # type: ignore[arg-type]
    with serve(settings) as (_, address), httpx.Client(base_url=address, timeout=60) as browser:
        headers = {"Authorization": f"Bearer {token}"} if way == "token" else {}
        if way == "session":
            assert browser.post("/api/v1/session", json={"password": token}).status_code == 200
        with browser.stream("GET", "/api/v1/stream", headers=headers) as answer:
            lines = answer.iter_lines()
            while next(lines) != ": still here":
                pass
            if way == "token":
                with Session(sqlite_engine) as session, session.begin():
                    tokens.revoke(session, "job", now=1.0)
            else:
                cookies = dict(browser.cookies)
                httpx.delete(f"{address}/api/v1/session", cookies=cookies, timeout=60)
            assert not [line for line in lines if line.startswith("data:")]  # and it ends
