"""Tells an observer which file a thread is working on, so that the work on one file can be limited.

Whoever limits it installs an observer (`set_observer`): a process of its own that reports to a supervisor
(`ingest/tailing/task_table.py`), or a timer in this process (`ingest/processor_time.py`). Without one these
functions cost nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

MIB = 2**20
WHOLE_FILE_SECONDS = 0.1
"""Seconds per MiB for formats that read a whole file before their first record."""
_MAX_WHOLE_FILE = 1024 * MIB


@dataclass(frozen=True, kw_only=True, slots=True)
class FileTask:
    """Work on one file: its format is being detected (`phase` "detect"), or it is being read ("read").

    `size` is that of the file in bytes. Reading begins at byte `start`; `name` and `format` are those of the
    cursor, `run` is the run that the file belongs to; all three are empty where they are not known yet.
    """

    path: str
    phase: str
    size: int = 0
    start: int = 0
    name: str = ""
    run: str = ""
    format: str = ""

    def allowed_seconds(self, seconds: float, position: int) -> float:
        """Processor time that the task may take until it has read up to `position`, a byte of the file.

        `seconds`: for the first MiB and for each further one.
        """
        size = self.size / MIB
        if self.path.endswith(".gz"):  # positions are those in the unpacked content
            return seconds * max(1.0, size)
        whole = WHOLE_FILE_SECONDS * max(0.0, min(self.size - self.start, _MAX_WHOLE_FILE) / MIB - 1)
        return seconds * max(1.0, (position - self.start) / MIB) + whole


class TaskObserver(Protocol):
    """What is told which file a thread is working on. Tasks of a thread are nested."""

    def begin(self, task: FileTask) -> None:
        """The calling thread begins a task."""
        ...

    def progress(self, position: int) -> None:
        """The calling thread has read up to a byte of its current file."""
        ...

    def end(self) -> None:
        """The calling thread has ended its current task."""
        ...


_observer: TaskObserver | None = None


def set_observer(observer: TaskObserver | None) -> None:
    """Install an observer for all threads of this process, or remove it."""
    global _observer
    _observer = observer


@contextmanager
def file_task(
    path: Path, phase: str, *, start: int = 0, name: str = "", run: str = "", format: str = ""
) -> Iterator[None]:
    """Work on a file while the context lasts."""
    observer = _observer
    if observer is None:
        yield
        return
    size = 0
    with suppress(OSError):
        size = os.stat(path).st_size
    task = FileTask(path=str(path), phase=phase, size=size, start=start, name=name, run=run, format=format)
    observer.begin(task)
    try:
        yield
    finally:
        observer.end()


def report_progress(position: int) -> None:
    """State that the current file has been read up to a byte."""
    if _observer is not None:
        _observer.progress(position)
