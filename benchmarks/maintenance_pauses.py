"""Measures the latency of flushes and charts while the server or another process runs maintenance.

    python benchmarks/maintenance_pauses.py [--url postgresql+psycopg://…] [--points 10000000] [--seconds 6]
        [--only downsampling]

The database holds a run of 10,000 series with a log that has not been compacted, 2,000 runs of ten series,
and a long run of twenty series. Two connections send requests all the time, each as soon as the previous
one was answered: one flushes ten points, the other requests a chart of the long run, each time of another
range. For each kind of maintenance, and for none, prints the number of answers and their latencies: median,
99 %, maximum.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import http_ingest
import numpy as np
from sqlalchemy import select

from holter.server.context import ServerContext
from holter.server.database import connect, reading
from holter.server.maintenance.downsampling import downsample_run
from holter.server.migrate import upgrade
from holter.server.models import LogEntry, RunRecord
from holter.server.serve import bind, serve_until_stopped
from holter.server.store import Receipt, Store
from holter.server.store.compaction import worker as compaction_worker
from holter.settings import Settings
from holter.types import Batch, Delivery, DenseColumns, SeriesKey, SeriesLayout

RUNS = 2000
STEPS_PER_RUN = 3000
LONG_RUN_STEPS = 200_000
Latencies = dict[str, list[float]]


def main() -> None:
    """Fill a database, and measure each kind of maintenance."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--url", help="an empty database; default: a new SQLite file")
    parser.add_argument("--points", type=int, default=10_000_000, help="points of the run with 10,000 series")
    parser.add_argument(
        "--seconds", type=float, default=6.0, help="duration of the measurement without maintenance"
    )
    parser.add_argument("--only", default="", help="only maintenance whose name contains this")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = arguments.url or f"sqlite:///{Path(folder) / 'bench.db'}"
        fill(url, arguments.points)
        with running_server(url) as (port, pipe):
            print(
                f"{'':28}{'seconds':>8}   flushes: ms 50 %  99 %  maximum    charts: ms 50 %  99 %  maximum"
            )
            for name, task in list_tasks(url, folder, pipe).items():
                if arguments.only in name or name == "nothing":
                    measure(port, name, task or (lambda: time.sleep(arguments.seconds)))


def fill(url: str, points: int) -> None:
    """Store runs whose logs are not compacted."""
    engine = connect(url)
    upgrade(engine)
    disable_compaction()
    store = Store(engine)
    store.start()
    submit_steps(store, "wide", 10_000, points // 10_000, 100)
    submit_steps(store, "long", 20, LONG_RUN_STEPS, 10_000)
    layout = SeriesLayout(SeriesKey(f"metric/{number}") for number in range(10))
    for run in range(RUNS):
        submit(store, f"run-{run}", layout, 0, STEPS_PER_RUN).result()
    store.close()
    engine.dispose()


def submit_steps(store: Store, run: str, series: int, rows: int, batch_rows: int) -> None:
    """Store the steps of a run in batches of `batch_rows` steps."""
    layout = SeriesLayout(SeriesKey(f"metric/{number}") for number in range(series))
    for start in range(0, rows, batch_rows):
        submit(store, run, layout, start, batch_rows).result()


def submit(store: Store, run: str, layout: SeriesLayout, start: int, rows: int) -> Future[Receipt]:
    """Submit one batch of a run."""
    steps = np.arange(start, start + rows)
    values = np.random.default_rng(start).normal(2, 0.03, (len(layout.keys), rows)).astype("<f4")
    batch = Batch(steps=steps, times=1e9 + steps, columns=DenseColumns(layout, values.astype(float)))
    return store.submit(Delivery(project="p", run=run, writer="w", batch_id=str(start), batch=batch))


def list_tasks(url: str, folder: str, pipe: Any) -> dict[str, Callable[[], None] | None]:
    """The maintenance tasks by name: some run in the server, some as a command."""

    def in_server(name: str) -> Callable[[], None]:
        def task() -> None:
            pipe.send(name)
            pipe.recv()

        return task

    def command(*arguments: str) -> Callable[[], None]:
        return lambda: subprocess.run(
            [sys.executable, "-m", "holter", "db", *arguments, "--database-url", url],
            check=True,
            stdout=subprocess.DEVNULL,
        )  # type: ignore[return-value]

    return {
        "nothing": None,
        "compaction: 10,000 series": in_server("compact wide"),
        "compaction: one long run": in_server("compact long"),
        "compaction: 2,000 runs": in_server("compact all"),
        "check": command("check"),
        "backup": command("backup", str(Path(folder) / "backup")),
        "downsampling: one long run": in_server("downsample long"),
        "downsampling: 10,000 series": in_server("downsample wide"),
        "vacuum": command("vacuum"),
        "delete: 10,000 series": command("delete", "p/wide"),
    }


@contextmanager
def running_server(url: str) -> Iterator[tuple[int, Any]]:
    """Start a server that runs maintenance on request; yields its port and the pipe for requests."""
    local_end, server_end = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(url, server_end))
    process.start()
    try:
        yield local_end.recv(), local_end
    finally:
        local_end.send("stop")
        process.join(60)


