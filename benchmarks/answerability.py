"""Measures how long a server makes others wait while it is attacked, and how long it takes to stop.

    python benchmarks/answerability.py [--seconds 10] [--only "read loop"]

Each attack (`benchmarks/attacks`) has its own server (`holter watch` for files, `holter serve` for requests)
and attacker, in processes of their own. While it lasts, one thread requests /healthz, another sends a point,
each as soon as the previous one was answered, and where files are followed a third one writes a line and
waits until it is stored; then the server gets SIGTERM in the middle of it. Prints the longest wait of each in
seconds, with the number of answers that were refusals or broken off, the seconds until the server has ended,
and the peak memory (RSS, MiB) of the server and of the processes that it started to read files. The first
line is a server that is not attacked: on a busy machine it shows what the machine costs.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil

REPOSITORY = Path(__file__).parents[1]
sys.path.insert(0, str(REPOSITORY))

from benchmarks.attacks import files, requests  # noqa: E402
from benchmarks.attacks.target import Attack, Target  # noqa: E402
from tests.support.hostile_formats import install  # noqa: E402

MIB = 2**20


@dataclass
class Answers:
    """The longest wait for an answer, in seconds, and how many answers there were; failed: no success."""

    seconds: float = 0.0
    count: int = 0
    failed: int = 0

    def add(self, seconds: float, succeeded: bool) -> None:
        """Count one."""
        self.seconds, self.count = max(self.seconds, seconds), self.count + 1
        self.failed += not succeeded

    def __str__(self) -> str:
        failed = f" ({self.failed} of {self.count} failed)" if self.failed else ""
        return f"{self.seconds:.2f}{failed}" if self.count else "no answer"


@dataclass
class Server:
    """A server that is being measured; the peaks are in bytes."""

    process: subprocess.Popen[str]
    address: str
    logs: Path | None
    stopped: float = math.inf
    over: threading.Event = field(default_factory=threading.Event)
    health: Answers = field(default_factory=Answers)
    ingest: Answers = field(default_factory=Answers)
    followed: Answers = field(default_factory=Answers)
    own_peak: int = 0
    reading_peak: int = 0

    def check_health(self) -> None:
        """Request /healthz until the measurement is over."""
        self._repeat(self.health, lambda client: client.get(f"{self.address}/healthz"))

    def send_points(self) -> None:
        """Send a point until the measurement is over."""
        body = {"project": "p", "run": "measured", "points": [{"step": 1, "values": {"loss": 1.0}}]}
        self._repeat(self.ingest, lambda client: client.post(f"{self.address}/api/v1/ingest", json=body))

    def write_lines(self) -> None:
        """Write a line into a followed file as soon as the one before is stored."""
        if self.logs is None:
            return
        file = self.logs / "good-log" / "metrics.csv"
        file.parent.mkdir()
        file.write_text("step,loss\n")
        count = 0

        def line_is_stored(client: httpx.Client) -> httpx.Response:
            nonlocal count
            count += 1
            with file.open("a") as log:
                log.write(f"{count},2.5\n")
            while True:
                response = client.get(f"{self.address}/api/v1/runs").raise_for_status()
                points = {run["name"]: run["points"] for run in response.json()["runs"]}
                if points.get("good-log", 0) >= count or self.over.wait(0.05):
                    return response

        self._repeat(self.followed, line_is_stored)

    def _repeat(self, answers: Answers, request: Callable[[httpx.Client], httpx.Response]) -> None:
        with httpx.Client(timeout=120) as client:
            while not self.over.wait(0.02):
                began = time.monotonic()
                try:
                    succeeded = request(client).is_success
                except httpx.TransportError:
                    succeeded = False
                answered = time.monotonic()
                if began < self.stopped:  # an answer that comes later has waited at least until then
                    answers.add(min(answered, self.stopped) - began, succeeded or answered > self.stopped)

    def watch_memory(self) -> None:
        """Note the peaks until the measurement is over."""
        process = psutil.Process(self.process.pid)
        while not self.over.wait(0.05):
            with suppress(psutil.Error):
                self.own_peak = max(self.own_peak, process.memory_info().rss)
                for child in process.children(recursive=True):
                    with suppress(psutil.Error):
                        self.reading_peak = max(self.reading_peak, child.memory_info().rss)


def nothing(target: Target) -> None:
    """No attack."""


ATTACKS: dict[str, tuple[str, Attack]] = {
    "none": ("watch", nothing),
    "file: endless loop while reading": ("watch", files.harmful("read loop")),
    "file: endless loop in detection": ("watch", files.harmful("detect loop")),
    "file: takes all memory": ("watch", files.harmful("read memory")),
    "file: exploding text": ("watch", files.exploding_text),
    "file: 1 GiB packed": ("watch", files.huge_gzip),
    "files: wide and large": ("watch", files.wide_files),
    "files: 2,000 runs analysed": ("watch", files.many_runs),
    "files: a line of 50 MB": ("watch", files.long_line),
    "files: links, pipes, 50 GB of nothing": ("watch", files.strange_files),
    "files: 20,000 of a line": ("watch", files.many_files),
    "body: 4,000,000 metrics": ("serve", requests.many_metrics),
    "import: 4,000,000 rows": ("serve", requests.import_bomb),
    "bodies: 4,000 new projects": ("serve", requests.new_projects),
    "points: 50 million, and the overview": ("serve", requests.many_new_points),
    "charts of 500 series": ("serve", requests.large_charts),
    "connections: 16,000 short headers": ("serve", requests.short_headers),
    "connections: 7,000 requests at once": ("serve", requests.pipelined_requests),
    "connections: chunks of a byte": ("serve", requests.byte_chunks),
    "connections: 1,100 idle ones": ("serve", requests.idle_connections),
    "connections: 497 unread responses": ("serve", requests.unread_responses),
}


def measure(command: str, attack: Attack, seconds: float, folder: Path) -> str:
    """Start a server, attack it, stop it: a row of the table."""
    environment = os.environ | install(folder / "packages")
    (folder / "logs").mkdir()
    paths = [str(folder / "logs")] if command == "watch" else []
    arguments = [command, *paths, "--data-dir", str(folder / "data"), "--port", "0"]
    with (folder / "output").open("w+") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "holter", *arguments],
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
        )
        try:
            logs = folder / "logs" if command == "watch" else None
            server = Server(process, address_of(folder / "output"), logs)
            target = Target(server.address, folder / "logs")
            attacker = multiprocessing.get_context("fork").Process(target=attack, args=(target,), daemon=True)
            attacker.start()  # before there are threads, which a fork would not have
            threads = list(begin(server))
            time.sleep(seconds)
            server.stopped = began = time.monotonic()
            process.send_signal(signal.SIGTERM)
            process.wait(120)
            stopping = time.monotonic() - began
            server.over.set()
            attacker.kill()
            for thread in threads:
                thread.join(60)
        finally:
            process.kill()
            process.wait()
    return (
        f"{server.health} | {server.ingest} | {server.followed if logs else '-'} | {stopping:.2f} | "
        f"{server.own_peak // MIB} | {server.reading_peak // MIB or '-'} |"
    )


def begin(server: Server) -> Iterator[threading.Thread]:
    """Start to measure."""
    for work in (server.check_health, server.send_points, server.write_lines, server.watch_memory):
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        yield thread


def address_of(output: Path) -> str:
    """The address that a server has printed, once it answers."""
    for _ in range(1200):
        if match := re.search(r"http://127\.0\.0\.1:\d+", output.read_text()):
            with suppress(httpx.TransportError):
                httpx.get(f"{match[0]}/readyz", timeout=60).raise_for_status()
                return match[0]
        time.sleep(0.1)
    raise TimeoutError(output.read_text())


def main() -> None:
    """Measure each attack and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=10.0, help="how long each attack lasts")
    parser.add_argument("--only", default="", help="only attacks with this text in their name")
    arguments = parser.parse_args()
    print("| attack | /healthz | ingest | line | stop | server, MiB | reader, MiB |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for name, (command, attack) in ATTACKS.items():
        if arguments.only in name:
            with tempfile.TemporaryDirectory() as folder:
                print(f"| {name} | {measure(command, attack, arguments.seconds, Path(folder))}", flush=True)


if __name__ == "__main__":
    main()
