"""Reads an imported file in a process of its own, with limits of its memory and processor time.

A file that exceeds them, or that ends the process, is refused; the server goes on.
"""

from __future__ import annotations

import math
import os
import pickle
import resource
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, BinaryIO

from holter.ingest.child_process import describe_ending, start_child, write_no_core
from holter.ingest.memory_limit import limit_memory
from holter.ingest.safe_pickles import load_known_types
from holter.server.import_export.file_formats import MissingPyarrowError
from holter.server.import_export.point_rows import PointRows
from holter.server.import_export.read_file import FileContent, read_file
from holter.types import SeriesKey

MEMORY_BYTES = 2 * 2**30
"""What reading may allocate, beyond what the process needs to start."""
_SMALL_FILE = 256 * 1024
"""A text of this size is read here: it takes some milliseconds."""
_PARQUET = b"PAR1"
_KEYS_PER_MESSAGE = 5000
_MAX_HEAD_BYTES = 32 * 2**20
_UNKNOWN_FILE = "not a file of holter export or another tracker (decompress it first)"
_POLL_SECONDS = 0.2
_KILL_SECONDS = 2.0
_COLUMNS = ("key_index", "attempt", "step", "time", "value")


class ImportInterruptedError(RuntimeError):
    """The server is stopping: the import is to be repeated."""


class ReadingProcess:
    """Reads a file in another process, one after the other; `close` ends the last one.

    `seconds` is the processor time for each MiB. `is_stopping` tells when reading must end at once.
    """

    def __init__(self, *, seconds: float, is_stopping: Callable[[], bool] = lambda: False) -> None:
        self._seconds, self._is_stopping = seconds, is_stopping
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None

    def read(self, file: BinaryIO) -> FileContent:
        """Read a file like `read_file`.

        Raises what that does, also while the rows are read; ValueError where the file exceeds the limits or
        ends the process; ImportInterruptedError where the server is stopping.
        """
        self.close()
        first = os.pread(file.fileno(), len(_PARQUET), 0)
        size = os.fstat(file.fileno()).st_size
        if size <= _SMALL_FILE and first != _PARQUET:
            return read_file(file)
        file.seek(0)
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = start_child(__name__, (theirs.fileno(), file.fileno()))
        self._connection = Connection(ours.detach())
        allowed = math.ceil(self._seconds * max(1.0, size / 2**20))
        self._connection.send_bytes(pickle.dumps(allowed))
        run, tracker_run = self._receive("head")
        return FileContent(run, tracker_run, self._rows())

    def close(self) -> None:
        """End the process, whatever it does."""
        if self._connection is not None:
            self._connection.close()
        if self._process is not None:
            self._process.kill()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_KILL_SECONDS)

    def _rows(self) -> Iterator[PointRows]:
        while (count := self._receive("keys")[0]) is not None:
            keys: list[SeriesKey] = []
            while len(keys) < count:
                keys += [SeriesKey(*key) for key in self._receive("some keys")]
            columns = dict(zip(_COLUMNS, self._receive("rows"), strict=True))
            yield PointRows(keys=keys, **columns)

    def _receive(self, expected: str) -> Any:
        assert self._connection is not None
        try:
            while not self._connection.poll(_POLL_SECONDS):
                if self._is_stopping():
                    raise ImportInterruptedError("the server is stopping: repeat the import")
            kind, value = load_known_types(self._connection.recv_bytes())
        except (EOFError, OSError) as error:
            raise ValueError(self._describe_end()) from error
        if kind == "error":
            name, text = value
            raise {"MissingPyarrowError": MissingPyarrowError, "OSError": OSError}.get(name, ValueError)(text)
        if kind != expected:
            raise ValueError(f"expected {expected} from the process that reads it, found {kind}")
        return value

    def _describe_end(self) -> str:
        assert self._process is not None
        end = time.monotonic() + _KILL_SECONDS
        while self._process.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        code = self._process.poll()
        if code == -signal.SIGXCPU:
            return f"it takes more than {self._seconds:g} s of processor time for each MiB (parse_seconds)"
        return f"the process that reads it {describe_ending(0 if code is None else code)}"


def main(connection_descriptor: int, file_descriptor: int) -> None:
    """Read the file and send its content."""
    write_no_core()
    connection = Connection(connection_descriptor)
    with suppress(BrokenPipeError), os.fdopen(file_descriptor, "rb") as file:
        allowed = int(load_known_types(connection.recv_bytes()))
        used = resource.getrusage(resource.RUSAGE_SELF)
        limit = math.ceil(used.ru_utime + used.ru_stime) + allowed
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 10))
        limit_memory(MEMORY_BYTES)
        try:
            _send_content(connection, file)
        except BrokenPipeError:  # nobody waits for it any more
            raise
        except MissingPyarrowError as error:
            _send(connection, "error", ("MissingPyarrowError", str(error)))
        except OSError as error:
            _send(connection, "error", ("OSError", error.strerror or str(error)))
        except UnicodeDecodeError:
            _send(connection, "error", ("ValueError", _UNKNOWN_FILE))
        except MemoryError:
            _send(connection, "error", ("ValueError", "it needs more memory than an import may take"))
        except Exception as error:
            text = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
            _send(connection, "error", ("ValueError", text))


def _send_content(connection: Connection, file: BinaryIO) -> None:
    run, tracker_run, rows = read_file(file)
    head = pickle.dumps(("head", (run, tracker_run)), protocol=5)
    if len(head) > _MAX_HEAD_BYTES:
        raise ValueError(f"its head has {len(head):,} bytes, expected at most {_MAX_HEAD_BYTES:,}")
    connection.send_bytes(head)
    for portion in rows:
        _send(connection, "keys", (len(portion.keys),))
        for start in range(0, len(portion.keys), _KEYS_PER_MESSAGE):
            keys = [tuple(key) for key in portion.keys[start : start + _KEYS_PER_MESSAGE]]
            _send(connection, "some keys", keys)
        _send(connection, "rows", tuple(getattr(portion, name) for name in _COLUMNS))
    _send(connection, "keys", (None,))


def _send(connection: Connection, kind: str, value: object) -> None:
    connection.send_bytes(pickle.dumps((kind, value), protocol=5))
