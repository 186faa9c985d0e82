"""Memory for points that is used again for the next series."""

from __future__ import annotations

import numpy as np

from holter.types import FloatArray, IntArray


class ReadMemory:
    """Memory for the steps and values of one series at a time; for use by one thread.

    Memory of a million points that the system provides afresh takes as long as decoding them, and threads
    wait for each other meanwhile. What was read into this memory is valid until the next read into it.
    """

    def __init__(self) -> None:
        self._step = np.empty(0, dtype=np.int64)
        self._value = np.empty(0)

    def columns(self, size: int) -> tuple[IntArray, FloatArray]:
        """Steps and values [size], not initialized."""
        if size > len(self._step):
            self._step, self._value = np.empty(size, dtype=np.int64), np.empty(size)
        return self._step[:size], self._value[:size]
