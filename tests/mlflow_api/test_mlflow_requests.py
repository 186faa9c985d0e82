"""The addresses of MLflow's protocol, request by request: order of arrival, mistakes, and anything at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holter.server.context import ServerContext
from holter.server.mlflow_api.routes import handlers
from holter.settings import Settings
from holter.types import ConfigKey, SeriesKey
from tests.support.servers import Serve

BASE = "/api/2.0/mlflow"
ENDPOINTS = sorted(handlers())
NAMES = sorted({
    "run_id", "experiment_id", "experiment_name", "experiment_ids", "name", "key", "value", "step",
    "timestamp", "metrics", "params", "tags", "filter", "order_by", "max_results", "page_token", "status",
    "end_time", "run_name", "start_time", "metric_key", "run_ids",
})  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20) | st.sampled_from(["NaN", "RUNNING", "KILLED", "metrics.a > 1", "params.a = 'b'"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["key", "value", "step", "timestamp"]), inner, max_size=4),
    max_leaves=6,
)  # fmt: skip


@pytest.fixture
def client(server: tuple[ServerContext, str]) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server[1] + BASE, timeout=60) as opened:
        yield opened


def create_run(client: httpx.Client, name: str = "run") -> str:
    created = client.post("/runs/create", json={"run_name": name}).json()
    return str(created["run"]["info"]["run_id"])


def log(
    client: httpx.Client, run: str, key: str, step: int, value: Any = 1.0, time: int = 0
) -> httpx.Response:
    point = {"run_id": run, "key": key, "value": value, "step": step, "timestamp": time or 1000 * (step + 1)}
    return client.post("/runs/log-metric", json=point)


def test_points_of_a_launch_that_arrive_out_of_order_are_one_attempt(
    server: tuple[ServerContext, str], client: httpx.Client
) -> None:
    run = create_run(client)
    for step in (100, 300, 200, 50, 400):
        log(client, run, "loss", step)
    log(client, run, "validation", 1)
    series = server[0].store.read(server[0].runs.run_id(run))
    assert series[SeriesKey("loss")].step.tolist() == [50, 100, 200, 300, 400]
    assert {attempt for each in series.values() for attempt in each.attempt.tolist()} == {0}


def test_the_commit_of_the_script_is_part_of_the_launchs_environment(
    server: tuple[ServerContext, str], client: httpx.Client
) -> None:
    tags = [{"key": "mlflow.source.git.commit", "value": "3adf61e154c3fe3fca428ad6bc3818b27a3b8291"}]
    created = client.post("/runs/create", json={"run_name": "committed", "tags": tags}).json()
    run = server[0].runs.run_id(created["run"]["info"]["run_id"])
    assert server[0].store.environment(run) == {ConfigKey("git_commit"): {0: tags[0]["value"]}}
    assert server[0].store.config(run) == {}


@pytest.mark.parametrize("status", ["", "DONE", [], 3])
def test_a_status_that_mlflow_does_not_have_is_refused(client: httpx.Client, status: Any) -> None:
    answer = client.post("/runs/update", json={"run_id": create_run(client), "status": status})
    assert (answer.status_code, "invalid status" in answer.text) == (400, True)


def test_a_request_that_is_repeated_stores_nothing_twice(
    server: tuple[ServerContext, str], client: httpx.Client
) -> None:
    run = create_run(client)
    for _ in range(3):
        assert log(client, run, "loss", 7).status_code == 200
    assert len(server[0].store.read(server[0].runs.run_id(run))[SeriesKey("loss")]) == 1


def test_a_run_that_was_killed_and_goes_on_after_a_silence_is_another_attempt(
    server: tuple[ServerContext, str], client: httpx.Client
) -> None:
    run = create_run(client)
    log(client, run, "loss", 5)
    client.post("/runs/update", json={"run_id": run, "status": "RUNNING"})
    log(client, run, "loss", 3)
    loss = server[0].store.read(server[0].runs.run_id(run))[SeriesKey("loss")]
    assert sorted(zip(loss.attempt.tolist(), loss.step.tolist(), strict=True)) == [(0, 5), (1, 3)]


def test_runs_of_the_same_name_are_different_runs(client: httpx.Client) -> None:
    assert create_run(client, "twice") != create_run(client, "twice")


@pytest.mark.parametrize(
    ("endpoint", "body", "status", "code"),
    [
        ("runs/log-metric", {"run_id": "none", "key": "a", "value": 1}, 404, "RESOURCE_DOES_NOT_EXIST"),
        ("runs/log-metric", {}, 400, "INVALID_PARAMETER_VALUE"),
        ("runs/search", {"filter": "metrics.loss >"}, 400, "INVALID_PARAMETER_VALUE"),
        ("runs/search", {"order_by": ["up down"]}, 400, "INVALID_PARAMETER_VALUE"),
        ("runs/unknown", {}, 404, "ENDPOINT_NOT_FOUND"),
    ],
)
def test_mistakes_are_answered_in_the_form_of_mlflow(
    client: httpx.Client, endpoint: str, body: dict[str, Any], status: int, code: str
) -> None:
    answer = client.post("/" + endpoint, json=body)
    assert (answer.status_code, answer.json()["error_code"]) == (status, code)


def test_a_parameter_keeps_its_value(client: httpx.Client) -> None:
    run = create_run(client)
    answers = [
        client.post("/runs/log-parameter", json={"run_id": run, "key": "lr", "value": value}).status_code
        for value in ("0.1", "0.1", "0.2")
    ]
    assert answers == [200, 200, 400]


def test_a_metric_that_is_new_to_a_run_that_was_opened_again_supersedes_nothing(
    server: tuple[ServerContext, str], client: httpx.Client
) -> None:
    run = create_run(client)
    for step in range(5):
        log(client, run, "loss", step)
    for status in ("FINISHED", "RUNNING"):
        client.post("/runs/update", json={"run_id": run, "status": status})
    log(client, run, "test_accuracy", 0)
    points = server[0].store.read(server[0].runs.run_id(run))
    assert points[SeriesKey("test_accuracy")].attempt.tolist() == [0]
    log(client, run, "loss", 3)
    assert server[0].store.read(server[0].runs.run_id(run))[SeriesKey("loss")].attempt.tolist() == [0] * 5 + [
        1
    ]


def test_runs_are_created_logged_and_searched_on_postgresql(postgres_url: str, serve: Serve) -> None:
    with (
        serve(Settings(database_url=postgres_url)) as (_, address),
        httpx.Client(base_url=address + BASE, timeout=60) as client,
    ):
        runs = [create_run(client, "100%_run") for _ in range(3)]
        for number, run in enumerate(runs):
            for _ in range(2):
                assert log(client, run, "loss", 1, number).status_code == 200
            client.post("/runs/log-parameter", json={"run_id": run, "key": "lr", "value": str(number)})
        body = {"experiment_ids": ["0"], "filter": "metrics.loss > 0.5 AND params.lr != '2'"}
        (found,) = client.post("/runs/search", json=body).json()["runs"]
        assert found["info"]["run_id"] == runs[1]
        assert [metric["value"] for metric in found["data"]["metrics"]] == [1.0]


@pytest.mark.slow
@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_no_request_is_answered_with_an_error_of_the_server(
    client: httpx.Client, data: st.DataObject
) -> None:
    run = _RUNS.setdefault(str(client.base_url), "") or create_run(client)
    _RUNS[str(client.base_url)] = run
    method, endpoint = data.draw(st.sampled_from(ENDPOINTS))
    body = data.draw(st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=6))
    body |= {"run_id": run} if data.draw(st.booleans()) else {}
    address = "/" + endpoint.replace("*", "m-1")
    if method == "GET":
        texts = {name: str(value).encode(errors="replace").decode() for name, value in body.items()}
        answer = client.get(address, params=texts)
    else:
        answer = client.request(method, address, json=body)
    assert answer.status_code < 500, (method, endpoint, body, answer.text)


_RUNS: dict[str, str] = {}
