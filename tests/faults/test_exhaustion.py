"""Attacks on a server that need no login: each ends with a refusal, in little memory, and delays nobody.

The limits are those of the defaults where that is cheap; time-outs are short so that tests need not wait.
"""

from __future__ import annotations

import json
import re
import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from holter.server.api.request_limits import SESSION_BODY_BYTES
from holter.server.api.static_files import PLOTLY_PATH
from holter.server.http_protocol import LINGER_BYTES
from tests.support.servers import forked
from tests.support.waiting import wait_for

pytestmark = pytest.mark.slow

MIB = 2**20
HEAD = b"POST /api/v1/session HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
QUICK = {"header_seconds": 0.5, "body_seconds": 0.5, "write_seconds": 1, "idle_seconds": 1}
KERNEL_BUFFERS = 16 * MIB
"""Bytes that the kernel may take for both ends of a connection on loopback."""


class Attacked:
    """A server process: its address, its memory, and whether it answers others meanwhile."""

    def __init__(self, pid: int, address: str) -> None:
        self.address = address
        self.port = int(address.rpartition(":")[2])
        self.process = psutil.Process(pid)

    def connect(self, **options: int) -> closing[socket.socket]:
        """A connection that waits for a minute at most; `options` of the socket are set before."""
        line = socket.socket()
        line.settimeout(60)
        for name, value in options.items():
            line.setsockopt(socket.SOL_SOCKET, getattr(socket, name), value)
        line.connect(("127.0.0.1", self.port))
        return closing(line)

    def memory(self) -> int:
        """Bytes in use by the server."""
        return int(self.process.memory_info().rss)

    def answers(self) -> bool:
        """Whether somebody else's request is answered."""
        try:
            return httpx.get(f"{self.address}/healthz", timeout=60).status_code == 200
        except httpx.TransportError:
            return False


@contextmanager
def attacked(folder: Path, password: str = "correct horse", **limits: float) -> Iterator[Attacked]:
    """A server with a login; `limits` of [http] that differ from the defaults."""
    settings = {"HOLTER_HTTP": json.dumps(limits), "HOLTER_PASSWORD": password}
    with forked("serve", "--data-dir", folder, **settings) as (process, address):
        server = Attacked(process.pid, address)
        httpx.get(f"{address}{PLOTLY_PATH}", timeout=60)  # what is loaded once is not counted
        httpx.get(f"{address}{PLOTLY_PATH}", headers={"Accept-Encoding": "identity"}, timeout=60)
        yield server
        process.terminate()
        assert process.wait(60) == 0


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    """A server with the default limits."""
    with attacked(tmp_path_factory.mktemp("usual")) as server:
        yield server


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    """A server with short time-outs."""
    with attacked(tmp_path_factory.mktemp("impatient"), **QUICK) as server:
        yield server


def send_until_closed(line: socket.socket, piece: bytes, most: int) -> int:
    """How many bytes the server took before it closed the connection, `most` at most."""
    sent = 0
    with suppress(ConnectionError):
        while sent < most:
            sent += line.send(piece)
    return sent


def received(line: socket.socket) -> bytes:
    """All that arrives until the server closes the connection."""
    pieces = []
    with suppress(ConnectionError):
        while piece := line.recv(65_536):
            pieces.append(piece)
    return b"".join(pieces)


def status(response: bytes) -> int:
    """The status of a response, 0 where there is none."""
    found = re.match(rb"HTTP/1\.1 (\d+) ", response)
    return int(found[1]) if found else 0


def test_a_body_beyond_its_limit_is_refused_and_not_stored(usual: Attacked) -> None:
    chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    before = usual.memory()
    for header, piece in (
        (b"Content-Length: 1073741824\r\n\r\n", b" " * 65_536),
        (b"Transfer-Encoding: chunked\r\n\r\n", chunk),
    ):
        with usual.connect() as line:
            line.sendall(HEAD + header)
            sent = send_until_closed(line, piece, 128 * MIB)
            assert sent < LINGER_BYTES + KERNEL_BUFFERS
        with usual.connect() as line:  # who stops sending reads why
            line.sendall(HEAD + header + piece * 2)
            response = received(line)
            assert status(response) == 413
            assert b"larger than 16 KiB" in response
            assert b"connection: close" in response.lower()
    large = {"password": "x" * SESSION_BODY_BYTES}
    for path, limit in (("/api/v1/session", 0), ("/api/v1/agents", 2 * MIB), ("/healthz", 2 * MIB)):
        content = json.dumps(large) + " " * limit
        assert httpx.post(f"{usual.address}{path}", content=content, timeout=60).status_code == 413
    assert usual.memory() - before < 32 * MIB


