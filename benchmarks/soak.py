"""Runs a server through a rough day at 20 times its speed: runs come and go while things around them fail.

    python benchmarks/soak.py [--minutes 36] [--runs 2000] [--seed 1] [--json FILE]

36 minutes stand for 12 hours. Meanwhile tokens are revoked every minute, the server is killed (SIGKILL) every
two minutes, the receiver of notifications fails, hangs or answers a byte at a time, and hostile files lie
next to good ones in the followed folder. At the end the receiver works, and the program prints and checks:
every acknowledged point stored once, every line of the good files stored, every incident of a run that became
NaN told, the memory over time, the longest answer of /healthz. Exit code 1: a check failed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import queue
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil
from sqlalchemy.orm import Session

from holter.server import tokens
from holter.server.database import connect

SENDERS = 6
STEPS, FLUSH = 600, 50
"""Steps of a run, and of one of its batches."""
FAULT_EVERY = 10
"""One run of so many ends with NaN."""
KILL_SECONDS, REVOKE_SECONDS, SAMPLE_SECONDS = 120.0, 60.0, 2.0
HEALTH_LIMIT = 1.0
"""Seconds within which /healthz must answer."""
SETTLE_SECONDS = 300.0
"""Seconds that notifications and followed files may take once everything works again."""
PASSWORD = "soak-password"


@dataclass
class Soak:
    """What all threads share."""

    folder: Path
    random: random.Random
    port: int
    receiver_port: int = 0
    token: str = ""
    stopping: threading.Event = field(default_factory=threading.Event)
    receiver_works: threading.Event = field(default_factory=threading.Event)
    ready: threading.Event = field(default_factory=threading.Event)
    server: psutil.Popen | None = None
    stored: Counter[str] = field(default_factory=Counter)
    faulty: set[str] = field(default_factory=set)
    told: Counter[str] = field(default_factory=Counter)
    health: list[float] = field(default_factory=list)
    memory: list[tuple[float, float]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def address(self) -> str:
        """The server's."""
        return f"http://127.0.0.1:{self.port}"

    def start_server(self) -> None:
        """Start it, and wait until it answers."""
        url = f"http://127.0.0.1:{self.receiver_port}/services/x"
        channels = {
            "team": {
                "type": "slack",
                "url": url,
                "allow_private": True,
                "settle": 0,
                "burst": 100_000,
                "timeout": 2,
                "deadline": 5,
            }
        }
        environment = {"HOLTER_CHANNELS": json.dumps(channels), "HOLTER_PASSWORD": PASSWORD}
        command = [sys.executable, "-m", "holter", "watch", self.folder / "logs", "--project", "files"]
        command += ["--port", self.port, "--data-dir", self.folder / "data"]
        with (self.folder / "server.log").open("ab") as log:
            self.server = psutil.Popen(
                [str(word) for word in command], stdout=log, stderr=log, env=os.environ | environment
            )
        while True:
            try:
                httpx.get(f"{self.address}/readyz", timeout=5).raise_for_status()
                break
            except httpx.HTTPError:
                if self.server.poll() is not None:
                    raise SystemExit(f"the server ended: see {self.folder / 'server.log'}") from None
                time.sleep(0.1)
        self.ready.set()

    def kill_server(self) -> None:
        """As a power cut does, with its worker processes."""
        assert self.server is not None
        self.ready.clear()
        for process in [*self.server.children(recursive=True), self.server]:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self.server.wait()
        self.counts["kills"] += 1

    def new_token(self) -> None:
        """Make a token for the senders, and revoke the one before."""
        engine = connect(f"sqlite:///{self.folder / 'data' / 'holter.db'}")
        number = self.counts["tokens"]
        with Session(engine) as session, session.begin():
            self.token = tokens.create(session, f"job {number}", now=time.time())
            if number:
                tokens.revoke(session, f"job {number - 1}", now=time.time())
        engine.dispose()
        self.counts["tokens"] += 1


def send_runs(soak: Soak, waiting: queue.Queue[tuple[float, int]]) -> None:
    """Send runs from the queue, each once its time has come, until all are acknowledged."""
    with httpx.Client(timeout=20) as client:
        while not waiting.empty():
            try:
                at, number = waiting.get_nowait()
            except queue.Empty:
                return
            time.sleep(max(at - time.monotonic(), 0.0))
            send_run(soak, client, number)


