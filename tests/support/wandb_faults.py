"""What can happen to trainings that log with wandb's client: scenarios for any version of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holter.ingest.wandb.wandb_log import WandbLog
from holter.types import Batch
from tests.support import wandb_program
from tests.support.forked_commands import run_command
from tests.support.tracker_host import TrackerHost, has_exactly
from tests.support.waiting import wait_for

METRICS = 10
_RUN_SECONDS = 300
QUICK = {
    "WANDB_X_FILE_STREAM_TRANSMIT_INTERVAL": "1",
    "WANDB_X_FILE_STREAM_RETRY_WAIT_MIN_SECONDS": "0.2",
    "WANDB_X_FILE_STREAM_RETRY_WAIT_MAX_SECONDS": "0.5",
    "WANDB_X_GRAPHQL_RETRY_WAIT_MIN_SECONDS": "0.2",
    "WANDB_X_GRAPHQL_RETRY_WAIT_MAX_SECONDS": "0.5",
}
"""Settings of the client with which it sends and tries again sooner than by itself."""


@dataclass(frozen=True, kw_only=True)
class WandbClient:
    """A version of the client: its Python, and how a run of it is paced.

    `rows` of a launch, `pause` in seconds after each, `fault_seconds` that a fault lasts; `one_process`: all
    launches of a run that is resumed five times are in one process.
    """

    python: Path = Path(sys.executable)
    environment: Mapping[str, str] = field(default_factory=dict)
    rows: int = 150
    pause: float = 0.02
    fault_seconds: float = 2.0
    metrics: int = METRICS
    one_process: bool = False


@dataclass(frozen=True, kw_only=True)
class FaultOutcome:
    """How many rows a client logged, and how many are stored; `exact`: each once and with its values.

    `launches`: the first steps of the launches that logged them; `attempts`: those of the stored attempts.
    """

    sent: int
    stored: int
    exact: bool
    exit_code: int
    launches: tuple[int, ...] = (0,)
    attempts: tuple[int, ...] = ()
    note: str = ""


class WandbTraining:
    """Processes of one client that log one run to a host."""

    def __init__(self, host: TrackerHost, client: WandbClient, folder: Path, run: str) -> None:
        self.host, self.client, self.run = host, client, run
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._environment = os.environ | {
            "WANDB_BASE_URL": host.proxy.address,
            "WANDB_API_KEY": "0" * 40,
            "WANDB_DIR": str(folder),
            "WANDB_CACHE_DIR": str(folder),
            "WANDB_SILENT": "true",
            "WANDB_ERROR_REPORTING": "false",
            "NETRC": str(folder / "netrc"),
        }

    def launch_of(self, first: int = 0, rows: int | None = None, **more: Any) -> dict[str, Any]:
        """A launch of the plan."""
        return {"first": first, "rows": self.client.rows if rows is None else rows, **more}

    def start(self, *launches: dict[str, Any], **environment: str) -> subprocess.Popen[str]:
        """Begin a process with these launches."""
        plan = {
            "id": self.run,
            "metrics": self.client.metrics,
            "pause": self.client.pause,
            "launches": launches,
        }
        return self._begin([wandb_program.__file__, json.dumps(plan)], environment)

    def log(self, *launches: dict[str, Any], **environment: str) -> int:
        """The exit code of a process with these launches."""
        return ended(self.start(*launches, **environment))

    def sync(self) -> int:
        """`wandb sync` of all folders of the run; the worst exit code."""
        folders = sorted(self.folder.glob("wandb/*run-*"))
        command = ["-m", "wandb", "sync", "--include-online", "--include-synced"]
        codes = [ended(self._begin([*command, str(each)], {})) for each in folders]
        return max(codes, key=abs)

    def _begin(self, arguments: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[str]:
        with (self.folder / "errors.txt").open("a") as errors:
            return subprocess.Popen(
                [str(self.client.python), *arguments],
                env=self._environment | dict(self.client.environment) | dict(environment),
                cwd=self.folder,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                text=True,
            )

    def has_processes(self) -> bool:
        """Whether another process that runs in the folder of the run is left; only Linux tells."""
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if (process / "cwd").readlink() == self.folder and process.name != str(os.getpid()):
                    return True
            except OSError:  # it has ended, or is somebody else's
                continue
        return False

    def steps_in_files(self) -> list[int]:
        """The steps of all rows that the client has written into its own files."""
        steps = []
        for file in sorted(self.folder.glob("wandb/*run-*/run-*.wandb")):
            with file.open("rb") as stream:
                for item in WandbLog().reader(file, {}).read(stream):
                    if isinstance(item, Batch):
                        steps += [
                            int(value)
                            for column in item.columns
                            if column.key.metric == "metric_1"
                            for value in column.values
                            if value == value
                        ]
        return steps

    def outcome(
        self,
        steps: Sequence[int],
        exit_code: int,
        *,
        launches: Iterable[int] = (0,),
        prefix: str = "",
        note: str = "",
    ) -> FaultOutcome:
        """Compare what is stored with the rows of these steps, and of launches from these steps on."""
        expected: dict[str, dict[int, list[float]]] = {}
        for step in steps:
            for name, value in wandb_program.row(step, self.client.metrics).items():
                expected.setdefault(prefix + name, {}).setdefault(step, []).append(value)
        points = self.host.points(self.run)
        own = {key.metric: series for key, series in points.items() if not key.labels}
        exact = all(name in own and has_exactly(own[name], values) for name, values in expected.items())
        return FaultOutcome(
            sent=len(steps),
            stored=self.host.rows(self.run, f"{prefix}loss"),
            exact=exact,
            exit_code=exit_code,
            launches=tuple(launches),
            attempts=tuple(first for first, _ in self.host.spans(self.run)),
            note=note,
        )


def ended(process: subprocess.Popen[str]) -> int:
    """Wait for the end of a process; its exit code."""
    try:
        return process.wait(_RUN_SECONDS)
    finally:
        process.kill()
        process.wait()


def normal(training: WandbTraining) -> FaultOutcome:
    """A run and its resume."""
    rows = training.client.rows
    codes = [
        training.log(training.launch_of(0)),
        training.log(training.launch_of(rows, init={"resume": "must"})),
    ]
    return training.outcome(range(2 * rows), max(codes, key=abs), launches=(0, rows))


@contextmanager
def _running(training: WandbTraining) -> Iterator[subprocess.Popen[str]]:
    """A training of one launch of which some rows have arrived."""
    process = training.start(training.launch_of(0))
    try:
        training.host.wait_for_rows(training.run, 1)
        time.sleep(training.client.fault_seconds / 4)
        yield process
    finally:
        process.kill()
        process.wait()


def _during_a_run(
    training: WandbTraining, fault: Callable[[], None], heal: Callable[[], None]
) -> FaultOutcome:
    with _running(training) as process:
        fault()
        time.sleep(training.client.fault_seconds)
        heal()
        code = ended(process)
    return training.outcome(range(training.client.rows), code)


def server_killed(training: WandbTraining) -> FaultOutcome:
    """The server is killed during the run, and started again."""
    return _during_a_run(training, training.host.kill, training.host.start)


def refused(training: WandbTraining) -> FaultOutcome:
    """Connections are refused for a while."""
    proxy = training.host.proxy
    return _during_a_run(training, proxy.refuse, proxy.heal)


def too_many_requests(training: WandbTraining) -> FaultOutcome:
    """All requests are answered with 429 and Retry-After for a while."""
    proxy = training.host.proxy
    return _during_a_run(training, lambda: proxy.answer(429, 1), proxy.heal)


def unavailable(training: WandbTraining) -> FaultOutcome:
    """All requests are answered with 503 and Retry-After for a while."""
    proxy = training.host.proxy
    return _during_a_run(training, lambda: proxy.answer(503, 1), proxy.heal)


def client_killed(training: WandbTraining) -> FaultOutcome:
    """The client is killed, and its folder is synced: what it had written or sent is stored, once."""
    code = training.log(training.launch_of(0, kill_after=training.client.rows * 3 // 4))
    # the client's own process outlives that of the training, and writes and sends for a moment
    wait_for(lambda: not training.has_processes())
    arrived = training.host.rows(training.run)
    synced = training.sync()
    stored = training.host.rows(training.run)
    in_file = len(training.steps_in_files())
    note = f"killed with {code}; {arrived} rows before the sync; {in_file} in its file"
    outcome = training.outcome(range(max(arrived, in_file)), synced, note=note)
    assert stored <= training.client.rows
    return outcome


def offline(training: WandbTraining) -> FaultOutcome:
    """An offline run is synced, twice."""
    codes = [training.log(training.launch_of(0), WANDB_MODE="offline"), training.sync(), training.sync()]
    return training.outcome(range(training.client.rows), max(codes, key=abs))


def resumed_with_rollback(training: WandbTraining) -> FaultOutcome:
    """Five resumes, each from a checkpoint before the end of the launch before."""
    rows = training.client.rows
    retained = rows * 4 // 5
    begins = [number * retained for number in range(6)]
    launches = [training.launch_of(first, step_metric=True, init={"resume": "allow"}) for first in begins]
    in_one = training.client.one_process
    codes = [training.log(*launches)] if in_one else [training.log(launch) for launch in launches]
    steps = [step for first in begins for step in range(first, first + rows)]
    incidents = training.host.incidents(training.run)
    note = f"incidents: {incidents or 'none'}"
    return training.outcome(steps, max(codes, key=abs), launches=begins, note=note)


def rewound(training: WandbTraining) -> FaultOutcome:
    """A run is continued from one of its steps by `resume_from`: what was after it becomes a ghost branch."""
    rows = training.client.rows
    codes = [training.log(training.launch_of(0))]
    again = rows // 2 + 1
    point = {"resume_from": f"{training.run}?_step={again - 1}"}
    codes.append(training.log(training.launch_of(again, init=point)))
    steps = [*range(rows), *range(again, again + rows)]
    return training.outcome(steps, max(codes, key=abs), launches=(0, again))


def shared(training: WandbTraining) -> FaultOutcome:
    """Three processes log into one run; the one that owns it is the last to end."""
    rows = {0: 3 * training.client.rows, 1: training.client.rows, 2: training.client.rows}
    launches = [
        training.launch_of(0, count, shared=f"rank_{rank}", prefix=f"rank{rank}/", primary=not rank)
        for rank, count in rows.items()
    ]
    code = max(map(ended, [training.start(launch) for launch in launches]), key=abs)
    outcomes = [training.outcome(range(count), code, prefix=f"rank{rank}/") for rank, count in rows.items()]
    return FaultOutcome(
        sent=sum(one.sent for one in outcomes),
        stored=sum(one.stored for one in outcomes),
        exact=all(one.exact for one in outcomes),
        exit_code=code,
        attempts=outcomes[0].attempts,
    )


def stopped(training: WandbTraining) -> FaultOutcome:
    """A request to stop ends the training within 30 s, which can resume and is not stopped again."""
    host, rows = training.host, training.client.rows
    process = training.start(training.launch_of(0, rows=100_000))
    host.wait_for_rows(training.run, 1)
    stop_run(host, training.run)
    asked = time.monotonic()
    code = ended(process)
    seconds = time.monotonic() - asked
    detail = host.detail(training.run)
    described = (
        f"{detail['description']['reported_state']} by {detail['stop']['by']}: {detail['stop']['reason']}"
    )
    first = host.rows(training.run)
    resumed = training.log(training.launch_of(first, rows, init={"resume": "must"}))
    note = f"after {seconds:.1f} s with code {code}; {described}"
    return training.outcome(range(first + rows), resumed, launches=(0, first), note=note)


def stop_run(host: TrackerHost, run: str) -> None:
    """`holter stop RUN`."""
    reason = ["--by", "ana", "--reason", "diverged"]
    run_command(["stop", run, "--server", host.server_address, *reason], check=True)


SCENARIOS: Mapping[str, Callable[[WandbTraining], FaultOutcome]] = {
    "normal": normal,
    "server_killed": server_killed,
    "refused": refused,
    "429": too_many_requests,
    "503": unavailable,
    "client_killed": client_killed,
    "offline": offline,
    "five_resumes": resumed_with_rollback,
    "resume_from": rewound,
    "shared": shared,
    "stopped": stopped,
}
