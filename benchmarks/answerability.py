"""Measures how long a server makes others wait while it is attacked, and how long it takes to stop.

    python benchmarks/answerability.py [--seconds 10] [--only "read loop"]

Each attack has its own server (`holter watch` for files, `holter serve` for requests) in a process of its
own. While it lasts, one thread requests /healthz and another sends a point, each as soon as the previous one
was answered; then the server gets SIGTERM in the middle of it. Prints the longest answer of each in seconds,
the seconds until the server has ended, and the peak memory (RSS, MiB) of the server and of the processes that
it started to read files. The first line is a server that is not attacked: on a busy machine it shows what the
machine costs.
"""

from __future__ import annotations

import argparse
import gzip
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

from tests.support.hostile_formats import install  # noqa: E402

MIB = 2**20
RUNS, SERIES, STEPS = 2000, 500, 4000
Attack = Callable[["Server"], None]


@dataclass
class Longest:
    """The longest of some durations, in seconds, and how many there were."""

    seconds: float = 0.0
    count: int = 0

    def add(self, seconds: float) -> None:
        """Take notice of one."""
        self.seconds, self.count = max(self.seconds, seconds), self.count + 1


@dataclass
class Server:
    """A server that is being measured; `logs` is followed, and the peaks are in bytes."""

    process: subprocess.Popen[str]
    address: str
    logs: Path
    over: threading.Event = field(default_factory=threading.Event)
    health: Longest = field(default_factory=Longest)
    ingest: Longest = field(default_factory=Longest)
    own_peak: int = 0
    reading_peak: int = 0

    def check_health(self) -> None:
        """Request /healthz until the measurement is over."""
        self._repeat(self.health, lambda client: client.get(f"{self.address}/healthz"))

    def send_points(self) -> None:
        """Send a point until the measurement is over."""
        body = {"project": "p", "run": "measured", "points": [{"step": 1, "values": {"loss": 1.0}}]}
        self._repeat(self.ingest, lambda client: client.post(f"{self.address}/api/v1/ingest", json=body))

    def _repeat(self, longest: Longest, request: Callable[[httpx.Client], httpx.Response]) -> None:
        with httpx.Client(timeout=120) as client, suppress(httpx.TransportError):
            while not self.over.wait(0.02):
                began = time.monotonic()
                request(client).raise_for_status()
                longest.add(time.monotonic() - began)

    def watch_memory(self) -> None:
        """Note the peaks until the measurement is over."""
        process = psutil.Process(self.process.pid)
        while not self.over.wait(0.05):
            with suppress(psutil.Error):
                self.own_peak = max(self.own_peak, process.memory_info().rss)
                for child in process.children(recursive=True):
                    with suppress(psutil.Error):
                        self.reading_peak = max(self.reading_peak, child.memory_info().rss)

    def post(self, content: bytes, path: str = "/api/v1/ingest", **headers: str) -> None:
        """Send a body again and again until the server has ended."""
        with httpx.Client(timeout=300, headers={"Content-Type": "application/json"} | headers) as client:
            while not self.over.is_set():
                with suppress(httpx.TransportError):
                    client.post(f"{self.address}{path}", content=content)


def harmful(content: str) -> Attack:
    """A file of a format that does harm, as `content` says."""
    return lambda server: write(server.logs / "bad" / "file.harm", f"{content}\n".encode())


