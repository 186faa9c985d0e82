"""`holter watch`: follows log files and folders live, with the dashboard."""

from __future__ import annotations

import argparse
import logging
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from holter.cli.commands import fail, serve
from holter.detectors.findings import title_of
from holter.detectors.findings.finding_type import in_sentence
from holter.ingest.tailing.follower_process import FollowerProcess, ParsingLimits
from holter.server.alerting.incident import Incident
from holter.server.context import ServerContext
from holter.server.store import Store
from holter.terminal_text import printable
from holter.types import Cursor, Severity, Unreadable

EXIT_NOTHING_TO_FOLLOW = 3
MAX_UNREADABLE_PRINTED = 5
RUNS_AT_ONCE = 8  # so many runs share one durable write, however slow the disk
PRINTED_CHANGES = frozenset({"opened", "reopened", "escalated", "recovered"})
_logger = logging.getLogger(__name__)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to follow, and the server's own flags."""
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a log file, or a folder of runs")
    parser.add_argument("--project", default="default", help="project of the runs (default: default)")
    parser.add_argument(
        "--poll",
        type=float,
        metavar="SECONDS",
        help="polling interval (default: depends on the file system)",
    )
    serve.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Follow and serve until interrupted. Exit codes: 1 could not start, 3 nothing to follow."""
    missing = [path for path in arguments.paths if not path.exists()]
    if Path("-") in missing:
        advice = "run `holter serve`, and pipe into `holter agent -`"
        return fail(f"holter watch does not read standard input: {advice}", EXIT_NOTHING_TO_FOLLOW)
    if missing:
        return fail(f"{missing[0]}: no such file or folder", EXIT_NOTHING_TO_FOLLOW)
    roots = [path.absolute() for path in arguments.paths]

    def before(context: ServerContext) -> None:
        context.incidents.on_change(incident_printer(context.settings.address))
        print(serve.greeting(context.settings))
        for path in arguments.paths:
            print(printable(f"  following {path}"), flush=True)
        stop = threading.Event()
        service = following(context, roots, project=arguments.project, poll=arguments.poll, stop=stop)
        context.attach(service, stop=stop.set)

    return serve.serve(arguments, before)


@contextmanager
def following(
    context: ServerContext, roots: Sequence[Path], *, project: str, poll: float | None, stop: threading.Event
) -> Iterator[None]:
    """Follow `roots` into the store, in a process of its own, until `stop` or the end of the block."""
    settings = context.settings
    follower = FollowerProcess(
        roots,
        PrintingSink(context.store),
        project=project,
        poll=poll,
        stop=stop,
        at_once=RUNS_AT_ONCE,
        custom_formats=settings.formats,
        limits=ParsingLimits(seconds=settings.parse_seconds, memory=settings.parse_memory_mb * 2**20),
        caught_up=print_summary,
    )

    def follow() -> None:
        try:
            follower.run()
        except Exception:
            _logger.exception("following has stopped; the server continues with the data that it has")

    thread = threading.Thread(target=follow, name="follower", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def print_summary(lines: Sequence[str]) -> None:
    """Print what is followed, once everything that exists has been read."""
    print("\n".join(f"  {printable(line)}" for line in lines), flush=True)


class PrintingSink:
    """The store as a sink that also prints the first few unreadable locations of each source."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._counts: Counter[str] = Counter()
        self.accept, self.cursor, self.save_cursor = store.accept, store.cursor, store.save_cursor

    def report_unreadable(self, unreadable: Unreadable, *, cursor: Cursor | None = None) -> None:
        """Store the location, then print it."""
        self._store.report_unreadable(unreadable, cursor=cursor)
        source = unreadable.source
        self._counts[source] += 1
        if self._counts[source] <= MAX_UNREADABLE_PRINTED:
            last = self._counts[source] == MAX_UNREADABLE_PRINTED
            more = "; further ones are stored, not printed" if last else ""
            text = f"holter: {source}, {unreadable.location}: {unreadable.reason}{more}"
            print(printable(text), file=sys.stderr)


def incident_printer(address: str) -> Callable[[Incident], None]:
    """A listener that prints a line when an incident opens, escalates or recovers; not for information."""
    last_printed: dict[int, float] = {}

    def print_change(incident: Incident) -> None:
        finding = incident.finding
        changes = [entry for entry in incident.history if entry.type in PRINTED_CHANGES]
        if finding.severity is Severity.INFO or not changes:
            return
        change = changes[-1]
        if last_printed.get(incident.id) == change.at:
            return
        last_printed[incident.id] = change.at
        clock = time.strftime("%H:%M:%S", time.localtime(change.at))
        position = f"{incident.run.name}, step {finding.start_step:,}: " if incident.run else ""
        title = in_sentence(title_of(finding.kind, finding.metric, provisional=incident.is_open))
        label = "recovered" if change.type == "recovered" else finding.severity.value
        print(printable(f"{clock}  {label:9} {title:22} {position}{finding.summary}"))
        print(f"{'':20}{address}/incidents/{incident.id}", flush=True)

    return print_change
