"""A table in shared memory of the files on which the threads of a process are working.

The process writes it, and another one reads it, also after the first one has died.
"""

from __future__ import annotations

import json
import mmap
import struct
import threading
import time
from dataclasses import asdict, dataclass

from holter.ingest.file_tasks import FileTask

_SLOT_BYTES = 65536
_MAX_TEXT = 3000
"""Longest path, name and run that are written in full."""
_HEAD = struct.Struct("<qqdqqi")


@dataclass(frozen=True, kw_only=True, slots=True)
class RunningTask:
    """A task that a thread has not ended.

    `version` differs from that of any other task; `thread` is the number that the kernel gave to the thread;
    `began` its processor time in seconds at the beginning; `position` the byte up to which the file has been
    read; `waiting`: the thread is waiting for what it has read to be stored.
    """

    version: int
    thread: int
    began: float
    position: int
    waiting: bool
    task: FileTask


class TaskTable:
    """A table for a number of threads in `TaskTable.size_of(threads)` bytes of memory.

    Its writer is a `TaskObserver`. Tasks of more threads than it was made for are not recorded.
    """

    def __init__(self, memory: mmap.mmap) -> None:
        self._memory = memory
        self._lock = threading.Lock()
        self._free = list(range(len(memory) // _SLOT_BYTES))
        self._local = threading.local()
        self._versions = 0

    @staticmethod
    def size_of(threads: int) -> int:
        """Bytes of the table for so many threads."""
        return threads * _SLOT_BYTES

    def begin(self, task: FileTask) -> None:
        """Record that the calling thread begins a task."""
        stack = self._stack()
        if not stack:
            with self._lock:
                self._local.slot = self._free.pop() if self._free else None
        stack.append(task)
        self._write(task)

    def progress(self, position: int) -> None:
        """Record how far the calling thread has read its file."""
        slot = getattr(self._local, "slot", None)
        if slot is not None:
            struct.pack_into("<q", self._memory, slot * _SLOT_BYTES + 24, position)

    def wait(self, waiting: bool) -> None:
        """Record whether the calling thread waits for what it has read to be stored."""
        slot = getattr(self._local, "slot", None)
        if slot is not None:
            struct.pack_into("<q", self._memory, slot * _SLOT_BYTES + 32, waiting)

    def end(self) -> None:
        """Record that the calling thread has ended its task and goes on with the one around it."""
        stack = self._stack()
        stack.pop()
        if stack:  # the time of the inner task is not the outer one's
            self._write(stack[-1])
            return
        slot, self._local.slot = self._local.slot, None
        if slot is not None:
            struct.pack_into("<q", self._memory, slot * _SLOT_BYTES, 0)
            with self._lock:
                self._free.append(slot)

    def running(self) -> list[RunningTask]:
        """The tasks that have not ended; called by the other process."""
        found = (self._read(offset) for offset in range(0, len(self._memory), _SLOT_BYTES))
        return [task for task in found if task is not None]

    def clear(self) -> None:
        """Forget all tasks, for another process that writes."""
        for offset in range(0, len(self._memory), _SLOT_BYTES):
            struct.pack_into("<q", self._memory, offset, 0)

    def _stack(self) -> list[FileTask]:
        if not hasattr(self._local, "stack"):
            self._local.stack, self._local.slot = [], None
        stack: list[FileTask] = self._local.stack
        return stack

    def _write(self, task: FileTask) -> None:
        slot = self._local.slot
        if slot is None:
            return
        offset = slot * _SLOT_BYTES
        struct.pack_into("<q", self._memory, offset, 0)  # not to be read while it changes
        text = json.dumps(_shortened(task)).encode()
        _HEAD.pack_into(
            self._memory, offset, 0, threading.get_native_id(), time.thread_time(), task.start, 0, len(text)
        )
        self._memory[offset + _HEAD.size : offset + _HEAD.size + len(text)] = text
        with self._lock:
            self._versions += 1
            version = self._versions
        struct.pack_into("<q", self._memory, offset, version)

    def _read(self, offset: int) -> RunningTask | None:
        version, thread, began, position, waiting, length = _HEAD.unpack_from(self._memory, offset)
        if not version or not 0 < length <= _SLOT_BYTES - _HEAD.size:
            return None
        text = self._memory[offset + _HEAD.size : offset + _HEAD.size + length]
        if struct.unpack_from("<q", self._memory, offset)[0] != version:
            return None
        return RunningTask(
            version=version,
            thread=thread,
            began=began,
            position=position,
            waiting=bool(waiting),
            task=FileTask(**json.loads(text)),
        )


def _shortened(task: FileTask) -> dict[str, object]:
    fields = asdict(task)
    return {name: value[:_MAX_TEXT] if isinstance(value, str) else value for name, value in fields.items()}
