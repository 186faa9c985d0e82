"""Requests that cost a server more than their sender."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count

import httpx
import msgspec
import numpy as np

from benchmarks.attacks.target import Target

SERIES, STEPS = 500, 4000
CONNECTIONS = 200
NEW_PROJECTS = 4000
UNREAD = 497
"""With the three connections that measure, what one address may have: `max_connections_per_address`."""
JSON = {"Content-Type": "application/json"}


def post_forever(target: Target, content: bytes, path: str = "/api/v1/ingest") -> None:
    """Send a body again and again."""
    with httpx.Client(timeout=300, headers=JSON) as client:
        while True:
            with suppress(httpx.TransportError):
                client.post(f"{target.address}{path}", content=content)


def import_bomb(target: Target) -> None:
    """An import of four million rows, repeated."""
    header = b"metric,labels,attempt,step,time,value\n"
    rows = b"".join(b'loss,"{""rank"": ""%d""}",0,%d,,2.5\n' % (row % 20, row // 20) for row in range(20_000))
    post_forever(target, header + rows * 200, "/api/v1/import")


def many_metrics(target: Target) -> None:
    """A row of four million metrics, repeated."""
    values = b",".join(b'"m%d":1' % number for number in range(4_000_000))
    post_forever(target, b'{"project":"p","run":"r","points":[{"step":1,"values":{' + values + b"}}]}")


def new_projects(target: Target) -> None:
    """Bodies of a new project each, over eight connections."""
    numbers = count()

    def send() -> None:
        with httpx.Client(timeout=300, headers=JSON) as client:
            for number in numbers:
                if number >= NEW_PROJECTS:
                    return
                points = '[{"step":1,"values":{"loss":2.5}}]'
                body = f'{{"project":"p{number}","run":"r","points":{points}}}'
                with suppress(httpx.TransportError):
                    client.post(f"{target.address}/api/v1/ingest", content=body.encode())

    in_parallel(send, 8)


def large_charts(target: Target) -> None:
    """Charts of 500 series, requested by four clients."""
    store_series(target)
    runs = httpx.get(f"{target.address}/api/v1/runs", timeout=120).json()["runs"]
    run = next(run["id"] for run in runs if run["name"] == "charted")
    path = f"{target.address}/api/v1/runs/{run}/data?points=10000&" + "&".join(
        f"metric=m{number}" for number in range(SERIES)
    )

    def request() -> None:
        while True:
            with suppress(httpx.TransportError):
                httpx.get(path, timeout=120)

    in_parallel(request, 4)


def store_series(target: Target) -> None:
    """A run of 500 series of 4,000 points."""
    for first in range(0, STEPS, 100):
        values = ",".join(f'"m{number}":{first % 97}' for number in range(SERIES))
        rows = ",".join(f'{{"step":{step},"values":{{{values}}}}}' for step in range(first, first + 100))
        body = f'{{"project":"p","run":"charted","points":[{rows}]}}'.encode()
        with suppress(httpx.TransportError):
            httpx.post(f"{target.address}/api/v1/ingest", content=body, headers=JSON, timeout=120)


def many_new_points(target: Target) -> None:
    """50 million points in 500 series, and somebody who reads the overview meanwhile."""

    def look() -> None:
        while True:
            with suppress(httpx.TransportError):
                httpx.get(f"{target.address}/api/v1/runs", timeout=300)

    threading.Thread(target=look, daemon=True).start()
    names = [f"m{number}" for number in range(SERIES - 1)] + ["loss"]
    random = np.random.default_rng(1)
    with httpx.Client(timeout=300, headers={"Content-Type": "application/msgpack"}) as client:
        for first in range(0, 100_000, 500):
            rows = np.arange(first, first + 500)
            body = {
                "project": "p",
                "run": "long",
                "writer": "w",
                "batch_id": str(first),
                "steps": rows.astype("<i8").tobytes(),
                "times": (1.7e9 + rows).astype("<f8").tobytes(),
                "metrics": names,
                "values": (2.5 + random.normal(0, 0.05, (SERIES, 500))).astype("<f8").tobytes(),
            }
            with suppress(httpx.TransportError):
                client.post(f"{target.address}/api/v1/ingest", content=msgspec.msgpack.encode(body))
    time.sleep(3600)


def short_headers(target: Target) -> None:
    """Requests of 16,000 short headers each."""
    request = b"GET /healthz HTTP/1.1\r\n" + b"a:b\r\n" * 16_000 + b"\r\n"
    flood(target, lambda: request)


def pipelined_requests(target: Target) -> None:
    """Thousands of requests sent at once behind a body that takes long to arrive."""
    slow = b"POST /api/v1/ingest HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n0123456789"
    request = slow + b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n" * 7_000
    flood(target, lambda: request)


def byte_chunks(target: Target) -> None:
    """Bodies in chunks of one byte."""
    head = b"POST /api/v1/ingest HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    flood(target, lambda: head + b"1\r\n \r\n" * 100_000)


def idle_connections(target: Target) -> None:
    """1,100 connections that send nothing, renewed where the server ends them."""
    sockets: list[socket.socket] = []
    while True:
        with suppress(OSError):
            sockets.append(socket.create_connection(target.host_and_port, timeout=5))
        if len(sockets) > 1100:
            sockets.pop(0).close()


def unread_responses(target: Target) -> None:
    """Requests of the chart library whose responses nobody reads."""
    page = httpx.get(f"{target.address}/", timeout=60, follow_redirects=True).text
    path = next(part for part in page.split('"') if "plotly" in part and part.endswith(".js"))
    request = f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode() * 20
    sockets: list[socket.socket] = []
    for _ in range(UNREAD):
        with suppress(OSError):
            connection = socket.socket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.settimeout(5)
            connection.connect(target.host_and_port)
            connection.sendall(request)
            sockets.append(connection)
    time.sleep(3600)


def flood(target: Target, request: Callable[[], bytes]) -> None:
    """Send a request over 200 connections at once, again and again."""
    for _ in rounds():
        sockets = []
        for _ in range(CONNECTIONS):
            with suppress(OSError):
                connection = socket.create_connection(target.host_and_port, timeout=5)
                connection.setblocking(False)
                sockets.append((connection, memoryview(request())))
        until = time.monotonic() + 10
        while sockets and time.monotonic() < until:
            sockets = [(connection, rest) for connection, rest in map(send_some, sockets) if rest]


def rounds() -> Iterator[int]:
    """0, 1, 2 ..."""
    return iter(count())


def send_some(sending: tuple[socket.socket, memoryview[int]]) -> tuple[socket.socket, memoryview[int]]:
    """Send what the connection takes, and read what has arrived; what is left to be sent."""
    connection, rest = sending
    try:
        rest = rest[connection.send(rest[:65_536]) :]
        connection.recv(65_536)
    except BlockingIOError:
        pass
    except OSError:
        rest = rest[:0]
    return connection, rest


def in_parallel(work: Callable[[], None], threads: int) -> None:
    """Do the same in several threads."""
    started = [threading.Thread(target=work, daemon=True) for _ in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
