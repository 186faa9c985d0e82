"""What can happen to trainings that log with trackio's client: scenarios for any version of it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.support import trackio_program
from tests.support.cutting_proxy import cutting_proxy
from tests.support.tracker_host import TrackerHost, has_exactly
from tests.support.tracker_trainings import TrackerOutcome, result_of


@dataclass(frozen=True, kw_only=True)
class TrackioTrainings:
    """Trainings of one version of the client that log a run of a name to a host.

    `rows` of a launch, `pause` in seconds after each, `fault_seconds` that a fault lasts.
    """

    host: TrackerHost
    folder: Path
    run: str
    python: Path = Path(sys.executable)
    rows: int = 60
    pause: float = 0.05
    fault_seconds: float = 2.0
    environment: Mapping[str, str] = field(default_factory=dict)

    def start(self, task: str, *, rows: int | None = None, address: str = "") -> subprocess.Popen[str]:
        """Begin a task of `trackio_program`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        environment = os.environ | {
            "TRACKIO_SERVER_URL": address or self.host.proxy.address,
            "TRACKIO_WRITE_TOKEN": "any",
            "TRACKIO_DIR": str(self.folder / "trackio"),
            "TRACKIO_TEST_RUN": self.run,
            "HF_HOME": str(self.folder / "huggingface"),
            "HF_HUB_OFFLINE": "1",
            **self.environment,
        }
        count = self.rows if rows is None else rows
        command = [str(self.python), trackio_program.__file__, task, str(count), str(self.pause)]
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder,
            env=environment,
        )  # fmt: skip

    def outcome(self, steps: Sequence[int], *, run: str = "", note: str = "") -> TrackerOutcome:
        """Compare what is stored of a run with the rows of these steps."""
        name = run or self.run
        expected: dict[str, dict[int, list[float]]] = {}
        for step in steps:
            for metric, value in trackio_program.row(step).items():
                expected.setdefault(metric, {}).setdefault(step, []).append(value)
        stored = {key.metric: series for key, series in self.host.points(name).items() if not key.labels}
        exact = all(
            metric in stored and has_exactly(stored[metric], values) for metric, values in expected.items()
        )
        return TrackerOutcome(
            sent=len(steps),
            stored=self.host.rows(name),
            exact=exact,
            attempts=len(self.host.spans(name)),
            note=note,
        )


def normal(trainings: TrackioTrainings) -> TrackerOutcome:
    """One run."""
    result_of(trainings.start("steadily"))
    return trainings.outcome(range(trainings.rows))


def resumed(trainings: TrackioTrainings) -> TrackerOutcome:
    """A run that is resumed where it ended, and from an older checkpoint."""
    result_of(trainings.start("resumed"))
    rows = trainings.rows
    return trainings.outcome([*range(2 * rows), *range(rows, 2 * rows)])


def several(trainings: TrackioTrainings) -> TrackerOutcome:
    """Several runs of one name, and one without a name."""
    unnamed = result_of(trainings.start("several"))["unnamed"]
    names = [trainings.run, f"{trainings.run}-2", f"{trainings.run}-3", unnamed]
    outcomes = [trainings.outcome(range(trainings.rows), run=name) for name in names]
    return TrackerOutcome(
        sent=sum(each.sent for each in outcomes),
        stored=sum(each.stored for each in outcomes),
        exact=all(each.exact for each in outcomes),
        attempts=max(each.attempts for each in outcomes),
        note=f"{len(outcomes)} runs",
    )


