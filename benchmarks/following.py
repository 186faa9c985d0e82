"""Following thousands of event files, and one that grows large: `python benchmarks/following.py`."""

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

_LOOKS = 20


def main() -> None:
    """Print one line for each measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=5_000)
    parser.add_argument("--megabytes", type=int, default=256, help="size of the file that grows")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        many(Path(folder), arguments.files)
    for how, kernels in (("numpy", no_kernels), ("compiled", lambda size: numba_kernels)):
        with tempfile.TemporaryDirectory() as folder:
            large(Path(folder), arguments.megabytes, how, EventFile(kernels))


def many(folder: Path, files: int) -> None:
    """A first look at a tree of event files, then looks while one of them grows."""
    first = write_event_file(folder / "first", Workload("small", "", 1, 10, 20), tensors=False) / NAME
    content = first.read_bytes()
    tree = folder / "tree"
    for number in range(files):
        place = tree / f"group-{number // 100}" / f"run-{number}" / NAME
        place.parent.mkdir(parents=True)
        place.write_bytes(content)
    store = opened(folder)
    follower = Follower([tree], store, at_once=8)
    began, cpu = time.perf_counter(), time.process_time()
    follower.catch_up()
    print(f"{files} files, 200 points each, first look: {_spent(began, cpu)}")
    began, cpu = time.perf_counter(), time.process_time()
    for _ in range(_LOOKS):
        follower.catch_up()
    print(f"a look at all of them, nothing new: {1e3 * (time.perf_counter() - began) / _LOOKS:.1f} ms")
    took = []
    growing = tree / "group-0" / "run-7" / NAME
    for _ in range(_LOOKS):
        with growing.open("ab") as file:
            file.write(content)
        began = time.perf_counter()
        follower.catch_up()
        took.append(time.perf_counter() - began)
    print(
        f"the same while one file grows, until its points are durable: {1e3 * statistics.median(took):.1f} ms"
    )
    store.close()


def large(folder: Path, megabytes: int, how: str, events: EventFile) -> None:
    """One file that grows to its size in pieces, looked at after each."""
    piece = write_event_file(folder / "piece", Workload("piece", "", 1, 20, 8_000), tensors=False) / NAME
    content = piece.read_bytes()
    place = folder / "tree" / "run" / NAME
    place.parent.mkdir(parents=True)
    store = opened(folder)
    follower = Follower([folder / "tree"], store, known={**formats(), "tensorboard": events})
    process, most, start, size = psutil.Process(), 0, 0, 0
    began, cpu = time.perf_counter(), time.process_time()
    while size < megabytes * 2**20:
        with place.open("ab") as file:
            size += file.write(content)
        follower.catch_up()
        start = start or process.memory_info().rss
        most = max(most, process.memory_info().rss)
    print(
        f"a file that grows to {size / 2**20:.0f} MiB, {how}: {_spent(began, cpu)}, "
        f"memory {start / 2**20:.0f} MiB after the first piece, {most / 2**20:.0f} MiB at most"
    )
    store.close()


def opened(folder: Path) -> Store:
    """A store of its own."""
    engine = connect(f"sqlite:///{folder}/holter.db")
    upgrade(engine)
    store = Store(engine)
    store.start()
    return store


def _spent(began: float, cpu: float) -> str:
    return f"{time.perf_counter() - began:.2f} s, {time.process_time() - cpu:.2f} s of processor"


if __name__ == "__main__":
    main()
