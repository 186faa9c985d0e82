"""Bodies too large for memory: into a file that nobody sees, and that is gone with the request."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO

import zstandard
from starlette.concurrency import run_in_threadpool

from holter.server.ingest_http.compression import ZSTD_WINDOW, CompressionError, TooLargeError
from holter.server.ingest_http.memory_budget import NoRoomError
from holter.server.ingest_http.receiver import GoneError, SlowError

CODINGS = frozenset({"identity", "zstd"})
_AT_ONCE = 4
_TURN = 30.0  # seconds that one waits for those before it: proxies are no more patient
_PIECE = 2**20  # bytes that go to the disk at once
_PATIENCE = 60.0  # seconds without a byte
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


class Uploads:
    """One server's way in for files: a few at once, and one at a time is worked on."""

    def __init__(self, folder: Path | None, limit: int) -> None:
        """`folder`: where they lie meanwhile, None for where temporary files go; `limit`: bytes of each."""
        self._folder = folder
        self._limit = limit
        self.held = 0
        self._turn = asyncio.Semaphore()

    @asynccontextmanager
    async def file(self, receive: Receive, coding: str) -> AsyncIterator[BinaryIO]:
        """The whole body, unpacked.

        Raises TooLargeError, CompressionError, SlowError, GoneError, NoRoomError, OSError where the disk is
        full.
        """
        if self.held == _AT_ONCE:
            raise NoRoomError(f"{_AT_ONCE} files are on their way already")
        self.held += 1
        try:
            with tempfile.TemporaryFile(dir=self._folder, prefix="holter-upload-") as file:
                await self._take(receive, coding, file)
                file.seek(0)
                yield file
        finally:
            self.held -= 1

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Nobody else works on a file meanwhile. Raises NoRoomError where that takes long."""
        try:
            await asyncio.wait_for(self._turn.acquire(), _TURN)
        except TimeoutError:
            raise NoRoomError("another file is worked on") from None
        try:
            yield
        finally:
            self._turn.release()

    async def _take(self, receive: Receive, coding: str, file: IO[bytes]) -> None:
        sink = _Limited(file, self._limit)
        write = sink.write
        if coding == "zstd":
            unzip = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW)
            write = unzip.stream_writer(sink, closefd=False).write  # type: ignore[arg-type]
        try:
            async for piece in _pieces(receive):
                await run_in_threadpool(write, piece)
        except zstandard.ZstdError as error:
            raise CompressionError(f"the body is not {coding}: {error}") from error


async def _pieces(receive: Receive) -> AsyncIterator[bytes]:
    held = bytearray()
    more = True
    while more:
        try:
            async with asyncio.timeout(_PATIENCE):
                message = await receive()
        except TimeoutError:
            raise SlowError(f"nothing of the body has arrived for {_PATIENCE:g} s") from None
        if message["type"] != "http.request":
            raise GoneError
        held += message.get("body", b"")
        more = bool(message.get("more_body"))
        if held and (len(held) >= _PIECE or not more):
            yield bytes(held)
            held.clear()


class _Limited:
    """A file that takes so many bytes and no more."""

    def __init__(self, file: IO[bytes], limit: int) -> None:
        self._file, self._limit, self._size = file, limit, 0

    def write(self, data: bytes) -> int:
        self._size += len(data)
        if self._size > self._limit:
            raise TooLargeError(self._limit, "max_import_mb")
        return self._file.write(data)

    def flush(self) -> None:
        """It goes where the file goes."""
