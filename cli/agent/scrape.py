"""Scraping exporters beside following files: one sink for both, and which runs are under way here."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from holter.cli.agent.http_sink import HttpSink
from holter.ingest.tailing.follower import SinkError
from holter.ingest.telemetry.scrape import UNDER_WAY
from holter.types import Delivery

_MOST_RUNS = 256


class SharedSink:
    """A sink that two threads may use. Whoever scrapes does not wait for long: it has new points soon."""

    def __init__(self, sink: HttpSink, *, clock: Callable[[], float] = time.time) -> None:
        self._sink, self._clock = sink, clock
        self.cursor, self.save_cursor = sink.cursor, sink.save_cursor
        self.report_unreadable = sink.report_unreadable
        self._turn = threading.Lock()
        self._news: dict[tuple[str, str], float] = {}

    def accept(self, delivery: Delivery, *, timeout: float = 30) -> None:
        """Send a delivery of a file that is followed; see `HttpSink`."""
        with self._turn:
            self._sink.accept(delivery)
        self._note(delivery)

    def accept_scraped(self, delivery: Delivery) -> None:
        """Send what was scraped; raises SinkError while files wait for a server that is away."""
        if not self._turn.acquire(timeout=1.0):
            raise SinkError("the server is away: these points are not kept")
        try:
            self._sink.accept(delivery)
        finally:
            self._turn.release()

    def under_way(self) -> Sequence[tuple[str, str]]:
        """The runs whose points of training came lately, by project and name."""
        now = self._clock()
        return [run for run, at in list(self._news.items()) if now - at < UNDER_WAY]

    def _note(self, delivery: Delivery) -> None:
        """Points of training that were logged lately make a run one that is under way."""
        batch, now = delivery.batch, self._clock()
        lately = [at for at in batch.times[-1:].tolist() if not abs(now - at) > UNDER_WAY]  # or unknown
        if lately and any(column.key.step_unit is None for column in batch.columns[:64]):
            self._news.pop((delivery.project, delivery.run), None)
            self._news[delivery.project, delivery.run] = now
            while len(self._news) > _MOST_RUNS:
                self._news.pop(next(iter(self._news)))


class Scraped:
    """The way of scraped points into a shared sink."""

    def __init__(self, shared: SharedSink) -> None:
        self._shared = shared

    def accept(self, delivery: Delivery, *, timeout: float = 30) -> None:
        """Send them, or raise SinkError."""
        self._shared.accept_scraped(delivery)
