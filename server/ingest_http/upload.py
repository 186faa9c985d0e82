"""Receives bodies too large for memory into a temporary file that is deleted with the request."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO

import zstandard
from starlette.concurrency import run_in_threadpool

from holter.server.ingest_http.arriving_bodies import BodyTimeoutError, ClientDisconnectedError
from holter.server.ingest_http.compression import ZSTD_WINDOW, CompressionError, TooLargeError
from holter.server.ingest_http.memory_budget import MemoryBudgetError

CODINGS = frozenset({"identity", "zstd"})
_MAX_UPLOADS = 4
_TURN_SECONDS = 30.0  # seconds to wait for earlier imports: proxies have no longer timeouts
_PIECE = 2**20  # bytes per write
_IDLE_SECONDS = 60.0  # seconds without data
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


class Uploads:
    """Receives files: a few at a time, of which one at a time is processed."""

    def __init__(self, folder: Path | None, limit: int) -> None:
        """`folder`: where the temporary files are created, None for the default; `limit`: bytes of each."""
        self._folder = folder
        self._limit = limit
        self.active = 0
        self._turn = asyncio.Semaphore()

    @asynccontextmanager
    async def file(self, receive: Receive, coding: str) -> AsyncIterator[BinaryIO]:
        """Receive and decompress the body.

        Raises TooLargeError, CompressionError, BodyTimeoutError, ClientDisconnectedError, MemoryBudgetError,
        and OSError where the disk is full.
        """
        if self.active == _MAX_UPLOADS:
            raise MemoryBudgetError(f"{_MAX_UPLOADS} uploads are in progress already")
        self.active += 1
        try:
            with tempfile.TemporaryFile(dir=self._folder, prefix="holter-upload-") as file:
                await self._receive(receive, coding, file)
                file.seek(0)
                yield file
        finally:
            self.active -= 1

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait until no other file is processed. Raises MemoryBudgetError where that takes long."""
        try:
            await asyncio.wait_for(self._turn.acquire(), _TURN_SECONDS)
        except TimeoutError:
            raise MemoryBudgetError("another import is in progress") from None
        try:
            yield
        finally:
            self._turn.release()

    async def _receive(self, receive: Receive, coding: str, file: IO[bytes]) -> None:
        sink = _SizeLimitedFile(file, self._limit)
        write = sink.write
        if coding == "zstd":
            decompressor = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW)
            write = decompressor.stream_writer(sink, closefd=False).write  # type: ignore[arg-type]
        try:
            async for piece in _pieces(receive):
                await run_in_threadpool(write, piece)
        except zstandard.ZstdError as error:
            raise CompressionError(f"the body is not {coding}: {error}") from error


async def _pieces(receive: Receive) -> AsyncIterator[bytes]:
    buffer = bytearray()
    more_body = True
    while more_body:
        try:
            async with asyncio.timeout(_IDLE_SECONDS):
                message = await receive()
        except TimeoutError:
            raise BodyTimeoutError(f"no data of the body has arrived for {_IDLE_SECONDS:g} s") from None
        if message["type"] != "http.request":
            raise ClientDisconnectedError
        buffer += message.get("body", b"")
        more_body = bool(message.get("more_body"))
        if buffer and (len(buffer) >= _PIECE or not more_body):
            yield bytes(buffer)
            buffer.clear()


class _SizeLimitedFile:
    """A file that raises TooLargeError beyond a number of bytes."""

    def __init__(self, file: IO[bytes], limit: int) -> None:
        self._file, self._limit, self._size = file, limit, 0

    def write(self, data: bytes) -> int:
        self._size += len(data)
        if self._size > self._limit:
            raise TooLargeError(self._limit, "max_import_mb")
        return self._file.write(data)

    def flush(self) -> None:
        """No-op: the file is flushed by its owner."""
