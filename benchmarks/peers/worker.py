"""Measures one peer on one workload, in the peer's own environment: writes what it found as JSON.

python -m peers.worker MODULE WORKLOAD SHARE FOLDER ANSWER
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from peers.workloads import WORKLOADS, Workload

_TICKS = os.sysconf("SC_CLK_TCK")
_READ_FOR = 1.0  # seconds, or `_READ_TIMES`, whichever is over first
_READ_TIMES = 7


def main() -> None:
    """Measure and answer."""
    module, name, share, folder, answer = sys.argv[1:]
    peer = importlib.import_module(f"peers.{module}").Peer(Path(folder))
    try:
        if name in WORKLOADS:
            found = measured(peer, WORKLOADS[name].scaled(float(share)))
        else:
            found = loaded(peer, Path(name))
    finally:
        peer.close()
    Path(answer).write_text(json.dumps(found))


def measured(peer: Any, workload: Workload) -> dict[str, Any]:
    """Seconds and processor seconds of writing, bytes, and milliseconds of each question."""
    rows = [list(workload.rows(run)) for run in range(workload.runs)]
    gc.collect()
    gc.freeze()
    found: dict[str, Any] = {"points": workload.points}
    if hasattr(peer, "write"):
        cpu, began = cpu_seconds(), time.perf_counter()
        peer.write(workload, rows)
        found |= {"seconds": time.perf_counter() - began, "cpu": cpu_seconds() - cpu}
    else:
        peer.prepare(workload, rows)
    found["reads"] = {
        what: milliseconds(ask, wanted) for what, (ask, wanted) in peer.readers(workload).items()
    }
    if hasattr(peer, "write"):
        found["bytes"] = peer.size()
    return found


def loaded(peer: Any, path: Path) -> dict[str, Any]:
    """Seconds until all points of a folder of event files are there to be asked for."""
    found = {}
    for what, load in peer.loaders(path).items():
        cpu, began = cpu_seconds(), time.perf_counter()
        points = load()
        found[what] = {"points": points, "seconds": time.perf_counter() - began, "cpu": cpu_seconds() - cpu}
    return found


def milliseconds(ask: Callable[[], int], wanted: int) -> float:
    """The median of several answers, each of which must hold what was wanted."""
    took: list[float] = []
    while len(took) < _READ_TIMES and (sum(took) < _READ_FOR or not took):
        began = time.perf_counter()
        count = ask()
        took.append(time.perf_counter() - began)
        assert count >= wanted, f"found {count} points, expected at least {wanted}"
    return 1e3 * statistics.median(took)


def cpu_seconds() -> float:
    """What this process has used, and every process below it, ended or not."""
    own = os.times()
    total = own.user + own.system + own.children_user + own.children_system
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = (int(fields[1]), sum(int(field) for field in fields[11:15]) / _TICKS)
    below = {os.getpid()}
    while more := {pid for pid, (parent, _) in parents.items() if parent in below and pid not in below}:
        below |= more
    return total + sum(parents[pid][1] for pid in below if pid in parents and pid != os.getpid())


def bytes_below(folder: Path) -> int:
    """The bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    main()
