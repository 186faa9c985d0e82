"""One connection does a bounded amount of work before others are served."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from uvicorn.config import Config
from uvicorn.server import ServerState

from holter.server.client_address import ProxyNetworks
from holter.server.connections import ConnectionTable
from holter.server.http_protocol import (
    CHUNKS_PIECE,
    HEAD_PIECE,
    MAX_HEADERS,
    REQUEST_PARTS,
    TURN_PARTS,
    BoundedHttpProtocol,
)
from holter.server.turns import ROUND_PARTS
from holter.settings.http import HttpSettings

CHUNKED = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
CHUNK = b"1\r\n \r\n"


class Transport(asyncio.Transport):
    """Keeps what is written, and whether reading is paused."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.reading = True
        self.closed = False

    def write(self, data: Any) -> None:
        self.written += bytes(data)

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def write_eof(self) -> None:
        pass

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True


async def app(
    scope: Any, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]
) -> None:
    """Answers when the body has been read, with its size."""
    size, more = 0, True
    while more:
        message = await receive()
        size, more = size + len(message.get("body", b"")), message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"size", b"%d" % size)]})
    await send({"type": "http.response.body", "body": b""})


def connection_table() -> ConnectionTable:
    """A table with the default limits."""
    return ConnectionTable(HttpSettings(), ProxyNetworks(()), descriptors=1000)


def connection(table: ConnectionTable | None = None) -> tuple[BoundedHttpProtocol, Transport]:
    """A connection of the running event loop, in a table of its own by default."""
    config = Config(app, log_config=None)
    config.load()
    table = table or connection_table()
    protocol = BoundedHttpProtocol(config, ServerState(), {}, asyncio.get_running_loop(), table=table)
    transport = Transport()
    protocol.connection_made(transport)
    return protocol, transport


async def until(condition: Callable[[], bool]) -> None:
    """Run the event loop until the condition holds."""
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0)


def test_small_chunks_are_read_in_turns() -> None:
    async def scenario() -> None:
        protocol, transport = connection()
        chunks = 40_000
        protocol.data_received(CHUNKED + CHUNK * chunks)
        assert len(protocol.cycle.body) <= TURN_PARTS + CHUNKS_PIECE
        assert not transport.reading
        await until(lambda: transport.reading)
        protocol.data_received(b"0\r\n\r\n")
        await until(lambda: b"size: %d\r\n" % chunks in transport.written)
        protocol.connection_lost(None)

    asyncio.run(scenario())


def test_large_chunks_and_bodies_of_known_length_need_few_turns() -> None:
    async def scenario() -> None:
        for request in (
            CHUNKED + b"30000\r\n" + b" " * 0x30000 + b"\r\n0\r\n\r\n",
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 196608\r\n\r\n" + b" " * 0x30000,
        ):
            protocol, transport = connection()
            protocol.data_received(request)
            assert len(protocol.cycle.body) == 0x30000
            await until(lambda: b"size: 196608\r\n" in transport.written)  # noqa: B023
            protocol.connection_lost(None)

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "body",
    [
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n ",
        CHUNKED + CHUNK + b"0\r\nContent-Length: 999999\r\n\r\n",
        CHUNKED + CHUNK + b"0\r\n\r\n",
    ],
    ids=["known length", "trailer", "chunks"],
)
def test_requests_behind_a_body_are_not_all_queued_at_once(body: bytes) -> None:
    async def scenario() -> None:
        protocol, transport = connection()
        protocol.data_received(body + GET * 400)
        assert len(protocol.pipeline) <= HEAD_PIECE // len(GET) + 1
        await until(
            lambda: protocol.transport.is_closing() or transport.written.count(b"HTTP/1.1 200") == 401
        )
        assert protocol.transport.is_closing() == (
            b"0\r\nContent-Length" in body
        )  # a trailer that is refused
        protocol.connection_lost(None)

    asyncio.run(scenario())


def test_many_short_headers_are_refused() -> None:
    async def scenario() -> None:
        protocol, transport = connection()
        protocol.data_received(GET[:-2] + b"a:\r\n" * (MAX_HEADERS - 1) + b"\r\n")
        await until(lambda: b"HTTP/1.1 200" in transport.written)
        protocol.data_received(GET[:-2] + b"a:\r\n" * MAX_HEADERS + b"\r\n")
        await until(lambda: b"HTTP/1.1 431" in transport.written)
        assert b"expected at most 256 headers" in transport.written
        protocol.connection_lost(None)

    asyncio.run(scenario())


def test_many_connections_together_do_a_bounded_amount_of_work_in_a_turn() -> None:
    async def scenario() -> None:
        table, requests = connection_table(), 150
        lines = [connection(table) for _ in range(100)]
        for protocol, _ in lines:
            protocol.data_received(GET * requests)
        parsed = sum(len(protocol.pipeline) + (protocol.cycle is not None) for protocol, _ in lines)
        assert parsed <= (ROUND_PARTS / REQUEST_PARTS) + HEAD_PIECE // len(GET) + 1
        late, transport = connection(table)
        await asyncio.sleep(0)
        late.data_received(GET)
        await until(lambda: b"HTTP/1.1 200" in transport.written)  # those that wait delay nobody
        answered = sum(transport.written.count(b"HTTP/1.1 200") for _, transport in lines)
        assert answered < len(lines) * requests / 10
        for _, transport in lines:
            await until(lambda: transport.written.count(b"HTTP/1.1 200") == requests)  # noqa: B023
        for protocol, _ in [*lines, (late, transport)]:
            protocol.connection_lost(None)

    asyncio.run(scenario())
