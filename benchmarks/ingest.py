"""Measures how fast logs are read, compared with TensorBoard's own reader in the same run.

python benchmarks/ingest.py [--points 200000] [--rounds 5] [--only-text]
"""

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
from holter.ingest.offline.read_run import read_run
from holter.ingest.tensorboard import numba_kernels
from holter.ingest.tensorboard.event_file import EventFile
from holter.ingest.tensorboard.jit import no_kernels
from holter.ingest.tensorboard.records import masked_crc
from holter.types import Batch

TAGS = ("train/loss", "train/grad_norm", "train/learning_rate", "train/tokens_per_second")


def build_event_file(points: int, *, tensors: bool) -> bytes:
    """An event file as SummaryWriter (simple values) or TF2 (tensors) writes it, one value per event."""
    values = np.random.default_rng(1).normal(size=points)
    parts = [_encode_record(Event(wall_time=1.7e9, file_version="brain.Event:2"))]
    for number, value in enumerate(values.tolist()):
        entry = Summary.Value(tag=TAGS[number % len(TAGS)])
        if tensors:
            entry.tensor.CopyFrom(TensorProto(dtype=1, tensor_content=struct.pack("<f", value)))
            entry.metadata.plugin_data.plugin_name = "scalars"
        else:
            entry.simple_value = value
        step = number // len(TAGS)
        parts.append(_encode_record(Event(wall_time=1.7e9 + step, step=step, summary=Summary(value=[entry]))))
    return b"".join(parts)


def _encode_record(event: Event) -> bytes:
    data = event.SerializeToString()
    header = struct.pack("<Q", len(data))
    return header + struct.pack("<I", masked_crc(header)) + data + struct.pack("<I", masked_crc(data))


def build_csv(rows: int) -> bytes:
    """A CSV log with five metrics."""
    values = np.random.default_rng(1).normal(size=(rows, 5))
    lines = ["step,wall_time,loss,grad_norm,lr,tokens_per_s,mfu"]
    lines += [
        f"{step},{1.7e9 + step:.2f}," + ",".join(f"{value:.6g}" for value in row)
        for step, row in enumerate(values.tolist())
    ]
    return ("\n".join(lines) + "\n").encode()


def build_jsonl(rows: int) -> bytes:
    """A JSON Lines log with five metrics."""
    values = np.random.default_rng(1).normal(size=(rows, 5))
    return "".join(
        f'{{"step": {step}, "_timestamp": {1.7e9 + step}, "loss": {row[0]:.6g}, "grad_norm": {row[1]:.6g}, '
        f'"lr": {row[2]:.6g}, "tokens_per_s": {row[3]:.6g}, "mfu": {row[4]:.6g}}}\n'
        for step, row in enumerate(values.tolist())
    ).encode()


def build_text(lines: int, kind: str) -> bytes:
    """Printed lines: records with their time and epoch, short records, or lines that are no records."""
    random = np.random.default_rng(1)
    values = random.uniform(size=(lines, 3)).tolist()
    forms = TEXTS[kind]
    order = [number % len(forms) for number in range(lines)] if forms else []
    if not forms:
        forms = (
            *TEXTS["three kinds of lines in turn"],
            *TEXTS["no records"],
            *TEXTS["no records, with a step"],
        )
        order = random.integers(0, len(forms), size=lines).tolist()
    return "".join(
        forms[order[number]].format(
            minute=number // 60 % 60,
            second=number % 60,
            epoch=1 + number // 445,
            batch=number % 445,
            number=number,
            loss=5 * loss,
            rate=1e-3 * rate,
            norm=norm,
        )
        for number, (loss, rate, norm) in enumerate(values)
    ).encode()


