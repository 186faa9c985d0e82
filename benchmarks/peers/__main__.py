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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from page_sections import DOCS, write_section  # noqa: E402 - after the change of sys.path

from peers.event_files import write_event_file  # noqa: E402 - after the change of sys.path
from peers.report import describe_machine, report  # noqa: E402
from peers.roster import ROSTER, PeerSpec, PeerUnavailableError, install_environment  # noqa: E402
from peers.workloads import WORKLOADS, Workload  # noqa: E402

_TIMEOUT_SECONDS = 400.0  # per measurement
_LOADERS = ("Holter", "TensorBoard", "TensorBoard Rust server")
_READ_ONLY = {"TensorBoard Rust server": ("R20",)}
_EVENTS = Workload("events", "one event file", 1, 100, 10_000)


@dataclass
class PeerResults:
    """The measured rounds by peer and workload, and why peers are unavailable."""

    measured: dict[tuple[str, str], list[dict[str, Any]]] = field(default_factory=dict)
    unavailable: dict[str, str] = field(default_factory=dict)

    def add(self, peer: str, workload: str, measurement: dict[str, Any]) -> None:
        """Add the measurement of a round."""
        self.measured.setdefault((peer, workload), []).append(measurement)


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
    start, machine = time.time(), describe_machine()
    results = PeerResults()
    environments = list(_environments(_select_peers(ROSTER, arguments.only), results))
    rounds = arguments.rounds or (1 if arguments.quick else 3)
    scale = 0.1 if arguments.quick else 1.0
    workloads = [name for name in arguments.workloads.split(",") if name] or [*WORKLOADS, "events"]
    with tempfile.TemporaryDirectory() as folder:
        files = _event_files(Path(folder), scale) if "events" in workloads else {}
        try:
            for peer, python, case, share in _schedule(environments, workloads, files, rounds, scale):
                _measure(peer, python, case, share, results)
        except KeyboardInterrupt:
            print("interrupted; measurements so far:", file=sys.stderr)
    minutes = (time.time() - start) / 60
    text = report(results.measured, results.unavailable, ROSTER, machine, minutes=minutes, scale=scale)
    print(text)
    if arguments.json:
        measurements = [
            {"peer": peer, "workload": workload, "rounds": rounds}
            for (peer, workload), rounds in results.measured.items()
        ]
        arguments.json.write_text(json.dumps(measurements, indent=1))
    if arguments.write:
        write_section(DOCS / "performance.md", "peers", text)
    return 1 if "Holter" in results.unavailable else 0


def _schedule(
    environments: list[tuple[PeerSpec, Path]],
    workloads: list[str],
    files: dict[str, Path],
    rounds: int,
    scale: float,
) -> Iterator[tuple[PeerSpec, Path, tuple[str, str], float]]:
    """Yield the measurements: round by round, workload by workload, peer by peer."""
    for number in range(rounds):
        for name in workloads:
            for peer, python in environments:
                if number < min(rounds, peer.rounds):
                    for case, share in _cases(peer, name, files, scale):
                        yield peer, python, case, share


def _select_peers(roster: tuple[PeerSpec, ...], only: str) -> list[PeerSpec]:
    names = {name.strip().lower() for name in only.split(",") if name.strip()}
    return [peer for peer in roster if not names or any(name in peer.name.lower() for name in names)]


def _environments(peers: list[PeerSpec], results: PeerResults) -> Iterator[tuple[PeerSpec, Path]]:
    for peer in peers:
        try:
            yield peer, install_environment(peer)
        except PeerUnavailableError as error:
            results.unavailable[peer.name] = str(error)


def _event_files(folder: Path, scale: float) -> dict[str, Path]:
    workload = _EVENTS.scaled(scale)
    return {
        "events, simple values": write_event_file(folder / "simple", workload, tensors=False),
        "events, TF2 tensors": write_event_file(folder / "tensors", workload, tensors=True),
    }


def _cases(
    peer: PeerSpec, name: str, files: dict[str, Path], scale: float
) -> Iterator[tuple[tuple[str, str], float]]:
    if name == "events":
        if peer.name in _LOADERS:
            yield from (((title, str(path)), 1.0) for title, path in files.items())
    elif name in _READ_ONLY.get(peer.name, (name,)):
        yield (name, name), peer.share_of(name) * scale


def _measure(peer: PeerSpec, python: Path, case: tuple[str, str], share: float, results: PeerResults) -> None:
    title, argument = case
    if peer.name in results.unavailable:
        return
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "measurement.json"
        data = Path(folder) / "data"
        data.mkdir()
        command = [
            str(python),
            "-m",
            "peers.worker",
            peer.factory,
            argument,
            str(share),
            str(data),
            str(output),
        ]
        python_path = os.environ.get("PYTHONPATH", "") if peer.requirements is None else ""
        environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (str(HERE.parent), python_path)))}
        print(f"{title:24} {peer.name} ...", file=sys.stderr, flush=True)
        try:
            process = subprocess.run(
                command, cwd=folder, env=environ, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS
            )
        except subprocess.TimeoutExpired:
            results.add(peer.name, title, {"failed": f"took longer than {_TIMEOUT_SECONDS:.0f} s"})
            return
        if process.returncode:
            lines = (process.stderr or process.stdout).strip().splitlines()
            results.add(peer.name, title, {"failed": lines[-1] if lines else str(process.returncode)})
            print("\n".join(lines[-12:]), file=sys.stderr)
            return
        results.add(peer.name, title, json.loads(output.read_text()))


if __name__ == "__main__":
    sys.exit(main())