def test_a_body_for_a_route_that_needs_a_login_is_not_read(usual: Attacked) -> None:
    head = b"POST /api/v1/ingest HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    for header in (b"Content-Length: 60000000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n"):
        with usual.connect() as line:
            line.sendall(head + header)
            piece = b" " * 65_536 if b"Length" in header else b"10000\r\n" + b" " * 65_536 + b"\r\n"
            assert send_until_closed(line, piece, 56 * MIB) < LINGER_BYTES + KERNEL_BUFFERS
        with usual.connect() as line:
            line.sendall(head + header)
            assert status(received(line)) == 401


@pytest.mark.parametrize(
    ("beginning", "piece", "expected"),
    [
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n", b"".join(b"a%04d: b\r\n" % n for n in range(5000)), 431),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ", b"a" * 65_536, 431),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n", b"a" * 65_536, 431),
        (b"GET /", b"a" * 65_536, 414),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;", b"a" * 65_536, 431),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: ", b"a" * 65_536, 431),
        (b"", b"\r\n" * 32_768, 431),
    ],
    ids=["many headers", "one line", "one name", "URL", "chunk extension", "trailer", "empty lines"],
)  # fmt: skip
def test_endless_headers_and_urls_end_at_their_limit(
    usual: Attacked, beginning: bytes, piece: bytes, expected: int
) -> None:
    before, processor = usual.memory(), sum(usual.process.cpu_times()[:2])
    for _ in range(3):
        with usual.connect() as line:
            line.sendall(beginning)
            assert send_until_closed(line, piece, 48 * MIB) < LINGER_BYTES + KERNEL_BUFFERS
        assert usual.answers()
    with usual.connect() as line:
        line.sendall(beginning + piece * 2)
        assert status(received(line)) == expected
    assert usual.memory() - before < 32 * MIB
    assert sum(usual.process.cpu_times()[:2]) - processor < 5


def test_slow_and_idle_connections_are_closed(impatient: Attacked) -> None:
    with ExitStack() as lines:
        silent, dripping_head, dripping_body, dripping_lines, idle = (
            lines.enter_context(impatient.connect()) for _ in range(5)
        )
        dripping_head.sendall(b"GET / HTTP/1.1\r\nX: ")
        dripping_body.sendall(HEAD + b"Content-Length: 1000\r\n\r\n")
        idle.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        drip(dripping_head, b"a")
        drip(dripping_body, b" ")
        drip(dripping_lines, b"\r\n")
        assert received(silent) == b""
        assert status(received(dripping_head)) in {408, 0}
        assert status(received(dripping_body)) in {408, 0}
        response = received(idle)
        assert status(response) == 200
        assert response.count(b"HTTP/1.1") == 1


def test_the_reason_for_a_time_out_is_told(impatient: Attacked) -> None:
    with impatient.connect() as head, impatient.connect() as body:
        head.sendall(b"GET / HTTP/1.1\r\nX: ")
        body.sendall(HEAD + b"Content-Length: 1000\r\n\r\n ")
        assert b"the headers did not arrive within 0.5 s" in received(head)
        assert b"of the body arrived in 0.5 s" in received(body)


def drip(line: socket.socket, piece: bytes) -> None:
    """Send small pieces until the server closes the connection."""
    deadline = time.monotonic() + 60
    with suppress(ConnectionError):
        while time.monotonic() < deadline:
            line.sendall(piece)
            time.sleep(0.05)
    assert time.monotonic() < deadline


