"""Delivery under faults: receivers that fail half of the time, and a server that is killed again and again.

A real SMTP server and a real HTTP endpoint note what they take, and whether its sender learned of it. Used
by a test with a few kills, and by `benchmarks/alert_faults.py` with many.
"""

from __future__ import annotations

import asyncio
import json
import logging
import multiprocessing
import os
import random
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import httpx
from aiosmtpd.smtp import SMTP, Envelope, Session

from holter.server.context import ServerContext
from holter.server.rendering import incident_chart
from holter.server.serve import HolterServer, bind
from holter.settings import Settings
from tests.support.ports import free_port

ROOT = Path(__file__).parents[2]
DEADLINE = 2.0
"""Seconds that a send of the tested channels may take."""
RECORD_SECONDS = 2.0
"""Seconds within which a living server has recorded a delivery: a kill within them makes it send again."""
HTTP_FAULTS = ("hang", "late", "too late", "reset", "reset after", "429", "500", "503")
SMTP_FAULTS = ("hang", "late", "too late", "reset", "reset after", "421", "451")
LOST = frozenset({"too late", "reset after"})
"""Faults that take the message and lose the answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Receipt:
    """A message that a receiver took. `lost`: its sender did not get the answer."""

    channel: str
    key: str
    subject: str
    at: float
    lost: bool


@dataclass
class FaultPlan:
    """Which request meets which fault; `share` of them meet one."""

    chance: random.Random
    share: float = 0.5
    receipts: list[Receipt] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def draw(self, channel: str, faults: tuple[str, ...]) -> str:
        """The next fault of a channel; empty: none."""
        with self.lock:
            fault = self.chance.choice(faults) if self.chance.random() < self.share else ""
            self.faults[f"{channel}: {fault or 'none'}"] += 1
            return fault

    def take(self, channel: str, key: str, subject: str, fault: str) -> None:
        """Note a message as taken."""
        receipt = Receipt(channel=channel, key=key, subject=subject, at=time.monotonic(), lost=fault in LOST)
        with self.lock:
            self.receipts.append(receipt)


@contextmanager
def http_endpoint(plan: FaultPlan, channel: str) -> Iterator[str]:
    """A web server that takes posts of the webhook channel; yields its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            fault = plan.draw(channel, HTTP_FAULTS)
            if fault == "reset":
                self._reset()
                return
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if fault == "hang":
                time.sleep(2 * DEADLINE)
                self._reset()
                return
            if fault in {"429", "500", "503"}:
                self._answer(int(fault), {"Retry-After": "1"} if fault == "429" else {})
                return
            plan.take(channel, *read_post(self.headers, body), fault)
            time.sleep({"late": 0.5 * DEADLINE, "too late": 2 * DEADLINE}.get(fault, 0.0))
            if fault == "reset after":
                self._reset()
            else:
                self._answer(200, {})

        def _answer(self, status: int, headers: Mapping[str, str]) -> None:
            with suppress(OSError):  # the server was killed, or did not wait
                self.send_response(status)
                for name, value in {**headers, "Content-Length": "2"}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(b"ok")

        def _reset(self) -> None:
            self.close_connection = True
            with suppress(OSError):
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()

        def finish(self) -> None:
            with suppress(OSError, ValueError):
                super().finish()

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, *_: object) -> None:
            pass  # connections that were reset on purpose

        def shutdown_request(self, request: Any) -> None:
            with suppress(OSError):
                super().shutdown_request(request)

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/hook"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def read_post(headers: Any, body: bytes) -> tuple[str, str]:
    """The idempotency key and the headline of a post, with a space after it."""
    return headers["Idempotency-Key"], f"{json.loads(body)['headline']} "


