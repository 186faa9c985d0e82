"""Measures alerts: what arrives under faults and kills, how fast, and what is sent about runs without faults.

    python benchmarks/alert_faults.py faults [--kills 200] [--seed 7]
    python benchmarks/alert_faults.py latency [--runs 1000] [--incidents 100] [--settle 0]
        [--becomes 9] [--live] [--fails loss|divergence|throughput|drift|straggler|xid]
    python benchmarks/alert_faults.py quiet [--points 300000] [--seed 2023]

`faults`: a real mail server and a real web server fail half of the time (hang, answer late or too late, reset
before and after they took a message, 421, 429, 451, 500, 503) while the server is killed (SIGKILL) again and
again. `latency`: from the acknowledgement of the points in which a loss becomes NaN, or a number, to the
message at the web server and the mail server, next to live runs that log a step every five seconds; with
`--live` and `--fails` from the acknowledgement of the step with which the finding is detected. `quiet`:
points of fault-free runs through a server with default settings. Exit code 1: something was lost, sent twice
without a reason, or sent at all (`quiet`).
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from live_faults import KINDS, LiveRuns, decisive_step
from simulated_losses import LEVELS, NOISES, lognormal, noise_unit
from sqlalchemy import func, select
from sqlalchemy.orm import Session

sys.path.insert(0, str(Path(__file__).parents[1]))

from holter.server.clock import Clock
from holter.server.context import ServerContext
from holter.server.database import connect
from holter.server.models import AnalysisRow, IncidentRow, NotificationRow, RunRecord
from holter.settings import Settings
from holter.types import Batch, Column, Delivery, SeriesKey
from tests.support.alert_faults import (
    FaultPlan,
    KilledServer,
    channel_settings,
    deliver_under_faults,
    http_endpoint,
    run_that_fails,
    smtp_server,
)

PARTS = 4
"""Threads that post the live runs."""
POINTS_PER_RUN = 20_000
NOISE_SIZES = (0.005, 0.02, 0.1)
BATCH = 250


def main() -> None:
    """Run one of the measurements."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    faults = commands.add_parser("faults")
    faults.add_argument("--kills", type=int, default=200)
    faults.add_argument("--seed", type=int, default=7)
    latency = commands.add_parser("latency")
    latency.add_argument("--runs", type=int, default=1000)
    latency.add_argument("--incidents", type=int, default=100)
    latency.add_argument("--becomes", default="NaN", help="the loss of a run that fails: NaN or a number")
    latency.add_argument("--live", action="store_true", help="live runs fail instead of new ones")
    latency.add_argument("--fails", default="loss", choices=KINDS, help="what fails, with --live")
    latency.add_argument("--settle", type=float, help="seconds; default: that of channels")
    quiet = commands.add_parser("quiet")
    quiet.add_argument("--points", type=int, default=300_000)
    quiet.add_argument("--seed", type=int, default=2023)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(not COMMANDS[arguments.command](Path(folder), arguments))


def measure_faults(folder: Path, arguments: argparse.Namespace) -> bool:
    """Print what arrived under faults and kills; whether nothing is wrong."""
    result = deliver_under_faults(
        folder, kills=arguments.kills, runs_per_life=1, seed=arguments.seed, life=1.0, drain=1200
    )
    print(f"{len(result.runs)} incidents, {len(result.kills)} kills, {result.seconds:.0f} s\n")
    print("| channel | requests | taken | missing | several keys | again: answer lost | killed | no reason |")
    print("|---|---|---|---|---|---|---|---|")
    good = True
    for channel in result.channels:
        requests = sum(count for name, count in result.faults.items() if name.startswith(channel))
        taken = sum(receipt.channel == channel for receipt in result.receipts)
        missing, keys = len(result.missing(channel)), len(result.with_several_keys(channel))
        again = result.duplicates(channel)
        reasons = [again.get(reason, 0) for reason in ("answer lost", "killed", "no reason")]
        print(f"| {channel} | {requests} | {taken} | {missing} | {keys} | {' | '.join(map(str, reasons))} |")
        good = good and not missing and not keys and not reasons[-1]
    print("\nFaults: " + ", ".join(f"{name} {count}" for name, count in sorted(result.faults.items())))
    return good


