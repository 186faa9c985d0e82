"""`holter agent PATH...`: files here, followed and sent."""

from __future__ import annotations

import argparse
import contextlib
import random
import signal
import socket
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from holter.cli.agent.heartbeat import Pulse, Standing, Whose, name_of
from holter.cli.agent.http_sink import ZSTD, HttpSink, StoppedError
from holter.cli.agent.scrape import Scraped, SharedSink
from holter.client.notices import Notices
from holter.client.uploader import IngestClient, ServerAccess
from holter.ingest.format import Format
from holter.ingest.tailing.follower import Follower
from holter.ingest.telemetry.scrape import Scraper
from holter.settings import ScrapeSettings

MEANWHILE = "reading waits where it is: the files keep what is written"
"""What becomes of everything while the server is away."""


def run(
    arguments: argparse.Namespace,
    access: ServerAccess,
    folder: Path,
    known: Mapping[str, Format],
    scrape: ScrapeSettings,
) -> int:
    """Follow the paths until SIGINT or SIGTERM; `folder` keeps cursors, and what is under way."""
    stop, notices, host = threading.Event(), Notices(), socket.gethostname()
    for which in (signal.SIGINT, signal.SIGTERM):
        signal.signal(which, lambda *_: stop.set())
    courier = IngestClient(
        access, notices, stop=stop, rng=random.Random(), compression=ZSTD, consequence=MEANWHILE
    )
    sink = HttpSink(courier, folder, notices)
    shared = SharedSink(sink)
    project, paths = arguments.project, arguments.paths
    follower = Follower(
        paths, shared, project=project, poll=arguments.poll, stop=stop, host=host, known=known
    )
    say(f"Holter: sending to {access.server}   (Ctrl-C stops)")
    for path in paths:
        say(f"  following {path}")
    full = [str(path.absolute()) for path in paths]
    whose = Whose(agent=name_of(host, str(folder)), host=host, kind="files", project=project, paths=full)
    pulse = Pulse(access, whose, lambda: standing(follower, sink))
    pulse.start()
    with contextlib.suppress(StoppedError):  # said already, and kept for the next start
        sink.settle()
        follower.catch_up()
        say("\n".join(f"  {line}" for line in follower.summary()))
        with scraping(scrape, shared):
            follower.run()
    pulse.close()
    say("Holter: the agent has stopped; the next start goes on where it was.")
    return 0


def scraping(scrape: ScrapeSettings, shared: SharedSink) -> contextlib.AbstractContextManager[None]:
    """Scrape what the settings name, for the run that is named or those under way here."""
    if not scrape.endpoints:
        return contextlib.nullcontext()

    def runs() -> Sequence[tuple[str, str]]:
        if scrape.run:
            return [(scrape.project or "default", scrape.run)]
        return [run for run in shared.under_way() if scrape.project in ("", run[0])]

    return Scraper(scrape.endpoints, Scraped(shared), runs, every=scrape.every, also=scrape.also).at_work()


def standing(follower: Follower, sink: HttpSink) -> Standing:
    """How the agent is now."""
    lag = follower.lag()
    return Standing(
        files=lag.files,
        files_behind=lag.files_behind,
        bytes_behind=lag.bytes_behind,
        seconds_behind=lag.seconds_behind,
        points=sink.points,
        unreadable=sink.unreadable,
        last_error=lag.last_error or sink.last_refusal,
    )


def say(text: str) -> None:
    """Tell whoever started it."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