class _FaultyMail:
    """The handler of an SMTP server."""

    def __init__(self, plan: FaultPlan, channel: str) -> None:
        self._plan, self._channel = plan, channel

    async def handle_DATA(  # noqa: N802 - aiosmtpd's name
        self, server: SMTP, session: Session, envelope: Envelope
    ) -> str:
        fault = self._plan.draw(self._channel, SMTP_FAULTS)
        if fault == "hang":
            await asyncio.sleep(2 * DEADLINE)
        if fault in {"hang", "reset"}:
            self._abort(server)
        if fault in {"hang", "reset", "421", "451"}:
            return f"{fault if fault.isdigit() else 421} not now"
        assert isinstance(envelope.content, bytes)
        mail = message_from_bytes(envelope.content, policy=policy.default)
        self._plan.take(self._channel, str(mail["Message-ID"]), str(mail["Subject"]), fault)
        await asyncio.sleep({"late": 0.5 * DEADLINE, "too late": 2 * DEADLINE}.get(fault, 0.0))
        if fault == "reset after":
            self._abort(server)
        return "250 OK"

    @staticmethod
    def _abort(server: SMTP) -> None:
        if server.transport is not None:
            server.transport.abort()


@contextmanager
def smtp_server(plan: FaultPlan, channel: str) -> Iterator[int]:
    """A mail server without encryption; yields its port."""
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_: None)  # connections that were reset on purpose
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def listen() -> asyncio.Server:
        return await loop.create_server(
            lambda: SMTP(_FaultyMail(plan, channel), hostname="mail.example.com"), "127.0.0.1", 0
        )

    server = asyncio.run_coroutine_threadsafe(listen(), loop).result(10)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:

        async def close() -> None:
            server.close()
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(close(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


_PROCESSES = multiprocessing.get_context("forkserver")
"""Servers are forked from a process that has imported everything, so that hundreds of starts take minutes."""
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))  # the processes get this path, and import this module
_PROCESSES.set_forkserver_preload(["holter.server.serve", "holter.ingest.telemetry.scrape"])


def _without_picture(*_: object, **__: object) -> bytes:
    raise subprocess.SubprocessError("no pictures: their process would outlast most lives of the server")


