"""Clients that send batch after batch over HTTP, each until it is acknowledged, and note the answers."""

from __future__ import annotations

import json
import math
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from typing import Any

import numpy as np

from holter.cli.agent.http_sink import encode_delivery
from holter.server.store import Store
from holter.types import Batch, Column, Delivery, SeriesKey

LONGEST_WAIT = 60.0


class BatchSender(threading.Thread):
    """One writer of one run: batches of `rows` steps of `metrics` series, in order, without end.

    A batch that was not acknowledged is sent again, as clients do, before the next one. Now and then one
    that was acknowledged is sent again, too. `pause`: seconds between tries.
    """

    def __init__(
        self,
        port: int,
        run: str,
        *,
        metrics: int = 3,
        rows: int = 50,
        rank: int | None = None,
        pause: float = 0.02,
    ) -> None:
        super().__init__(name=f"sender {run}", daemon=True)
        self.run_name, self.metrics, self.rows, self.rank = run, metrics, rows, rank
        self.acknowledged = 0
        self.arrived_before = 0  # batches whose acknowledgement was lost on the way
        self.answers: Counter[int] = Counter()
        self.reasons: Counter[str] = Counter()
        self.retry_after: set[str | None] = set()
        self.slowest = 0.0
        self.patience = LONGEST_WAIT  # seconds for which the last batch is tried once it is to end
        self.wrong: list[str] = []
        self._port = port
        self._pause = pause
        self._chance = random.Random(run)
        self._line: HTTPConnection | None = None
        self._ended = threading.Event()

    def delivery(self, number: int) -> Delivery:
        """The batch of this number."""
        labels = () if self.rank is None else (("rank", str(self.rank)),)
        steps = np.arange(number * self.rows, (number + 1) * self.rows, dtype=np.int64)
        columns = tuple(
            Column(key=SeriesKey(f"m{n}", labels), values=value(steps, n)) for n in range(self.metrics)
        )
        return Delivery(
            project="p",
            run=self.run_name,
            writer=f"w{self.rank or 0}",
            batch_id=f"{self.rank}:{number}",
            batch=Batch(steps=steps, times=1e9 + steps * 0.5, columns=columns),
        )

    def run(self) -> None:
        """Send until told to end, and then until the last batch is acknowledged."""
        while not self._ended.is_set():
            self._insist(self.acknowledged)
            if self.acknowledged and self._chance.random() < 0.1:
                self.repeat(self._chance.randrange(self.acknowledged))
        self.hang_up()

    def _insist(self, number: int) -> None:
        body, tried, given_up = encode_delivery(self.delivery(number)), False, math.inf
        while time.monotonic() < given_up:
            if self._ended.is_set():
                given_up = min(given_up, time.monotonic() + self.patience)
            reply = self._post(body)
            if reply is not None:
                if reply["duplicate"] and not tried:
                    self.wrong.append(f"batch {number} was new and was called a duplicate")
                self.arrived_before += bool(reply["duplicate"])
                self.acknowledged += 1
                return
            tried = True
            time.sleep(self._pause)
        self.wrong.append(f"batch {number} was not acknowledged in a minute")

    def repeat(self, number: int) -> None:
        """Send an acknowledged batch again, once: it must be known, if anybody answers."""
        reply = self._post(encode_delivery(self.delivery(number)))
        if reply is not None and not reply["duplicate"]:
            self.wrong.append(f"batch {number} was acknowledged and is not known any more")

    def _post(self, body: bytes) -> Mapping[str, Any] | None:
        """The acknowledgement; None where there was none, whatever came instead."""
        began = time.monotonic()
        try:
            if self._line is None:
                self._line = HTTPConnection("127.0.0.1", self._port, timeout=LONGEST_WAIT)
            self._line.request("POST", "/api/v1/ingest", body, {"Content-Type": "application/msgpack"})
            answer = self._line.getresponse()
            content = answer.read()
        except (OSError, HTTPException):
            self.hang_up()
            return None
        self.slowest = max(self.slowest, time.monotonic() - began)
        self.answers[answer.status] += 1
        if answer.status == 200:
            reply: dict[str, Any] | None = _whole(content)
            if reply is None:
                self.hang_up()
            return reply
        self.reasons[json.loads(content)["detail"]] += 1
        self.retry_after.add(answer.headers.get("Retry-After"))
        return None

    def hang_up(self) -> None:
        """Close the connection; the next batch opens another."""
        if self._line is not None:
            self._line.close()
            self._line = None

    def end(self) -> None:
        """Send no new batch."""
        self._ended.set()


