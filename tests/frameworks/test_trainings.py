"""Real, small trainings with each framework: what plug-ins log; requests of people reach the loop."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.client_server import Server
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
Train = Callable[..., "subprocess.Popen[str]"]
TIMES = {"step_time", "data_wait_seconds"}


def ended(process: subprocess.Popen[str]) -> str:
    """The output of a training that ended well."""
    output, errors = process.communicate(timeout=250)
    assert process.returncode == 0, errors[-3000:]
    return output


def series_of(server: Server, name: str) -> dict[str, dict[str, Any]]:
    run = wait_for(lambda: server.run(name), 60)
    return {one["metric"]: one for one in server.get(f"/runs/{run['id']}/series")["series"]}


def settings_of(server: Server, name: str, kind: str = "config") -> dict[str, Any]:
    run = server.run(name)
    assert run is not None
    listed = server.get(f"/runs/{run['id']}/{kind}")["settings"]
    return {setting["name"]: setting["values"][0]["value"] for setting in listed}


def test_a_trainer_logs_under_the_name_holter(server: Server, train: Train, tmp_path: Path) -> None:
    """The script says `report_to="holter"` and is not changed otherwise."""
    ended(train("-m", "holter.integrations.transformers", "transformers_trainer.py", str(tmp_path)))
    series = series_of(server, "trainer")
    assert {"train/loss", "train/grad_norm", "train/learning_rate", "eval/loss"} <= series.keys()
    assert {name: series[name]["points"] for name in TIMES} == dict.fromkeys(TIMES, 12)
    assert series["checkpoint_seconds"]["points"] == 2
    assert series["train/loss"]["last_step"] == 12
    settings = settings_of(server, "trainer")
    assert (settings["model.num_hidden_layers"], settings["training.global_batch_size"]) == (2, 4)
    assert "abcdefghijkl" not in str(settings)  # hub_token
    environment = settings_of(server, "trainer", "environment")
    assert {"python", "host", "packages/torch", "packages/transformers"} <= environment.keys()


def test_requests_of_people_reach_a_trainer(server: Server, train: Train, tmp_path: Path) -> None:
    command = ("-m", "holter.integrations.transformers", "transformers_trainer.py")
    process = train(*command, str(tmp_path), "5000", HOLTER_RUN="ignored: the arguments name the run")
    run = wait_for(lambda: _running(server, "trainer"), 120)
    address = f"{server.url}/api/v1/runs/{run['id']}"
    httpx.post(f"{address}/save", json={"by": "ana"}, timeout=60)
    wait_for(lambda: httpx.get(address, timeout=60).json()["save"]["saved_at"], 60)
    httpx.post(f"{address}/stop", json={"by": "ana", "reason": "enough"}, timeout=60)
    steps = int(ended(process).split("steps ")[-1])
    assert steps < 5000
    assert list(tmp_path.glob("checkpoint-*"))
    assert httpx.get(address, timeout=60).json()["stop"]["stopped_at"] is not None


def _running(server: Server, name: str) -> dict[str, Any] | None:
    run = server.run(name)
    return run if run is not None and (run["last_step"] or 0) > 20 else None


@pytest.mark.parametrize("package", ["lightning", "pytorch_lightning"])
def test_lightning_logs_metrics_times_batches_and_checkpoints(
    server: Server, train: Train, tmp_path: Path, package: str
) -> None:
    ended(train("lightning_module.py", str(tmp_path), package))
    series = series_of(server, "lightning")
    assert {"train_loss", "val_loss", "checkpoint_seconds", "batch/first_index"} | TIMES <= series.keys()
    assert series["step_time"]["last_step"] == 16
    assert (series["batch/first_index"]["last_value"], series["batch/last_index"]["last_value"]) == (28, 31)
    settings = settings_of(server, "lightning")
    assert settings["width"] == 8
    assert "api_key" not in settings


def test_lightning_loads_the_callback_by_a_variable(server: Server, train: Train, tmp_path: Path) -> None:
    """The script does not name Holter's classes in its Trainer; HOLTER_LIGHTNING adds the callback."""
    ended(
        train(
            "lightning_module.py", str(tmp_path), "lightning", HOLTER_LIGHTNING="1", HOLTER_RUN="by-variable"
        )
    )
    series = series_of(server, "by-variable")
    assert {"train_loss", "val_loss"} | TIMES <= series.keys()
    validations = series["val_loss"]
    assert validations["points"] == 2  # steps after a validation do not repeat its value


def test_accelerate_logs_by_a_tracker(server: Server, train: Train) -> None:
    ended(train("accelerate_loop.py"))
    assert series_of(server, "accelerate")["train_loss"]["points"] == 10
    assert settings_of(server, "accelerate") == {"lr": 0.1}  # without the token


def test_keras_logs_batches_epochs_and_times(server: Server, train: Train) -> None:
    ended(train("keras_fit.py"))
    series = series_of(server, "keras")
    assert {name: series[name]["points"] for name in ("loss", "val_loss", "step_time")} == {
        "loss": 9,
        "val_loss": 3,
        "step_time": 9,
    }


def test_trl_logs_as_a_trainer(server: Server, train: Train, tmp_path: Path) -> None:
    ended(train("trl_sft.py", str(tmp_path)))
    assert {"train/loss", "train/mean_token_accuracy"} | TIMES <= series_of(server, "sft").keys()


def test_litgpt_logs_under_the_name_holter(server: Server, train: Train, tmp_path: Path) -> None:
    ended(train("litgpt_pretrain.py", str(tmp_path), HOLTER_RUN="litgpt"))
    assert series_of(server, "litgpt")["loss"]["points"] == 6


def test_ranks_log_their_times_and_stop_together(server: Server, train: Train, tmp_path: Path) -> None:
    """Two processes of torchrun; only rank 0 logs the loss, and both end at the same step."""
    launch = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    process = train(*launch, "plain_loop.py", str(tmp_path), "5000", "ranks")
    run = wait_for(lambda: _running(server, "ranks"), 120)
    httpx.post(f"{server.url}/api/v1/runs/{run['id']}/stop", json={"reason": "enough"}, timeout=60)
    output = ended(process)
    steps = [line for line in output.splitlines() if line.startswith("steps ")]
    assert len(steps) == 2
    assert len(set(steps)) == 1
    listed = server.get(f"/runs/{run['id']}/series")["series"]
    ranks = {one["labels"].get("rank") for one in listed if one["metric"] == "step_time"}
    assert ranks == {"0", "1"}
    assert {one["labels"].get("rank") for one in listed if one["metric"] == "loss"} == {"0"}
