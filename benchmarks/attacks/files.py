"""Files that harm whoever reads them, put into a folder that a server follows."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

from benchmarks.attacks.target import Attack, Target

MIB = 2**20
RUNS = 2000


def harmful(content: str) -> Attack:
    """A file of a format that does harm, as `content` says."""
    return lambda target: write(target.logs / "bad" / "file.harm", f"{content}\n".encode())


def write(path: Path, content: bytes) -> None:
    """Write a file in a folder of its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def exploding_text(target: Target) -> None:
    """Texts on which backtracking patterns once took minutes."""
    long_word, blanks = b"=" * 60_000, b" \t" * 30_000
    text = b"Epoch" + blanks + b"\n" + long_word + b"\nstep: 1 " + blanks + b"loss" + blanks + b"\n"
    write(target.logs / "text" / "train.log", b"step 1 loss 2.5\n" * 50 + text * 20)


def huge_gzip(target: Target) -> None:
    """A packed CSV of 1 GiB."""
    path = target.logs / "packed" / "metrics.csv.gz"
    path.parent.mkdir(parents=True)
    rows = b"".join(b"%d,2.5\n" % step for step in range(1_000_000, 1_100_000))
    packed = gzip.compress(rows)
    unnoticed = target.logs.parent / "packed"
    unnoticed.write_bytes(gzip.compress(b"step,loss\n") + packed * (1024 * MIB // len(rows)))
    unnoticed.rename(path)


def wide_files(target: Target) -> None:
    """Files that take much memory to read: many columns, long lines, a large document."""
    columns = 150_000
    header = b"step," + b",".join(b"metric_%d" % number for number in range(columns)) + b"\n"
    row = b",2.5" * columns + b"\n"
    write(target.logs / "wide" / "metrics.csv", header + b"".join(b"%d" % step + row for step in range(100)))
    line = b"{" + b",".join(b'"metric_%d":2.5' % number for number in range(columns)) + b',"step":%d}\n'
    write(target.logs / "long" / "metrics.jsonl", b"".join(line % step for step in range(50)))
    entry = b'{"step":%d,"loss":2.5,"learning_rate":0.1}'
    history = b",".join(entry % step for step in range(1_000_000))
    write(target.logs / "document" / "trainer_state.json", b'{"log_history":[' + history + b"]}")


def long_line(target: Target) -> None:
    """A log of one line of 50 MB without an end, then a good line."""
    write(target.logs / "long-line" / "train.log", b"step 1 loss 2.5\n" + b"epoch 1 " * (50 * MIB // 8))


def strange_files(target: Target) -> None:
    """A named pipe, links to devices and to itself, a sparse file of 50 GB, and a lone byte-order mark."""
    folder = target.logs / "strange"
    write(folder / "mark.csv", b"\xef\xbb\xbf")
    os.mkfifo(folder / "metrics.csv")
    (folder / "train.log").symlink_to("/dev/zero")
    (folder / "history.jsonl").symlink_to("/proc/self/mem")
    (folder / "again").symlink_to(folder)
    for name in ("empty.log", "sparse.csv", "events.out.tfevents.1"):
        write(folder / name, b"step,loss\n")
        os.truncate(folder / name, 50 * 2**30)


def many_files(target: Target) -> None:
    """20,000 logs of one line."""
    for number in range(20_000):
        write(target.logs / f"job-{number % 100}" / f"{number}.csv", b"step,loss\n1,2.5\n")


def many_runs(target: Target) -> None:
    """Logs of 2,000 runs, all analysed."""
    rows = b"step,loss\n" + b"".join(b"%d,%.3f\n" % (step, 2.5 + step % 7 / 100) for step in range(500))
    for number in range(RUNS):
        write(target.logs / f"run-{number}" / "metrics.csv", rows)
