"""`holter agent PATH...`: follows files on this machine and sends what it reads to a server elsewhere."""

from __future__ import annotations

import argparse
import contextlib
import random
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from holter.cli.agent.environment import FileEnvironment
from holter.cli.agent.heartbeat import AgentHealth, AgentIdentity, HeartbeatThread, agent_name
from holter.cli.agent.http_sink import ZSTD, HttpSink, StoppedError
from holter.client.notices import Notices
from holter.client.uploader import IngestClient, ServerAccess
from holter.ingest.tailing.follower_process import FollowerProcess, ParsingLimits
from holter.ingest.tailing.sink import SinkError
from holter.ingest.telemetry.scrape import ACTIVE_SECONDS, Scraper
from holter.settings import ScrapeSettings, Settings
from holter.terminal_text import printable
from holter.types import Delivery

SERVER_AWAY_CONSEQUENCE = "reading pauses; the files keep what is written meanwhile"
"""Completes the message that the server cannot be reached."""
_MAX_ACTIVE_RUNS = 256


def run(
    arguments: argparse.Namespace,
    access: ServerAccess,
    folder: Path,
    settings: Settings,
    environ: Mapping[str, str],
) -> int:
    """Follow the paths until SIGINT or SIGTERM; `folder` stores cursors and the delivery being sent."""
    stop, notices, host = threading.Event(), Notices(), socket.gethostname()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    client = IngestClient(
        access,
        notices,
        stop=stop,
        rng=random.Random(),
        compression=ZSTD,
        consequence=SERVER_AWAY_CONSEQUENCE,
    )
    sink = HttpSink(client, folder, notices)
    shared = SharedSink(sink, FileEnvironment(environ, host, arguments.process))
    project, paths = arguments.project, arguments.paths
    follower = FollowerProcess(
        paths,
        shared,
        project=project,
        poll=arguments.poll,
        stop=stop,
        host=host,
        custom_formats=settings.formats,
        limits=ParsingLimits(seconds=settings.parse_seconds, memory=settings.parse_memory_mb * 2**20),
        caught_up=print_summary,
    )
    print_line(f"Holter: sending to {access.server}   (Ctrl-C stops)")
    for path in paths:
        print_line(f"  following {path}")
    identity = AgentIdentity(
        agent=agent_name(host, str(folder)),
        host=host,
        kind="files",
        project=project,
        paths=[str(path.absolute()) for path in paths],
    )
    heartbeat = HeartbeatThread(access, identity, lambda: measure_health(follower, sink))
    heartbeat.start()
    with contextlib.suppress(StoppedError):  # reported already; the delivery is stored for the next start
        sink.finish_pending()
        with scraping(settings.scrape, shared):
            follower.run()
    heartbeat.close()
    print_line("Holter: the agent has stopped; the next start continues where it was.")
    return 0


class SharedSink:
    """A sink for two threads: the follower's and the scraper's. It also knows which runs are active.

    The scraper does not wait for long: it has new points soon.
    """

    def __init__(
        self, sink: HttpSink, environment: FileEnvironment, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._sink, self._environment, self._clock = sink, environment, clock
        self.cursor, self.save_cursor = sink.cursor, sink.save_cursor
        self.report_unreadable = sink.report_unreadable
        self._lock = threading.Lock()
        self._last_points: dict[tuple[str, str], float] = {}

    def accept(self, delivery: Delivery, *, timeout: float = 30) -> None:
        """Send a delivery of a file that is followed; see `HttpSink`."""
        delivery = self._environment.add_to(delivery)
        with self._lock:
            self._sink.accept(delivery)
        self._mark_active(delivery)

    def accept_scraped(self, delivery: Delivery) -> None:
        """Send scraped points. Raises SinkError while the follower waits for a server that is away."""
        if not self._lock.acquire(timeout=1.0):
            raise SinkError("the server is away: these points are dropped")
        try:
            self._sink.accept(delivery)
        finally:
            self._lock.release()

    def active_runs(self) -> Sequence[tuple[str, str]]:
        """The runs that logged training points recently, by project and name."""
        now = self._clock()
        return [run for run, seen_at in list(self._last_points.items()) if now - seen_at < ACTIVE_SECONDS]

    def _mark_active(self, delivery: Delivery) -> None:
        """A run is active when its training points have a recent wall time, or none."""
        batch, now = delivery.batch, self._clock()
        recent = [moment for moment in batch.times[-1:].tolist() if not abs(now - moment) > ACTIVE_SECONDS]
        if recent and any(column.key.step_unit is None for column in batch.columns[:64]):
            self._last_points.pop((delivery.project, delivery.run), None)
            self._last_points[delivery.project, delivery.run] = now
            while len(self._last_points) > _MAX_ACTIVE_RUNS:
                self._last_points.pop(next(iter(self._last_points)))


class ScrapeSink:
    """The scraper's view of a `SharedSink`."""

    def __init__(self, shared: SharedSink) -> None:
        self._shared = shared

    def accept(self, delivery: Delivery, *, timeout: float = 30) -> None:
        """Send the points, or raise SinkError."""
        self._shared.accept_scraped(delivery)


def scraping(scrape: ScrapeSettings, shared: SharedSink) -> contextlib.AbstractContextManager[None]:
    """Scrape the configured endpoints, for the configured run or else the runs that are active here."""
    if not scrape.endpoints:
        return contextlib.nullcontext()

    def find_runs() -> Sequence[tuple[str, str]]:
        if scrape.run:
            return [(scrape.project or "default", scrape.run)]
        return [run for run in shared.active_runs() if scrape.project in ("", run[0])]

    scraper = Scraper(scrape.endpoints, ScrapeSink(shared), find_runs, every=scrape.every, also=scrape.also)
    return scraper.running()


def print_summary(lines: Sequence[str]) -> None:
    """Print what is followed."""
    for line in lines:
        print_line(f"  {line}")


def measure_health(follower: FollowerProcess, sink: HttpSink) -> AgentHealth:
    """The agent's current health."""
    lag = follower.lag()
    return AgentHealth(
        files=lag.files,
        files_behind=lag.files_behind,
        bytes_behind=lag.bytes_behind,
        seconds_behind=lag.seconds_behind,
        points=sink.points,
        unreadable=sink.unreadable,
        last_error=lag.last_error or sink.last_refusal,
    )


def print_line(text: str) -> None:
    """Print to standard output at once."""
    sys.stdout.write(printable(text) + "\n")
    sys.stdout.flush()
