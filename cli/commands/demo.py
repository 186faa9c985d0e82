"""`holter demo`: replays recorded training runs as if they happened now, followed by `holter watch`.

Small models, whose clock is simulated, are replayed as files that grow; a public log of a large model through
Holter's client, which sends it step by step while the server analyses it.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from holter.cli.demo.client_replay import log_live
from holter.cli.demo.narrator import Narrator, RunComparison, compare_run, comparison_table
from holter.cli.demo.replay import write_at_once, write_live
from holter.cli.demo.runs import PUBLIC_LOG, SIMULATED_CLOCK, RecordedRun, load_runs
from holter.cli.demo.server import PORT, NotServingError, WatchProcess, free_port
from holter.plurals import counted

POLL_SECONDS = 0.5
ONCE_SECONDS = 120.0
ONCE_LIVE_SECONDS = 12.0
"""Duration of the replay over HTTP with --once: the server analyses it some twenty times meanwhile."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Speed, port, selection of runs, and where the data goes."""
    parser.add_argument(
        "--once",
        action="store_true",
        help="replay fast, print the result, exit (code 1: a known event was missed, or a false alarm)",
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
    """Replay the runs. Exit codes: 1 failed, missed a known event, or gave a false alarm; 2 usage."""
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
        server = WatchProcess(logs, folder / "data", project=SIMULATED_CLOCK, port=free_port(arguments.port))
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
    print(
        f"Replaying {counted(len(runs), 'real training run')}, hours compressed into {seconds:.0f} seconds:"
    )
    print("\n".join(describe_runs(runs, logs)) + "\n", flush=True)
    files, public = by_clock(runs)
    stop = threading.Event()
    writers = [
        threading.Thread(target=write_live, args=(files, logs), kwargs={"seconds": seconds, "stop": stop}),
        http_writer(server, public, logs, seconds, stop),
    ]
    for writer in writers:
        writer.start()
    try:
        narrate(server, runs)
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    return 0


def by_clock(runs: Sequence[RecordedRun]) -> tuple[list[RecordedRun], list[RecordedRun]]:
    """The runs with a simulated clock, which are replayed as files, and the public logs."""
    files = [run for run in runs if run.project == SIMULATED_CLOCK]
    return files, [run for run in runs if run.project == PUBLIC_LOG]


def describe_runs(runs: Sequence[RecordedRun], logs: Path) -> Iterator[str]:
    """What is replayed and how: the runs of each origin, and what their clocks are."""
    files, public = by_clock(runs)
    if files:
        yield f"\nSmall models, written to {logs} as TensorBoard event files that Holter follows."
        yield "Their curves are real; their wall times and tokens per second are simulated:"
        yield from (f"  {run.name:<21} {run.description}" for run in files)
    if public:
        yield "\nA public log, sent step by step by Holter's client over HTTP; its step times are as logged:"
        yield from (f"  {run.name:<21} {run.description}" for run in public)


def http_writer(
    server: WatchProcess, runs: Sequence[RecordedRun], logs: Path, seconds: float, stop: threading.Event
) -> threading.Thread:
    """A thread that logs runs through the client."""
    spool = logs.parent / "spool"
    return threading.Thread(
        target=log_live, args=(runs, server.url, spool), kwargs={"seconds": seconds, "stop": stop}
    )


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
    """Replay fast, wait until everything is stored and analysed, print the comparison."""
    began = time.monotonic()
    files, public = by_clock(runs)
    write_at_once(files, logs, seconds=ONCE_SECONDS)
    server.wait()
    print(f"Holter: {server.url}")
    print(f"Replaying {counted(len(runs), 'real training run')}.")
    print("\n".join(describe_runs(runs, logs)), flush=True)
    stop = threading.Event()
    writer = http_writer(server, public, logs, ONCE_LIVE_SECONDS, stop)
    writer.start()
    try:
        deadline = time.monotonic() + ONCE_SECONDS
        while not is_complete(server, runs) and time.monotonic() < deadline:
            time.sleep(0.1)
    finally:
        stop.set()
        writer.join()
    comparisons = compare_runs(server, runs)
    succeeded = print_comparison(comparisons)
    points = sum(comparison.stored for comparison in comparisons)
    print(f"{points} points stored and analysed in {time.monotonic() - began:.1f} s.")
    return 0 if succeeded else 1


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
    """Print the table; returns whether every known event was detected, and nothing else."""
    print("\n" + "\n".join(comparison_table(comparisons)) + "\n")
    incomplete = [comparison.run.name for comparison in comparisons if not comparison.complete]
    alarmed = [comparison.run.name for comparison in comparisons if comparison.false_alarms]
    if incomplete:
        print(
            f"Not every known event was detected. Incomplete runs: {', '.join(incomplete)}\n", file=sys.stderr
        )
    if alarmed:
        print(f"False alarms, which match no known event, in: {', '.join(alarmed)}\n", file=sys.stderr)
    return not incomplete and not alarmed
