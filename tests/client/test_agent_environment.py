"""What an agent states of the environment: its host's by label, a process's on request, secrets never."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holter.cli.agent.environment import WRITER, FileEnvironment, label_agent
from holter.cli.agent.training_process import (
    TrainingProcess,
    capture_process,
    find_process,
    find_writer,
    read_variables,
)
from holter.client.environment import Deadline, capture_job_shell
from holter.environment_names import PREFIX
from holter.types import Batch, Column, Config, Cursor, Delivery, SeriesKey
from tests.support.client_server import Server
from tests.support.processes import killed_afterwards
from tests.support.secret_samples import NAMES, VALUES
from tests.support.waiting import wait_for

NOW = 1_700_000_000.0
HOST = "n1"
SLEEPING = "import time\nprint('ready', flush=True)\ntime.sleep(60)"


@pytest.fixture
def training(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a process that has a log open for writing."""
    with killed_afterwards() as started:

        def start(**environ: str) -> subprocess.Popen[str]:
            script = tmp_path / "train.py"
            script.write_text(f"log = open({str(tmp_path / 'log.txt')!r}, 'a')\n{SLEEPING}")
            process = subprocess.Popen(
                [sys.executable, str(script)],
                env={"PATH": os.environ["PATH"], **environ},
                cwd=tmp_path,
                stdout=subprocess.PIPE,
                text=True,
            )
            started.append(process)
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            return process

        yield start


def rows(steps: list[int], *, times: float = NOW, offset: int = 10, path: str = "/log.txt") -> Delivery:
    batch = Batch(
        steps=np.array(steps),
        times=np.full(len(steps), times),
        columns=(Column(key=SeriesKey("loss"), values=np.ones(len(steps))),),
    )
    cursor = Cursor(source=f"{HOST}:{path}", format="csv", offset=offset, identity="")
    return Delivery(project="p", run="r", writer="w", batch_id="b", batch=batch, cursor=cursor)


def by_name(config: Config) -> dict[str, Any]:
    return {key.name.removeprefix(PREFIX): value for key, value in config.items()}


def file_environment(process: int | None = None) -> FileEnvironment:
    return FileEnvironment({}, HOST, process, clock=lambda: NOW)


def test_a_file_gets_the_host_of_the_agent_once_a_launch() -> None:
    environment = file_environment()
    first = environment.add_to(rows([0, 1])).batch.config
    assert {key.labels for key in first} == {(("agent", HOST),)}
    assert {"system", "cpus"} <= by_name(first).keys()
    assert not {"python", "packages/0", "job"} & by_name(first).keys()  # the agent's own are not the job's
    assert environment.add_to(rows([2, 3])).batch.config == {}
    assert environment.add_to(rows([1, 2])).batch.config == first  # steps go back: another launch


def test_old_rows_get_nothing_of_now(tmp_path: Path) -> None:
    environment = file_environment()
    assert environment.add_to(rows([0, 1], times=NOW - 3600)).batch.config == {}
    assert environment.add_to(rows([2, 3])).batch.config  # the launch goes on now


def test_settings_are_not_stated_of_a_launch_before(tmp_path: Path) -> None:
    """Settings of a batch belong to its first row."""
    environment = file_environment()
    assert environment.add_to(rows([0, 1, 0, 1])).batch.config == {}
    assert environment.add_to(rows([2, 3])).batch.config


