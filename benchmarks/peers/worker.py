"""Measures one peer on one workload, in the peer's own environment, and writes the measurement as JSON.

python -m peers.worker MODULE:CLASS WORKLOAD SHARE FOLDER OUTPUT
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

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_MAX_READ_SECONDS = 1.0  # a query is repeated for so long, or `_MAX_READS` times
_MAX_READS = 7


def main() -> None:
    """Measure, and write the measurement to the output file."""
    factory, name, share, folder, output = sys.argv[1:]
    module, _, class_name = factory.partition(":")
    peer = getattr(importlib.import_module(f"peers.{module}"), class_name)(Path(folder))
    try:
        if name in WORKLOADS:
            measurement = measure_workload(peer, WORKLOADS[name].scaled(float(share)))
        else:
            measurement = measure_loading(peer, Path(name))
    finally:
        peer.close()
    Path(output).write_text(json.dumps(measurement))


def measure_workload(peer: Any, workload: Workload) -> dict[str, Any]:
    """Seconds and CPU seconds of writing, bytes on disk, and milliseconds of each query."""
    rows = [list(workload.rows(run)) for run in range(workload.runs)]
    gc.collect()
    gc.freeze()
    measurement: dict[str, Any] = {"points": workload.points}
    if hasattr(peer, "write"):
        cpu, start = cpu_seconds(), time.perf_counter()
        peer.write(workload, rows)
        measurement |= {"seconds": time.perf_counter() - start, "cpu": cpu_seconds() - cpu}
    else:
        peer.prepare(workload, rows)
    measurement["reads"] = {
        name: median_milliseconds(query, expected)
        for name, (query, expected) in peer.readers(workload).items()
    }
    if hasattr(peer, "write"):
        measurement["bytes"] = peer.size()
    return measurement


def measure_loading(peer: Any, path: Path) -> dict[str, Any]:
    """Seconds until all points of a folder of event files can be queried, for each way to load it."""
    measurement = {}
    for name, load in peer.loaders(path).items():
        cpu, start = cpu_seconds(), time.perf_counter()
        points = load()
        measurement[name] = {
            "points": points,
            "seconds": time.perf_counter() - start,
            "cpu": cpu_seconds() - cpu,
        }
    return measurement


def median_milliseconds(query: Callable[[], int], expected: int) -> float:
    """The median duration of a query that is repeated; each answer must have the expected points."""
    durations: list[float] = []
    while len(durations) < _MAX_READS and (sum(durations) < _MAX_READ_SECONDS or not durations):
        start = time.perf_counter()
        count = query()
        durations.append(time.perf_counter() - start)
        assert count >= expected, f"read {count} points, expected at least {expected}"
    return 1e3 * statistics.median(durations)


def cpu_seconds() -> float:
    """CPU seconds of this process and all its descendants, running or ended."""
    times = os.times()
    total = times.user + times.system + times.children_user + times.children_system
    processes = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            processes[int(entry.name)] = (
                int(fields[1]),
                sum(int(field) for field in fields[11:15]) / _TICKS_PER_SECOND,
            )
    tree = {os.getpid()}
    while children := {pid for pid, (parent, _) in processes.items() if parent in tree and pid not in tree}:
        tree |= children
    return total + sum(processes[pid][1] for pid in tree if pid in processes and pid != os.getpid())


def folder_size(folder: Path) -> int:
    """The total size of all files in a folder, in bytes."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    main()