def send_run(soak: Soak, client: httpx.Client, number: int) -> None:
    """Send one run; what was not acknowledged is sent again with the same batch_id."""
    run, faulty = f"run-{number}", number % FAULT_EVERY == 0
    loss: list[Any] = (2 + np.random.default_rng(number).normal(0, 0.01, STEPS)).tolist()
    if faulty:
        soak.faulty.add(run)
        loss[-FLUSH:] = ["NaN"] * FLUSH
    for first in range(0, STEPS, FLUSH):
        steps = range(first, first + FLUSH)
        times = [time.time() - 0.01 * (first + FLUSH - step) for step in steps]
        columns = {"step": list(steps), "time": times, "train/loss": loss[first : first + FLUSH]}
        body = {"project": "soak", "run": run, "batch_id": f"{run}:{first}", "columns": columns}
        while True:
            soak.ready.wait()
            headers = {"Authorization": f"Bearer {soak.token}"}
            try:
                answer = client.post(f"{soak.address}/api/v1/ingest", json=body, headers=headers)
            except httpx.HTTPError:
                soak.counts["broken requests"] += 1
                time.sleep(0.2)
                continue
            if answer.status_code == 200:
                soak.stored[run] += FLUSH
                break
            soak.counts[f"answers {answer.status_code}"] += 1
            time.sleep(0.5)


def write_files(soak: Soak) -> None:
    """Let good logs grow between hostile ones."""
    logs = soak.folder / "logs"
    hostile = [
        b"\xef\xbb\xbf", b"=" * 60_000, b"RunningAvgSamplesPerSec=172.160.5\n" * 50, b"\0" * 4096,
        b'{"step": 1, "loss": ' + b"[" * 100_000, b"Epoch " + b"9" * 5000 + b"\t" * 5000, b"\x80\x04" * 1000,
        b"step,loss\n1,\xff\xfe\n" * 100, "\u202e\x1b[2J".encode() * 1000, b"a,b\n" + b'"' * 50_000,
    ]  # fmt: skip
    for turn in itertools.count():
        if soak.stopping.wait(SAMPLE_SECONDS):
            return
        run = logs / f"good-{turn // 100}"
        run.mkdir(exist_ok=True)
        with (run / "log.jsonl").open("a") as file:
            for step in range(turn % 100 * 10, turn % 100 * 10 + 10):
                file.write(json.dumps({"step": step, "time": time.time(), "loss": 2.0}) + "\n")
        soak.counts["lines"] += 10
        bad = logs / f"bad-{turn % 50}"
        bad.mkdir(exist_ok=True)
        name = ["a.jsonl", "a.csv", "a.log", "a.txt", "a.pickle", "a\u202e.log"][turn % 6]
        (bad / name).write_bytes(hostile[turn % len(hostile)])
        soak.counts["hostile files"] += 1


def disturb(soak: Soak, minutes: float) -> None:
    """Kill the server and revoke tokens from time to time."""
    # a short soak has kills and revocations, too
    kill_every, revoke_every = min(KILL_SECONDS, minutes * 20), min(REVOKE_SECONDS, minutes * 15)
    kill_at, revoke_at = time.monotonic() + kill_every, time.monotonic() + revoke_every
    while not soak.stopping.wait(0.5):
        if time.monotonic() > revoke_at:
            soak.new_token()
            revoke_at += revoke_every
        if time.monotonic() > kill_at:
            soak.kill_server()
            soak.start_server()
            kill_at = time.monotonic() + kill_every * soak.random.uniform(0.7, 1.3)


def measure(soak: Soak, start: float) -> None:
    """Sample the memory of the server and its workers, and the latency of /healthz while it is up."""
    with httpx.Client(timeout=30) as client:
        while not soak.stopping.wait(SAMPLE_SECONDS / 4):
            if not soak.ready.is_set() or soak.server is None:
                continue
            before = time.perf_counter()
            try:
                client.get(f"{soak.address}/healthz").raise_for_status()
                seconds = time.perf_counter() - before
                if soak.ready.is_set():
                    soak.health.append(seconds)
                processes = [soak.server, *soak.server.children(recursive=True)]
                resident = sum(process.memory_info().rss for process in processes) / 2**20
                soak.memory.append((time.monotonic() - start, resident))
            except httpx.HTTPError:
                if soak.ready.is_set():
                    soak.counts["failed health checks"] += 1
            except psutil.NoSuchProcess:
                pass


