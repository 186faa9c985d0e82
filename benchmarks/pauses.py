"""Measures how long flushes and charts wait while the server or another process runs maintenance.

    python benchmarks/pauses.py [--url postgresql+psycopg://…] [--points 10000000] [--seconds 6] [--only thin]

The database holds a run of 10,000 series with a log that nobody has compacted, 2,000 runs of ten series,
and a long run of twenty series. Two connections work all the time, each beginning anew when it was answered:
one flushes ten points, one asks for a chart of the long run, another range each time. For each kind of
work, and for none, prints how many answers there were and how long they took: median, 99 %, longest.
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
from holter.server.store import Store, compactor
from holter.settings import Settings
from holter.types import Batch, Delivery, DenseColumns, SeriesKey, SeriesLayout

RUNS = 2000
ROWS_OF_A_RUN = 3000
LONG = 200_000
Waits = dict[str, list[float]]


def main() -> None:
    """Fill a database, and measure each kind of work."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--url", help="an empty database; default: a SQLite file of its own")
    parser.add_argument("--points", type=int, default=10_000_000, help="of the run with 10,000 series")
    parser.add_argument("--seconds", type=float, default=6.0, help="of the measurement without work")
    parser.add_argument("--only", default="", help="work whose name contains this")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = arguments.url or f"sqlite:///{Path(folder) / 'bench.db'}"
        fill(url, arguments.points)
        with served(url) as (port, told):
            print(
                f"{'':28}{'seconds':>8}   flushes: ms 50 %  99 %  longest    charts: ms 50 %  99 %  longest"
            )
            for name, work in works(url, folder, told).items():
                if arguments.only in name or name == "nothing":
                    measure(port, name, work or (lambda: time.sleep(arguments.seconds)))


