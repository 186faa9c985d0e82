"""What plug-ins share, without a framework: times, batches, ranks, requests; errors stay inside."""

from __future__ import annotations

import array
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import holter
from holter.client import status as client_status
from holter.integrations import TrainingMonitor
from holter.integrations.batches import MAX_VALUES, identify
from holter.integrations.guard import guarded
from holter.integrations.loop_requests import SAVE, STOP, LoopRequests
from holter.integrations.model_shape import count_parameters, describe_model
from holter.integrations.process_group import agree, rank_and_size
from holter.integrations.public_config import public_config
from tests.support.client_server import Moody
from tests.support.http_servers import serving

NOBODY = "http://127.0.0.1:9"


class Rows:
    """What a monitor logged, in place of a run."""

    def __init__(self, monitor: TrainingMonitor) -> None:
        self.rows: list[tuple[dict[str, float], int | None]] = []
        monitor.run.log = lambda metrics, step=None: self.rows.append((dict(metrics), step))  # type: ignore[method-assign]


@pytest.fixture
def monitor(tmp_path: Path) -> Iterator[TrainingMonitor]:
    opened = TrainingMonitor("tests", "monitor", server=NOBODY, spool=tmp_path)
    yield opened
    opened.run.close(0.0)


def test_a_step_has_its_time_its_wait_and_its_batch(monitor: TrainingMonitor) -> None:
    logged = Rows(monitor)
    for step, _ in enumerate(monitor.batches([{"index": [7, 3]}, {"index": [8, 9]}], epoch=2)):
        time.sleep(0.002)
        monitor.step(step, {"loss": 1.0})
    (first, step), (second, _) = logged.rows
    assert step == 0
    assert first["step_time"] >= 0.002
    assert first["step_time"] >= first["data_wait_seconds"] >= 0
    batch = {name: value for name, value in second.items() if name.startswith("batch/")}
    assert batch == {"batch/epoch": 2, "batch/first_index": 8, "batch/last_index": 9}
    assert second["loss"] == 1.0


def test_checkpoints_and_evaluations_belong_to_no_step(monitor: TrainingMonitor) -> None:
    logged = Rows(monitor)
    monitor.begin_step()
    monitor.step(4)
    with monitor.saving():
        time.sleep(0.05)
    monitor.step(5)
    times = dict(logged.rows[1][0])
    assert times["checkpoint_seconds"] >= 0.05
    assert logged.rows[1][1] == 4
    assert logged.rows[2][0]["step_time"] < 0.05


@pytest.mark.parametrize(("rank", "logs"), [("0", True), ("3", False)])
def test_rank_0_alone_logs_metrics(
    rank: str, logs: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", rank)
    monkeypatch.setenv("WORLD_SIZE", "8")
    monitor = TrainingMonitor("tests", "ranks", server=NOBODY, spool=tmp_path)
    logged = Rows(monitor)
    monitor.begin_step()
    monitor.step(1, {"loss": 1.0})
    monitor.log({"eval": 2.0}, 1)
    names = {name for row, _ in logged.rows for name in row}
    assert names == {"step_time", "data_wait_seconds"} | ({"loss", "eval"} if logs else set())
    assert not monitor.should_stop
    monitor.run.close(0.0)


def test_batches_are_identified_by_less_than_100_bytes() -> None:
    batch = {"index": np.arange(1000), "shard_id": 5, "x": np.ones((4, 4)), "names": ["a"]}
    assert identify(batch) == {"batch/shard": 5, "batch/first_index": 0, "batch/last_index": 255}
    assert 8 * (len(identify(batch)) + 1) <= 8 * MAX_VALUES < 100


def test_batches_without_an_index_are_identified_by_their_beginning() -> None:
    one = identify((np.arange(64), np.ones(4)))
    assert one == identify([np.arange(64), np.ones(4)])
    assert one != identify((np.arange(1, 65), np.ones(4)))
    assert list(one) == ["batch/checksum"]


@pytest.mark.parametrize(
    "batch", [None, 7, "text", [], {}, {"index": "a"}, [object()], array.array("d", [1.0])]
)
def test_what_identifies_nothing_is_left_alone(batch: Any) -> None:
    assert identify(batch) == {}


def test_nothing_is_copied_from_a_device() -> None:
    class OnDevice:
        shape, dtype, device = (4,), "float32", type("Device", (), {"type": "cuda"})()

        def reshape(self, *_: int) -> None:
            raise AssertionError("copied")

        tolist = reshape

    assert identify({"x": OnDevice(), "index": OnDevice()}) == {}


def test_requests_of_people_reach_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_status, "POLL_SECONDS", 0.02)
    asked = {"requested_at": 17.0, "by": "ana", "reason": None}
    answer = {"incidents": [], "incident_count": 0, "worst": None, "stop": asked, "save": asked}
    handler = type("Asking", (Moody,), {"answers": [], "seen": [], "accepted": json.dumps(answer).encode()})
    with serving(handler) as address:
        handler.do_POST = _answer  # type: ignore[attr-defined]
        run = holter.init("tests", "asked", server=address, spool=tmp_path)
        requests = LoopRequests(run, rank=None, act=None, every=10)
        end = time.monotonic() + 60
        while not (found := requests.at(1)):
            assert time.monotonic() < end
            time.sleep(0.01)
        assert found == STOP | SAVE
        assert LoopRequests(run, rank=None, act=False, every=10).at(1) == 0
        assert LoopRequests(run, rank=3, act=None, every=10).at(1) == 0
        run.close(0.0)


def _answer(handler: Moody) -> None:
    handler.rfile.read(int(handler.headers["Content-Length"]))
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(handler.accepted)))
    handler.end_headers()
    handler.wfile.write(handler.accepted)


def test_without_a_process_group_there_is_nobody_to_agree_with() -> None:
    assert rank_and_size({}) is None
    assert agree(3) == 3


def test_an_error_of_a_hook_stays_inside(caplog: pytest.LogCaptureFixture) -> None:
    @guarded
    def hook() -> int:
        return 1 // 0

    assert hook() is None
    assert hook() is None
    assert len(caplog.records) == 1


def test_the_configuration_of_a_framework_has_no_secrets() -> None:
    config = {
        "lr": 0.1,
        "hub_token": "hf_abcdefghijklmnopqrst",
        "nested": {"api_key": "x", "layers": 2, "empty": {}},
        "nothing": None,
        "text": "None",
        "object": object,
        "list": [1, 2],
    }
    assert public_config(config) == {
        "lr": 0.1,
        "nested": {"layers": 2},
        "object": "<class 'object'>",
        "list": [1, 2],
    }


def test_the_shape_of_a_model_is_its_own_configuration() -> None:
    class Weight:
        def numel(self) -> int:
            return 6

    class Model:
        config = type("Config", (), {"to_dict": lambda self: {"n_layer": 2}})()

        def parameters(self) -> list[Weight]:
            return [Weight(), Weight()]

    assert describe_model(Model()) == {"n_layer": 2, "num_parameters": 12}
    assert count_parameters(object()) is None
