"""A file that takes long to read does not make the others wait: each is read a part at a time."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from holter.ingest.tailing.follower import Follower
from holter.types import Cursor, Delivery, Unreadable

pytestmark = pytest.mark.slow

PART = 100_000


class OrderedSink:
    """Records the order of deliveries; `on_accept` is called with each one's run."""

    def __init__(self, on_accept: Callable[[str], None] = lambda _: None) -> None:
        self.steps: list[tuple[str, int]] = []
        self._cursors: dict[str, Cursor] = {}
        self._on_accept = on_accept

    def accept(self, delivery: Delivery, *, timeout: float = 30) -> None:
        self.steps += [(delivery.run, int(step)) for step in delivery.batch.steps]
        if delivery.cursor is not None:
            self.save_cursor(delivery.cursor)
        self._on_accept(delivery.run)

    def cursor(self, source: str) -> Cursor | None:
        return self._cursors.get(source)

    def save_cursor(self, cursor: Cursor) -> None:
        self._cursors[cursor.source] = cursor

    def report_unreadable(self, unreadable: Unreadable, *, cursor: Cursor | None = None) -> None:
        raise AssertionError(unreadable)

    def of_run(self, run: str) -> list[int]:
        return [step for name, step in self.steps if name == run]

    def runs_in_turn(self) -> list[str]:
        runs = [name for name, _ in self.steps]
        return [name for at, name in enumerate(runs) if at == 0 or runs[at - 1] != name]


def csv_text(first: int, last: int) -> str:
    return "".join(f"{step},2.5\n" for step in range(first, last))


def test_a_small_growing_log_is_read_while_a_large_packed_one_is(tmp_path: Path) -> None:
    rows = 400_000
    large, small = tmp_path / "a-large" / "metrics.csv.gz", tmp_path / "small" / "metrics.csv"
    large.parent.mkdir()
    small.parent.mkdir()
    with gzip.open(large, "wt") as file:
        file.write("step,loss\n" + csv_text(0, rows))
    small.write_text("step,loss\n0,2.5\n")

    def grow(run: str) -> None:
        step = len(small.read_text().splitlines()) - 1
        if run == "a-large" and step < 5:  # while the large one is being read
            with small.open("a") as file:
                file.write(csv_text(step, step + 1))

    sink = OrderedSink(grow)
    Follower([tmp_path], sink, stop=threading.Event(), slice_bytes=PART).catch_up()
    assert sink.of_run("a-large") == list(range(rows))  # nothing is lost or repeated between two parts
    assert sink.of_run("small") == list(range(5))
    turns = sink.runs_in_turn()
    assert turns[:6] == ["a-large", "small"] * 3
    assert turns[-1] == "a-large"


def test_a_new_log_is_found_while_a_large_one_is_read(tmp_path: Path) -> None:
    rows, new = 300_000, tmp_path / "new" / "metrics.csv"
    large = tmp_path / "a-large" / "metrics.csv"
    large.parent.mkdir()
    large.write_text("step,loss\n" + csv_text(0, rows))
    now = [0.0]

    def add(_: str) -> None:
        now[0] += 3.0  # a delivery takes that long
        if not new.exists():
            new.parent.mkdir()
            new.write_text("step,loss\n0,2.5\n")

    sink = OrderedSink(add)
    follower = Follower([tmp_path], sink, stop=threading.Event(), slice_bytes=PART, clock=lambda: now[0])
    follower.catch_up()
    assert sink.of_run("a-large") == list(range(rows))
    assert sink.runs_in_turn() == ["a-large", "new", "a-large"]
