"""A process that draws pictures, so that matplotlib is never loaded into the server.

Most of the time that a picture takes is the start of this process and its imports. It is therefore started
while a message still waits, draws more than one picture, and ends by itself once nobody needs it.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import threading
from typing import IO

_LENGTH_BYTES = 8
_CLOSE_SECONDS = 0.2
IDLE_SECONDS = 30.0
"""Seconds without a picture after which the process ends, and returns its memory."""


class PictureProcess:
    """Draws one picture after the other, for any thread. It ends with the server, however that ends."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self.close)

    def prepare(self) -> None:
        """Start the process, unless it runs or draws already."""
        if self._lock.acquire(blocking=False):
            try:
                self._running()
            finally:
                self._lock.release()

    def draw(self, request: bytes, *, timeout: float) -> bytes:
        """The picture that a request describes.

        Raises subprocess.SubprocessError when the process fails or takes longer than `timeout` seconds.
        """
        if not self._lock.acquire(timeout=timeout):
            raise subprocess.TimeoutExpired(self._module, timeout)
        try:
            try:
                return self._ask(self._running(), request, timeout)
            except subprocess.CalledProcessError as error:
                if error.returncode:
                    raise
            # it had ended just now, since nobody had asked for a picture
            return self._ask(self._running(), request, timeout)
        finally:
            self._lock.release()

    def close(self) -> None:
        """End the process, and with it a picture in progress; the next one starts another process."""
        if (process := self._process) is not None:
            process.kill()
            if self._lock.acquire(timeout=_CLOSE_SECONDS):  # else the picture in progress cleans up
                try:
                    self._end()
                finally:
                    self._lock.release()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._end()
            self._process = subprocess.Popen(
                [sys.executable, "-m", self._module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "MPLBACKEND": "Agg"},
            )
        return self._process

    def _ask(self, process: subprocess.Popen[bytes], request: bytes, timeout: float) -> bytes:
        assert process.stdin is not None
        assert process.stdout is not None
        timer = threading.Timer(timeout, process.kill)
        timer.start()
        try:
            write_block(process.stdin, request)
            picture = read_block(process.stdout)
        except OSError:
            picture = None
        finally:
            in_time = timer.is_alive()
            timer.cancel()
        if picture is None:
            self._end()
            if not in_time:
                raise subprocess.TimeoutExpired(self._module, timeout)
            raise subprocess.CalledProcessError(process.returncode, self._module)
        return picture

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()


def write_block(stream: IO[bytes], block: bytes) -> None:
    """Write bytes with their length before them."""
    stream.write(len(block).to_bytes(_LENGTH_BYTES, "big") + block)
    stream.flush()


def read_block(stream: IO[bytes]) -> bytes | None:
    """The next bytes that `write_block` wrote; None where the stream has ended."""
    length = stream.read(_LENGTH_BYTES)
    if len(length) < _LENGTH_BYTES:
        return None
    block = stream.read(size := int.from_bytes(length, "big"))
    return block if len(block) == size else None
