"""What can happen to trainings that log with MLflow's client: scenarios for any version of it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support import mlflow_fault_program
from tests.support.tracker_host import TrackerHost, has_exactly
from tests.support.tracker_trainings import TrackerOutcome, result_of
from tests.support.waiting import wait_for


@dataclass(frozen=True, kw_only=True)
class MlflowTrainings:
    """Trainings of one version of the client that log to a host.

    `rows` of a launch, `pause` in seconds after each, `fault_seconds` that a fault lasts, `retry_after`: what
    answers of 429 and 503 tell the client to wait, in seconds.
    """

    host: TrackerHost
    folder: Path
    python: Path = Path(sys.executable)
    rows: int = 60
    pause: float = 0.05
    fault_seconds: float = 2.0
    retry_after: int = 2
    environment: Mapping[str, str] = field(default_factory=dict)

    def start(self, task: str) -> subprocess.Popen[str]:
        """Begin a task of `mlflow_fault_program`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        environment = os.environ | {
            "MLFLOW_TRACKING_URI": self.host.proxy.address,
            "MLFLOW_DISABLE_TELEMETRY": "true",
            "MLFLOW_SYSTEM_METRICS_SAMPLING_INTERVAL": "1",
            "HOME": str(self.folder),
            **self.environment,
        }
        command = [str(self.python), mlflow_fault_program.__file__, task, str(self.rows), str(self.pause)]
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder,
            env=environment,
        )  # fmt: skip

    def outcome(self, result: Mapping[str, Any], steps: Sequence[int], note: str = "") -> TrackerOutcome:
        """Compare the stored losses of a run with those of these steps."""
        detail = self.host.detail_of(result["run"])
        expected: dict[int, list[float]] = {}
        for step in steps:
            expected.setdefault(step, []).append(mlflow_fault_program.value(step))
        points = self.host.points(detail["name"])
        (loss,) = (series for key, series in points.items() if key.metric == "loss")
        return TrackerOutcome(
            sent=len(steps),
            stored=len(loss),
            exact=has_exactly(loss, expected),
            attempts=len(detail["strip"]["attempts"]),
            note=note,
        )


def reopened(trainings: MlflowTrainings) -> TrackerOutcome:
    """A run that is opened again for a test metric, and for more training from an older checkpoint."""
    result = result_of(trainings.start("reopened"))
    rows = trainings.rows
    name = trainings.host.detail_of(result["run"])["name"]
    tested = trainings.host.rows(name, "test_accuracy")
    return trainings.outcome(
        result, [*range(rows), *range(rows // 2, rows // 2 + rows)], f"test metrics: {tested}"
    )


def asynchronous(trainings: MlflowTrainings) -> TrackerOutcome:
    """A run that is logged asynchronously."""
    return trainings.outcome(result_of(trainings.start("asynchronously")), range(trainings.rows))


def _during(
    trainings: MlflowTrainings, task: str, name: str, fault: Callable[[], None], heal: Callable[[], None]
) -> TrackerOutcome:
    before = len(trainings.host.names(name))
    process = trainings.start(task)
    try:
        wait_for(lambda: len(trainings.host.names(name)) > before, 60)
        run = trainings.host.names(name)[-1]
        trainings.host.wait_for_rows(run, 5)
        fault()
        time.sleep(trainings.fault_seconds)
        heal()
        return trainings.outcome(result_of(process), range(trainings.rows))
    finally:
        process.kill()
        process.wait()


def server_killed(trainings: MlflowTrainings) -> TrackerOutcome:
    """The server is killed during the run, and started again."""
    host = trainings.host
    return _during(trainings, "steadily", "steady", host.kill, host.start)


def server_killed_asynchronous(trainings: MlflowTrainings) -> TrackerOutcome:
    """The same while points are sent in the background."""
    host = trainings.host
    return _during(trainings, "asynchronously", "asynchronous", host.kill, host.start)


def refused(trainings: MlflowTrainings) -> TrackerOutcome:
    """Connections are refused for a while."""
    proxy = trainings.host.proxy
    return _during(trainings, "steadily", "steady", proxy.refuse, proxy.heal)


def too_many_requests(trainings: MlflowTrainings) -> TrackerOutcome:
    """All requests are answered with 429 and Retry-After for a while."""
    proxy = trainings.host.proxy
    return _during(
        trainings, "steadily", "steady", lambda: proxy.answer(429, trainings.retry_after), proxy.heal
    )


def unavailable(trainings: MlflowTrainings) -> TrackerOutcome:
    """All requests are answered with 503 and Retry-After for a while."""
    proxy = trainings.host.proxy
    return _during(
        trainings, "steadily", "steady", lambda: proxy.answer(503, trainings.retry_after), proxy.heal
    )


def others(trainings: MlflowTrainings) -> TrackerOutcome:
    """Nested runs, system metrics, artifacts that are discarded, searches."""
    result = result_of(trainings.start("others"))
    detail = trainings.host.detail_of(result["run"])
    metrics = {key.metric for key in trainings.host.points(detail["name"])}
    checks = {
        "nested": result["parent"],
        "search": result["found"] == ["child-1"] and result["all"] == ["parent", "child-0", "child-1"],
        "history": result["history"] == [*range(trainings.rows)],
        "system metrics": any(metric.startswith("system/") for metric in metrics),
        "artifacts noted": ["discarded" in note["reason"] for note in detail["unreadable"]] == [True],
    }
    wrong = [name for name, holds in checks.items() if not holds]
    note = f"wrong: {', '.join(wrong)}" if wrong else "nested runs, search, history, system metrics, note"
    return trainings.outcome(result, range(trainings.rows), note)


def autologged(trainings: MlflowTrainings) -> TrackerOutcome:
    """A model of scikit-learn that is logged by itself."""
    result = result_of(trainings.start("autologged"))
    detail = trainings.host.detail_of(result["run"])
    stored = sum(len(series) for series in trainings.host.points(detail["name"]).values())
    ended = result["status"] == "FINISHED" and detail["state"] == "finished"
    return TrackerOutcome(
        sent=result["metrics"],
        stored=stored,
        exact=ended and stored == result["metrics"] > 0 and result["params"] > 0,
        attempts=len(detail["strip"]["attempts"]),
        note=f"{result['params']} parameters, {result['status']}",
    )


SCENARIOS: Mapping[str, Callable[[MlflowTrainings], TrackerOutcome]] = {
    "reopened": reopened,
    "asynchronous": asynchronous,
    "server_killed": server_killed,
    "server_killed_asynchronous": server_killed_asynchronous,
    "refused": refused,
    "429": too_many_requests,
    "503": unavailable,
    "others": others,
    "autologged": autologged,
}
