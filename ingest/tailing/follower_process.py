"""Follows files in a process of its own, which is replaced when a file hangs, overloads or kills it.

The sink stays in this process: a worker process reads and asks this one to store (`worker_process.py`). One
file that takes too long, too much memory, or the whole worker with it is reported, set aside and tried again
later; all others are read on by the next worker from their stored cursors.
"""

from __future__ import annotations

import logging
import mmap
import os
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from holter.custom_format import CustomFormat
from holter.ingest.child_process import describe_ending, start_child
from holter.ingest.names import storable_text
from holter.ingest.safe_pickles import MessageError
from holter.ingest.tailing.failures import FileFailures
from holter.ingest.tailing.messages import MessageDecoder, Reply, Request, encode_reply
from holter.ingest.tailing.remote_sink import MAX_MESSAGE_BYTES
from holter.ingest.tailing.sink import Sink
from holter.ingest.tailing.task_table import RunningTask, TaskTable
from holter.ingest.tailing.worker_options import LAG, STOP, TailingLag, WorkerOptions
from holter.ingest.thread_time import thread_seconds
from holter.types import Cursor, Unreadable

_log = logging.getLogger(__name__)

_WORKER = "holter.ingest.tailing.worker_process"
_CHECK_SECONDS = 0.2
_STUCK_SECONDS = 60.0
"""Seconds in which a file that is being read must make some progress or use some processor time."""
_STUCK_USE = 0.05
_LIVED_LONG = 10.0
_FIRST_RESTART, _LAST_RESTART = 0.5, 10.0
_LAG_SECONDS, _FIRST_LAG_SECONDS, _ASK_AGAIN = 2.0, 10.0, 1.0
"""Seconds to wait for a worker's answer, for its first one, and until it is asked again."""
_GRACE_SECONDS = 0.3
"""Seconds in which a worker may complete the file that it is reading when it is stopped."""
_KILL_SECONDS = 2.0
_SPARE_SLOTS = 4
_LEAST_READERS = 4
"""Runs that the worker reads at a time also where the sink takes one call at a time: one may take long."""


@dataclass(frozen=True, kw_only=True)
class ParsingLimits:
    """What reading one file may take: `seconds` of processor time for each MiB, and `memory` in bytes.

    The memory is that of the process, for all files that it reads at a time.
    """

    seconds: float = 5.0
    memory: int = 300 * 2**20


class FollowerStartError(Exception):
    """The worker cannot start, whatever is repeated; the message says why."""