def write(path: Path, content: bytes) -> None:
    """Write a file in a folder of its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def exploding_text(server: Server) -> None:
    """Texts on which backtracking patterns once took minutes."""
    long_word, blanks = b"=" * 60_000, b" \t" * 30_000
    text = b"Epoch" + blanks + b"\n" + long_word + b"\nstep: 1 " + blanks + b"loss" + blanks + b"\n"
    write(server.logs / "text" / "train.log", b"step 1 loss 2.5\n" * 50 + text * 20)


def huge_gzip(server: Server) -> None:
    """A packed CSV of 1 GiB."""
    path = server.logs / "packed" / "metrics.csv.gz"
    path.parent.mkdir(parents=True)
    rows = b"".join(b"%d,2.5\n" % step for step in range(1_000_000, 1_100_000))
    packed = gzip.compress(rows)
    unnoticed = server.logs.parent / "packed"
    unnoticed.write_bytes(gzip.compress(b"step,loss\n") + packed * (1024 * MIB // len(rows)))
    unnoticed.rename(path)


def wide_files(server: Server) -> None:
    """Files that take much memory to read: many columns, long lines, a large document."""
    columns = 150_000
    header = b"step," + b",".join(b"metric_%d" % number for number in range(columns)) + b"\n"
    row = b",2.5" * columns + b"\n"
    write(server.logs / "wide" / "metrics.csv", header + b"".join(b"%d" % step + row for step in range(100)))
    line = b"{" + b",".join(b'"metric_%d":2.5' % number for number in range(columns)) + b',"step":%d}\n'
    write(server.logs / "long" / "metrics.jsonl", b"".join(line % step for step in range(50)))
    entry = b'{"step":%d,"loss":2.5,"learning_rate":0.1}'
    history = b",".join(entry % step for step in range(1_000_000))
    write(server.logs / "document" / "trainer_state.json", b'{"log_history":[' + history + b"]}")


def import_bomb(server: Server) -> None:
    """An import of four million rows, repeated."""
    header = b"metric,labels,attempt,step,time,value\n"
    rows = b"".join(b'loss,"{""rank"": ""%d""}",0,%d,,2.5\n' % (row % 20, row // 20) for row in range(20_000))
    server.post(header + rows * 200, "/api/v1/import")


def many_metrics(server: Server) -> None:
    """A row of four million metrics, repeated."""
    values = b",".join(b'"m%d":1' % number for number in range(4_000_000))
    server.post(b'{"project":"p","run":"r","points":[{"step":1,"values":{' + values + b"}}]}")


def many_runs(server: Server) -> None:
    """Logs of 2,000 runs, all analysed."""
    rows = b"step,loss\n" + b"".join(b"%d,%.3f\n" % (step, 2.5 + step % 7 / 100) for step in range(500))
    for number in range(RUNS):
        write(server.logs / f"run-{number}" / "metrics.csv", rows)


def large_charts(server: Server) -> None:
    """Charts of 500 series, requested by four clients."""
    for first in range(0, STEPS, 100):
        values = ",".join(f'"m{number}":{first % 97}' for number in range(SERIES))
        rows = ",".join(f'{{"step":{step},"values":{{{values}}}}}' for step in range(first, first + 100))
        body = f'{{"project":"p","run":"charted","points":[{rows}]}}'.encode()
        with suppress(httpx.TransportError):
            httpx.post(
                f"{server.address}/api/v1/ingest",
                content=body,
                headers={"Content-Type": "application/json"},
                timeout=120,
            )
        if server.over.is_set():
            return
    runs = httpx.get(f"{server.address}/api/v1/runs", timeout=120).json()["runs"]
    run = next(run["id"] for run in runs if run["name"] == "charted")
    path = f"{server.address}/api/v1/runs/{run}/data?points=10000&" + "&".join(
        f"metric=m{number}" for number in range(SERIES)
    )

    def request() -> None:
        while not server.over.is_set():
            with suppress(httpx.TransportError):
                httpx.get(path, timeout=120)

    for _ in range(4):
        threading.Thread(target=request, daemon=True).start()


ATTACKS: dict[str, tuple[str, Attack]] = {
    "none": ("watch", lambda _: None),
    "file: endless loop while reading": ("watch", harmful("read loop")),
    "file: endless loop in detection": ("watch", harmful("detect loop")),
    "file: takes all memory": ("watch", harmful("read memory")),
    "file: exploding text": ("watch", exploding_text),
    "file: 1 GiB packed": ("watch", huge_gzip),
    "files: wide and large": ("watch", wide_files),
    "files: 2,000 runs analysed": ("watch", many_runs),
    "body: 4,000,000 metrics": ("serve", many_metrics),
    "import: 4,000,000 rows": ("serve", import_bomb),
    "charts of 500 series": ("serve", large_charts),
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
            server = Server(process, address_of(folder / "output"), folder / "logs")
            threads = list(begin(server, attack))
            time.sleep(seconds)
            began = time.monotonic()
            process.send_signal(signal.SIGTERM)
            process.wait(120)
            stopping = time.monotonic() - began
            server.over.set()
            for thread in threads:
                thread.join(60)
        finally:
            process.kill()
            process.wait()
    return (
        f"{server.health.seconds:.2f} | {server.ingest.seconds:.2f} | {stopping:.2f} | "
        f"{server.own_peak // MIB} | {server.reading_peak // MIB or '-'} |"
    )


def begin(server: Server, attack: Attack) -> Iterator[threading.Thread]:
    """Start to measure, then the attack."""
    for work in (server.check_health, server.send_points, server.watch_memory):
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        yield thread
    threading.Thread(target=attack, args=(server,), daemon=True).start()


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
    print("| attack | /healthz | ingest | stop | server, MiB | reader, MiB |")
    print("|---|---|---|---|---|---|", flush=True)
    for name, (command, attack) in ATTACKS.items():
        if arguments.only in name:
            with tempfile.TemporaryDirectory() as folder:
                print(f"| {name} | {measure(command, attack, arguments.seconds, Path(folder))}", flush=True)


if __name__ == "__main__":
    main()
