"""`holter demo`: replays recorded training runs as if they happened now, followed by `holter watch`."""

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

from holter.cli.demo.narrator import Narrator, RunComparison, compare_run, comparison_table
from holter.cli.demo.replay import write_at_once, write_live
from holter.cli.demo.runs import RecordedRun, load_runs
from holter.cli.demo.server import PORT, NotServingError, WatchProcess, free_port

POLL_SECONDS = 0.5
ONCE_SECONDS = 120.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Speed, port, selection of runs, and where the data goes."""
    parser.add_argument(
        "--once",
        action="store_true",
        help="replay at full speed, print the result, exit (code 1: a known event was missed)",
    )
    parser.add_argument(
        "--seconds", type=float, default=90.0, help="duration of the live replay (default 90)"
    )
    parser.add_argument(
        "--port", type=int, default=PORT, help=f"port (default {PORT}, or any free one if it is in use)"
    )
    parser.add_argument(
        "--run", action="append", default=[], metavar="NAME", help="only this run (repeatable)"
    )
    parser.add_argument(
        "--data-dir",
        type=Path,
        help="store logs and database in a new folder below this one (default: temporary)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Replay the runs. Exit codes: 1 the pipeline failed or a known event was missed; 2 usage."""
    try:
        runs = load_runs(arguments.run)
    except ValueError as error:
        print(f"holter: {error}", file=sys.stderr)
        return 2
    for number in (signal.SIGINT, signal.SIGTERM):  # the server must not outlive the demo
        signal.signal(number, signal.default_int_handler)
    with contextlib.ExitStack() as stack:
        folder = create_folder(arguments.data_dir, stack)
        logs = folder / "runs"
        logs.mkdir()
        server = WatchProcess(logs, folder / "data", port=free_port(arguments.port))
        stack.callback(server.close)
        try:
            return once(server, runs, logs) if arguments.once else live(server, runs, logs, arguments.seconds)
        except NotServingError as error:
            print(f"holter: {error}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            print("\nThe demo has ended.")
            return 0


def create_folder(parent: Path | None, stack: contextlib.ExitStack) -> Path:
    """A new folder in `parent`, or a temporary one that is deleted when the demo ends."""
    if parent is None:
        return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="holter-demo-")))
    parent.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix="demo-", dir=parent)).absolute()


def live(server: WatchProcess, runs: Sequence[RecordedRun], logs: Path, seconds: float) -> int:
    """Replay in real time and print incidents, until Ctrl-C."""
    print("Starting Holter ...", flush=True)
    server.wait()
    print(f"Holter: {server.url}   (Ctrl-C stops)\n")
    print(f"Replaying {len(runs)} real training runs, their hours compressed into {seconds:.0f} seconds:")
    for run in runs:
        print(f"  {run.name:<21} {run.description}")
    print(f"\nThe logs are written to {logs}; Holter follows them.\n", flush=True)
    stop = threading.Event()
    writer = threading.Thread(target=write_live, args=(runs, logs), kwargs={"seconds": seconds, "stop": stop})
    writer.start()
    try:
        narrate(server, runs)
    finally:
        stop.set()
        writer.join()
    return 0


def narrate(server: WatchProcess, runs: Sequence[RecordedRun]) -> None:
    """Print incidents as they change, and the comparison once the replay is over."""
    narrator, is_over = Narrator(), False
    while True:
        for text in narrator.describe_changes(server.get("/incidents?state=all")["incidents"], time.time()):
            print(text, flush=True)
        if not is_over and is_complete(server, runs):
            is_over = True
            print_comparison(compare_runs(server, runs))
            print(
                f"The replay is over; the dashboard keeps running: {server.url}   (Ctrl-C stops)", flush=True
            )
        time.sleep(POLL_SECONDS)


def once(server: WatchProcess, runs: Sequence[RecordedRun], logs: Path) -> int:
    """Write everything at once, wait until it is stored and analysed, print the comparison."""
    began = time.monotonic()
    write_at_once(runs, logs, seconds=ONCE_SECONDS)
    server.wait()
    print(f"Holter: {server.url}")
    print(f"Replayed {len(runs)} real training runs as TensorBoard event files.\n", flush=True)
    deadline = time.monotonic() + ONCE_SECONDS
    while not is_complete(server, runs) and time.monotonic() < deadline:
        time.sleep(0.1)
    comparisons = compare_runs(server, runs)
    complete = print_comparison(comparisons)
    points = sum(comparison.stored for comparison in comparisons)
    print(f"{points} points stored and analysed in {time.monotonic() - began:.1f} s.")
    return 0 if complete else 1


def is_complete(server: WatchProcess, runs: Sequence[RecordedRun]) -> bool:
    """Whether all points of all runs are stored and analysed. Finishes runs whose points are all stored."""
    stored_runs = {run["name"]: run for run in server.get("/runs")["runs"]}
    waiting = False
    for run in runs:
        stored = stored_runs.get(run.name)
        if stored is None or stored["points"] < run.points:
            waiting = True
        elif stored["state"] != "finished":
            server.post(f"/runs/{stored['id']}/finish")
            waiting = True
        elif not stored["analyzed"]:
            waiting = True
    return not waiting


def compare_runs(server: WatchProcess, runs: Sequence[RecordedRun]) -> list[RunComparison]:
    """Compare what the server detected in each run with its known events."""
    stored = {run["name"]: run for run in server.get("/runs")["runs"]}
    incidents = server.get("/incidents?state=all")["incidents"]
    return [
        compare_run(
            run, stored.get(run.name, {}), [incident for incident in incidents if incident["run"] == run.name]
        )
        for run in runs
    ]


def print_comparison(comparisons: Sequence[RunComparison]) -> bool:
    """Print the table; returns whether every known event was detected."""
    print("\n" + "\n".join(comparison_table(comparisons)) + "\n")
    complete = all(comparison.complete for comparison in comparisons)
    if not complete:
        missed = ", ".join(comparison.run.name for comparison in comparisons if not comparison.complete)
        print(f"Not every known event was detected. Incomplete runs: {missed}\n", file=sys.stderr)
    return complete