class FollowerProcess:
    """A `Follower` in another process. `run` returns when `stop` is set, whatever the other process does."""

    def __init__(
        self,
        roots: Sequence[Path],
        sink: Sink,
        *,
        stop: threading.Event,
        project: str = "default",
        poll: float | None = None,
        host: str = "",
        custom_formats: Sequence[CustomFormat] = (),
        at_once: int = 1,
        limits: ParsingLimits = ParsingLimits(),
        caught_up: Callable[[list[str]], None] = lambda _: None,
    ) -> None:
        self._sink, self._stop, self._limits, self._caught_up = sink, stop, limits, caught_up
        self._calls_at_once = at_once
        self._options = WorkerOptions(
            roots=tuple(roots),
            project=project,
            poll=poll,
            host=host,
            custom_formats=tuple(custom_formats),
            at_once=max(at_once, _LEAST_READERS),
            memory=limits.memory,
            failures=FileFailures(),
            log_level=_log_level(),
        )
        self._lag = TailingLag(
            files=0, files_behind=0, bytes_behind=0, seconds_behind=0.0, failing=0, last_error=""
        )
        self._lag_arrived = threading.Event()
        self._last_error = ""
        self._fatal = ""
        self._has_caught_up = False
        self._logged: set[tuple[str, str]] = set()
        self._worker: Worker | None = None

    def run(self) -> None:
        """Follow until the stop is set. Raises FollowerStartError where no worker can ever start."""
        pause = _FIRST_RESTART
        while not self._stop.is_set():
            began = time.monotonic()
            worker = self._worker = Worker(
                self._options, self._sink, self._notice, calls_at_once=self._calls_at_once
            )
            try:
                known = self._watch(worker)
                if self._stop.is_set():
                    # in a thread: a worker that is stuck takes no messages
                    threading.Thread(target=worker.request, args=(STOP,), daemon=True).start()
                    worker.wait(_GRACE_SECONDS)
            finally:
                self._worker = None
                worker.kill()
            if self._fatal:
                raise FollowerStartError(self._fatal)
            if self._stop.is_set():
                return
            pause = _FIRST_RESTART if time.monotonic() - began > _LIVED_LONG else pause
            if not known:
                _log.warning("the process that reads files ended (%s); another one continues", worker.ending)
                self._stop.wait(pause)
                pause = min(2 * pause, _LAST_RESTART)

    def lag(self) -> TailingLag:
        """How far reading is behind writing; the last known answer where the worker gives none in time."""
        worker = self._worker
        if worker is not None:
            first = not self._lag_arrived.is_set()
            self._lag_arrived.clear()
            end = time.monotonic() + (_FIRST_LAG_SECONDS if first else _LAG_SECONDS)
            while not self._lag_arrived.is_set() and time.monotonic() < end and not self._stop.is_set():
                worker.request(LAG)
                self._lag_arrived.wait(_ASK_AGAIN)
        lag, aside = self._lag, self._options.failures.count(time.monotonic())
        if not aside:
            return lag
        return replace(lag, failing=lag.failing + aside, last_error=lag.last_error or self._last_error)

    def _watch(self, worker: Worker) -> bool:
        """Watch a worker until it must be replaced or the stop is set; whether a file was the reason."""
        watch = TaskWatch(worker.pid, self._limits.seconds)
        while not self._stop.wait(_CHECK_SECONDS):
            now = time.monotonic()
            if worker.has_ended():
                running = worker.table.running()
                failures, reasons = self._options.failures.with_death(running, now)
                self._options = replace(self._options, failures=failures)
                for task in reasons:
                    self._report(task, f"expected to read it: the process that reads it {worker.ending}")
                return bool(running)
            if over := watch.check(worker.table.running(), now):
                worker.kill()
                failures = self._options.failures
                for task, _ in over:
                    failures = failures.with_failure(task, now)
                self._options = replace(self._options, failures=failures)
                for task, reason in over:
                    self._report(task, reason)
                return True
        return True

    def _report(self, running: RunningTask, reason: str) -> None:
        """Report a file once, also over restarts."""
        task, project = running.task, self._options.project
        source = task.name or storable_text(
            f"{self._options.host}:{task.path}" if self._options.host else task.path
        )
        aside = self._options.failures.aside[task.path]
        self._last_error = f"{task.path} cannot be read: {reason}"
        if (source, reason) not in self._logged:
            _log.warning("%s: set aside, tried again from time to time: %s", source, reason)
        self._logged.add((source, reason))
        _log.info("%s: set aside for %g s", source, aside.pause)
        try:
            cursor = self._sink.cursor(source) or Cursor(
                source=source, format=task.format, offset=0, identity="", state={}
            )
            if cursor.state.get("failure") == reason:
                return
            unreadable = Unreadable(
                location=f"byte {running.position}", reason=reason, source=source, project=project,
                run=storable_text(task.run) or None,
            )  # fmt: skip
            marked = replace(cursor, state={**cursor.state, "failure": reason})
            self._sink.report_unreadable(unreadable, cursor=marked)
        except Exception as error:
            _log.warning("%s: the problem is not stored: %s", source, error)

    def _notice(self, request: Request) -> None:
        """Take a message of the worker."""
        if request.method == "lag":
            self._lag = TailingLag(**request.arguments[0])
            self._lag_arrived.set()
        elif request.method == "caught_up" and not self._has_caught_up:
            self._has_caught_up = True
            self._caught_up(list(request.arguments[0]))
        elif request.method == "failed":
            self._fatal = str(request.arguments[0])


