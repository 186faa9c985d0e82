"""`holter demo`: real training runs replayed as if they happened now, followed live by `holter watch`."""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from holter.cli.demo.narrator import Narrator, Verdict, judge, table
from holter.cli.demo.replay import write_at_once, write_live
from holter.cli.demo.runs import Recorded, recorded
from holter.cli.demo.server import PORT, NotServingError, Watching, free_port

LOOK_SECONDS = 0.5
ONCE_SECONDS = 120.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The few things one may want otherwise."""
    parser.add_argument(
        "--once",
        action="store_true",
        help="replay at full speed, print what was found, exit (1: something missed)",
    )
    parser.add_argument(
        "--seconds", type=float, default=90.0, help="how long the live replay takes (default 90)"
    )
    parser.add_argument(
        "--port", type=int, default=PORT, help=f"port (default {PORT}, any free one if it is taken)"
    )
    parser.add_argument(
        "--run", action="append", default=[], metavar="NAME", help="only this run (repeatable)"
    )
    parser.add_argument(
        "--data-dir", type=Path, help="keep logs and database in a new folder in here (default: temporary)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Replay. Exit code 0; 1: the pipeline failed, or something known was not found; 2: usage."""
    try:
        runs = recorded(arguments.run)
    except ValueError as error:
        print(f"holter: {error}", file=sys.stderr)
        return 2
    for which in (signal.SIGINT, signal.SIGTERM):  # the server must not outlive the demo
        signal.signal(which, signal.default_int_handler)
    with contextlib.ExitStack() as stack:
        folder = fresh_folder(arguments.data_dir, stack)
        logs = folder / "runs"
        logs.mkdir()
        server = Watching(logs, folder / "data", port=free_port(arguments.port))
        stack.callback(server.close)
        try:
            return once(server, runs, logs) if arguments.once else live(server, runs, logs, arguments.seconds)
        except NotServingError as error:
            print(f"holter: {error}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            print("\nThe demo has ended.")
            return 0


def fresh_folder(below: Path | None, stack: contextlib.ExitStack) -> Path:
    """An empty folder: a new one in `below`, which stays, or a temporary one that goes with the demo."""
    if below is None:
        return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="holter-demo-")))
    below.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix="demo-", dir=below)).absolute()


def live(server: Watching, runs: Sequence[Recorded], logs: Path, seconds: float) -> int:
    """Write as time goes by and tell what Holter finds, until Ctrl-C."""
    print("Starting Holter ...", flush=True)
    server.wait()
    print(f"Holter: {server.url}   (Ctrl-C stops)\n")
    print(f"Replaying {len(runs)} real training runs, hours compressed into {seconds:.0f} seconds:")
    for one in runs:
        print(f"  {one.name:<21} {one.story}")
    print(f"\nThe logs grow in {logs}; Holter only follows them.\n", flush=True)
    stop = threading.Event()
    writer = threading.Thread(target=write_live, args=(runs, logs), kwargs={"seconds": seconds, "stop": stop})
    writer.start()
    try:
        narrate(server, runs)
    finally:
        stop.set()
        writer.join()
    return 0


def narrate(server: Watching, runs: Sequence[Recorded]) -> None:
    """Print incidents as they change; say once when the replay is over, and what it came to."""
    narrator, concluded = Narrator(), False
    while True:
        for text in narrator.news(server.get("/incidents?state=all")["incidents"], time.time()):
            print(text, flush=True)
        if not concluded and settled(server, runs):
            concluded = True
            conclude(verdicts(server, runs))
            print(f"The replay is over; the dashboard stays up: {server.url}   (Ctrl-C stops)", flush=True)
        time.sleep(LOOK_SECONDS)


def once(server: Watching, runs: Sequence[Recorded], logs: Path) -> int:
    """Write everything now, wait until it is stored and analysed, print what was found."""
    began = time.monotonic()
    write_at_once(runs, logs, seconds=ONCE_SECONDS)
    server.wait()
    print(f"Holter: {server.url}")
    print(f"Replayed {len(runs)} real training runs as TensorBoard event files.\n", flush=True)
    deadline = time.monotonic() + ONCE_SECONDS
    while not settled(server, runs) and time.monotonic() < deadline:
        time.sleep(0.1)
    judged = verdicts(server, runs)
    complete = conclude(judged)
    print(
        f"{sum(one.stored for one in judged)} points stored and analysed in {time.monotonic() - began:.1f} s."
    )
    return 0 if complete else 1


def settled(server: Watching, runs: Sequence[Recorded]) -> bool:
    """Whether all points of all runs are stored and looked at. A run whose last point is there is ended."""
    stored = {one["name"]: one for one in server.get("/runs")["runs"]}
    waiting = False
    for run in runs:
        one = stored.get(run.name)
        if one is None or one["points"] < run.points:
            waiting = True
        elif one["state"] != "finished":
            server.post(f"/runs/{one['id']}/finish")
            waiting = True
        elif not one["analyzed"]:
            waiting = True
    return not waiting


def verdicts(server: Watching, runs: Sequence[Recorded]) -> list[Verdict]:
    """What the server has of each run, held against what is known of it."""
    stored = {one["name"]: one for one in server.get("/runs")["runs"]}
    incidents = server.get("/incidents?state=all")["incidents"]
    return [
        judge(run, stored.get(run.name, {}), [one for one in incidents if one["run"] == run.name])
        for run in runs
    ]


def conclude(judged: Sequence[Verdict]) -> bool:
    """Print the table; whether everything known was found."""
    print("\n" + "\n".join(table(judged)) + "\n")
    complete = all(one.complete for one in judged)
    if not complete:
        missed = ", ".join(one.run.name for one in judged if not one.complete)
        print(f"Not everything that is known was found, look at: {missed}\n", file=sys.stderr)
    return complete
