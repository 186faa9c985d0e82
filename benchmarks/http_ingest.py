"""Measures ingest over HTTP: durable flushes and points a second, with the server in a process of its own.

    python benchmarks/http_ingest.py [--url postgresql+psycopg://…] [--rounds 3] [--seconds 3] [--json]

Prints medians. The clients run in another process on 32 connections, each with a run of its own, and each
sends its next batch when the one before was acknowledged. `+5 ms`: each commit sleeps for so long before
it reaches the disk, as slower disks do.
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
from databases import fresh
from sqlalchemy import event

import holter
from holter.server.context import ServerContext
from holter.server.database import connect
from holter.server.serve import bind, serve_until_stopped, tune_interpreter
from holter.server.store import Store
from holter.settings import Settings
from holter.types import Batch, Delivery, DenseColumns, SeriesKey, SeriesLayout

CONNECTIONS = 32
Found = dict[str, float]


def main() -> None:
    """Run every measurement, and print one line each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--url", help="a PostgreSQL where databases may be made; default: SQLite. A new one each time"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0, help="of load in each round")
    parser.add_argument("--only", default="", help="measurements whose name contains this")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    arguments = parser.parse_args()
    found: dict[str, list[float]] = {}
    for _ in range(arguments.rounds):
        for name, measure in MEASUREMENTS.items():
            if arguments.only in name:
                with fresh(arguments.url) as url:
                    for what, value in measure(url, arguments.seconds).items():
                        found.setdefault(f"{name}: {what}", []).append(value)
    medians = {name: statistics.median(values) for name, values in found.items()}
    if arguments.json:
        print(json.dumps(medians))
    else:
        for name, value in medians.items():
            print(f"{name:72} {value:14,.3f}")


def serve(url: str, delay: float, told: Connection) -> None:
    """A server's process: tells its port, ends when its pipe does."""
    server_context = ServerContext(Settings(database_url=url))
    if delay:
        event.listen(server_context.engine, "commit", lambda connection: _sleep(connection, delay))

    def end() -> None:
        told.poll(None)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=end, daemon=True).start()
    with bind("127.0.0.1", 0) as listener:
        serve_until_stopped(server_context, listener, before=lambda: told.send(listener.getsockname()[1]))


def _sleep(connection: Any, delay: float) -> None:
    if connection.get_execution_options().get("holter_writes"):
        time.sleep(delay)


@contextmanager
def served(url: str, delay: float = 0.0) -> Iterator[tuple[int, psutil.Process]]:
    """A server on a database: its port and its process."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=serve, args=(url, delay, theirs))
    process.start()
    try:
        yield ours.recv(), psutil.Process(process.pid)
    finally:
        ours.send("end")
        process.join(30)


def load(url: str, seconds: float, *, metrics: int, rows: int, delay: float = 0.0) -> Found:
    """Many clients at once: what became durable in a second, and what a batch cost the server."""
    with served(url, delay) as (port, server):
        drive(port, 0.5, metrics, rows)  # imports, caches, the runs themselves
        before = sum(server.cpu_times()[:2])
        context = multiprocessing.get_context("spawn")
        with context.Pool(1) as pool:
            batches, took, slow = pool.apply(drive, (port, seconds, metrics, rows))
        cost = sum(server.cpu_times()[:2]) - before
        return {
            "durable batches/s": batches / took,
            "M points/s": batches * metrics * rows / took / 1e6,
            "ms of server CPU a batch": cost / batches * 1e3,
            "ms until acknowledged, 99 %": slow * 1e3,
        }


def drive(port: int, seconds: float, metrics: int, rows: int) -> tuple[int, float, float]:
    """Send from all connections for some seconds: batches, seconds, the 99th percentile of one's wait."""
    return asyncio.run(_drive(port, seconds, metrics, rows))


async def _drive(port: int, seconds: float, metrics: int, rows: int) -> tuple[int, float, float]:
    began = time.perf_counter()
    waits = await asyncio.gather(
        *(_sender(port, f"run-{n}", began + seconds, metrics, rows) for n in range(CONNECTIONS))
    )
    took = time.perf_counter() - began
    every = sorted(wait for one in waits for wait in one)
    return len(every), took, every[int(0.99 * len(every))]


async def _sender(port: int, run: str, until: float, metrics: int, rows: int) -> list[float]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    waits, nonce, step = [], f"{run}-{time.time_ns()}", time.time_ns() // 1_000_000
    while time.perf_counter() < until:
        body = one_body(run, f"{nonce}-{len(waits)}", step + rows * len(waits), metrics, rows)
        waits.append(await posted(reader, writer, body))
    writer.close()
    return waits