def receiver(soak: Soak) -> ThreadingHTTPServer:
    """Something like Slack that mostly fails, until `receiver_works`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            fault = (
                None if soak.receiver_works.is_set() else soak.random.choice(["500", "hang", "drip", None])
            )
            soak.counts[f"receiver: {fault or 'taken'}"] += 1
            try:
                if fault == "hang":
                    time.sleep(10)
                elif fault == "drip":
                    for byte in b"HTTP/1.1 100 Continue\r\n\r\n" * 2:
                        self.wfile.write(bytes([byte]))
                        time.sleep(0.5)
                elif fault is None:
                    soak.told[json.dumps(body, ensure_ascii=False)] += 1
                    self.reply(200)
                else:
                    self.reply(500)
            except OSError:
                pass

        def reply(self, status: int) -> None:
            self.send_response(status)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def stored_runs(soak: Soak) -> dict[str, int]:
    """The points of every run that the server has, by name."""
    with httpx.Client(base_url=soak.address, timeout=120) as client:
        client.post("/api/v1/session", json={"password": PASSWORD}).raise_for_status()
        runs = client.get("/api/v1/runs").raise_for_status().json()["runs"]
    return {f"{run['project']}/{run['name']}": run["points"] for run in runs}


def untold(soak: Soak) -> set[str]:
    """Runs that became NaN and of which no message came."""
    text = "\n".join(soak.told)
    return {
        run
        for run in soak.faulty
        if f"{run} " not in text and f"{run}." not in text and f'{run}"' not in text
    }


def verify(soak: Soak) -> list[str]:
    """What is not as it must be, once everything works again."""
    problems: list[str] = []
    end = time.monotonic() + SETTLE_SECONDS
    while True:
        runs = stored_runs(soak)
        lines = sum(points for name, points in runs.items() if "good-" in name)
        wrong = [run for run, points in soak.stored.items() if runs.get(f"soak/{run}") != points]
        missing = untold(soak)
        if not (wrong or missing or lines < soak.counts["lines"]) or time.monotonic() > end:
            break
        time.sleep(2)
    if wrong:
        problems.append(f"{len(wrong)} runs do not have their acknowledged points, such as {wrong[0]}")
    if missing:
        problems.append(f"{len(missing)} incidents were not told, such as that of {min(missing)}")
    if lines != soak.counts["lines"]:
        problems.append(f"{lines} of {soak.counts['lines']} lines of good files are stored")
    if max(soak.health) > HEALTH_LIMIT:
        problems.append(f"/healthz took {max(soak.health):.2f} s")
    if soak.counts["failed health checks"]:
        problems.append(
            f"/healthz failed {soak.counts['failed health checks']} times while the server was up"
        )
    return problems


def report(soak: Soak, problems: list[str], minutes: float) -> dict[str, Any]:
    """Print the figures; returns them for --json."""
    at, resident = (np.array(column) for column in zip(*soak.memory, strict=True))
    second = at > at[-1] / 2  # the first half fills caches
    slope = float(np.polyfit(at[second] / 60, resident[second], 1)[0]) if second.sum() > 2 else math.nan
    figures = {
        "minutes": minutes,
        "runs": len(soak.stored),
        "points acknowledged": sum(soak.stored.values()),
        "incidents": len(soak.faulty),
        **dict(sorted(soak.counts.items())),
        "memory, MiB (median, highest)": [round(float(np.median(resident))), round(float(resident.max()))],
        "memory in the second half, MiB a minute": round(slope, 2),
        "/healthz, ms (median, 99 %, longest)": [
            round(1000 * float(value), 1) for value in np.quantile(soak.health, [0.5, 0.99, 1.0])
        ],
        "problems": problems,
    }
    for name, value in figures.items():
        print(f"{name:<42}{value}")
    return figures


def main() -> None:
    """Run the soak and print what it found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=float, default=36.0)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--port", type=int, default=8799)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="holter-soak-") as folder:
        soak = Soak(Path(folder), random.Random(arguments.seed), arguments.port)
        (soak.folder / "logs").mkdir()
        web = receiver(soak)
        soak.receiver_port = web.server_port
        try:
            figures = run(soak, arguments.minutes, arguments.runs)
        finally:
            soak.stopping.set()
            if soak.server is not None:
                soak.kill_server()
            web.shutdown()
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")
    sys.exit(1 if figures["problems"] else 0)


def run(soak: Soak, minutes: float, runs: int) -> dict[str, Any]:
    """Let everything happen at once, then let everything work again, and check."""
    soak.start_server()
    soak.new_token()
    start = time.monotonic()
    waiting: queue.Queue[tuple[float, int]] = queue.Queue()
    for number in range(runs):
        waiting.put((start + 60 * minutes * number / runs, number))
    senders = [threading.Thread(target=send_runs, args=(soak, waiting), daemon=True) for _ in range(SENDERS)]
    others = [
        threading.Thread(target=write_files, args=(soak,), daemon=True),
        threading.Thread(target=disturb, args=(soak, minutes), daemon=True),
        threading.Thread(target=measure, args=(soak, start), daemon=True),
    ]
    for thread in (*senders, *others):
        thread.start()
    for thread in senders:
        thread.join()
    time.sleep(max(start + 60 * minutes - time.monotonic(), 0.0))
    soak.stopping.set()
    for thread in others:
        thread.join()
    soak.receiver_works.set()
    took = (time.monotonic() - start) / 60
    return report(soak, verify(soak), round(took, 1))


if __name__ == "__main__":
    main()
