"""Finds files that have grown a little, so that they are read while large ones take long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Container, Iterable, Mapping
from pathlib import Path

from holter.ingest.discovery.scanner import Source
from holter.ingest.tailing.tail import Tail

_PAUSE_SECONDS = 0.25
_MAX_BYTES = 2**20
"""Runs in which more was appended are read in turns: reading these may take long."""


def read_grown_files(read: Callable[[], None], stop: threading.Event) -> None:
    """Call `read` several times a second until the stop is set, less often where it takes long."""
    pause = _PAUSE_SECONDS
    while not stop.wait(pause):
        began = time.thread_time()
        read()
        pause = max(_PAUSE_SECONDS, 2 * (time.thread_time() - began))


def small_growth(
    sources: Iterable[Source], tails: Mapping[Path, Tail], unfinished: Container[Path]
) -> list[list[Source]]:
    """The files that have grown since they were read to their ends, by run, those with least first.

    Runs of which a file is read in parts or has grown much are left out: their files are read in order.
    """
    runs: dict[str, tuple[int, list[Source]]] = {}
    large: set[str] = set()
    for source in sources:
        run = source.assignment.run
        tail = tails.get(source.path)
        if source.path in unfinished:
            large.add(run)
        elif tail is not None and (growth := _growth(tail)):
            size, grown = runs.setdefault(run, (0, []))
            runs[run] = size + growth, [*grown, source]
    small = [(size, grown) for run, (size, grown) in runs.items() if run not in large and size <= _MAX_BYTES]
    return [grown for _, grown in sorted(small, key=lambda item: item[0])]


def _growth(tail: Tail) -> int:
    try:
        return tail.growth()
    except OSError:
        return 0
