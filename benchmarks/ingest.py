"""How fast logs are read, against TensorBoard's own reader in the same run: `python benchmarks/ingest.py`."""

from __future__ import annotations

import argparse
import io
import statistics
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.compat.proto.tensor_pb2 import TensorProto

from holter.ingest import formats
from holter.ingest.format import Format
from holter.ingest.tensorboard import numba_kernels
from holter.ingest.tensorboard.event_file import EventFile
from holter.ingest.tensorboard.jit import no_kernels
from holter.ingest.tensorboard.records import masked_crc
from holter.types import Batch

TAGS = ("train/loss", "train/grad_norm", "train/learning_rate", "train/tokens_per_second")


def event_file(points: int, *, tensors: bool) -> bytes:
    """An event file as SummaryWriter (simple values) or TF2 (tensors) writes it, one value an event."""
    values = np.random.default_rng(1).normal(size=points)
    parts = [_framed(Event(wall_time=1.7e9, file_version="brain.Event:2"))]
    for number, value in enumerate(values.tolist()):
        entry = Summary.Value(tag=TAGS[number % len(TAGS)])
        if tensors:
            entry.tensor.CopyFrom(TensorProto(dtype=1, tensor_content=struct.pack("<f", value)))
            entry.metadata.plugin_data.plugin_name = "scalars"
        else:
            entry.simple_value = value
        step = number // len(TAGS)
        parts.append(_framed(Event(wall_time=1.7e9 + step, step=step, summary=Summary(value=[entry]))))
    return b"".join(parts)


def _framed(event: Event) -> bytes:
    data = event.SerializeToString()
    header = struct.pack("<Q", len(data))
    return header + struct.pack("<I", masked_crc(header)) + data + struct.pack("<I", masked_crc(data))


def csv_file(rows: int) -> bytes:
    """A CSV log with five metrics."""
    values = np.random.default_rng(1).normal(size=(rows, 5))
    lines = ["step,wall_time,loss,grad_norm,lr,tokens_per_s,mfu"]
    lines += [
        f"{step},{1.7e9 + step:.2f}," + ",".join(f"{value:.6g}" for value in row)
        for step, row in enumerate(values.tolist())
    ]
    return ("\n".join(lines) + "\n").encode()


def jsonl_file(rows: int) -> bytes:
    """The same as JSON Lines."""
    values = np.random.default_rng(1).normal(size=(rows, 5))
    return "".join(
        f'{{"step": {step}, "_timestamp": {1.7e9 + step}, "loss": {row[0]:.6g}, "grad_norm": {row[1]:.6g}, '
        f'"lr": {row[2]:.6g}, "tokens_per_s": {row[3]:.6g}, "mfu": {row[4]:.6g}}}\n'
        for step, row in enumerate(values.tolist())
    ).encode()


def ours(name: str, content: bytes, chosen: Format | None = None) -> int:
    """Read a file with a format, by default the one that claims it; how many points it holds."""
    path = Path(name)
    chosen = chosen or next(one for one in formats().values() if one.sniff(path, content[:65536]))
    records = chosen.reader(path, {}).read(io.BytesIO(content))
    return sum(record.points for record in records if isinstance(record, Batch))


def tensorboards(path: Path) -> int:
    """Load a file with EventAccumulator, keeping everything."""
    accumulator = EventAccumulator(str(path), size_guidance={"scalars": 0, "tensors": 0})
    accumulator.Reload()
    return sum(len(accumulator.Tensors(tag)) for tag in accumulator.Tags()["tensors"]) + sum(
        len(accumulator.Scalars(tag)) for tag in accumulator.Tags()["scalars"]
    )


def median_seconds(call: Callable[[], int], *, rounds: int, points: int) -> float:
    """The median of several timings; what is read is checked each time."""
    timings = []
    for _ in range(rounds):
        began = time.perf_counter()
        found = call()
        timings.append(time.perf_counter() - began)
        assert found == points, f"read {found} of {points} points"
    return statistics.median(timings)


def main() -> int:
    """Print a table; fail below the floors that hold on any machine, which are ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    points, rounds = arguments.points, arguments.rounds
    name = "events.out.tfevents.1700000000.node.1.0"
    ratios = []
    for title, tensors in (("event file, simple values", False), ("event file, TF2 tensors", True)):
        content = event_file(points, tensors=tensors)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_bytes(content)
            theirs = median_seconds(
                lambda path=path: tensorboards(path), rounds=max(1, rounds // 2), points=points
            )
        for how, chosen in (
            ("", EventFile(no_kernels)),
            (", compiled", EventFile(lambda size: numba_kernels)),
        ):
            mine = median_seconds(
                lambda content=content, chosen=chosen: ours(name, content, chosen),
                rounds=rounds,
                points=points,
            )
            ratios.append(theirs / mine)
            print(
                f"{title + how:38} {points / mine:12,.0f} events/s {len(content) / mine / 1e6:7.1f} MB/s"
                f"   EventAccumulator {points / theirs:10,.0f} events/s   {theirs / mine:6.1f} times as fast"
            )
    for title, file, content in (
        ("CSV, 5 metrics", "log.csv", csv_file(points // 5)),
        ("JSON Lines, 5 metrics", "log.jsonl", jsonl_file(points // 5)),
    ):
        wanted = points // 5 * 5
        mine = median_seconds(
            lambda file=file, content=content: ours(file, content), rounds=rounds, points=wanted
        )
        print(f"{title:38} {wanted / mine:12,.0f} points/s {len(content) / mine / 1e6:7.1f} MB/s")
    return 0 if min(ratios) >= 5 else 1


if __name__ == "__main__":
    sys.exit(main())