def everything(trainings: TrackioTrainings) -> TrackerOutcome:
    """Other numbers, measurements of the machine, alerts, files that are discarded."""
    result_of(trainings.start("everything"))
    host, run = trainings.host, trainings.run
    points = {str(key): series.value.tolist() for key, series in host.points(run).items()}
    detail = host.detail(run)
    checks = {
        "NaN": str(points.get("special")) == "[nan]",
        "infinite": points.get("bound") == [float("-inf")],
        "nested": points.get("nested/deep/value") == [1.5],
        "beside a histogram": points.get("seen") == [1.0],
        "machine": points.get("system.gpu/0/utilization{steps=milliseconds}") == [97.0],
        "alert": host.user_alerts(run) == [("critical", "Loss is odd: look at it")],
        "files noted": ["discarded" in note["reason"] for note in detail["unreadable"]] == [True],
        "configuration": detail["config"] == {"lr": 3e-4, "model.layers": 12},
        "group": detail["description"]["group"] == "sweep",
    }
    wrong = [name for name, holds in checks.items() if not holds]
    return trainings.outcome(
        range(trainings.rows), note=f"wrong: {', '.join(wrong)}" if wrong else "all kinds"
    )


def by_counter(trainings: TrackioTrainings) -> TrackerOutcome:
    """A metric of the framework is the training step; a resumed run counts on."""
    result_of(trainings.start("by_counter"))
    result_of(trainings.start("by_counter"))
    points = {str(key): series for key, series in trainings.host.points(trainings.run).items()}
    loss, counter = points["train/loss"], points["_step"]
    rows = trainings.rows
    exact = (
        loss.step.tolist() == [10 * number for number in range(rows)] * 2
        and loss.attempt.tolist() == [0] * rows + [1] * rows
        and counter.value.tolist() == [float(number) for number in range(1, 2 * rows)]
    )
    return TrackerOutcome(sent=2 * rows, stored=len(loss), exact=exact, attempts=2)


def _during(
    trainings: TrackioTrainings, fault: Callable[[], None], heal: Callable[[], None]
) -> TrackerOutcome:
    process = trainings.start("steadily")
    try:
        trainings.host.wait_for_rows(trainings.run, 5)
        fault()
        time.sleep(trainings.fault_seconds)
        heal()
        result_of(process)
        return trainings.outcome(range(trainings.rows))
    finally:
        process.kill()
        process.wait()


def server_killed(trainings: TrackioTrainings) -> TrackerOutcome:
    """The server is killed during the run, and started again."""
    return _during(trainings, trainings.host.kill, trainings.host.start)


def refused(trainings: TrackioTrainings) -> TrackerOutcome:
    """Connections are refused for a while."""
    proxy = trainings.host.proxy
    return _during(trainings, proxy.refuse, proxy.heal)


def too_many_requests(trainings: TrackioTrainings) -> TrackerOutcome:
    """All requests are answered with 429 and Retry-After for a while."""
    proxy = trainings.host.proxy
    return _during(trainings, lambda: proxy.answer(429, 1), proxy.heal)


def unavailable(trainings: TrackioTrainings) -> TrackerOutcome:
    """All requests are answered with 503 and Retry-After for a while."""
    proxy = trainings.host.proxy
    return _during(trainings, lambda: proxy.answer(503, 1), proxy.heal)


def refused_at_start(trainings: TrackioTrainings) -> TrackerOutcome:
    """Connections are refused when the run begins, and for a while."""
    proxy = trainings.host.proxy
    proxy.refuse()
    process = trainings.start("steadily")
    try:
        time.sleep(trainings.fault_seconds)
        proxy.heal()
        result_of(process)
        return trainings.outcome(range(trainings.rows))
    finally:
        process.kill()
        process.wait()


def answers_lost(trainings: TrackioTrainings) -> TrackerOutcome:
    """Connections are cut at any point, so that rows are sent again that are stored already."""
    port = int(trainings.host.server_address.rpartition(":")[2])
    with cutting_proxy(port, 0.3) as proxy:
        result_of(trainings.start("steadily", address=f"http://127.0.0.1:{proxy.port}"))
        return trainings.outcome(range(trainings.rows), note=f"{proxy.cuts} cuts")


SCENARIOS: Mapping[str, Callable[[TrackioTrainings], TrackerOutcome]] = {
    "normal": normal,
    "resumed": resumed,
    "several": several,
    "everything": everything,
    "by_counter": by_counter,
    "server_killed": server_killed,
    "refused": refused,
    "429": too_many_requests,
    "503": unavailable,
    "refused_at_start": refused_at_start,
    "answers_lost": answers_lost,
}