def serve(url: str, pipe: Any) -> None:
    """Run a server in this process; run the maintenance tasks that arrive through the pipe."""
    disable_compaction()
    server_context = ServerContext(Settings(database_url=url))

    def run_tasks() -> None:
        while (task := pipe.recv()) != "stop":
            run_task(server_context, task)
            pipe.send("done")
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=run_tasks, daemon=True).start()
    with bind("127.0.0.1", 0) as listener:
        serve_until_stopped(server_context, listener, before=lambda: pipe.send(listener.getsockname()[1]))


def disable_compaction() -> None:
    """Let this process compact only on request."""
    compaction_worker._MAX_PENDING_POINTS = compaction_worker._MAX_PENDING_COMMITS = 10**12
    compaction_worker._IDLE_SECONDS = 1e12


def run_task(server_context: ServerContext, task: str) -> None:
    """Run `compact` or `downsample`, followed by the name of a run; `compact all` compacts every run."""
    action, name = task.split()
    with reading(server_context.engine) as connection:
        run_ids = {row.name: row.id for row in connection.execute(select(RunRecord.id, RunRecord.name))}
        logged = connection.scalars(select(LogEntry.run_id).distinct()).all()
    store = server_context.store
    if action == "downsample":
        downsample_run(
            server_context.engine,
            run_ids[name],
            100,
            time.time(),
            older_than=None,
            rewrite_lock=store.rewrite_lock,
        )
    else:
        for run_id in logged if name == "all" else [run_ids[name]]:
            store.compact(run_id)


def measure(port: int, name: str, task: Callable[[], None]) -> None:
    """Run a task while flushes and charts are requested, and print their latencies."""
    context = multiprocessing.get_context("spawn")
    stop, results = context.Event(), context.Queue()
    client = context.Process(target=send_requests, args=(port, name, stop, results))
    client.start()
    results.get()  # the client has started
    start = time.perf_counter()
    task()
    duration = time.perf_counter() - start
    stop.set()
    latencies: Latencies = results.get()
    client.join()
    flushes, charts = (format_latencies(latencies[kind]) for kind in ("flush", "chart"))
    print(f"{name:28}{duration:8.1f}  {flushes}  {charts}", flush=True)


def format_latencies(latencies: list[float]) -> str:
    """The number of latencies (in seconds), and their median, 99th percentile and maximum in ms."""
    ordered = sorted(1e3 * latency for latency in latencies)
    count = len(ordered)
    return f"{count:6}: {ordered[count // 2]:8.1f} {ordered[int(0.99 * count)]:7.1f} {ordered[-1]:7.1f}"


def send_requests(port: int, name: str, stop: Any, results: Any) -> None:
    """Send flushes and chart requests until `stop` is set; put their latencies into `results`."""
    results.put(asyncio.run(_send_requests(port, name, stop, results)))


async def _send_requests(port: int, name: str, stop: Any, results: Any) -> Latencies:
    public_id = await _public_id(port)
    latencies: Latencies = {"flush": [], "chart": []}
    flushes = _send_flushes(port, name, stop, latencies["flush"])
    charts = _request_charts(port, public_id, stop, latencies["chart"])
    await _get(port, b"/readyz")
    results.put("started")
    await asyncio.gather(flushes, charts)
    return latencies


async def _send_flushes(port: int, name: str, stop: Any, latencies: list[float]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    nonce, step = time.time_ns(), 0
    while not stop.is_set():
        step += 1
        body = http_ingest.encode_body(f"flush {name}", f"{nonce}-{step}", step, 10, 1)
        latencies.append(await http_ingest.post(reader, writer, body))
        await asyncio.sleep(0.005)


async def _request_charts(port: int, public_id: str, stop: Any, latencies: list[float]) -> None:
    first = 0
    metrics = "&".join(f"metric=metric/{number}" for number in range(20))
    while not stop.is_set():
        first = (first + 997) % (LONG_RUN_STEPS // 2)
        start = time.perf_counter()
        steps = f"from={first}&to={first + LONG_RUN_STEPS // 2}"
        await _get(port, f"/api/v1/runs/{public_id}/data?{metrics}&{steps}&points=1000".encode())
        latencies.append(time.perf_counter() - start)
        await asyncio.sleep(0.005)


async def _public_id(port: int) -> str:
    listing = json.loads(await _get(port, b"/api/v1/runs?q=long"))
    return str(listing["runs"][0]["id"])


async def _get(port: int, path: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        b"GET %b HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\nConnection: close\r\n\r\n" % path
    )
    answer = await reader.read()
    writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    if b" 200 " not in head[:20]:
        raise RuntimeError(answer[:500].decode())
    return body


if __name__ == "__main__":
    main()
