"""Measures ingest over HTTP: durable flushes and points per second, with the server in a separate process.

    python benchmarks/http_ingest.py [--url postgresql+psycopg://…] [--rounds 3] [--seconds 3] [--json]

Prints medians. The clients run in another process on 32 connections, each with its own run, and each sends
its next batch when the previous one was acknowledged. `+5 ms`: each commit sleeps for 5 ms before it reaches
the disk, like a slow disk.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import signal
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

import msgspec
import numpy as np
import psutil
from databases import temporary_database
from sqlalchemy import event

import holter
from holter.server.context import ServerContext
from holter.server.database import connect
from holter.server.serve import bind, serve_until_stopped, tune_interpreter
from holter.server.store import Store
from holter.settings import Settings
from holter.types import Batch, Delivery, DenseColumns, SeriesKey, SeriesLayout

CONNECTIONS = 32
Results = dict[str, float]


def main() -> None:
    """Run every measurement, and print one line each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--url",
        help="a PostgreSQL server where databases may be created; default: SQLite, a new file each time",
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0, help="duration of the load in each round")
    parser.add_argument("--only", default="", help="only measurements whose names contain this")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    arguments = parser.parse_args()
    values_by_name: dict[str, list[float]] = {}
    for _ in range(arguments.rounds):
        for name, measure in MEASUREMENTS.items():
            if arguments.only in name:
                with temporary_database(arguments.url) as url:
                    for quantity, value in measure(url, arguments.seconds).items():
                        values_by_name.setdefault(f"{name}: {quantity}", []).append(value)
    medians = {name: statistics.median(values) for name, values in values_by_name.items()}
    if arguments.json:
        print(json.dumps(medians))
    else:
        for name, value in medians.items():
            print(f"{name:72} {value:14,.3f}")


def serve(url: str, delay: float, pipe: Connection) -> None:
    """Run a server in this process: send its port through the pipe, and stop at the first message."""
    server_context = ServerContext(Settings(database_url=url))
    if delay:
        event.listen(server_context.engine, "commit", lambda connection: _sleep(connection, delay))

    def stop_on_message() -> None:
        pipe.poll(None)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=stop_on_message, daemon=True).start()
    with bind("127.0.0.1", 0) as listener:
        serve_until_stopped(server_context, listener, before=lambda: pipe.send(listener.getsockname()[1]))


def _sleep(connection: Any, delay: float) -> None:
    if connection.get_execution_options().get("holter_writes"):
        time.sleep(delay)


@contextmanager
def running_server(url: str, delay: float = 0.0) -> Iterator[tuple[int, psutil.Process]]:
    """Start a server on a database; yields its port and its process."""
    local_end, server_end = multiprocessing.Pipe()
    process = multiprocessing.Process(target=serve, args=(url, delay, server_end))
    process.start()
    try:
        yield local_end.recv(), psutil.Process(process.pid)
    finally:
        local_end.send("stop")
        process.join(30)


def measure_load(url: str, seconds: float, *, metrics: int, rows: int, delay: float = 0.0) -> Results:
    """Durable batches and points per second with many clients, and the cost of a batch for the server."""
    with running_server(url, delay) as (port, server):
        send_load(port, 0.5, metrics, rows)  # warm-up: imports, caches, creation of the runs
        before = sum(server.cpu_times()[:2])
        context = multiprocessing.get_context("spawn")
        with context.Pool(1) as pool:
            batches, duration, p99 = pool.apply(send_load, (port, seconds, metrics, rows))
        cost = sum(server.cpu_times()[:2]) - before
        return {
            "durable batches/s": batches / duration,
            "M points/s": batches * metrics * rows / duration / 1e6,
            "ms of server CPU per batch": cost / batches * 1e3,
            "ms until acknowledged, 99 %": p99 * 1e3,
        }


def send_load(port: int, seconds: float, metrics: int, rows: int) -> tuple[int, float, float]:
    """Send from all connections for some seconds: batches, duration, 99th percentile of the latency in s."""
    return asyncio.run(_send_load(port, seconds, metrics, rows))


async def _send_load(port: int, seconds: float, metrics: int, rows: int) -> tuple[int, float, float]:
    start = time.perf_counter()
    latencies = await asyncio.gather(
        *(_send_batches(port, f"run-{n}", start + seconds, metrics, rows) for n in range(CONNECTIONS))
    )
    duration = time.perf_counter() - start
    ordered = sorted(latency for connection in latencies for latency in connection)
    return len(ordered), duration, ordered[int(0.99 * len(ordered))]


async def _send_batches(port: int, run: str, until: float, metrics: int, rows: int) -> list[float]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    latencies, nonce, step = [], f"{run}-{time.time_ns()}", time.time_ns() // 1_000_000
    while time.perf_counter() < until:
        body = encode_body(run, f"{nonce}-{len(latencies)}", step + rows * len(latencies), metrics, rows)
        latencies.append(await post(reader, writer, body))
    writer.close()
    return latencies


async def post(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, body: bytes) -> float:
    """Post a body; returns seconds until the acknowledgement. Raises RuntimeError for any other answer."""
    start = time.perf_counter()
    writer.write(
        b"POST /api/v1/ingest HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/msgpack\r\n"
        b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    )
    head = await reader.readuntil(b"\r\n\r\n")
    answer = await reader.readexactly(int(head.lower().partition(b"content-length:")[2].split()[0]))
    if b" 200 " not in head[:20]:
        raise RuntimeError((head + answer).decode())
    return time.perf_counter() - start