class Worker:
    """A worker process, and the threads that do what it asks for."""

    def __init__(
        self,
        options: WorkerOptions,
        sink: Sink,
        notice: Callable[[Request], None],
        *,
        calls_at_once: int = 1,
    ) -> None:
        self._sink, self._notice = sink, notice
        self.ending = ""
        with tempfile.TemporaryFile() as memory:
            size = TaskTable.size_of(options.at_once + _SPARE_SLOTS)
            memory.truncate(size)
            self.table = TaskTable(mmap.mmap(memory.fileno(), size))
            ours, theirs = socket.socketpair()
            with theirs:
                self._process = start_child(_WORKER, (theirs.fileno(), memory.fileno()))
        self.pid = self._process.pid
        self._socket, self._connection = ours, Connection(os.dup(ours.fileno()))
        self._sending = threading.Lock()
        self._pool = ThreadPoolExecutor(calls_at_once, thread_name_prefix="followed")
        self._reply(Reply(0, options))
        self._reader = threading.Thread(target=self._receive, name="follower-requests", daemon=True)
        self._reader.start()

    def has_ended(self) -> bool:
        """Whether the process has ended; `ending` then says how."""
        code = self._process.poll()
        if code is None:
            return False
        self.ending = self.ending or describe_ending(code)
        return True

    def request(self, request: str) -> None:
        """Send one of the worker's requests; the answer, if there is one, is a notice."""
        self._reply(Reply(0, request))

    def wait(self, seconds: float) -> None:
        """Wait until the process has ended."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def kill(self) -> None:
        """End the process, whatever it does, and wait until the calls that it made have returned."""
        self._process.kill()
        try:
            self._process.wait(_KILL_SECONDS)
        except subprocess.TimeoutExpired:  # it waits for a disk; without the connection it can do nothing
            _log.warning("the process %s that reads files does not end", self.pid)
        self.has_ended()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._reader.join(_KILL_SECONDS)
        # what was asked for is stored before another process asks for the cursors
        self._pool.shutdown(wait=True)
        self._connection.close()
        self._socket.close()

    def _receive(self) -> None:
        decoder = MessageDecoder()
        try:
            while True:
                request = decoder.decode(self._connection.recv_bytes(MAX_MESSAGE_BYTES + 1))
                if request.number:
                    self._pool.submit(self._handle, request)
                else:
                    self._notice(request)
        except MessageError as error:
            self.ending = f"sent what is no message: {error}"
            self._process.kill()
        except (OSError, EOFError, RuntimeError):
            return

    def _handle(self, request: Request) -> None:
        try:
            method: Callable[..., Any] = _METHODS[request.method](self._sink)
            value = method(*request.arguments, **request.named)
            reply = Reply(request.number, value if isinstance(value, Cursor | list) else None)
        except Exception as error:
            refused = isinstance(error, ValueError)
            text = str(error) if refused else f"{type(error).__name__}: {error}"
            reply = Reply(request.number, None, text or type(error).__name__, refused)
        self._reply(reply)

    def _reply(self, reply: Reply) -> None:
        with suppress(OSError), self._sending:  # the process is gone: it asks again after its restart
            self._connection.send_bytes(encode_reply(reply))


_METHODS: dict[str, Callable[[Sink], Callable[..., object]]] = {
    "accept": lambda sink: sink.accept,
    "cursor": lambda sink: sink.cursor,
    "cursors": lambda sink: lambda sources: [sink.cursor(source) for source in sources],
    "save_cursor": lambda sink: sink.save_cursor,
    "report_unreadable": lambda sink: sink.report_unreadable,
}


@dataclass
class _Seen:
    position: int
    used: float
    at: float


class TaskWatch:
    """Finds tasks of a process that take more processor time than they may, or make no progress."""

    def __init__(self, pid: int, seconds: float) -> None:
        self._pid, self._seconds = pid, seconds
        self._seen: dict[int, _Seen] = {}

    def check(self, tasks: Sequence[RunningTask], now: float) -> list[tuple[RunningTask, str]]:
        """The tasks that must be ended, and why."""
        over = []
        seen: dict[int, _Seen] = {}
        for running in tasks:
            used = thread_seconds(self._pid, running.thread)
            used = None if used is None else used - running.began
            if used is not None and used > running.task.allowed_seconds(self._seconds, running.position):
                reason = (
                    f"expected to read it within {self._seconds:g} s of processor time for each MiB, "
                    "as the setting parse_seconds states"
                )
                over.append((running, reason))
                continue
            last = self._seen.get(running.version)
            if last is None or running.waiting or _has_moved(last, running.position, used):
                last = _Seen(running.position, used or 0.0, now)
            seen[running.version] = last
            if now - last.at > _STUCK_SECONDS:
                over.append((running, f"expected to read on: nothing has happened for {_STUCK_SECONDS:g} s"))
        self._seen = seen
        return over


def _has_moved(last: _Seen, position: int, used: float | None) -> bool:
    return position != last.position or (used is not None and used - last.used > _STUCK_USE)


def _log_level() -> int | None:
    root = logging.getLogger()
    return root.getEffectiveLevel() if root.handlers else None
