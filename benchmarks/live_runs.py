"""Measures a server under thousands of live runs: its memory over time, its processor, what clients wait for.

    python benchmarks/live_runs.py [--runs 2000] [--metrics 10] [--every 5] [--minutes 3] [--url …]

Each run sends a flush of one step every so many seconds, spread evenly, on 64 connections. Prints a line
every 15 seconds: resident memory of the server, points written, CPU, and how long acknowledgements took. The
first line is the idle server, with the time from its start to its first answer.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import multiprocessing
import statistics
import sys
import tempfile
import time
from pathlib import Path

import http_ingest
import psutil

CONNECTIONS = 64
REPORT = 15.0


def main() -> None:
    """Start a server, put the load on it, and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--metrics", type=int, default=10)
    parser.add_argument("--every", type=float, default=5.0, help="seconds between two flushes of a run")
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--url", help="an empty database; default: a SQLite file of its own")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = arguments.url or f"sqlite:///{Path(folder) / 'bench.db'}"
        server, port, started = serve(url)
        try:
            idle = server.memory_info().rss / 2**20
            print(f"start to first answer {started:.2f} s, idle {idle:.0f} MiB", flush=True)
            watch(server, port, arguments)
        finally:
            server.terminate()
            server.wait(60)


def serve(url: str) -> tuple[psutil.Popen, int, float]:
    """A server's process, its port, and the seconds until it answered."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "holter", "serve", "--port", "0", "--database-url", url]
    server = psutil.Popen(command, stdout=-1, text=True)
    words = server.stdout.readline().split()
    address = next(word for word in words if word.startswith("http"))
    port = int(address.rstrip("/").rpartition(":")[2])
    line = http.client.HTTPConnection("127.0.0.1", port)
    line.request("GET", "/readyz")
    assert line.getresponse().status == 200
    return server, port, time.perf_counter() - began


def watch(server: psutil.Popen, port: int, arguments: argparse.Namespace) -> None:
    """One line for each stretch of load."""
    print("seconds  MiB  M points  CPU %  ms until acknowledged, 50 %  99 %")
    context = multiprocessing.get_context("spawn")
    points, began = 0, time.perf_counter()
    with context.Pool(1) as pool:
        while (passed := time.perf_counter() - began) < 60 * arguments.minutes:
            cpu, start = sum(server.cpu_times()[:2]), time.perf_counter()
            stretch = int(passed / arguments.every) + 1
            job = (port, arguments.runs, arguments.metrics, arguments.every, stretch)
            waits = pool.apply(drive, job)
            points += len(waits) * arguments.metrics
            used = (sum(server.cpu_times()[:2]) - cpu) / (time.perf_counter() - start)
            waits.sort()
            held, slow = server.memory_info().rss / 2**20, 1e3 * waits[-len(waits) // 100]
            seconds, usual = time.perf_counter() - began, 1e3 * statistics.median(waits)
            print(
                f"{seconds:7.0f} {held:4.0f} {points / 1e6:9.2f} {100 * used:6.0f} {usual:29.1f} {slow:5.1f}"
            )
            sys.stdout.flush()


def drive(port: int, runs: int, metrics: int, every: float, stretch: int) -> list[float]:
    """Load for a stretch: seconds until each flush was acknowledged."""
    return asyncio.run(_drive(port, runs, metrics, every, stretch))


async def _drive(port: int, runs: int, metrics: int, every: float, stretch: int) -> list[float]:
    shares = [range(first, runs, CONNECTIONS) for first in range(CONNECTIONS)]
    found = await asyncio.gather(*(_sender(port, share, metrics, every, stretch) for share in shares))
    return [wait for one in found for wait in one]


async def _sender(port: int, share: range, metrics: int, every: float, stretch: int) -> list[float]:
    """One connection for some of the runs, each of which sends a step every so often."""
    line = await asyncio.open_connection("127.0.0.1", port)
    waits, began = [], time.perf_counter()
    for turn in range(max(1, round(REPORT / every))):
        for place, run in enumerate(share):
            due = began + every * (turn + place / len(share))
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            step = 1000 * stretch + turn
            body = http_ingest.one_body(f"live-{run}", f"{run}-{step}", step, metrics, 1)
            waits.append(await http_ingest.posted(*line, body))
    line[1].close()
    return waits


if __name__ == "__main__":
    main()
