"""Makes one measurement of one peer, in the peer's own environment, and writes it as JSON.

python -m peers.worker REQUEST OUTPUT, where REQUEST is a JSON file: the peer's `factory` (MODULE:CLASS), the
`action` (write, read or load), `folder` with its data, `workload` and `share` of its points, for `read` the
`query` and when the process was `started`, for `load` the `path` of a folder of event files.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from peers.workloads import WORKLOADS, Workload

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_QUIET_SHARE, _QUIET_WINDOW_SECONDS, _MAX_QUIET_SECONDS = 0.05, 1.0, 120.0


def main() -> None:
    """Make the requested measurement, and write it to the output file."""
    request = json.loads(Path(sys.argv[1]).read_text())
    module, _, class_name = request["factory"].partition(":")
    peer_class = getattr(importlib.import_module(f"peers.{module}"), class_name)
    peer = peer_class(Path(request["folder"]))
    try:
        if request["action"] == "load":
            measurement = measure_loading(peer, Path(request["path"]))
        else:
            workload = WORKLOADS[request["workload"]].scaled(request["share"])
            if request["action"] == "write":
                measurement = measure_writing(peer, workload)
            else:
                measurement = measure_reading(peer, workload, request["query"], request["started"])
    finally:
        peer.close()
    Path(sys.argv[2]).write_text(json.dumps(measurement))


def measure_writing(peer: Any, workload: Workload) -> dict[str, Any]:
    """Seconds until all is on disk, CPU seconds until the peer is quiet, bytes before and after compaction.

    CPU seconds include what the peer does by itself later: analysis and automatic compaction. Bytes are those
    of all files in its folder, after its processes have ended.
    """
    runs = [workload.logged_run(number) for number in range(workload.runs)]
    gc.collect()
    gc.freeze()
    if not hasattr(peer, "write"):
        peer.prepare(workload, runs)
        return {"points": workload.points}
    folder = peer.folder
    cpu, start = cpu_seconds(), time.perf_counter()
    peer.write(workload, runs)
    seconds, cpu_written = time.perf_counter() - start, cpu_seconds() - cpu
    _wait_until_quiet(peer)
    peer.close()
    bytes_before, cpu_quiet = folder_size(folder), cpu_seconds() - cpu
    peer.compact()
    return {
        "points": workload.points,
        "seconds": seconds,
        "cpu_written": cpu_written,
        "cpu": cpu_seconds() - cpu if peer.compacts_by_itself else cpu_quiet,
        "bytes_before": bytes_before,
        "bytes": folder_size(folder),
    }


def _wait_until_quiet(peer: Any) -> None:
    """Wait until the peer has no work left, and its processes use less than a twentieth of a core."""
    deadline = time.monotonic() + _MAX_QUIET_SECONDS
    while time.monotonic() < deadline:
        before = cpu_seconds()
        time.sleep(_QUIET_WINDOW_SECONDS)
        if cpu_seconds() - before < _QUIET_SHARE * _QUIET_WINDOW_SECONDS and peer.is_quiet():
            return
    raise TimeoutError(f"not quiet after {_MAX_QUIET_SECONDS:.0f} s")


def measure_reading(peer: Any, workload: Workload, query: str, started: float) -> dict[str, Any]:
    """Milliseconds of one query in a process that was `started` for it: the first answer, then the second.

    `opened` is the time from the start of the process until the query can be asked: imports, start of a
    server, loading. None if the peer has no such query.
    """
    readers = peer.readers(workload)
    opened = 1e3 * (time.time() - started)
    if query not in readers:
        return {"milliseconds": None}
    read, expected = readers[query]
    durations = []
    for _ in range(2):
        start = time.perf_counter()
        count = read()
        durations.append(1e3 * (time.perf_counter() - start))
        assert count >= expected, f"read {count} points, expected at least {expected}"
    return {"points": workload.points, "opened": opened, "milliseconds": durations}


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
