"""The dead man's switch: a real address is requested while workers make progress, and not once one hangs."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import httpx
import numpy as np
import pytest

from holter.server.alerting import agent_monitor, notification_scheduler, sender
from holter.server.analysis import missing_data_monitor, worker
from holter.server.heartbeat import Heartbeat
from holter.server.worker_progress import WorkerProgress
from holter.settings import Settings
from holter.settings.alerting import AlertingSettings, HeartbeatSettings
from holter.types import Batch, Column, Delivery, SeriesKey
from tests.support.http_servers import serving
from tests.support.servers import served

SECRET = "0c3fd9a1-secret"


class WatchingService:
    """A service such as healthchecks.io: it notes each request, and answers with `status`."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, bytes]] = []
        self.status = 200
        self.address = ""

    def handler(self, *arguments: object) -> BaseHTTPRequestHandler:
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                service.requests.append((self.command, self.path, body))
                self.send_response(service.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_POST = do_GET  # noqa: N815 - the name that http.server calls

            def log_message(self, *_: object) -> None:
                pass

        return Handler(*arguments)  # type: ignore[arg-type]

    def silent_for(self, seconds: float) -> bool:
        before = len(self.requests)
        time.sleep(seconds)
        return len(self.requests) == before

    def wait_for_request(self) -> None:
        before, end = len(self.requests), time.monotonic() + 60
        while len(self.requests) == before:
            assert time.monotonic() < end, "no heartbeat came"
            time.sleep(0.02)


@pytest.fixture
def service() -> Iterator[WatchingService]:
    watching = WatchingService()
    with serving(watching.handler) as address:
        watching.address = f"{address}/{SECRET}"
        yield watching


def settings_for(service: WatchingService, **options: object) -> HeartbeatSettings:
    return HeartbeatSettings.model_validate({"url": service.address, "allow_private": True, **options})


class StandingTime:
    """A monotonic clock that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_the_address_is_requested_while_all_workers_make_progress(
    service: WatchingService, method: str
) -> None:
    clock = StandingTime()
    progress = WorkerProgress(monotonic=clock)
    complete_turn = progress.register("analysis")
    heartbeat = Heartbeat(settings_for(service, method=method, limit="5m"), progress)
    assert heartbeat.beat()
    clock.now += 301
    assert not heartbeat.beat()
    complete_turn()
    assert heartbeat.beat()
    assert [request[:2] for request in service.requests] == [(method, f"/{SECRET}")] * 2
    if method == "POST":
        assert json.loads(service.requests[0][2]) == {"status": "ok", "workers": 1}
    assert heartbeat.outcomes == {"sent": 2, "withheld": 1}


def test_a_worker_that_hangs_is_named_once_in_the_log(
    service: WatchingService, caplog: pytest.LogCaptureFixture
) -> None:
    clock = StandingTime()
    progress = WorkerProgress(monotonic=clock)
    complete_turn = progress.register("channel oncall")
    progress.register("analysis")()
    heartbeat = Heartbeat(settings_for(service), progress)
    clock.now += 400
    progress.register("analysis")
    assert [heartbeat.beat() for _ in range(3)] == [False] * 3
    complete_turn()
    assert heartbeat.beat()
    assert [record.getMessage() for record in caplog.records] == [
        "no heartbeat is sent, since workers hang: channel oncall (no turn for 400 seconds)",
        "the heartbeat is sent again",
    ]


def test_an_address_that_refuses_is_reported_without_its_secret(
    service: WatchingService, caplog: pytest.LogCaptureFixture
) -> None:
    heartbeat = Heartbeat(settings_for(service), WorkerProgress())
    service.status = 404
    assert not heartbeat.beat()
    dead = Heartbeat(
        HeartbeatSettings.model_validate({"url": f"http://127.0.0.1:1/{SECRET}", "allow_private": True}),
        WorkerProgress(),
    )
    assert not dead.beat()
    assert "status 404" in caplog.text
    assert "Connection refused" in caplog.text
    assert SECRET not in caplog.text


def test_private_addresses_are_refused_unless_they_are_allowed(
    service: WatchingService, caplog: pytest.LogCaptureFixture
) -> None:
    heartbeat = Heartbeat(settings_for(service, allow_private=False), WorkerProgress())
    assert not heartbeat.beat()
    assert service.requests == []
    assert "the address is not a public one; allow_private = true permits it" in caplog.text


@pytest.mark.parametrize("url", ["ftp://a.example/x", "https:///x", "hc-ping.com/abc", "file:///etc/passwd"])
def test_only_web_addresses_are_accepted(url: str) -> None:
    with pytest.raises(ValueError, match="expected an address such as") as error:
        HeartbeatSettings.model_validate({"url": url})
    assert url not in str(error.value)


@pytest.fixture
def fast_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_monitor, "CHECK_SECONDS", 0.05)
    monkeypatch.setattr(missing_data_monitor, "CHECK_SECONDS", 0.05)
    monkeypatch.setattr(notification_scheduler, "CHECK_SECONDS", 0.05)
    monkeypatch.setattr(worker, "_IDLE_SECONDS", 0.05)
    monkeypatch.setattr(sender, "_POLL_SECONDS", 0.05)


LIMIT = 1.0
"""Seconds without a turn after which a worker of these tests hangs."""


def fast_settings(service: WatchingService, folder: Path) -> Settings:
    heartbeat = settings_for(service).model_copy(update={"every": 0.05, "limit": LIMIT})
    channels = {"team": {"type": "slack", "allow_private": True, "url": "http://127.0.0.1:1/services/x"}}
    return Settings(
        data_dir=folder,
        channels=channels,
        alerting=AlertingSettings().model_copy(update={"heartbeat": heartbeat}),
    )


def add_points(first: int) -> Delivery:
    column = Column(key=SeriesKey("loss"), values=np.linspace(3, 2, 20))
    batch = Batch(steps=first + np.arange(20), times=time.time() + np.arange(20.0), columns=(column,))
    return Delivery(project="llm", run="7b", writer="node0", batch_id=str(first), batch=batch)


def hang_analysis(monkeypatch: pytest.MonkeyPatch, until: threading.Event) -> None:
    real = worker.find

    def find(*arguments: object, **options: object) -> object:
        until.wait(60)
        return real(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(worker, "find", find)


def hang_sender(monkeypatch: pytest.MonkeyPatch, until: threading.Event) -> None:
    real = sender.claim
    monkeypatch.setattr(sender, "claim", lambda *a, **b: (until.wait(60), real(*a, **b))[1])


def hang_scheduler(monkeypatch: pytest.MonkeyPatch, until: threading.Event) -> None:
    real = notification_scheduler.enqueue_scheduled
    monkeypatch.setattr(
        notification_scheduler, "enqueue_scheduled", lambda *a, **b: (until.wait(60), real(*a, **b))[1]
    )


@pytest.mark.slow
@pytest.mark.parametrize("hang", [hang_analysis, hang_sender, hang_scheduler])
def test_a_worker_that_hangs_in_a_living_server_stops_the_heartbeat(
    hang: Callable[[pytest.MonkeyPatch, threading.Event], None],
    service: WatchingService,
    fast_turns: None,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    released = threading.Event()
    with served(fast_settings(service, tmp_path)) as (context, address):
        service.wait_for_request()
        try:
            hang(monkeypatch, released)
            context.store.accept(add_points(0))
            end = time.monotonic() + 60
            while not context.progress.hanging(LIMIT):
                assert time.monotonic() < end, "no worker hangs"
                time.sleep(0.02)
            time.sleep(0.1)  # a request that was in progress
            assert service.silent_for(0.5)
            assert httpx.get(f"{address}/healthz", timeout=60).status_code == 200
        finally:
            released.set()
        service.wait_for_request()