def fill(url: str, points: int) -> None:
    """Runs whose logs wait for compaction."""
    engine = connect(url)
    upgrade(engine)
    compactor._POINTS = compactor._COMMITS = 10**12
    compactor._QUIET = 1e12
    store = Store(engine)
    store.start()
    log(store, "wide", 10_000, points // 10_000, 100)
    log(store, "long", 20, LONG, 10_000)
    shape = SeriesLayout(SeriesKey(f"metric/{number}") for number in range(10))
    for run in range(RUNS):
        send(store, f"run-{run}", shape, 0, ROWS_OF_A_RUN).result()
    store.close()
    engine.dispose()


def log(store: Store, run: str, series: int, rows: int, portion: int) -> None:
    shape = SeriesLayout(SeriesKey(f"metric/{number}") for number in range(series))
    for start in range(0, rows, portion):
        send(store, run, shape, start, portion).result()


def send(store: Store, run: str, shape: SeriesLayout, start: int, rows: int) -> Any:
    steps = np.arange(start, start + rows)
    values = np.random.default_rng(start).normal(2, 0.03, (len(shape.keys), rows)).astype("<f4")
    batch = Batch(steps=steps, times=1e9 + steps, columns=DenseColumns(shape, values.astype(float)))
    return store.submit(Delivery(project="p", run=run, writer="w", batch_id=str(start), batch=batch))


def works(url: str, folder: str, told: Any) -> dict[str, Callable[[], None] | None]:
    """What is done beside flushes and charts, in the server or by a command."""

    def inside(name: str) -> Callable[[], None]:
        def work() -> None:
            told.send(name)
            told.recv()

        return work

    def command(*words: str) -> Callable[[], None]:
        return lambda: subprocess.run(
            [sys.executable, "-m", "holter", "db", *words, "--database-url", url],
            check=True,
            stdout=subprocess.DEVNULL,
        )  # type: ignore[return-value]

    return {
        "nothing": None,
        "compaction: 10,000 series": inside("wide"),
        "compaction: one long run": inside("long"),
        "compaction: 2,000 runs": inside("all"),
        "check": command("check"),
        "backup": command("backup", str(Path(folder) / "backup")),
        "thinning the long run": inside("thin"),
        "thinning 10,000 series": inside("thin wide"),
        "vacuum": command("vacuum"),
        "delete: 10,000 series": command("delete", "p/wide"),
    }


@contextmanager
def served(url: str) -> Iterator[tuple[int, Any]]:
    """A server that does what it is told: its port, and where to tell it."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(url, theirs))
    process.start()
    try:
        yield ours.recv(), ours
    finally:
        ours.send("end")
        process.join(60)


def serve(url: str, told: Any) -> None:
    compactor._POINTS = compactor._COMMITS = 10**12  # when it is told
    compactor._QUIET = 1e12
    server_context = ServerContext(Settings(database_url=url))

    def work() -> None:
        while (what := told.recv()) != "end":
            do(server_context, what)
            told.send("done")
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=work, daemon=True).start()
    with bind("127.0.0.1", 0) as listener:
        serve_until_stopped(server_context, listener, before=lambda: told.send(listener.getsockname()[1]))


def do(server_context: ServerContext, what: str) -> None:
    with reading(server_context.engine) as connection:
        numbers = {row.name: row.id for row in connection.execute(select(RunRecord.id, RunRecord.name))}
        logged = connection.scalars(select(LogEntry.run_id).distinct()).all()
    if what.startswith("thin"):
        name = what.removeprefix("thin ") if " " in what else "long"
        downsample_run(server_context.engine, numbers[name], 100, time.time(), older_than=None, rewrite_lock=server_context.store.rewrite_lock)
    elif what == "all":
        for run in logged:
            server_context.store.compact(run)
    else:
        server_context.store.compact(numbers[what])


def measure(port: int, name: str, work: Callable[[], None]) -> None:
    """Work, with flushes and charts beside it, and say how long these took."""
    context = multiprocessing.get_context("spawn")
    stop, found = context.Event(), context.Queue()
    driver = context.Process(target=drive, args=(port, name, stop, found))
    driver.start()
    found.get()  # it has begun
    began = time.perf_counter()
    work()
    took = time.perf_counter() - began
    stop.set()
    waits: Waits = found.get()
    driver.join()
    flushes, charts = (shown(waits[kind]) for kind in ("flush", "chart"))
    print(f"{name:28}{took:8.1f}  {flushes}  {charts}", flush=True)


def shown(waits: list[float]) -> str:
    held = sorted(1e3 * wait for wait in waits)
    return f"{len(held):6}: {held[len(held) // 2]:8.1f} {held[int(0.99 * len(held))]:7.1f} {held[-1]:7.1f}"


def drive(port: int, name: str, stop: Any, found: Any) -> None:
    """Flush and ask until told to stop."""
    found.put(asyncio.run(_drive(port, name, stop, found)))


async def _drive(port: int, name: str, stop: Any, found: Any) -> Waits:
    public = await _public_id(port)
    waits: Waits = {"flush": [], "chart": []}
    flushing = _flush(port, name, stop, waits["flush"])
    asking = _ask(port, public, stop, waits["chart"])
    await _once(port, b"/readyz")
    found.put("begun")
    await asyncio.gather(flushing, asking)
    return waits


async def _flush(port: int, name: str, stop: Any, waits: list[float]) -> None:
    line = await asyncio.open_connection("127.0.0.1", port)
    nonce, step = time.time_ns(), 0
    while not stop.is_set():
        step += 1
        body = http_ingest.one_body(f"flush {name}", f"{nonce}-{step}", step, 10, 1)
        waits.append(await http_ingest.posted(*line, body))
        await asyncio.sleep(0.005)


async def _ask(port: int, public: str, stop: Any, waits: list[float]) -> None:
    first = 0
    metrics = "&".join(f"metric=metric/{number}" for number in range(20))
    while not stop.is_set():
        first = (first + 997) % (LONG // 2)
        began = time.perf_counter()
        path = f"/api/v1/runs/{public}/data?{metrics}&from={first}&to={first + LONG // 2}&points=1000"
        await _once(port, path.encode())
        waits.append(time.perf_counter() - began)
        await asyncio.sleep(0.005)


async def _public_id(port: int) -> str:
    listed = json.loads(await _once(port, b"/api/v1/runs?q=long"))
    return str(listed["runs"][0]["id"])


async def _once(port: int, path: bytes) -> bytes:
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
