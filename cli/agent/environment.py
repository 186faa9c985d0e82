"""The environment that an agent states of a launch: what it knows of its host, and of the training process.

What it knows of its own host has the label `agent`, since the training may run elsewhere. The training
process is looked at only where `--process` asks for it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np

from holter.cli.agent.training_process import (
    TrainingProcess,
    capture_process,
    find_process,
    find_writer,
)
from holter.client.environment import (
    CAPTURE_SECONDS,
    Deadline,
    capture_job_shell,
    capture_machine,
    is_enabled,
)
from holter.types import Batch, Config, ConfigKey, Cursor, Delivery

WRITER = 0
"""Instead of the number of a process: the process that writes what the agent reads."""
RECENT_SECONDS = 600.0
"""Age of data up to which the environment of now is that of its launch."""
_MAX_SOURCES = 4096


def label_agent(settings: Mapping[str, Any], host: str) -> Config:
    """Settings that the agent states of its own host."""
    labels = (("agent", host[:200]),)
    return {ConfigKey(name, labels): value for name, value in settings.items()}


def find_training(process: int, target: str, deadline: Deadline) -> TrainingProcess | None:
    """The process with this number, or for `WRITER` the one that writes to `target`."""
    return find_writer(target, deadline) if process == WRITER else find_process(process)


class PipeEnvironment:
    """States the environment of the launch whose output is read from a pipe: once, from threads of its own.

    `process`: the number of the training process, `WRITER`, or None to state the agent's side only.
    """

    def __init__(self, environ: Mapping[str, str], host: str, process: int | None, source: int) -> None:
        self._environ, self._host, self._source = environ, host, source
        self._process = process if is_enabled(environ) else None
        self._known: SimpleQueue[Config] = SimpleQueue()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Capture what the agent shares with the job: launcher, variables, working folder, host."""
        if is_enabled(self._environ):
            self._capture(lambda: label_agent(capture_job_shell(self._environ), self._host))

    def training_began(self) -> None:
        """Capture the training process, which has loaded its libraries when it logs."""
        process, self._process = self._process, None
        if process is not None:
            self._capture(lambda: self._capture_training(process))

    def take(self) -> Config:
        """What became known since the last call."""
        config: dict[ConfigKey, Any] = {}
        with suppress(Empty):
            while True:
                config |= self._known.get_nowait()
        return config

    def wait(self, seconds: float = 2 * CAPTURE_SECONDS) -> None:
        """Wait for captures that are running."""
        deadline = Deadline(seconds)
        for thread in self._threads:
            thread.join(deadline.remaining)

    def _capture_training(self, process: int) -> Config:
        target = os.readlink(f"/proc/self/fd/{self._source}")
        deadline = Deadline(CAPTURE_SECONDS)
        found = find_training(process, target, deadline)
        return {} if found is None else capture_process(found, self._host, deadline)

    def _capture(self, capture: Callable[[], Config]) -> None:
        def work() -> None:
            with suppress(Exception):  # the environment is no reason to lose a point
                self._known.put(capture())

        thread = threading.Thread(target=work, name="holter-environment", daemon=True)
        with suppress(RuntimeError):  # no thread can be started
            thread.start()
            self._threads.append(thread)


class FileEnvironment:
    """Adds the environment to what is read from files while they grow, once for each launch.

    A file begins a launch where its log says so, or where its steps go back. Rows that are older than
    `RECENT_SECONDS` get nothing: they were not written in the environment of now.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        host: str,
        process: int | None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._environ, self._host, self._process, self._clock = environ, host, process, clock
        self._enabled = is_enabled(environ)
        self._machine: Config | None = None
        self._launches: dict[str, _Launch] = {}

    def add_to(self, delivery: Delivery) -> Delivery:
        """The delivery, with the environment where it has the first recent rows of a launch."""
        batch, cursor = delivery.batch, delivery.cursor
        if not self._enabled or cursor is None or not len(batch.steps):
            return delivery
        if all(column.key.step_unit is not None for column in batch.columns):
            return delivery
        launch = self._launch(cursor.source, batch)
        if launch.stated or not self._is_recent(batch, cursor):
            return delivery
        launch.stated = True
        config: dict[ConfigKey, Any] = {}
        with suppress(Exception):  # the environment is no reason to lose a point
            config |= self._machine_config()
            config |= self._training_config(cursor.source)
        return replace(delivery, batch=replace(batch, config={**config, **batch.config}))

    def _launch(self, source: str, batch: Batch) -> _Launch:
        """The launch that the last row belongs to."""
        known, last_step = self._launches.pop(source, None), int(batch.steps[-1])
        goes_back = bool(np.any(np.diff(batch.steps) < 0))
        if (
            known is None
            or goes_back
            or batch.restarts
            or batch.attempt != known.attempt
            or int(batch.steps[0]) < known.last_step
        ):
            known = _Launch(attempt=batch.attempt, last_step=last_step, begins_within=goes_back)
        else:
            known.last_step, known.begins_within = last_step, False
        while len(self._launches) >= _MAX_SOURCES:
            self._launches.pop(next(iter(self._launches)))
        self._launches[source] = known
        return known

    def _is_recent(self, batch: Batch, cursor: Cursor) -> bool:
        """Whether the first row belongs to the newest launch and was written while that ran.

        Without a clock in the log, this is known of the end of a file that was changed just now.
        """
        if self._launches[cursor.source].begins_within:
            return False  # settings belong to the launch of the first row
        first = float(batch.times[0])
        if not np.isnan(first):
            return abs(self._clock() - first) < RECENT_SECONDS
        try:
            stat = self._path(cursor.source).stat()
        except OSError:
            return False
        return cursor.offset >= stat.st_size and self._clock() - stat.st_mtime < RECENT_SECONDS

    def _machine_config(self) -> Config:
        if self._machine is None:
            self._machine = label_agent(capture_machine(self._environ), self._host)
        return self._machine

    def _training_config(self, source: str) -> Config:
        if self._process is None:
            return {}
        deadline = Deadline(CAPTURE_SECONDS)
        found = find_training(self._process, str(self._path(source).resolve()), deadline)
        return {} if found is None else capture_process(found, self._host, deadline)

    def _path(self, source: str) -> Path:
        return Path(source.removeprefix(f"{self._host}:"))


@dataclass
class _Launch:
    """The launch that a file is in. `begins_within`: it began within the newest rows, not at their start."""

    attempt: str | None
    last_step: int
    begins_within: bool
    stated: bool = False