def measure_latency(folder: Path, arguments: argparse.Namespace) -> bool:
    """Print the time from points to messages; whether all messages came."""
    plan, idle = FaultPlan(random.Random(0), share=0.0), os.getloadavg()[0]
    with http_endpoint(plan, "web") as address, smtp_server(plan, "mail") as port:
        channels = channel_settings(address, port, deadline=30.0)
        for settings in channels.values():
            settings.pop("settle")
            if arguments.settle is not None:
                settings["settle"] = arguments.settle
        server = KilledServer(folder, channels)
        server.start()
        stopping = threading.Event()
        fault, prepared = arguments.fails, -(-arguments.incidents // PARTS) * arguments.live
        load = [
            LiveRuns(server.address, arguments.runs, part, PARTS, stopping, fault=fault, prepared=prepared)
            for part in range(PARTS)
        ]
        for thread in load:
            thread.start()
        try:
            while not all(thread.warm.wait(1) for thread in load):
                pass
            wait_for_first_passes(server, arguments.runs)
            if arguments.live:
                posted = let_live_runs_fail(load, arguments.incidents, arguments.becomes)
            else:
                posted = post_faults(server, arguments.incidents, arguments.becomes)
            wait_for_receipts(plan, posted, 300)
            opened = times_of_incidents(server, KINDS[fault])
            busy = os.getloadavg()[0]
        finally:
            stopping.set()
            for thread in load:
                thread.join()
            server.close()
    failed = len(posted)
    if fault != "loss":
        posted = times_of_detection(load, posted, KINDS[fault])
    print(f"{arguments.runs} live runs, {sum(thread.posted for thread in load)} batches posted")
    print(f"load of the machine at the beginning {idle:.1f}, at the end {busy:.1f}\n")
    print("| channel | messages | median, s | p90, s | p99, s | longest, s |")
    print("|---|---|---|---|---|---|")
    stored = [opened[name] - at for name, at in posted.items() if name in opened]
    seconds = {channel: latencies(plan, posted, channel) for channel in ("web", "mail")}
    for name, values in {"(incident stored)": stored, **seconds}.items():
        if values:
            cells = (f"{value:.2f}" for value in np.percentile(values, [50, 90, 99, 100]))
            print(f"| {name} | {len(values)} | {' | '.join(cells)} |")
    if len(posted) < failed:
        print(f"\n{failed - len(posted)} of {failed} were not detected within five minutes")
    return all(len(values) == failed for values in seconds.values())


def wait_for_first_passes(server: KilledServer, runs: int) -> None:
    """Wait until each live run has been analysed, which begins with its longest pass, and for ten seconds."""
    began = time.monotonic()
    engine = connect(f"sqlite:///{server.folder / 'data' / 'holter.db'}")
    while True:
        with Session(engine) as session:
            if (session.scalar(select(func.count()).select_from(AnalysisRow)) or 0) >= runs:
                break
        time.sleep(1)
    engine.dispose()
    print(f"first passes over all runs: {time.monotonic() - began:.0f} s after their first points")
    time.sleep(10)


def post_faults(server: KilledServer, count: int, becomes: str) -> dict[str, float]:
    """Store runs whose loss becomes something else, one a second; when each was acknowledged."""
    value = becomes if becomes == "NaN" else float(becomes)
    posted = {}
    for number in range(count):
        name = f"bad{number}"
        if server.add_run(run_that_fails(name, now=time.time(), becomes=value)):
            posted[name] = time.monotonic()
        time.sleep(1)
    return posted


def let_live_runs_fail(load: list[LiveRuns], count: int, becomes: str) -> dict[str, float]:
    """Let the loss of live runs become something else, one a second; when that was acknowledged."""
    value = becomes if becomes == "NaN" else float(becomes)
    for number in range(count):
        load[number % len(load)].let_fail(number // len(load), value)
        time.sleep(1)
    while sum(len(part.failed) for part in load) < count:
        time.sleep(0.1)
    return {name: at for part in load for name, at in part.failed.items()}


def times_of_detection(
    load: list[LiveRuns], failed: dict[str, float], kinds: tuple[str, ...]
) -> dict[str, float]:
    """When the step was acknowledged with which each run's finding is more than information."""
    times = {}
    for part in load:
        for name in failed.keys() & part.failed_step.keys():
            step = decisive_step(part.logged[name], kinds, part.failed_step[name])
            if step is not None:
                times[name] = part.acknowledged[name][step]
    return times


def times_of_incidents(server: KilledServer, kinds: tuple[str, ...]) -> dict[str, float]:
    """When the first incident of each run was stored."""
    engine = connect(f"sqlite:///{server.folder / 'data' / 'holter.db'}")
    query = (
        select(RunRecord.name, func.min(IncidentRow.opened_at))
        .join(IncidentRow, IncidentRow.run_id == RunRecord.id)
        .where(IncidentRow.kind.in_(kinds))
        .group_by(RunRecord.name)
    )
    offset = time.monotonic() - time.time()
    with Session(engine) as session:
        times = {name: at + offset for name, at in session.execute(query)}
    engine.dispose()
    return times


def wait_for_receipts(plan: FaultPlan, posted: dict[str, float], seconds: float) -> None:
    """Wait until both channels have taken a message about each run."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if all(len(latencies(plan, posted, channel)) == len(posted) for channel in ("web", "mail")):
            return
        time.sleep(1)


def latencies(plan: FaultPlan, posted: dict[str, float], channel: str) -> list[float]:
    """Seconds from the points of each run to the first message about it."""
    with plan.lock:
        receipts = [receipt for receipt in plan.receipts if receipt.channel == channel]
    first: dict[str, float] = {}
    for receipt in receipts:
        for name in posted.keys() & set(receipt.subject.split()):
            first.setdefault(name, receipt.at - posted[name])
    return sorted(first.values())


def measure_quiet(folder: Path, arguments: argparse.Namespace) -> bool:
    """Print the incidents and messages about fault-free runs; whether there were no messages."""
    now = [1_700_000_000.0]
    channels = {"team": {"type": "webhook", "url": "http://127.0.0.1:9/x", "allow_private": True}}
    context = ServerContext(
        Settings(data_dir=folder, channels=channels),
        clock=Clock(wall=lambda: now[0], uptime=lambda: now[0]),
    )
    context.start()
    try:
        runs = fault_free_runs(max(1, arguments.points // POINTS_PER_RUN), arguments.seed)
        for first in range(0, POINTS_PER_RUN, BATCH):
            now[0] += BATCH
            for name, series in runs.items():
                receipt = context.store.accept(deliver(name, series, first, now[0]))
                context.analysis.analyze(receipt.run_id)
        with Session(context.engine) as session:
            incidents = session.execute(select(IncidentRow.kind, IncidentRow.severity)).all()
            messages = session.scalars(select(NotificationRow.reason)).all()
    finally:
        context.close()
    print(
        f"{len(runs)} runs of {POINTS_PER_RUN:,} points: {len(runs) * POINTS_PER_RUN:,} points of each series"
    )
    print(f"incidents: {dict(Counter(f'{kind} ({severity})' for kind, severity in incidents)) or 'none'}")
    print(f"messages: {dict(Counter(messages)) or 'none'}")
    return not messages


def fault_free_runs(count: int, seed: int) -> dict[str, dict[str, np.ndarray]]:
    """Runs without faults: losses of all levels, noises and sizes in turn, with gradient norms and speeds."""
    levels, noises = list(LEVELS.values()), list(NOISES.values())
    runs = {}
    for number in range(count):
        random_source = np.random.default_rng([number, seed])
        base = levels[number % len(levels)](random_source, POINTS_PER_RUN)
        noise = noises[number % len(noises)](random_source, POINTS_PER_RUN)
        size = NOISE_SIZES[number % len(NOISE_SIZES)]
        runs[f"run{number}"] = {
            "loss": base + size * noise_unit(base) * noise,
            "grad_norm": np.exp(0.3 * random_source.standard_normal(POINTS_PER_RUN)),
            "tokens_per_second": 5e4 * (1 + 0.02 * lognormal(0.5)(random_source, POINTS_PER_RUN)),
        }
    return runs


def deliver(name: str, series: dict[str, Any], first: int, now: float) -> Delivery:
    """A batch of a run whose last step was logged now; a step takes a second."""
    steps = np.arange(first, first + BATCH)
    columns = tuple(
        Column(key=SeriesKey(metric), values=values[steps].astype(float)) for metric, values in series.items()
    )
    batch = Batch(steps=steps, times=now - BATCH + 1.0 + np.arange(BATCH), columns=columns)
    return Delivery(project="llm", run=name, writer="trainer", batch_id=str(first), batch=batch)


COMMANDS = {"faults": measure_faults, "latency": measure_latency, "quiet": measure_quiet}

if __name__ == "__main__":
    main()