def serve(folder: str, channels: dict[str, dict[str, Any]], port: int) -> None:
    """Serve until killed: the body of a process."""
    os.chdir(folder)
    log = os.open("server.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    logging.basicConfig(level=logging.ERROR)
    incident_chart.render_png = _without_picture
    settings = Settings(data_dir=Path(folder) / "data", channels=channels, port=port)
    context = ServerContext(settings)
    with bind("127.0.0.1", port) as listener:
        context.start()
        HolterServer(context).run(sockets=[listener])


@dataclass
class KilledServer:
    """A server in a process of its own, which is killed and started again on the same port."""

    folder: Path
    channels: dict[str, dict[str, Any]]
    port: int = field(default_factory=free_port)
    kills: list[float] = field(default_factory=list)
    process: ForkServerProcess | None = None
    client: httpx.Client = field(default_factory=lambda: httpx.Client(trust_env=False, timeout=20))

    @property
    def address(self) -> str:
        """The server's address."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self.process = _PROCESSES.Process(
            target=serve, args=(str(self.folder), self.channels, self.port), daemon=True
        )
        self.process.start()
        end = time.monotonic() + 120
        while True:
            try:
                self.client.get(f"{self.address}/readyz").raise_for_status()
                return
            except httpx.HTTPError as error:
                if not self.process.is_alive() or time.monotonic() > end:
                    raise RuntimeError(f"no server: see {self.folder / 'server.log'}") from error
                time.sleep(0.02)

    def kill(self) -> None:
        """Kill it (SIGKILL)."""
        self.kills.append(time.monotonic())
        self.close()

    def close(self) -> None:
        """End it in the same way, without counting."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process.close()
            self.process = None

    def post(self, path: str, body: object = None) -> dict[str, Any] | None:
        """Post to it; its answer, None if it did not acknowledge."""
        try:
            answer = self.client.post(f"{self.address}/api/v1{path}", json=body)
        except httpx.HTTPError:
            return None
        return dict(answer.json()) if answer.is_success else None

    def add_run(self, body: dict[str, Any]) -> bool:
        """Store a run and finish it, so that its end is no stall; whether its points were acknowledged."""
        receipt = self.post("/ingest", body)
        if receipt is not None:
            self.post(f"/runs/{receipt['run_id']}/finish")
        return receipt is not None


def run_that_fails(name: str, *, now: float, becomes: float | str = "NaN") -> dict[str, Any]:
    """A run of 80 steps whose loss becomes NaN or another value, as a body of the ingest route."""
    steps = list(range(80))
    loss: list[float | str] = [3 - 0.01 * step for step in steps[:60]] + [becomes] * 20
    times = [now - 0.1 * (80 - step) for step in steps]
    return {
        "project": "llm", "run": name, "batch_id": name,
        "columns": {"step": steps, "time": times, "loss": loss},
    }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class FaultResult:
    """What arrived of the incidents of `runs`, by channel and run."""

    runs: tuple[str, ...]
    receipts: tuple[Receipt, ...]
    kills: tuple[float, ...]
    faults: Mapping[str, int]
    seconds: float

    def of_run(self, channel: str, run: str) -> list[Receipt]:
        """What a channel took about a run, in the order of arrival."""
        return [each for each in self.receipts if each.channel == channel and f" {run} " in each.subject]

    @property
    def channels(self) -> list[str]:
        """The names of the channels."""
        return sorted({receipt.channel for receipt in self.receipts})

    def missing(self, channel: str) -> list[str]:
        """Runs of which nothing arrived."""
        return [run for run in self.runs if not self.of_run(channel, run)]

    def with_several_keys(self, channel: str) -> list[str]:
        """Runs whose one message arrived under more than one key."""
        return [run for run in self.runs if len({each.key for each in self.of_run(channel, run)}) > 1]

    def duplicates(self, channel: str) -> dict[str, int]:
        """How many messages arrived again, by the reason: the answer was lost, a kill, or none."""
        counts: dict[str, int] = defaultdict(int)
        for run in self.runs:
            for earlier in self.of_run(channel, run)[:-1]:
                killed = any(0 <= at - earlier.at <= RECORD_SECONDS for at in self.kills)
                counts["answer lost" if earlier.lost else "killed" if killed else "no reason"] += 1
        return dict(counts)


def deliver_under_faults(
    folder: Path, *, kills: int, runs_per_life: int, seed: int, life: float, drain: float
) -> FaultResult:
    """Post runs that fail to a server that is killed `kills` times, each after `life` seconds on average.

    Then wait up to `drain` seconds, with receivers that still fail, until all have arrived.
    """
    plan = FaultPlan(random.Random(seed))
    chance = random.Random(seed + 1)
    began = time.monotonic()
    with http_endpoint(plan, "web") as address, smtp_server(plan, "mail") as port:
        server = KilledServer(folder, channel_settings(address, port))
        acknowledged = []
        try:
            server.start()
            for number in range(kills):
                for name in (f"run{number}x{each}" for each in range(runs_per_life)):
                    if server.add_run(run_that_fails(name, now=time.time())):
                        acknowledged.append(name)
                time.sleep(chance.uniform(0, 2 * life))
                server.kill()
                server.start()
            _wait(plan, acknowledged, drain)
        finally:
            server.close()
            server.client.close()
    return FaultResult(
        runs=tuple(acknowledged),
        receipts=tuple(plan.receipts),
        kills=tuple(server.kills),
        faults=dict(plan.faults),
        seconds=time.monotonic() - began,
    )


def channel_settings(address: str, port: int, *, deadline: float = DEADLINE) -> dict[str, dict[str, Any]]:
    """Settings of both channels, without a limit of messages."""
    common = {"settle": 0, "burst": 100_000, "deadline": deadline}
    return {
        "web": {"type": "webhook", "url": address, "allow_private": True, **common},
        "mail": {
            "type": "email",
            "url": f"smtp://127.0.0.1:{port}?security=none",
            "to": "oncall@example.com",
            **common,
        },
    }


def _wait(plan: FaultPlan, runs: list[str], seconds: float) -> None:
    """Wait until both channels have taken a message about each run, and what was lost could be repeated."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with plan.lock:
            subjects = {(each.channel, each.subject) for each in plan.receipts}
        found = sum(
            any(f" {run} " in subject for name, subject in subjects if name == channel)
            for run in runs
            for channel in ("web", "mail")
        )
        if found == 2 * len(runs):
            time.sleep(3 * DEADLINE)
            return
        time.sleep(0.5)
