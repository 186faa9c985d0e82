"""Runs Holter and its peers in turn, and prints medians and ratios."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from page_sections import DOCS, write_section  # noqa: E402 - after the change of sys.path

from peers.environments import PeerEnvironment, PeerUnavailableError  # noqa: E402
from peers.event_files import write_event_file  # noqa: E402
from peers.report import describe_load, describe_machine, report  # noqa: E402
from peers.results import PeerResults  # noqa: E402
from peers.roster import ROSTER, PeerSpec, install  # noqa: E402
from peers.workloads import QUERIES, WORKLOADS, Workload  # noqa: E402

_TIMEOUT_SECONDS = 400.0  # per measurement
_READS = 3  # processes that ask the same question, over all rounds
_LOADERS = ("Holter", "TensorBoard", "TensorBoard Rust server")
_READ_ONLY = {"TensorBoard Rust server": ("R20",)}
_EVENTS = Workload("events", "one event file", 1, 100, 10_000)


def main() -> int:
    """Measure all peers round by round, and print the tables; exit code 1 if Holter is unavailable."""
    parser = argparse.ArgumentParser(prog="benchmarks/peers", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the points, one round")
    parser.add_argument("--rounds", type=int, help="default 3; 1 for slow peers")
    parser.add_argument("--only", default="", help="names of peers, separated by commas")
    parser.add_argument(
        "--workloads", default="", help="names of workloads, separated by commas; events: event files"
    )
    parser.add_argument("--write", action="store_true", help="put the tables into docs/performance.md")
    parser.add_argument("--json", type=Path, help="write all measurements to this file")
    arguments = parser.parse_args()
    results = PeerResults(rounds=arguments.rounds or (1 if arguments.quick else 3))
    environments = list(_environments(_select_peers(ROSTER, arguments.only), results))
    start, machine, load = time.time(), describe_machine(), describe_load()
    scale = 0.1 if arguments.quick else 1.0
    workloads = [name for name in arguments.workloads.split(",") if name] or [*WORKLOADS, "events"]
    with tempfile.TemporaryDirectory() as folder:
        files = _event_files(Path(folder), scale) if "events" in workloads else {}
        try:
            for peer, number, name in _schedule(environments, workloads, results.rounds):
                _measure(peer, results, name, files, scale=scale, reads=_reads(peer, number, results.rounds))
        except KeyboardInterrupt:
            print("interrupted; measurements so far:", file=sys.stderr)
    heading = (
        f"{machine}. Load before {load}, after {describe_load()}; {(time.time() - start) / 60:.0f} minutes."
    )
    text = report(results, ROSTER, heading, scale=scale)
    print(text)
    if arguments.json:
        arguments.json.write_text(json.dumps(results.as_json(), indent=1))
    if arguments.write:
        write_section(DOCS / "performance.md", "peers", text)
    return 1 if "Holter" in results.unavailable else 0


def _select_peers(roster: tuple[PeerSpec, ...], only: str) -> list[PeerSpec]:
    names = {name.strip().lower() for name in only.split(",") if name.strip()}
    return [peer for peer in roster if not names or any(name in peer.name.lower() for name in names)]


def _environments(peers: list[PeerSpec], results: PeerResults) -> Iterator[PeerSpec]:
    """Install the peers; yields those that are available."""
    for peer in peers:
        print(f"installing {peer.name} ...", file=sys.stderr, flush=True)
        try:
            results.environments[peer.name] = install(peer)
        except PeerUnavailableError as error:
            results.unavailable[peer.name] = str(error)
        else:
            yield peer


def _event_files(folder: Path, scale: float) -> dict[str, Path]:
    workload = _EVENTS.scaled(scale)
    return {
        "events, simple values": write_event_file(folder / "simple", workload, tensors=False),
        "events, TF2 tensors": write_event_file(folder / "tensors", workload, tensors=True),
    }


def _schedule(
    peers: list[PeerSpec], workloads: list[str], rounds: int
) -> Iterator[tuple[PeerSpec, int, str]]:
    """Yield the measurements: round by round, workload by workload, peer by peer."""
    for number in range(rounds):
        for name in workloads:
            for peer in peers:
                if number < peer.rounds:
                    yield peer, number, name


def _reads(peer: PeerSpec, number: int, rounds: int) -> int:
    """How many processes ask each question in a round: together `_READS` at least."""
    own = min(rounds, peer.rounds)
    return _READS // own + (number < _READS % own)


def _measure(
    peer: PeerSpec, results: PeerResults, name: str, files: dict[str, Path], *, scale: float, reads: int
) -> None:
    """Measure one peer once on one workload: writing, then each question in fresh processes."""
    environment = results.environments[peer.name]
    with tempfile.TemporaryDirectory() as folder:
        request = {"factory": peer.factory, "folder": folder}
        if name == "events":
            for title, path in files.items() if peer.name in _LOADERS else ():
                _run_worker(
                    environment, results, (peer.name, title), request | {"action": "load", "path": str(path)}
                )
            return
        if name not in _READ_ONLY.get(peer.name, (name,)):
            return
        share = peer.share_of(name) * scale
        request |= {"workload": name, "share": share}
        if not _run_worker(environment, results, (peer.name, name), request | {"action": "write"}):
            return
        for query in QUERIES.get(name, ()) if peer.readable else ():
            if share < scale and query != "last values":
                continue  # fewer points than the others
            for _ in range(reads):
                _forget_cached_pages(Path(folder))
                asked = request | {"action": "read", "query": query, "started": time.time()}
                if not _run_worker(environment, results, (peer.name, query), asked):
                    break


def _forget_cached_pages(folder: Path) -> None:
    """Make the system forget the contents of files, so that they are read from disk again."""
    os.sync()
    for path in folder.rglob("*"):
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)


def _run_worker(
    environment: PeerEnvironment, results: PeerResults, case: tuple[str, str], request: dict[str, Any]
) -> bool:
    """Make one measurement in a new process, and add it to the results; returns whether it succeeded."""
    peer, title = case
    print(f"{request['action']:5} {title:22} {peer} ...", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        question, answer = Path(folder) / "request.json", Path(folder) / "measurement.json"
        question.write_text(json.dumps(request))
        own_path = os.environ.get("PYTHONPATH", "") if str(environment.python) == sys.executable else ""
        python_path = os.pathsep.join(filter(None, (str(HERE.parent), own_path)))
        command = [str(environment.python), "-m", "peers.worker", str(question), str(answer)]
        try:
            process = subprocess.run(
                command,
                cwd=folder,
                env={**os.environ, "PYTHONPATH": python_path},
                capture_output=True,
                text=True,
                timeout=_TIMEOUT_SECONDS,
            )
        except subprocess.TimeoutExpired:
            results.add_failure(peer, title, f"took longer than {_TIMEOUT_SECONDS:.0f} s")
            return False
        if process.returncode:
            lines = (process.stderr or process.stdout).strip().splitlines()
            results.add_failure(peer, title, lines[-1] if lines else f"exit code {process.returncode}")
            print("\n".join(lines[-12:]), file=sys.stderr)
            return False
        results.add(peer, title, json.loads(answer.read_text()))
        return True


if __name__ == "__main__":
    sys.exit(main())
