"""MLflow's unmodified client logs to Holter with MLFLOW_TRACKING_URI alone, and reads back what it logged."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
import pytest

from holter.server.context import ServerContext
from holter.types import SeriesKey
from tests.support.cutting_proxy import cutting_proxy
from tests.support.forked_commands import ForkedCommand, run_command
from tests.support.mlflow_trainings import Training, result_of
from tests.support.ports import free_port
from tests.support.servers import forked
from tests.support.waiting import wait_for

LOSS = SeriesKey("loss")


@pytest.mark.slow
def test_all_that_a_training_logs_is_stored_and_read_back(
    server: tuple[ServerContext, str], train: Training
) -> None:
    context, address = server
    logged = result_of(train("everything", address))
    assert logged["status"] == "FINISHED"
    assert logged["params"] == {
        "lr": "0.0003",
        "layers": "12",
        "api_key": "[removed: it looks like a secret]",
    }
    assert (logged["tags"]["team"], logged["tags"]["mlflow.note.content"]) == ("nlp", "a note")
    assert logged["losses"] == [[step, 2 / (step + 1)] for step in range(30)]
    assert logged["metrics"] == {
        "loss": str(2 / 30),
        "later": "19.0",
        "nan": "nan",
        "infinite": "-inf",
    }
    assert logged["later"] == 20
    assert logged["found"] == ["first", "child"]
    assert logged["experiments"] == ["demo"]
    number = context.runs.run_id(logged["run"])
    loss = context.store.read(number)[LOSS]
    assert [len(loss), loss.attempt.tolist()] == [50, [0] * 30 + [1] * 20]
    detail = httpx.get(f"{address}/api/v1/runs/{logged['run']}", timeout=60).json()
    assert (detail["name"], detail["project"], detail["state"]) == ("first", "demo", "finished")
    assert detail["config"]["layers"] == 12
    notes = [note["reason"] for note in detail["unreadable"]]
    assert notes == ["Holter stores no files: artifacts, models and datasets are discarded"]
    assert context.run_details.details(context.runs.run_id(logged["child"])).parent_run == "first"


@contextmanager
def _serving(port: int, folder: Path) -> Iterator[None]:
    """A server on a port of this machine, killed at the end."""
    command = ["serve", "--port", port, "--data-dir", folder]
    process = ForkedCommand(command, stdout=subprocess.DEVNULL)
    try:
        wait_for(lambda: _answers(port))
        yield
    finally:
        process.kill()
        process.wait()


def _answers(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=60).status_code == 200
    except httpx.TransportError:
        return False


def _stored_losses(port: int) -> dict[str, list[float]]:
    """The losses that a server has, by run; a run that was just created has none."""
    address = f"http://127.0.0.1:{port}/api/v1/runs"
    stored = {}
    for run in httpx.get(address, timeout=60).json()["runs"]:
        losses = httpx.get(f"{address}/{run['id']}/data", params={"metric": "loss"}, timeout=60).json()[
            "series"
        ]
        assert len(losses) <= 1
        stored[run["id"]] = [
            value for series in losses for segment in series["segments"] for value in segment["value"]
        ]
    return stored


@pytest.mark.slow
def test_a_server_that_is_killed_during_a_run_and_started_again_loses_and_repeats_nothing(
    train: Training, tmp_path: Path
) -> None:
    port = free_port()
    with _serving(port, tmp_path / "data"):
        training = train("steadily", f"http://127.0.0.1:{port}")
        wait_for(lambda: any(len(losses) > 10 for losses in _stored_losses(port).values()))
    with _serving(port, tmp_path / "data"):
        run = result_of(training)["run"]
        assert _stored_losses(port) == {run: list(range(80))}


def test_answers_that_are_lost_do_not_repeat_points(
    server: tuple[ServerContext, str], train: Training
) -> None:
    context, address = server
    with cutting_proxy(int(address.rpartition(":")[2]), 0.2) as proxy:
        created = httpx.post(
            f"{address}/api/2.0/mlflow/runs/create", json={"run_name": "cut"}, timeout=60
        ).json()
        run = created["run"]["info"]["run_id"]
        for step in range(60):
            point = {"run_id": run, "key": "loss", "value": step, "timestamp": 1000 * step, "step": step}
            _send_until_answered(f"http://127.0.0.1:{proxy.port}/api/2.0/mlflow/runs/log-metric", point)
        assert proxy.cuts > 0
    loss = context.store.read(context.runs.run_id(run))[LOSS]
    assert np.array_equal(loss.step, np.arange(60))


def _send_until_answered(address: str, body: dict[str, object]) -> None:
    for _ in range(50):
        try:
            answer = httpx.post(address, json=body, timeout=30)
        except httpx.TransportError:
            continue
        assert answer.status_code == 200, answer.text
        return
    pytest.fail("never answered")


@pytest.mark.slow
def test_a_token_of_jobs_logs_and_reads_nothing(train: Training, tmp_path: Path) -> None:
    data = {"HOLTER_DATA_DIR": str(tmp_path / "data"), "HOLTER_PASSWORD": "a long password"}
    with forked("serve", **data) as (_, address):
        token = _create_token(data)
        logged = result_of(train("logging_only", address, MLFLOW_TRACKING_TOKEN=token))
        unknown = train("logging_only", address, MLFLOW_TRACKING_TOKEN="f" * 40)
        _, errors = unknown.communicate(timeout=120)
    assert logged["errors"] == ["PERMISSION_DENIED"] * 2
    assert logged["metrics"] == {}
    assert "this token is not known" in errors


def _create_token(environment: dict[str, str]) -> str:
    printed = run_command(["token", "create", "job"], check=True, env=os.environ | environment)
    return printed.stdout.strip()