def test_unread_responses_take_little_memory_and_are_given_up(tmp_path: Path) -> None:
    request = f"GET {PLOTLY_PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
    with attacked(tmp_path, write_seconds=3) as server, ExitStack() as lines:
        before = server.memory()
        unread = [lines.enter_context(server.connect(SO_RCVBUF=4096)) for _ in range(100)]
        for line in unread:
            line.sendall(request * 4)
        assert server.answers()
        assert server.memory() - before < 60 * MIB  # a copy for each of 100 would take 480 MB
        wait_for(lambda: len(open_connections(server)) == 0)
        assert server.answers()
        for line in unread[:3]:
            assert len(received(line)) < 2 * MIB


def open_connections(server: Attacked) -> list[Any]:
    """The server's own ends of the connections that are open."""
    return [each for each in server.process.net_connections("tcp") if each.status == "ESTABLISHED"]


def test_a_response_that_is_read_slowly_arrives_whole(impatient: Attacked) -> None:
    request = f"GET {PLOTLY_PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode()
    with impatient.connect(SO_RCVBUF=65_536) as line:
        line.sendall(request)
        response = b""
        while piece := line.recv(65_536):
            response += piece
            time.sleep(0.02)
        head, _, body = response.partition(b"\r\n\r\n")
        assert len(body) == int(re.search(rb"content-length: (\d+)", head)[1])  # type: ignore[index]


def test_idle_connections_lock_nobody_out(tmp_path: Path) -> None:
    limits = {"max_connections": 64, "max_connections_per_address": 32}
    with attacked(tmp_path, **limits) as server, ExitStack() as lines:
        idle = [lines.enter_context(server.connect()) for _ in range(200)]
        assert server.answers()
        with server.connect() as line:
            line.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert status(line.recv(4096)) == 200
        assert len(open_connections(server)) <= 33
        assert received(idle[0]) == b""  # the oldest one was closed
        sending = [lines.enter_context(server.connect()) for _ in range(100)]
        for line in sending:
            with suppress(ConnectionError):
                line.sendall(HEAD + b"Content-Length: 1000\r\n\r\n")
        assert server.answers()


def test_a_connection_that_had_requests_survives_silent_ones(tmp_path: Path) -> None:
    request = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with attacked(tmp_path, max_connections_per_address=32) as server, ExitStack() as lines:
        checker = lines.enter_context(server.connect())
        for _ in range(10):
            checker.sendall(request)
            response = b""
            while not response.endswith(b"}"):
                response += (piece := checker.recv(4096))
                assert piece, "the connection was closed"
            assert status(response) == 200
            for _ in range(50):
                lines.enter_context(server.connect())


def test_connections_beyond_the_limit_are_refused_while_all_are_in_use(tmp_path: Path) -> None:
    limits = {"max_connections": 64, "max_connections_per_address": 8}
    with attacked(tmp_path, **limits) as server, ExitStack() as lines:
        with httpx.Client(base_url=server.address, timeout=60) as browser:
            browser.post("/api/v1/session", json={"password": "correct horse"}).raise_for_status()
            cookie = f"holter_session={browser.cookies['holter_session']}"
        request = f"GET /api/v1/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookie}\r\n\r\n".encode()
        streams = [lines.enter_context(server.connect()) for _ in range(8)]
        for stream in streams:
            stream.sendall(request)
            assert status(stream.recv(4096)) == 200
        with server.connect() as line:
            response = received(line)
            assert status(response) == 503
            assert b"too many connections" in response
        streams[0].close()
        wait_for(server.answers)


def test_the_limit_of_open_files_is_raised(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, hard), hard))
    try:
        with attacked(tmp_path) as server:
            raised = psutil.Process(server.process.pid).rlimit(psutil.RLIMIT_NOFILE)[0]
            assert raised == min(hard, 65_536)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_server_stops_in_spite_of_slow_clients(tmp_path: Path) -> None:
    request = f"GET {PLOTLY_PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
    # the clients are there until the server has stopped
    with ExitStack() as lines, attacked(tmp_path) as server:
        for beginning in (request, b"GET / HTTP/1.1\r\nX: ", HEAD + b"Content-Length: 1000\r\n\r\n", b""):
            line = lines.enter_context(server.connect(SO_RCVBUF=4096))
            line.sendall(beginning)
        assert server.answers()
