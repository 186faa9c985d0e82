"""Measures a server with thousands of live runs: memory over time, processor time, latency for clients.

    python benchmarks/live_runs.py [--runs 2000] [--metrics 10] [--every 5] [--minutes 3] [--url …]

Each run sends a flush of one step every few seconds, spread evenly, on 64 connections. Prints a line every
15 seconds: resident memory of the server, points written, CPU, and how long acknowledgements took. The first
line is the idle server, with the time from its start to its first answer.
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
INTERVAL_SECONDS = 15.0


def main() -> None:
    """Start a server, generate the load, and print the measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--metrics", type=int, default=10)
    parser.add_argument("--every", type=float, default=5.0, help="seconds between two flushes of a run")
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--url", help="an empty database; default: a new SQLite file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = arguments.url or f"sqlite:///{Path(folder) / 'bench.db'}"
        server, port, startup = start_server(url)
        try:
            idle = server.memory_info().rss / 2**20
            print(f"start to first answer {startup:.2f} s, idle {idle:.0f} MiB", flush=True)
            measure(server, port, arguments)
        finally:
            server.terminate()
            server.wait(60)


def start_server(url: str) -> tuple[psutil.Popen, int, float]:
    """Start a server; returns its process, its port, and the seconds until its first answer."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "holter", "serve", "--port", "0", "--database-url", url]
    server = psutil.Popen(command, stdout=-1, text=True)
    output = server.stdout.readline().split()
    address = next(word for word in output if word.startswith("http"))
    port = int(address.rstrip("/").rpartition(":")[2])
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/readyz")
    assert connection.getresponse().status == 200
    return server, port, time.perf_counter() - start


def measure(server: psutil.Popen, port: int, arguments: argparse.Namespace) -> None:
    """Print one line for each interval of the load."""
    print("seconds  MiB  M points  CPU %  ms until acknowledged, 50 %  99 %")
    context = multiprocessing.get_context("spawn")
    points, load_start = 0, time.perf_counter()
    with context.Pool(1) as pool:
        while (elapsed := time.perf_counter() - load_start) < 60 * arguments.minutes:
            cpu, start = sum(server.cpu_times()[:2]), time.perf_counter()
            interval = int(elapsed / arguments.every) + 1
            job = (port, arguments.runs, arguments.metrics, arguments.every, interval)
            latencies = pool.apply(send_load, job)
            points += len(latencies) * arguments.metrics
            utilisation = (sum(server.cpu_times()[:2]) - cpu) / (time.perf_counter() - start)
            latencies.sort()
            memory = server.memory_info().rss / 2**20
            seconds = time.perf_counter() - load_start
            median, p99 = 1e3 * statistics.median(latencies), 1e3 * latencies[-len(latencies) // 100]
            load = f"{points / 1e6:9.2f} {100 * utilisation:6.0f}"
            print(f"{seconds:7.0f} {memory:4.0f} {load} {median:29.1f} {p99:5.1f}", flush=True)


def send_load(port: int, runs: int, metrics: int, every: float, interval: int) -> list[float]:
    """Send the flushes of an interval; returns the seconds until each was acknowledged."""
    return asyncio.run(_send_load(port, runs, metrics, every, interval))


async def _send_load(port: int, runs: int, metrics: int, every: float, interval: int) -> list[float]:
    shares = [range(first, runs, CONNECTIONS) for first in range(CONNECTIONS)]
    latencies = await asyncio.gather(*(_send_runs(port, share, metrics, every, interval) for share in shares))
    return [latency for connection in latencies for latency in connection]


async def _send_runs(port: int, share: range, metrics: int, every: float, interval: int) -> list[float]:
    """Send the flushes of some of the runs on one connection, each every `every` seconds."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    latencies, start = [], time.perf_counter()
    for turn in range(max(1, round(INTERVAL_SECONDS / every))):
        for position, run in enumerate(share):
            due = start + every * (turn + position / len(share))
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            step = 1000 * interval + turn
            body = http_ingest.encode_body(f"live-{run}", f"{run}-{step}", step, metrics, 1)
            latencies.append(await http_ingest.post(reader, writer, body))
    writer.close()
    return latencies


if __name__ == "__main__":
    main()
