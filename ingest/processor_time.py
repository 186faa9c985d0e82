"""Limits the processor time for each file that the main thread of a command reads itself."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import FrameType

from holter.ingest.file_tasks import FileTask, set_observer

_CHECK_SECONDS = 0.25


class ProcessorTimeError(Exception):
    """Reading one file takes more processor time than it may."""


@dataclass
class _Timed:
    """A task that is measured: the thread's time when it began, less what parts before it took."""

    task: FileTask
    began: float
    position: int


class TaskTimer:
    """Raises ProcessorTimeError in a task of the main thread that takes more than `seconds` for each MiB.

    A file may be read in several tasks, each of which begins where the last one ended or behind it: their
    times add up. Time between two tasks does not count. Regular expressions and loops are interrupted; a
    single call into other compiled code ends first.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._tasks: list[_Timed] = []
        self._earlier: dict[tuple[str, str], tuple[_Timed, float]] = {}

    def begin(self, task: FileTask) -> None:
        """Begin to measure a task."""
        if threading.current_thread() is not threading.main_thread():
            return
        now = time.thread_time()
        earlier, used = self._earlier.pop((task.path, task.phase), (None, 0.0))
        if earlier is None or task.start < earlier.position:  # it is read from its beginning
            self._tasks.append(_Timed(task, now, task.start))
        else:
            whole = replace(task, start=earlier.task.start)
            self._tasks.append(_Timed(whole, now - used, task.start))

    def progress(self, position: int) -> None:
        """Take notice that the current file has been read up to a byte."""
        if self._tasks and threading.current_thread() is threading.main_thread():
            self._tasks[-1].position = position

    def end(self) -> None:
        """End the current task; the one around it begins anew."""
        if self._tasks and threading.current_thread() is threading.main_thread():
            now = time.thread_time()
            ended = self._tasks.pop()
            self._earlier[ended.task.path, ended.task.phase] = ended, now - ended.began
            if self._tasks:
                self._tasks[-1].began = now

    def check(self, _number: int = 0, _frame: FrameType | None = None) -> None:
        """Raise ProcessorTimeError if the current task has taken too long. A handler of SIGPROF."""
        if not self._tasks:
            return
        timed, now = self._tasks[-1], time.thread_time()
        if now - timed.began > timed.task.allowed_seconds(self._seconds, timed.position):
            timed.began = now  # whoever continues the task gets as much time again
            raise ProcessorTimeError(f"more than {self._seconds:g} s of processor time for each MiB")


@contextmanager
def limited_file_time(seconds: float) -> Iterator[None]:
    """Limit the processor time for each file while the context lasts; only in the main thread.

    A file that exceeds it is reported like any other that its format cannot read.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    timer = TaskTimer(seconds)
    earlier = signal.signal(signal.SIGPROF, timer.check)
    signal.setitimer(signal.ITIMER_PROF, _CHECK_SECONDS, _CHECK_SECONDS)
    set_observer(timer)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        set_observer(None)
        signal.signal(signal.SIGPROF, earlier)
