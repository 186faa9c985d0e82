"""Runs Holter and its peers side by side, and prints medians and ratios."""

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

from peers.event_files import write_event_file  # noqa: E402 - found only now
from peers.report import machine, report, write_page  # noqa: E402
from peers.roster import ROSTER, AbsentError, Entrant, python_of  # noqa: E402
from peers.workloads import WORKLOADS, Workload  # noqa: E402

_LONGEST = 400.0  # seconds that one measurement may take
_LOADERS = ("Holter", "TensorBoard", "TensorBoard Rust server")
_READ_ONLY = {"TensorBoard Rust server": ("R20",)}
_EVENTS = Workload("events", "one event file", 1, 100, 10_000)


@dataclass
class Found:
    """Everything measured: by entrant and workload, a list of rounds; who is absent, and why."""

    measured: dict[tuple[str, str], list[dict[str, Any]]] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)

    def add(self, entrant: str, workload: str, one: dict[str, Any]) -> None:
        """Keep a round."""
        self.measured.setdefault((entrant, workload), []).append(one)


def main() -> int:
    """Measure round by round, everyone in turn; print; exit code 1 if Holter itself failed."""
    parser = argparse.ArgumentParser(prog="benchmarks/peers", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the points, one round")
    parser.add_argument("--rounds", type=int, help="default 3, and 1 for those that are slow")
    parser.add_argument("--only", default="", help="names, separated by commas")
    parser.add_argument("--workloads", default="", help="names, separated by commas; events: event files")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/performance.md")
    parser.add_argument("--json", type=Path, help="keep everything measured in this file")
    arguments = parser.parse_args()
    began, about = time.time(), machine()
    found = Found()
    environments = list(_environments(_chosen(ROSTER, arguments.only), found))
    rounds = arguments.rounds or (1 if arguments.quick else 3)
    scale = 0.1 if arguments.quick else 1.0
    wanted = [name for name in arguments.workloads.split(",") if name] or [*WORKLOADS, "events"]
    with tempfile.TemporaryDirectory() as folder:
        files = _event_files(Path(folder), scale) if "events" in wanted else {}
        try:
            for entrant, python, case, share in _in_turn(environments, wanted, files, rounds, scale):
                _measure(entrant, python, case, share, found)
        except KeyboardInterrupt:
            print("interrupted: what has been measured until now", file=sys.stderr)
    minutes = (time.time() - began) / 60
    text = report(found.measured, found.absent, ROSTER, about, minutes=minutes, scale=scale)
    print(text)
    if arguments.json:
        kept = [
            {"entrant": who, "workload": what, "rounds": held} for (who, what), held in found.measured.items()
        ]
        arguments.json.write_text(json.dumps(kept, indent=1))
    if arguments.write:
        write_page(HERE.parents[1] / "docs" / "performance.md", text)
    return 1 if "Holter" in found.absent else 0


def _in_turn(
    environments: list[tuple[Entrant, Path]],
    wanted: list[str],
    files: dict[str, Path],
    rounds: int,
    scale: float,
) -> Iterator[tuple[Entrant, Path, tuple[str, str], float]]:
    """Round by round, workload by workload, everyone after the other."""
    for number in range(rounds):
        for name in wanted:
            for entrant, python in environments:
                if number < min(rounds, entrant.rounds):
                    for case, share in _cases(entrant, name, files, scale):
                        yield entrant, python, case, share


def _chosen(roster: tuple[Entrant, ...], only: str) -> list[Entrant]:
    names = {name.strip().lower() for name in only.split(",") if name.strip()}
    return [one for one in roster if not names or any(name in one.name.lower() for name in names)]


def _environments(entrants: list[Entrant], found: Found) -> Iterator[tuple[Entrant, Path]]:
    for entrant in entrants:
        try:
            yield entrant, python_of(entrant)
        except AbsentError as error:
            found.absent[entrant.name] = str(error)


def _event_files(folder: Path, scale: float) -> dict[str, Path]:
    workload = _EVENTS.scaled(scale)
    return {
        "events, simple values": write_event_file(folder / "simple", workload, tensors=False),
        "events, TF2 tensors": write_event_file(folder / "tensors", workload, tensors=True),
    }


def _cases(
    entrant: Entrant, name: str, files: dict[str, Path], scale: float
) -> Iterator[tuple[tuple[str, str], float]]:
    if name == "events":
        if entrant.name in _LOADERS:
            yield from (((title, str(path)), 1.0) for title, path in files.items())
    elif name in _READ_ONLY.get(entrant.name, (name,)):
        yield (name, name), entrant.share_of(name) * scale


def _measure(entrant: Entrant, python: Path, case: tuple[str, str], share: float, found: Found) -> None:
    title, argument = case
    if entrant.name in found.absent:
        return
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        place = Path(folder) / "data"
        place.mkdir()
        command = [
            str(python),
            "-m",
            "peers.worker",
            entrant.module,
            argument,
            str(share),
            str(place),
            str(answer),
        ]
        own = os.environ.get("PYTHONPATH", "") if entrant.requirements is None else ""
        environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (str(HERE.parent), own)))}
        print(f"{title:24} {entrant.name} ...", file=sys.stderr, flush=True)
        try:
            done = subprocess.run(
                command, cwd=folder, env=environ, capture_output=True, text=True, timeout=_LONGEST
            )
        except subprocess.TimeoutExpired:
            found.add(entrant.name, title, {"failed": f"took longer than {_LONGEST:.0f} s"})
            return
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines()
            found.add(entrant.name, title, {"failed": said[-1] if said else str(done.returncode)})
            print("\n".join(said[-12:]), file=sys.stderr)
            return
        found.add(entrant.name, title, json.loads(answer.read_text()))


if __name__ == "__main__":
    sys.exit(main())