_CLOCK = "2026-05-21 02:{minute:02d}:{second:02d},123 INFO "
_STAMP = "2026-05-21T02:{minute:02d}:{second:02d}.123{batch:03d}789Z "
TEXTS: dict[str, tuple[str, ...]] = {
    "lines of epochs, 5 values": (
        _CLOCK + "Epoch [{epoch}/60] Iter [{batch}/445] loss: {loss:.4f} lr: {rate:.6g} grad_norm: {norm:.3f}"
        " time: {norm:.3f}\n",
    ),
    "lines of steps, 3 values": ("step: {number} loss: {loss:.4f} lr: {rate:.6g} grad_norm: {norm:.3f}\n",),
    "two kinds of lines in turn": (
        "step: {number} loss: {loss:.4f} lr: {rate:.6g}\n",
        "step: {number} | train/throughput {norm:.3f} tokens/s | loss {loss:.4f}\n",
    ),
    "two kinds, records of two splits in turn": (
        "Epoch [{epoch}/60] [{batch}/445] loss: {loss:.4f} lr: {rate:.6g}\n",
        "[Eval] Epoch [{epoch}/60] loss: {norm:.4f} acc: {norm:.3f}\n",
    ),
    "three kinds of lines in turn": (
        "step: {number} loss: {loss:.4f} lr: {rate:.6g}\n",
        "step: {number} | train/throughput {norm:.3f} tokens/s | loss {loss:.4f}\n",
        _CLOCK + "global_step={number}, grad_norm={norm:.3f}, loss_scale=65536.0\n",
    ),
    "any of three kinds, and noise": (),
    "DeepSpeed and the script's own in turn": (
        "[2026-05-21 02:{minute:02d}:{second:02d},123] [INFO] [logging.py:96:log_dist] [Rank 0] "
        "step={number}, "
        "skipped=0, lr=[{rate:.6g}], mom=[(0.9, 0.95)]\n",
        "[Step {number}/900000] Loss: {loss:.4f} | Global Tokens/s: {norm:.2f}\n",
    ),
    "torchrun, 8 ranks": tuple(
        f"[default{rank}]:step: {{number}} loss: {{loss:.4f}} lr: {{rate:.6g}}\n" for rank in range(8)
    ),
    "srun, 64 ranks": tuple(
        f"{rank:2}: step: {{number}} loss: {{loss:.4f}} lr: {{rate:.6g}}\n" for rank in range(64)
    ),
    "kubectl logs --timestamps": (_STAMP + "step: {number} loss: {loss:.4f} lr: {rate:.6g}\n",),
    "CRI's logs, two kinds in turn": (
        _STAMP + "stdout F step: {number} loss: {loss:.4f}\n",
        _STAMP + "stderr F step: {number} grad_norm: {norm:.4f} lr: {rate:.6g}\n",
    ),
    "docker compose": tuple(
        f"trainer-{rank}  | step: {{number}} loss: {{loss:.4f}} lr: {{rate:.6g}}\n" for rank in (1, 2)
    ),
    "stern": tuple(
        f"trainer-7d9f8b6c5-{name} main 2026-05-21T02:{{minute:02d}}:{{second:02d}}.123{{batch:03d}}Z "
        "step: {number} loss: {loss:.4f} lr: {rate:.6g}\n"
        for name in ("x2x4q", "b7k9z")
    ),
    "no records": (_CLOCK + "Loading shard {number} from /data/part-{number:07d}.bin into memory\n",),
    "no records, with a step": (_CLOCK + "Saved step {number} to /data/step-{number:07d} in 3.2 s\n",),
}


def print_text(lines: int, rounds: int) -> None:
    """Print how many lines of a program that has no format of its own are read per second."""
    every = formats()
    for kind in TEXTS:
        content = build_text(lines, kind)
        plain = every["deepspeed" if kind.startswith("DeepSpeed") else "key-value"]
        points = read_with_holter("train.log", content, plain)
        seconds = median_seconds(
            lambda content=content, plain=plain: read_with_holter("train.log", content, plain),
            rounds=rounds,
            points=points,
        )
        megabytes = len(content) / seconds / 1e6
        print(f"{kind:38} {lines / seconds:12,.0f} lines/s  {megabytes:7.1f} MB/s   {points:,} points")


_WORDS = ("the", "of", "model", "data", "file", "load", "queue", "worker", "cache", "index", "river")
"""Words of running text, such as the samples of a language model."""


def build_by_hand(lines: int) -> dict[str, bytes]:
    """Texts that people give by hand: records, values without a step, and nothing that can be read."""
    random = np.random.default_rng(1)
    values = random.random(lines).tolist()
    words = random.choice(_WORDS, size=(lines, 12)).tolist()
    numbers = range(lines)
    texts = {
        "losses without a step": [f"loss: {value:.5f}" for value in values],
        "numbers alone": [f"{value:.5f}" for value in values],
        "running text": [" ".join(line) for line in words],
        "running text with numbers": [
            f"{' '.join(line[:4])} {number} {' '.join(line[4:])} {value:.3f}"
            for number, line, value in zip(numbers, words, values, strict=True)
        ],
        "requests of a server": [
            f'10.0.{number % 255}.7 - - "GET /{line[0]}/{line[1]}{number} HTTP/1.1" 200 {number % 9999}'
            for number, line in zip(numbers, words, strict=True)
        ],
    }
    kinds = ("lines of steps, 3 values", "no records", "no records, with a step")
    encoded = {name: "".join(f"{line}\n" for line in text).encode() for name, text in texts.items()}
    return {**{kind: build_text(lines, kind) for kind in kinds}, **encoded}