VALUES = np.random.default_rng(0).normal(2.0, 0.03, 20_000).astype("<f4").astype("<f8")
NAMES_BY_COUNT: dict[int, list[str]] = {}


def encode_body(run: str, batch_id: str, step: int, metrics: int, rows: int) -> bytes:
    """A delivery in the binary encoding of the ingest API (MessagePack)."""
    names = NAMES_BY_COUNT.setdefault(metrics, [f"train/metric/{number}" for number in range(metrics)])
    start = step % 1000
    return msgspec.msgpack.encode(
        {
            "project": "bench",
            "run": run,
            "writer": "w",
            "batch_id": batch_id,
            "steps": np.arange(step, step + rows, dtype="<i8").tobytes(),
            "times": (time.time() + np.arange(rows, dtype="<f8") / 1000).tobytes(),
            "metrics": names,
            "values": VALUES[start : start + metrics * rows].tobytes(),
        }
    )


def measure_live_writes(url: str, seconds: float) -> Results:
    """2,000 series in this process, one point each per flush, each flush durable before the next (W4)."""
    tune_interpreter()
    engine = connect(url)
    store = Store(engine)
    store.start()
    layout = SeriesLayout(SeriesKey(f"metric/{number}") for number in range(2000))
    latencies, start, cpu = [], time.perf_counter(), time.process_time()
    nonce = str(time.time_ns())
    for step in range(500):
        columns = DenseColumns(layout, VALUES[step : step + 2000].reshape(2000, 1))
        batch = Batch(steps=np.array([step]), times=np.array([1.7e9 + step]), columns=columns, attempt="0")
        delivery = Delivery(project="bench", run=nonce, writer="w", batch_id=f"{nonce}-{step}", batch=batch)
        flush_start = time.perf_counter()
        store.accept(delivery)
        latencies.append(time.perf_counter() - flush_start)
    duration, cpu = time.perf_counter() - start, time.process_time() - cpu
    store.close()
    engine.dispose()
    latencies.sort()
    return {
        "M points/s": 500 * 2000 / duration / 1e6,
        "ms of CPU per flush, including compaction": cpu / 500 * 1e3,
        "ms per flush, median": latencies[250] * 1e3,
        "ms per flush, 99 %": latencies[495] * 1e3,
    }


def measure_client(url: str, *, runs: int, metrics: int, steps: int) -> Results:
    """Measure the client, with its spool, from the first call to the acknowledgement of the last point."""
    with running_server(url) as (port, server), tempfile.TemporaryDirectory() as spool:
        address = f"http://127.0.0.1:{port}"
        train(address, spool, "warm-up", 1, metrics, 10)
        before = sum(server.cpu_times()[:2])
        context = multiprocessing.get_context("spawn")
        with context.Pool(1) as pool:
            pool.apply(train, (address, spool, "second warm-up", 1, metrics, 10))
            duration, cpu = pool.apply(train, (address, spool, str(time.time_ns()), runs, metrics, steps))
        cost = sum(server.cpu_times()[:2]) - before
        points = runs * metrics * steps
        return {
            "M points/s until acknowledged": points / duration / 1e6,
            "client CPU s per million points": cpu / points * 1e6,
            "server CPU s per million points": cost / points * 1e6,
        }


def train(address: str, spool: str, name: str, runs: int, metrics: int, steps: int) -> tuple[float, float]:
    """Log rows as a training loop does, run after run; wall and CPU seconds until all are acknowledged."""
    names = [f"train/metric/{number}" for number in range(metrics)]
    values = VALUES[:metrics].tolist() if metrics <= len(VALUES) else []
    rows = [dict(zip(names, [value + step for value in values], strict=True)) for step in range(10)]
    start, cpu = time.perf_counter(), time.process_time()
    for number in range(runs):
        run = holter.init("bench", f"{name}-{number}", server=address, spool=spool)
        for step in range(steps):
            run.log(rows[step % 10], step=step)
        run.finish()
    return time.perf_counter() - start, time.process_time() - cpu


MEASUREMENTS = {
    "flushes of 100 metrics x 1 step": lambda url, s: measure_load(url, s, metrics=100, rows=1),
    "flushes of 10 metrics x 10 steps": lambda url, s: measure_load(url, s, metrics=10, rows=10),
    "flushes of 100 metrics x 1 step, +5 ms": lambda url, s: measure_load(
        url, s, metrics=100, rows=1, delay=0.005
    ),
    "requests of 1,000 points": lambda url, s: measure_load(url, s, metrics=10, rows=100),
    "requests of 10,000 points": lambda url, s: measure_load(url, s, metrics=100, rows=100),
    "W4, 2,000 series x 1 point, in process": measure_live_writes,
    "W1, client, 100 metrics x 10,000 steps": lambda url, _: measure_client(
        url, runs=1, metrics=100, steps=10_000
    ),
    "W2, client, 10,000 metrics x 100 steps": lambda url, _: measure_client(
        url, runs=1, metrics=10_000, steps=100
    ),
    "W3, client, 50 runs x 20 metrics x 1,000 steps": lambda url, _: measure_client(
        url, runs=50, metrics=20, steps=1000
    ),
}

if __name__ == "__main__":
    main()
