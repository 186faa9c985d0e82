"""Threads that read several runs at a time, without waiting for one that takes long."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager

from holter.ingest.discovery.scanner import Source

_PROGRESS_SECONDS = 0.5
"""Seconds in which some run must have been begun for a turn to go on."""


class ReadingPool:
    """Reads runs in so many threads, for about `seconds` in a turn. A run may be read on after its turn."""

    def __init__(self, threads: int, stop: threading.Event, *, seconds: float) -> None:
        self._threads, self._stop, self._seconds = threads, stop, seconds
        self._executor: ThreadPoolExecutor | None = None

    @contextmanager
    def started(self) -> Iterator[None]:
        """Have the threads while the context lasts; waits at its end until what has begun is read."""
        with ThreadPoolExecutor(self._threads, thread_name_prefix="holter-follow") as executor:
            self._executor = executor
            try:
                yield
            finally:
                executor.shutdown(wait=False, cancel_futures=True)
                self._executor = None

    def read(
        self, runs: Iterable[Sequence[Source]], read: Callable[[Sequence[Source]], None]
    ) -> list[Sequence[Source]]:
        """Call `read` with each run; returns those that had no turn since others took long."""
        assert self._executor is not None
        waiting = deque(runs)

        def work() -> None:
            while waiting and not self._stop.is_set():
                try:
                    sources = waiting.popleft()
                except IndexError:  # another thread was faster
                    return
                read(sources)

        futures = [self._executor.submit(work) for _ in range(min(self._threads, len(waiting)))]
        end = time.monotonic() + self._seconds
        while futures and time.monotonic() < end:
            before = len(waiting)
            if not wait(futures, _PROGRESS_SECONDS).not_done or len(waiting) == before:
                break
        left = list(waiting)
        waiting.clear()
        for future in futures:
            if not future.cancel() and future.done():
                future.result()
        return left