def test_a_log_without_a_clock_is_recent_at_the_end_of_a_file_that_grows(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_bytes(b"x" * 100)
    environment = file_environment()
    os.utime(log, (NOW - 5, NOW - 5))
    assert not environment.add_to(rows([0, 1], times=np.nan, offset=50, path=str(log))).batch.config
    assert environment.add_to(rows([2], times=np.nan, offset=100, path=str(log))).batch.config
    os.utime(log, (NOW - 3600, NOW - 3600))
    assert not environment.add_to(rows([0], times=np.nan, offset=100, path=str(log))).batch.config


def test_an_agent_that_may_not_capture_states_nothing() -> None:
    environment = FileEnvironment({"HOLTER_ENVIRONMENT": "0"}, HOST, WRITER, clock=lambda: NOW)
    assert environment.add_to(rows([0])).batch.config == {}


def test_the_process_that_writes_a_file_is_found(
    training: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=tmp_path, check=True)
    secret = "hf_abcdefghijklmnopqrst"
    process = training(NCCL_DEBUG="INFO", SLURM_JOB_ID="17", MY_SETTING="1", HF_TOKEN=secret)
    found = find_writer(str(tmp_path / "log.txt"), Deadline(10))
    assert found is not None
    assert found.pid == process.pid
    config = capture_process(found, HOST, Deadline(10))
    assert {key.labels for key in config} == {()}  # it is the training's own
    settings = by_name(config)
    assert settings["python"] == ".".join(map(str, sys.version_info[:3]))
    assert (settings["variables/NCCL_DEBUG"], settings["job"]) == ("INFO", 17)
    assert settings["git_branch"] == "main"
    packages = "\n".join(str(value) for name, value in settings.items() if name.startswith("packages/"))
    assert "\nnumpy " in packages
    assert "MY_SETTING" not in str(settings)
    assert secret not in str(config)
    stated = file_environment(WRITER).add_to(rows([0], path=str(tmp_path / "log.txt"))).batch.config
    assert by_name(stated)["variables/NCCL_DEBUG"] == "INFO"


def test_another_rank_states_its_host(training: Callable[..., subprocess.Popen[str]]) -> None:
    process = find_process(training(RANK="8", WORLD_SIZE="16").pid)
    assert process is not None
    assert {key.labels for key in capture_process(process, HOST, Deadline(10))} == {(("host", HOST),)}


def test_a_process_that_forbids_it_or_is_gone_states_nothing(
    training: Callable[..., subprocess.Popen[str]],
) -> None:
    forbidding = find_process(training(HOLTER_ENVIRONMENT="0").pid)
    assert forbidding is not None
    assert capture_process(forbidding, HOST, Deadline(10)) == {}
    assert capture_process(TrainingProcess(os.getpid(), 1), HOST, Deadline(10)) == {}  # another process now
    assert find_process(2**22 + 1) is None
    assert find_writer("/no/such/file", Deadline(10)) is None


def test_no_secret_of_a_process_or_an_agent_is_stated(
    training: Callable[..., subprocess.Popen[str]],
) -> None:
    named = {name: "hunter2-hunter2" for name in NAMES if name.isidentifier()}
    valued = {f"NCCL_TEST_{number}": value for number, value in enumerate(VALUES) if "\0" not in value}
    process = find_process(training(**named, **valued, NCCL_DEBUG="WARN").pid)
    assert process is not None
    assert len(read_variables(process.pid)) >= 200
    settings = by_name(capture_process(process, HOST, Deadline(10)))
    assert [name for name in settings if name.startswith("variables/")] == ["variables/NCCL_DEBUG"]
    shell = by_name(label_agent(capture_job_shell({**named, **valued}, 10), HOST))
    assert not [name for name in shell if name.startswith("variables/")]


@pytest.mark.slow
def test_a_pipe_states_the_job_and_its_writer(server: Server, tmp_path: Path) -> None:
    """Two launches of one run; what changed between them is listed as for the client."""
    script = "import time\nfor step in range(500): print(f'iteration {step} | loss 2.0', flush=True)\n"
    script += "time.sleep(60)"
    with killed_afterwards() as started:
        for attempt, debug in enumerate(("INFO", "WARN")):
            environ = {
                **os.environ,
                "HOLTER_ENVIRONMENT": "1",
                "HOLTER_SPOOL_DIR": str(tmp_path),
                "OMP_NUM_THREADS": "1" if debug == "INFO" else "2",
            }
            own = environ | {"NCCL_DEBUG": debug, "WANDB_API_KEY": "x"}
            training = subprocess.Popen(
                [sys.executable, "-c", script], stdout=subprocess.PIPE, env=own, text=True
            )
            command = [sys.executable, "-m", "holter", "agent", "-", "--server", server.url]
            command += ["--run", "piped", "--attempt", debug, "--process", "writer"]
            agent = subprocess.Popen(command, stdin=training.stdout, env=environ, cwd=tmp_path, text=True)
            started += [training, agent]
            wait_for(lambda number=attempt: _launches_with(server, "piped", "python") == number + 1, 30)
            training.kill()
            agent.wait(30)
    run = server.run("piped")
    assert run is not None
    launched = server.get(f"/runs/{run['id']}/environment")
    (change,) = launched["changes"]
    assert [(one["name"], one["before"], one["after"], one["processes"]) for one in change["settings"]] == [
        ("variables/NCCL_DEBUG", "INFO", "WARN", 0),
        ("variables/OMP_NUM_THREADS", "1", "2", 1),  # of the training, and of the agent beside it
    ]
    assert {"python", "packages/numpy"} <= {one["name"] for one in launched["settings"]}


def _launches_with(server: Server, name: str, setting: str) -> int:
    """The number of launches that state a setting of their environment."""
    run = server.run(name)
    if run is None:
        return 0
    listed = server.get(f"/runs/{run['id']}/environment")["settings"]
    values = next((one["values"] for one in listed if one["name"] == setting), [])
    return len({attempt for value in values for attempt in value["attempts"]})


@pytest.mark.slow
def test_the_host_of_a_followed_file_is_stated(server: Server, tmp_path: Path) -> None:
    log = tmp_path / "followed" / "metrics.jsonl"
    log.parent.mkdir()
    log.write_text("".join(f'{{"step": {step}, "loss": 1.0}}\n' for step in range(5)))
    command = [sys.executable, "-m", "holter", "agent", str(log.parent), "--server", server.url]
    command += ["--state", str(tmp_path / "state"), "--poll", "0.1"]
    with killed_afterwards() as started:
        environ = {**os.environ, "HOLTER_ENVIRONMENT": "1"}
        process = subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL)
        started.append(process)  # type: ignore[arg-type]
        run = wait_for(lambda: server.run("followed"), 30)
        settings = server.get(f"/runs/{run['id']}/environment")["settings"]
        assert {"system", "cpus"} <= {setting["name"] for setting in settings}
        stated = [labels for setting in settings for value in setting["values"] for labels in value["labels"]]
        assert {tuple(labels) for labels in stated} == {("agent",)}
        process.send_signal(signal.SIGINT)
        process.wait(30)