def print_by_hand(lines: int, rounds: int) -> None:
    """Print how fast a file is read that was given by hand, with the guess at what it holds."""
    print("\ngiven by hand:")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out.txt"
        for kind, content in build_by_hand(lines).items():
            path.write_bytes(content)
            points = read_run(path).points
            seconds = median_seconds(lambda: read_run(path).points, rounds=max(1, rounds // 2), points=points)
            print(f"{kind:38} {lines / seconds:12,.0f} lines/s  {'':12}   {points:,} points")


def read_with_holter(name: str, content: bytes, log_format: Format | None = None) -> int:
    """Read a file with a format (default: the one that recognises it); returns the number of points."""
    path = Path(name)
    if log_format is None:
        log_format = next(each for each in formats().values() if each.sniff(path, content[:65536]))
    records = log_format.reader(path, {}).read(io.BytesIO(content))
    return sum(record.points for record in records if isinstance(record, Batch))


def read_with_tensorboard(path: Path) -> int:
    """Read a file with EventAccumulator without sampling; returns the number of points."""
    accumulator = EventAccumulator(str(path), size_guidance={"scalars": 0, "tensors": 0})
    accumulator.Reload()
    return sum(len(accumulator.Tensors(tag)) for tag in accumulator.Tags()["tensors"]) + sum(
        len(accumulator.Scalars(tag)) for tag in accumulator.Tags()["scalars"]
    )


def median_seconds(call: Callable[[], int], *, rounds: int, points: int) -> float:
    """The median processor time of several calls; the number of points is checked each time."""
    durations = []
    for _ in range(rounds):
        start = time.process_time()
        count = call()
        durations.append(time.process_time() - start)
        assert count == points, f"read {count} of {points} points"
    return statistics.median(durations)


def main() -> int:
    """Print a table; exit code 1 if a reader is less than five times as fast as EventAccumulator."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--points", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only-text", action="store_true", help="printed lines alone")
    arguments = parser.parse_args()
    points, rounds = arguments.points, arguments.rounds
    print_text(points // 4, rounds)
    print_by_hand(points, rounds)
    if arguments.only_text:
        return 0
    name = "events.out.tfevents.1700000000.node.1.0"
    ratios = []
    for title, tensors in (("event file, simple values", False), ("event file, TF2 tensors", True)):
        content = build_event_file(points, tensors=tensors)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_bytes(content)
            tensorboard_seconds = median_seconds(
                lambda path=path: read_with_tensorboard(path), rounds=max(1, rounds // 2), points=points
            )
        for variant, log_format in (
            ("", EventFile(no_kernels)),
            (", compiled", EventFile(lambda size: numba_kernels)),
        ):
            seconds = median_seconds(
                lambda content=content, log_format=log_format: read_with_holter(name, content, log_format),
                rounds=rounds,
                points=points,
            )
            ratios.append(tensorboard_seconds / seconds)
            megabytes = len(content) / seconds / 1e6
            print(
                f"{title + variant:38} {points / seconds:12,.0f} events/s {megabytes:7.1f} MB/s"
                f"   EventAccumulator {points / tensorboard_seconds:10,.0f} events/s"
                f"   {ratios[-1]:6.1f} times as fast"
            )
    for title, file, content in (
        ("CSV, 5 metrics", "log.csv", build_csv(points // 5)),
        ("JSON Lines, 5 metrics", "log.jsonl", build_jsonl(points // 5)),
    ):
        expected = points // 5 * 5
        seconds = median_seconds(
            lambda file=file, content=content: read_with_holter(file, content), rounds=rounds, points=expected
        )
        print(f"{title:38} {expected / seconds:12,.0f} points/s {len(content) / seconds / 1e6:7.1f} MB/s")
    return 0 if min(ratios) >= 5 else 1


if __name__ == "__main__":
    sys.exit(main())
