"""Live runs over HTTP for measurements of alerts: many healthy ones, and some in which something fails."""

from __future__ import annotations

import sys
import threading
import time
from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from holter.detectors import find
from holter.types import RunData, Series, SeriesKey, Severity

STEP_SECONDS = 5.0
"""Seconds between two steps of a live run."""
FIRST_STEPS = 60
"""Steps that a run logs at first."""
ESTABLISHED_STEPS = 400
"""The same of a run whose fault is seen by comparison with an established level."""
SLOWER = 1.5
DRIFT = 1 / 0.95
"""Times as long as before that steps take after a loss of 5 % of the throughput."""
CREEP = 0.002
"""What a loss that creeps up gains with each step: a fifth of its noise."""
RANKS = 8
BEHIND = 300.0
"""Seconds by which the clock of a run that becomes slower is behind at first: slow steps take 7.5 s."""
KINDS = {
    "loss": ("spike_fast", "spike_slow", "divergence", "nonfinite", "spike_unrecovered"),
    "divergence": ("spike_fast", "spike_slow", "divergence", "spike_unrecovered"),
    "throughput": ("throughput_regression",),
    "drift": ("throughput_regression",),
    "straggler": ("straggler",),
    "xid": ("gpu_fault",),
}
"""What can fail, and the kinds of incidents that it makes."""


@dataclass
class LoggedPoints:
    """The points of a series in the order in which they were logged."""

    steps: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def until(self, key: SeriesKey, step: int) -> Series:
        """The series as it was when this step had been logged."""
        count = bisect_right(self.steps, step)
        return Series(
            key=key,
            attempt=np.zeros(count, np.int64),
            step=np.array(self.steps[:count], np.int64),
            time=np.array(self.times[:count]),
            value=np.array(self.values[:count]),
        )


def decisive_step(logged: dict[SeriesKey, LoggedPoints], kinds: tuple[str, ...], since: int) -> int | None:
    """The first step from `since` on with which one of these kinds is found and is more than information."""
    last = max(points.steps[-1] for points in logged.values())
    for step in range(since, last + 1):
        series = {key: points.until(key, step) for key, points in logged.items()}
        for finding in find(RunData(series=series)):
            if finding.kind.value in kinds and finding.severity is not Severity.INFO:
                return step
    return None


class LiveRuns(threading.Thread):
    """Every `parts`-th of the live runs: logs first steps of each, then a step every five seconds.

    The first `prepared` of them log what shows that `fault`. `acknowledged`: when their steps were, by run;
    `logged`: all that they logged, by run and series.
    """

    def __init__(
        self,
        address: str,
        runs: int,
        part: int,
        parts: int,
        stopping: threading.Event,
        *,
        fault: str = "loss",
        prepared: int = 0,
    ) -> None:
        super().__init__()
        self._client = httpx.Client(base_url=f"{address}/api/v1", trust_env=False, timeout=60)
        self._names = [f"live{number}" for number in range(part, runs, parts)]
        self._stopping = stopping
        self._random = np.random.default_rng(part)
        self._fault = fault
        self._prepared = frozenset(self._names[:prepared])
        self._clocks: dict[str, float] = {}
        self._failing: dict[str, float | str] = {}
        self._creeping: dict[str, int] = {}  # by run: the first step of a loss that creeps up
        self.warm = threading.Event()
        self.posted = 0
        self.failed: dict[str, float] = {}
        self.failed_step: dict[str, int] = {}
        self.acknowledged: dict[str, dict[int, float]] = {name: {} for name in self._prepared}
        self.logged: dict[str, dict[SeriesKey, LoggedPoints]] = {name: {} for name in self._prepared}

    def run(self) -> None:
        """Post until stopped."""
        first = FIRST_STEPS if self._fault == "loss" else ESTABLISHED_STEPS
        for name in self._names:
            begin = 0 if name in self._prepared else first - FIRST_STEPS
            self._post(name, range(begin, first))
        self.warm.set()
        step = first
        while not self._stopping.is_set():
            began = time.monotonic()
            for position, name in enumerate(self._names):
                due = began + STEP_SECONDS * position / len(self._names)
                if self._stopping.wait(max(0.0, due - time.monotonic())):
                    return
                self._post(name, range(step, step + 1))
            step += 1
            self._stopping.wait(max(0.0, began + STEP_SECONDS - time.monotonic()))

    def let_fail(self, position: int, becomes: float | str) -> str:
        """Let one of the runs fail from its next step on; returns its name. `becomes`: of its loss."""
        name = self._names[position]
        self._failing[name] = becomes
        return name

    def _post(self, name: str, steps: range) -> None:
        fails = name in self._failing
        count = len(steps)
        slower = {"throughput": SLOWER, "drift": DRIFT}.get(self._fault, 1.0) if fails else 1.0
        times = self._times(name, count, slower)
        noise = self._random.normal(0, 0.01, (3, count))
        columns: dict[str, Any] = {
            "step": list(steps),
            "time": times,
            "loss": [2 + 2 / (1 + step / 20) + value for step, value in zip(steps, noise[0], strict=True)],
            "grad_norm": [1 + value for value in noise[1]],
        }
        if fails and self._fault == "loss":
            columns["loss"] = [self._failing[name]] * count
        if fails and self._fault == "divergence":
            begun = self._creeping.setdefault(name, steps[0])
            columns["loss"] = [
                value + CREEP * (step - begun + 1) for step, value in zip(steps, columns["loss"], strict=True)
            ]
        if name in self._prepared and self._fault in ("throughput", "drift"):
            columns["tokens_per_second"] = [5e4 / slower * (1 + value) for value in noise[2]]
        if name in self._prepared and self._fault == "xid":
            columns["xid"] = [79.0 * fails] * count
        self._send({"project": "llm", "run": name, "columns": columns})
        if name in self._prepared and self._fault == "straggler":
            for rank in range(RANKS):
                slow = SLOWER if fails and rank == 3 else 1.0
                values = [2 * slow * (1 + value) for value in self._random.normal(0, 0.01, count)]
                of_rank = {"step": list(steps), "time": times, "compute_time": values}
                body = {"project": "llm", "run": name, "labels": {"rank": rank}, "columns": of_rank}
                self._send(body)
        now = time.monotonic()
        if name in self._prepared and count == 1:
            self.acknowledged[name][steps[0]] = now
        if fails:
            self.failed.setdefault(name, now)
            self.failed_step.setdefault(name, steps[0])

    def _times(self, name: str, count: int, slower: float) -> list[float]:
        now = time.time()
        if self._fault not in ("throughput", "drift") or name not in self._prepared:
            return [now - STEP_SECONDS * (count - 1 - index) for index in range(count)]
        begin = self._clocks.get(name, now - BEHIND - STEP_SECONDS * count)
        times = [begin + slower * STEP_SECONDS * (index + 1) for index in range(count)]
        self._clocks[name] = times[-1]
        return times

    def _send(self, body: dict[str, Any]) -> None:
        self._client.post("/ingest", json=body).raise_for_status()
        self.posted += 1
        if (series := self.logged.get(body["run"])) is not None:
            labels = tuple((name, str(value)) for name, value in body.get("labels", {}).items())
            columns = body["columns"]
            for metric in columns.keys() - {"step", "time"}:
                points = series.setdefault(SeriesKey(metric, labels), LoggedPoints())
                points.steps += columns["step"]
                points.times += columns["time"]
                points.values += map(float, columns[metric])