def _whole(content: bytes) -> dict[str, Any] | None:
    """An answer, None where the line was cut in the middle of its headers."""
    try:
        reply: dict[str, Any] = json.loads(content)
    except ValueError:
        return None
    return reply


def value(steps: np.ndarray[Any, Any], metric: int) -> np.ndarray[Any, Any]:
    """What stands at these steps of a metric: nothing that two batches or two metrics share."""
    return np.sin(steps * (metric + 1.0)) + steps


@contextmanager
def sending(senders: list[BatchSender]) -> Iterator[list[BatchSender]]:
    """They send meanwhile; afterwards all they sent is acknowledged, and nothing was answered wrongly."""
    for sender in senders:
        sender.start()
    try:
        yield senders
        limit = time.monotonic() + 60
    except BaseException:
        limit = time.monotonic()  # the test has failed: nobody waits for what they still send
        raise
    finally:
        for sender in senders:
            sender.end()
        for sender in senders:
            sender.join(max(0.0, limit - time.monotonic()))
    assert not any(sender.is_alive() for sender in senders), "a client was never answered"
    assert [wrong for sender in senders for wrong in sender.wrong] == []


def assert_all_is_there(store: Store, senders: list[BatchSender]) -> None:
    """Every acknowledged point is stored, bit for bit, and none twice."""
    assert store.check() == []
    for sender in senders:
        receipt = store.accept(sender.delivery(0))
        assert receipt.duplicate
        found = store.read(receipt.run_id)
        steps = np.arange(sender.acknowledged * sender.rows)
        for column in sender.delivery(0).batch.columns:
            series, values = found[column.key], value(steps, int(column.key.metric[1:]))
            assert np.array_equal(series.step, steps), f"{sender.run_name} {column.key}"
            assert series.value.tobytes() == values.tobytes()
            assert not series.attempt.any()
            assert_in_numbers(store, receipt.run_id, column.key, values)
    for run_id, points in _by_run(store, senders).items():
        (attempt,) = store.attempts(run_id)
        assert attempt.points == points


def assert_in_numbers(store: Store, run_id: int, key: SeriesKey, values: np.ndarray[Any, Any]) -> None:
    """What is said of a series of these values, at steps from 0 on, is true: also what is remembered."""
    low, high, size = float(values.min()), float(values.max()), len(values)
    expected = (size, size, 0, size - 1, float(values[-1]), low, high, 0)
    for _ in range(2):
        (one,) = [summary for summary in store.series(run_id) if summary.key == key]
        said = (one.points, one.logged, one.first_step, one.last_step, one.last_value)
        assert (*said, one.minimum, one.maximum, one.nonfinite) == expected, f"{key}"
        (chart,) = store.chart(run_id, [key], points=50)
        drawn = np.concatenate([segment.value for segment in chart.segments])
        assert (chart.count, drawn.min(), drawn.max(), drawn[-1]) == (size, low, high, values[-1])
        assert [part.ghost for part in chart.segments] == [False]


def _by_run(store: Store, senders: list[BatchSender]) -> Counter[int]:
    """How many points each run was sent."""
    sent: Counter[int] = Counter()
    for sender in senders:
        run_id = store.accept(sender.delivery(0)).run_id
        sent[run_id] += sender.acknowledged * sender.rows * sender.metrics
    return sent
