"""Compiled reading of event files, if numba is installed: compiled in the background, never waited for."""

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

from holter.ingest.memory_limit import add_memory
from holter.ingest.tensorboard.records import Records
from holter.types import FloatArray, IntArray

_log = logging.getLogger(__name__)

_COMPILED = "holter.ingest.tensorboard.numba_kernels"
_MIN_BYTES = 16 * 1024 * 1024  # a process that reads less is done before it gains anything
_LONGEST_COMPILATION = 300.0
_COMPILATION = (
    "import os; from holter.ingest.memory_limit import lift_memory_limit; "
    "os.nice(10); lift_memory_limit(); import "
)
_COMPILER_BYTES = 192 * 1024 * 1024
"""Memory that loading the compiled kernels takes, with numba and LLVM: 145 MiB were measured."""


class PlainEvents(NamedTuple):
    """Points of the plain events of a block, in the order of their events.

    `steps` and `times` have an entry per event, valid where `odd` is 0. `event` [n], `values` [n],
    `tensor` [n] is true for values in tensors, `code` [n] is an index into `tags`, the bytes of the tags.
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
    """Compiled equivalents of `RecordWalker.walk`, and of `ScalarDecoder.decode` for plain events."""

    def walk(self, block: bytes) -> Records:
        """The complete records of a block."""
        ...

    def scan(self, block: bytes, start: IntArray, end: IntArray) -> PlainEvents:
        """The scalars of the plain events at bytes [start, end) of a block."""
        ...


class BackgroundCompiler:
    """Provides kernels once a separate process has compiled them; reading continues meanwhile.

    Compilation begins when this process has read `min_bytes` bytes. Without numba, or if compilation fails,
    there are never any kernels.
    """

    def __init__(self, *, min_bytes: int = _MIN_BYTES, compiled: str = _COMPILED) -> None:
        self._left, self._compiled = min_bytes, compiled
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._prepare, name="holter-kernels", daemon=True)
        self._kernels: Kernels | None = None

    def __call__(self, size: int) -> Kernels | None:
        """The kernels for reading another `size` bytes, None while there are none."""
        if self._left > 0:
            with self._lock:
                due, self._left = 0 < self._left <= size, self._left - size
            if due:
                self._thread.start()
        return self._kernels

    @property
    def has_begun(self) -> bool:
        """Whether enough has been read for the compilation to begin."""
        return self._left <= 0

    def wait(self, seconds: float) -> None:
        """Wait until the compilation has succeeded or failed."""
        self._thread.join(seconds)

    def _prepare(self) -> None:
        if find_spec("numba") is None:
            return
        command = [sys.executable, "-c", _COMPILATION + self._compiled]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=_LONGEST_COMPILATION)
            add_memory(_COMPILER_BYTES)
            self._kernels = import_module(self._compiled)
        except (OSError, subprocess.SubprocessError, ImportError, RuntimeError) as error:
            _log.info("event files are read in numpy alone, since compilation failed: %s", error)


def no_kernels(size: int) -> None:
    """Read in numpy alone."""


background_kernels = BackgroundCompiler()
