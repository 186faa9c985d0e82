"""Commands as their users have them: run in this process, or in one of their own that serves."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import numpy as np
from sqlalchemy import Engine

from holter.server.store import Store
from holter.types import Batch, Column, Delivery, SeriesKey

Printed = Callable[..., tuple[int, str, str]]


@contextmanager
def started(*arguments: object, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str, float]]:
    """A command in its own process that serves: the process, its address, seconds to its first answer."""
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "holter", *map(str, arguments), "--port", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ | environment,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        match = re.search(r"http://127\.0\.0\.1:\d+", line)
        assert match, line + process.stdout.read()
        while True:
            try:
                httpx.get(f"{match[0]}/readyz").raise_for_status()
                break
            except httpx.TransportError:
                time.sleep(0.01)
        yield process, match[0], time.monotonic() - began
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def stop(process: subprocess.Popen[str], how: signal.Signals) -> str:
    """Send a signal, wait for the clean end, return the rest of what it printed."""
    process.send_signal(how)
    rest, _ = process.communicate(timeout=20)
    assert process.returncode == 0, rest
    return rest


def some_run(engine: Engine, name: str = "a") -> str:
    """A run with two attempts, a NaN, a ghost branch and a label."""
    store = Store(engine)
    store.start()
    for attempt, steps, value in ((0, [1, 2, 3], [3.0, np.nan, 0.1]), (1, [3, 4], [2.5, np.inf])):
        columns = (
            Column(key=SeriesKey("loss"), values=np.array(value)),
            Column(key=SeriesKey("t", (("rank", "3"),)), values=np.array(value)),
        )
        batch = Batch(
            steps=np.array(steps), times=100.0 * attempt + np.array(steps, float), columns=columns,
            attempt=str(attempt),
        )  # fmt: skip
        receipt = store.accept(
            Delivery(project="llm", run=name, writer="w", batch_id=f"{name}{attempt}", batch=batch)
        )
    store.close()
    return receipt.public_id