async def posted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, body: bytes) -> float:
    """Post a body: seconds until it was acknowledged. Raises RuntimeError where it was not."""
    began = time.perf_counter()
    writer.write(
        b"POST /api/v1/ingest HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/msgpack\r\n"
        b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    )
    head = await reader.readuntil(b"\r\n\r\n")
    answer = await reader.readexactly(int(head.lower().partition(b"content-length:")[2].split()[0]))
    if b" 200 " not in head[:20]:
        raise RuntimeError((head + answer).decode())
    return time.perf_counter() - began


VALUES = np.random.default_rng(0).normal(2.0, 0.03, 20_000).astype("<f4").astype("<f8")
NAMES: dict[int, list[str]] = {}


def one_body(run: str, batch_id: str, step: int, metrics: int, rows: int) -> bytes:
    """A batch in the binary form."""
    names = NAMES.setdefault(metrics, [f"train/metric/{number}" for number in range(metrics)])
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


def live(url: str, seconds: float) -> Found:
    """In process: 2,000 series, one point each a flush, each flush durable before the next (W4)."""
    tune_interpreter()
    engine = connect(url)
    store = Store(engine)
    store.start()
    shape = SeriesLayout(SeriesKey(f"metric/{number}") for number in range(2000))
    waits, began, own = [], time.perf_counter(), time.process_time()
    nonce = str(time.time_ns())
    for step in range(500):
        columns = DenseColumns(shape, VALUES[step : step + 2000].reshape(2000, 1))
        batch = Batch(steps=np.array([step]), times=np.array([1.7e9 + step]), columns=columns, attempt="0")
        one = Delivery(project="bench", run=nonce, writer="w", batch_id=f"{nonce}-{step}", batch=batch)
        flushed = time.perf_counter()
        store.accept(one)
        waits.append(time.perf_counter() - flushed)
    took, own = time.perf_counter() - began, time.process_time() - own
    store.close()
    engine.dispose()
    waits.sort()
    return {
        "M points/s": 500 * 2000 / took / 1e6,
        "ms of CPU a flush, compaction included": own / 500 * 1e3,
        "ms a flush, median": waits[250] * 1e3,
        "ms a flush, 99 %": waits[495] * 1e3,
    }


def client(url: str, *, runs: int, metrics: int, steps: int) -> Found:
    """From the first call of the client to the acknowledgement of its last point, its spool included."""
    with served(url) as (port, server), tempfile.TemporaryDirectory() as spool:
        address = f"http://127.0.0.1:{port}"
        train(address, spool, "warm", 1, metrics, 10)
        before = sum(server.cpu_times()[:2])
        context = multiprocessing.get_context("spawn")
        with context.Pool(1) as pool:
            pool.apply(train, (address, spool, "warm too", 1, metrics, 10))
            took, own = pool.apply(train, (address, spool, str(time.time_ns()), runs, metrics, steps))
        cost = sum(server.cpu_times()[:2]) - before
        points = runs * metrics * steps
        return {
            "M points/s until acknowledged": points / took / 1e6,
            "client CPU s a million": own / points * 1e6,
            "server CPU s a million": cost / points * 1e6,
        }


def train(address: str, spool: str, name: str, runs: int, metrics: int, steps: int) -> tuple[float, float]:
    """Log rows as a training loop does, run after run; wall and CPU seconds until all are acknowledged."""
    names = [f"train/metric/{number}" for number in range(metrics)]
    values = VALUES[:metrics].tolist() if metrics <= len(VALUES) else []
    rows = [dict(zip(names, [value + step for value in values], strict=True)) for step in range(10)]
    began, own = time.perf_counter(), time.process_time()
    for number in range(runs):
        run = holter.init("bench", f"{name}-{number}", server=address, spool=spool)
        for step in range(steps):
            run.log(rows[step % 10], step=step)
        run.finish()
    return time.perf_counter() - began, time.process_time() - own


MEASUREMENTS = {
    "flushes of 100 metrics x 1 step": lambda url, s: load(url, s, metrics=100, rows=1),
    "flushes of 10 metrics x 10 steps": lambda url, s: load(url, s, metrics=10, rows=10),
    "flushes of 100 metrics x 1 step, +5 ms": lambda url, s: load(url, s, metrics=100, rows=1, delay=0.005),
    "requests of 1,000 points": lambda url, s: load(url, s, metrics=10, rows=100),
    "requests of 10,000 points": lambda url, s: load(url, s, metrics=100, rows=100),
    "W4, 2,000 series x 1 point, in process": live,
    "W1, client, 100 metrics x 10,000 steps": lambda url, _: client(url, runs=1, metrics=100, steps=10_000),
    "W2, client, 10,000 metrics x 100 steps": lambda url, _: client(url, runs=1, metrics=10_000, steps=100),
    "W3, client, 50 runs x 20 metrics x 1,000 steps": lambda url, _: client(
        url, runs=50, metrics=20, steps=1000
    ),
}

if __name__ == "__main__":
    main()
