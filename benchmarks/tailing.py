"""Measures tailing of thousands of event files, and of one file that grows large.

python benchmarks/tailing.py [--files 5000] [--megabytes 256]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import psutil

from holter.ingest import formats
from holter.ingest.tailing.follower import Follower
from holter.ingest.tensorboard import numba_kernels
from holter.ingest.tensorboard.event_file import EventFile
from holter.ingest.tensorboard.jit import no_kernels
from holter.server.database import connect
from holter.server.migrate import upgrade
from holter.server.store import Store

sys.path.insert(0, str(Path(__file__).parent))

from peers.event_files import NAME, write_event_file
from peers.workloads import Workload

_SCANS = 20


def main() -> None:
    """Print one line for each measurement."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--files", type=int, default=5_000)
    parser.add_argument("--megabytes", type=int, default=256, help="final size of the growing file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure_many_files(Path(folder), arguments.files)
    for variant, kernels in (("numpy", no_kernels), ("compiled", lambda size: numba_kernels)):
        with tempfile.TemporaryDirectory() as folder:
            measure_growing_file(Path(folder), arguments.megabytes, variant, EventFile(kernels))


def measure_many_files(folder: Path, files: int) -> None:
    """Measure the first scan of a tree of event files, then scans while one of them grows."""
    first = write_event_file(folder / "first", Workload("small", "", 1, 10, 20), tensors=False) / NAME
    content = first.read_bytes()
    tree = folder / "tree"
    for number in range(files):
        path = tree / f"group-{number // 100}" / f"run-{number}" / NAME
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
    store = open_store(folder)
    follower = Follower([tree], store, at_once=8)
    start, cpu = time.perf_counter(), time.process_time()
    follower.catch_up()
    print(f"{files} files, 200 points each, first scan: {_format_times(start, cpu)}")
    start, cpu = time.perf_counter(), time.process_time()
    for _ in range(_SCANS):
        follower.catch_up()
    print(f"a scan without new data: {1e3 * (time.perf_counter() - start) / _SCANS:.1f} ms")
    durations = []
    growing = tree / "group-0" / "run-7" / NAME
    for _ in range(_SCANS):
        with growing.open("ab") as file:
            file.write(content)
        start = time.perf_counter()
        follower.catch_up()
        durations.append(time.perf_counter() - start)
    median = 1e3 * statistics.median(durations)
    print(f"a scan after one file has grown, until its points are durable: {median:.1f} ms")
    store.close()


def measure_growing_file(folder: Path, megabytes: int, variant: str, events: EventFile) -> None:
    """Measure time and memory of scans after each part that is appended to a file."""
    part = write_event_file(folder / "part", Workload("part", "", 1, 20, 8_000), tensors=False) / NAME
    content = part.read_bytes()
    path = folder / "tree" / "run" / NAME
    path.parent.mkdir(parents=True)
    store = open_store(folder)
    follower = Follower([folder / "tree"], store, known={**formats(), "tensorboard": events})
    process, first_memory, max_memory, size = psutil.Process(), 0, 0, 0
    start, cpu = time.perf_counter(), time.process_time()
    while size < megabytes * 2**20:
        with path.open("ab") as file:
            size += file.write(content)
        follower.catch_up()
        first_memory = first_memory or process.memory_info().rss
        max_memory = max(max_memory, process.memory_info().rss)
    print(
        f"a file that grows to {size / 2**20:.0f} MiB, {variant}: {_format_times(start, cpu)}, "
        f"memory {first_memory / 2**20:.0f} MiB after the first part, maximum {max_memory / 2**20:.0f} MiB"
    )
    store.close()


def open_store(folder: Path) -> Store:
    """Open a store on a new database."""
    engine = connect(f"sqlite:///{folder}/holter.db")
    upgrade(engine)
    store = Store(engine)
    store.start()
    return store


def _format_times(start: float, cpu: float) -> str:
    return f"{time.perf_counter() - start:.2f} s, {time.process_time() - cpu:.2f} s of CPU time"


if __name__ == "__main__":
    main()
