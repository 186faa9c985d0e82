"""`holter watch`: follow log files and folders live, with the dashboard."""

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

from holter.cli.commands import serve
from holter.ingest import formats
from holter.ingest.tailing.follower import Follower
from holter.server.alerting.incident import Incident
from holter.server.context import ServerContext
from holter.server.store import Store
from holter.types import Cursor, Severity, Unreadable

NOTHING_READABLE = 3
TOLD_PLACES = 5
RUNS_AT_ONCE = 8  # so many share one durable write, however slow the disk
TOLD = frozenset({"opened", "reopened", "escalated", "recovered"})
_logger = logging.getLogger(__name__)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to follow, and the server's own flags."""
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a log file, or a folder of runs")
    parser.add_argument("--project", default="default", help="project of the runs (default: default)")
    parser.add_argument(
        "--poll",
        type=float,
        metavar="SECONDS",
        help="look again this often (default: as the file system allows)",
    )
    serve.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Follow and serve until interrupted. Exit codes: 1 could not start, 3 nothing to follow."""
    missing = [path for path in arguments.paths if not path.exists()]
    if Path("-") in missing:
        told = "standard input is the agent's: start `holter serve`, and pipe into `holter agent -`"
        return serve.refuse(told, NOTHING_READABLE)
    if missing:
        return serve.refuse(f"{missing[0]}: no such file or folder", NOTHING_READABLE)
    roots = [path.absolute() for path in arguments.paths]

    def before(context: ServerContext) -> None:
        context.incidents.on_change(teller(context.settings.address))
        print(serve.greeting(context.settings))
        for path in arguments.paths:
            print(f"  following {path}", flush=True)
        context.attach(following(context, roots, project=arguments.project, poll=arguments.poll))

    return serve.serve(arguments, before)


@contextmanager
def following(context: ServerContext, roots: Sequence[Path], *, project: str, poll: float | None) -> Iterator[None]:
    """Follow `roots` into the store, in a thread, until the end."""
    stop = threading.Event()
    follower = Follower(
        roots,
        Aloud(context.store),
        project=project,
        poll=poll,
        stop=stop,
        at_once=RUNS_AT_ONCE,
        known=formats(context.settings.formats),
    )

    def follow() -> None:
        try:
            follower.catch_up()
            print("\n".join(f"  {line}" for line in follower.summary()), flush=True)
            follower.run()
        except Exception:
            _logger.exception("following has stopped; the server goes on with what it has")

    thread = threading.Thread(target=follow, name="follower", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


class Aloud:
    """The store as a sink that also tells which places cannot be read: of each source the first few."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._told: Counter[str] = Counter()
        self.accept, self.cursor, self.save_cursor = store.accept, store.cursor, store.save_cursor

    def report_unreadable(self, unreadable: Unreadable, *, cursor: Cursor | None = None) -> None:
        """Keep the place, then tell it."""
        self._store.report_unreadable(unreadable, cursor=cursor)
        source = unreadable.source
        self._told[source] += 1
        if self._told[source] <= TOLD_PLACES:
            last = "; more are kept, and not told" if self._told[source] == TOLD_PLACES else ""
            print(f"holter: {source}, {unreadable.location}: {unreadable.reason}{last}", file=sys.stderr)


def teller(address: str) -> Callable[[Incident], None]:
    """A listener for incidents: prints a line when one opens, gets worse or ends. Information is not told."""
    last_told: dict[int, float] = {}

    def tell(incident: Incident) -> None:
        finding = incident.finding
        news = [entry for entry in incident.history if entry.type in TOLD]
        if finding.severity is Severity.INFO or not news or last_told.get(incident.id) == news[-1].at:
            return
        last_told[incident.id] = news[-1].at
        clock = time.strftime("%H:%M:%S", time.localtime(news[-1].at))
        where = f"{incident.run.name}, step {finding.start_step}: " if incident.run else ""
        word = "recovered" if news[-1].type == "recovered" else finding.severity.value
        print(f"{clock}  {word:9} {finding.kind.value:20} {where}{finding.summary}")
        print(f"{'':20}{address}/incidents/{incident.id}", flush=True)

    return tell
