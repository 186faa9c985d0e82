"""Compiled reading of event files where numba is installed: made ready beside reading, never waited for."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from importlib import import_module
from importlib.util import find_spec
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from holter.ingest.tensorboard.records import Records
from holter.types import FloatArray, IntArray

_log = logging.getLogger(__name__)

_COMPILED = "holter.ingest.tensorboard.numba_kernels"
_MIN_BYTES = 16 * 1024 * 1024  # bytes: a process that reads less is done before it gains anything
_LONGEST_COMPILATION = 300.0


class PlainEvents(NamedTuple):
    """Points of the plain events of a block, in the order of their events.

    `steps` and `times` have an entry per event, right where `odd` is 0. `event` [n], `values` [n],
    `tensor` [n] says which stand in tensors, `code` [n] is an index into `tags`, the spellings.
    """

    steps: IntArray
    times: FloatArray
    odd: NDArray[np.uint8]
    event: IntArray
    values: FloatArray
    tensor: NDArray[np.bool_]
    code: IntArray
    tags: list[bytes]


class Kernels(Protocol):
    """What is compiled; the same as `Walker.walk`, and as `Decoder.decode` for the usual events."""

    def walk(self, block: bytes) -> Records:
        """The complete records of a block."""
        ...

    def scan(self, block: bytes, start: IntArray, end: IntArray) -> PlainEvents:
        """The scalars of the plain events at bytes [start, end) of a block."""
        ...


class BackgroundCompiler:
    """Kernels that are not there at once: a process of its own compiles them, so that reading goes on.

    It begins when a process has read `worth_it` bytes. Without numba, or where compiling fails, there
    never are any.
    """

    def __init__(self, *, min_bytes: int = _MIN_BYTES, compiled: str = _COMPILED) -> None:
        self._left, self._compiled = min_bytes, compiled
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._prepare, name="holter-kernels", daemon=True)
        self._kernels: Kernels | None = None

    def __call__(self, size: int) -> Kernels | None:
        """The kernels to read another `size` bytes with, None while there are none."""
        if self._left > 0:
            with self._lock:
                due, self._left = 0 < self._left <= size, self._left - size
            if due:
                self._thread.start()
        return self._kernels

    @property
    def has_begun(self) -> bool:
        """Whether so much has been read that compiling has begun."""
        return self._left <= 0

    def wait(self, seconds: float) -> None:
        """Wait until compiling is over, one way or the other."""
        self._thread.join(seconds)

    def _prepare(self) -> None:
        if find_spec("numba") is None:
            return
        command = [sys.executable, "-c", f"import os; os.nice(10); import {self._compiled}"]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=_LONGEST_COMPILATION)
            self._kernels = import_module(self._compiled)
        except (OSError, subprocess.SubprocessError, ImportError, RuntimeError) as error:
            _log.info("event files are read in numpy alone, since compiling failed: %s", error)


def no_kernels(size: int) -> None:
    """Read in numpy alone."""


background_kernels = BackgroundCompiler()
