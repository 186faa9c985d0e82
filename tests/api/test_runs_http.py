"""Runs, series, chart data and incidents over HTTP, on both databases."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import httpx
import numpy as np
import pytest
from pydantic import TypeAdapter

from holter.server.alerting import Incident, IncidentCandidate
from holter.server.context import ServerContext
from holter.server.schemas.incidents import IncidentView
from holter.server.schemas.points import ChartData, SeriesList
from holter.server.schemas.runs import RunDetail, RunInfo
from holter.settings import Settings
from holter.types import Batch, Column, Delivery, Finding, Kind, SeriesKey, Severity

Serve = Callable[[Settings], AbstractContextManager[tuple[ServerContext, str]]]


@pytest.fixture
def settings(database_url: str) -> Settings:
    """The tests of this file run on SQLite and on PostgreSQL."""
    return Settings(database_url=database_url)


def deliver(
    context: ServerContext,
    steps: np.ndarray,
    *,
    run: str = "a",
    attempt: str = "0",
    begin: float = 0.0,
    **metrics: Any,
) -> int:
    """A batch of one point a second from `begin` on."""
    columns = tuple(
        Column(key=SeriesKey(name), values=np.asarray(values, float)) for name, values in metrics.items()
    )
    batch = Batch(
        steps=steps, times=begin + np.arange(len(steps), dtype=float), columns=columns, attempt=attempt
    )
    delivery = Delivery(
        project="llm", run=run, writer="w", batch_id=f"{run}-{attempt}-{steps[0]}", batch=batch
    )
    return int(context.store.accept(delivery).run_id)


def a_rolled_back_run(context: ServerContext, *, begin: float) -> int:
    deliver(
        context,
        np.arange(1000),
        begin=begin,
        loss=np.linspace(4, 3, 1000),
        tokens_per_sec=np.full(1000, 100.0),
    )
    return deliver(
        context, np.arange(800, 1200), attempt="1", begin=begin + 1100,
        loss=np.linspace(3.2, 2.8, 400), tokens_per_sec=np.full(400, 50.0),
    )  # fmt: skip


def open_incident(context: ServerContext, run_id: int, **changes: Any) -> Incident:
    fields: dict[str, Any] = {
        "kind": Kind.SPIKE_SLOW, "metric": "loss", "attempt": 0, "start_step": 500, "detected_step": 503,
        "severity": Severity.CRITICAL, "confidence": 0.9, "summary": "Loss rose.", "advice": "Look.",
        "evidence": {"peak": float("inf"), "baseline": 2.0},
    }  # fmt: skip
    finding = Finding(**fields | changes)
    matches = IncidentCandidate(
        finding=finding, fingerprint=f"{finding.kind}-{finding.start_step}", start_time=500.0
    )
    context.analysis.close()  # these incidents are the test's own
    (incident,) = context.incidents.update_run(run_id, [matches])
    return incident


def test_a_run_in_the_overview(client: httpx.Client, context: ServerContext) -> None:
    now = time.time()
    run_id = a_rolled_back_run(context, begin=now - 1500)
    incident = open_incident(context, run_id)
    (run,) = client.get("/api/v1/runs").json()["runs"]
    TypeAdapter(RunInfo).validate_python(run)
    assert run["name"] == "a"
    assert run["project"] == "llm"
    assert run["state"] == "running"
    assert (run["points"], run["series"], run["attempts"], run["last_step"]) == (2800, 2, 2, 1199)
    assert run["health"] == "critical"
    assert run["open_incidents"] == 1
    assert run["worst"]["id"] == incident.id
    assert run["latest"]["loss"] == {"metric": "loss", "value": 2.8, "step": 1199}
    assert run["latest"]["throughput"]["value"] == 50.0
    assert run["latest"]["mfu"] is None
    strip = run["strip"]
    assert (strip["first_step"], strip["last_step"]) == (0, 1199)
    assert [one["lost_from_step"] for one in strip["attempts"]] == [800, None]
    assert strip["incidents"][0]["start_step"] == 500
    assert strip["throughput"]["relative"][0] == 1.0
    assert strip["throughput"]["relative"][-1] == 0.5


def test_one_run_has_the_cost_of_rollbacks(client: httpx.Client, context: ServerContext) -> None:
    a_rolled_back_run(context, begin=time.time() - 1500)
    run_id = client.get("/api/v1/runs").json()["runs"][0]["id"]
    run = client.get(f"/api/v1/runs/{run_id}").json()
    TypeAdapter(RunDetail).validate_python(run)
    assert run["lost_steps"] == 200
    assert run["lost_seconds"] == pytest.approx(200.0, abs=1e-3)
    assert run["goodput"] == pytest.approx((799 + 399) / 1499, abs=1e-3)
    assert [chart["role"] for chart in run["charts"]] == ["loss", "throughput"]


def test_runs_are_filtered_by_project_state_and_name(client: httpx.Client, context: ServerContext) -> None:
    now = time.time()
    deliver(context, np.arange(10), run="live", begin=now - 10, loss=np.ones(10))
    deliver(context, np.arange(10), run="old", begin=now - 1e6, loss=np.ones(10))

    def names(**wanted: str) -> set[str]:
        return {run["name"] for run in client.get("/api/v1/runs", params=wanted).json()["runs"]}

    assert names() == {"live", "old"}
    assert names(state="running") == {"live"}
    assert names(state="finished") == {"old"}
    assert names(q="LIV") == {"live"}
    assert names(q="llm/o") == {"old"}
    assert names(project="other") == set()
    assert client.get("/api/v1/runs", params={"state": "lost"}).status_code == 422


def test_a_finished_run_is_finished_until_points_come(client: httpx.Client, context: ServerContext) -> None:
    now = time.time()
    deliver(context, np.arange(10), begin=now - 20, loss=np.ones(10))
    run_id = client.get("/api/v1/runs").json()["runs"][0]["id"]
    assert client.post(f"/api/v1/runs/{run_id}/finish").json()["state"] == "finished"
    assert client.get(f"/api/v1/runs/{run_id}").json()["state"] == "finished"
    deliver(context, np.arange(10, 20), begin=now - 10, loss=np.ones(10))
    assert client.get(f"/api/v1/runs/{run_id}").json()["state"] == "running"


def test_an_open_stall_makes_a_run_stalled(client: httpx.Client, context: ServerContext) -> None:
    run_id = deliver(context, np.arange(10), begin=time.time() - 20, loss=np.ones(10))
    open_incident(context, run_id, kind=Kind.STALL, start_step=9, detected_step=9)
    assert client.get("/api/v1/runs").json()["runs"][0]["state"] == "stalled"


def test_the_series_of_a_run(client: httpx.Client, context: ServerContext) -> None:
    deliver(
        context, np.arange(3), begin=100.0, loss=[1.0, math.nan, 3.0], odd=[math.inf, -math.inf, math.inf]
    )
    run_id = client.get("/api/v1/runs").json()["runs"][0]["id"]
    answer = client.get(f"/api/v1/runs/{run_id}/series").json()
    TypeAdapter(SeriesList).validate_python(answer)
    loss, odd = answer["series"]
    assert (loss["points"], loss["nonfinite"], loss["minimum"], loss["maximum"]) == (3, 1, 1.0, 3.0)
    assert loss["role"] == "loss"
    assert (odd["last_value"], odd["minimum"], odd["maximum"]) == ("Infinity", None, None)
    matches = client.get(f"/api/v1/runs/{run_id}/series", params={"q": "OD"}).json()["series"]
    assert [one["metric"] for one in matches] == ["odd"]


def test_chart_data_keeps_extremes_ghosts_and_nonfinite_values(
    client: httpx.Client, context: ServerContext
) -> None:
    value = np.ones(10_000)
    value[5_000], value[7_777], value[1_234] = 99.0, -99.0, math.nan
    deliver(context, np.arange(10_000), begin=100.0, loss=value)
    deliver(context, np.arange(9_000, 9_500), attempt="1", begin=20_000.0, loss=np.full(500, 2.0))
    run_id = client.get("/api/v1/runs").json()["runs"][0]["id"]
    address = f"/api/v1/runs/{run_id}/data"
    answer = client.get(address, params={"metric": "loss", "points": 100}).json()
    TypeAdapter(ChartData).validate_python(answer)
    (series,) = answer["series"]
    assert series["count"] == 10_500
    assert series["reduced"] is True
    drawn = [value for segment in series["segments"] for value in segment["value"]]
    assert len(drawn) < 2_000
    assert max(drawn) == 99.0
    assert min(drawn) == -99.0
    assert series["nonfinite"] == [{"attempt": 0, "step": 1234, "value": "NaN"}]
    ghosts = [segment for segment in series["segments"] if segment["ghost"]]
    assert min(segment["step"][0] for segment in ghosts) == 9_000
    near = client.get(address, params={"metric": "loss", "from": 4_990, "to": 5_010}).json()["series"][0]
    assert near["reduced"] is False
    assert near["segments"][0]["step"] == list(range(4_990, 5_011))


def test_chart_data_is_filtered_by_labels(client: httpx.Client) -> None:
    for rank in (0, 1):
        body = {"project": "p", "run": "r", "labels": {"rank": rank}, "columns": {"step": [1], "t": [rank]}}
        run_id = client.post("/api/v1/ingest", json=body).json()["run_id"]
    address = f"/api/v1/runs/{run_id}/data"
    both = client.get(address, params=[("metric", "t"), ("metric", "absent")]).json()["series"]
    assert [one["labels"] for one in both] == [{"rank": "0"}, {"rank": "1"}]
    (one,) = client.get(address, params={"metric": "t", "labels": '{"rank": 1}'}).json()["series"]
    assert one["segments"][0]["value"] == [1.0]
    assert client.get(address, params={"metric": "t", "labels": "{}"}).json()["series"] == []
    refused = client.get(address, params={"metric": "t", "labels": "rank=1"})
    assert refused.status_code == 422
    assert refused.json()["detail"][0]["loc"] == ["query", "labels"]


def test_an_incident_is_acknowledged_closed_and_reopened(
    client: httpx.Client, context: ServerContext
) -> None:
    run_id = deliver(context, np.arange(1000), begin=100.0, loss=np.ones(1000))
    incident = open_incident(context, run_id)
    address = f"/api/v1/incidents/{incident.id}"
    one = client.get(address).json()
    TypeAdapter(IncidentView).validate_python(one)
    assert one["evidence"]["peak"] == "Infinity"
    assert one["run"] == "a"
    assert client.post(f"{address}/acknowledge", json={"by": "ana"}).json()["acknowledged_by"] == "ana"
    assert client.post(f"{address}/unacknowledge").json()["acknowledged_by"] is None
    commented = client.post(f"{address}/comment", json={"text": "bad shard", "by": "ana"}).json()
    assert commented["events"][-1]["text"] == "bad shard"
    assert client.post(f"{address}/close", json={"text": "skipped it"}).json()["state"] == "closed"
    assert client.post(f"{address}/reopen").json()["state"] == "open"
    types = [event["type"] for event in client.get(address).json()["events"]]
    assert types == ["opened", "acknowledged", "unacknowledged", "comment", "closed", "reopened"]
    for wrong in ({"text": " "}, {"text": ""}, {}, {"text": "a", "colour": 1}):
        assert client.post(f"{address}/comment", json=wrong).status_code == 422


def test_the_inbox_is_filtered(client: httpx.Client, context: ServerContext) -> None:
    run_id = deliver(context, np.arange(1000), begin=100.0, loss=np.ones(1000))
    incident = open_incident(context, run_id)
    public_id = client.get("/api/v1/runs").json()["runs"][0]["id"]

    def count(**wanted: Any) -> int:
        return len(client.get("/api/v1/incidents", params=wanted).json()["incidents"])

    assert count() == count(state="open") == count(state="all") == 1
    assert count(state="closed") == count(severity="warning") == count(acknowledged=True) == 0
    assert count(acknowledged=False, severity="critical", run=public_id) == 1
    listed = client.get(f"/api/v1/runs/{public_id}/incidents").json()["incidents"]
    assert [one["id"] for one in listed] == [incident.id]


def test_an_unknown_id_is_404_with_a_sentence(client: httpx.Client) -> None:
    for path in (
        "/runs/nowhere", "/runs/%00", "/runs/nowhere/series", "/runs/nowhere/data?metric=a",
        "/runs/nowhere/incidents", "/incidents/999", "/incidents?run=nowhere", "/stream?run=nowhere",
    ):  # fmt: skip
        answer = client.get(f"/api/v1{path}")
        assert answer.status_code == 404, path
        assert answer.json()["detail"].startswith("There is no ")


def test_an_unknown_parameter_is_named_with_the_known_ones(client: httpx.Client) -> None:
    answer = client.get("/api/v1/runs", params={"stat": "running"})
    assert answer.status_code == 422
    (problem,) = answer.json()["detail"]
    assert problem["loc"] == ["query", "stat"]
    assert "project, state, q" in problem["msg"]


def test_a_parameter_of_one_value_that_is_given_twice_is_refused(client: httpx.Client) -> None:
    answer = client.get("/api/v1/runs?q=a&q=b&columns=lr&columns=seed")
    assert answer.status_code == 422
    assert answer.json()["detail"] == [{"loc": ["query", "q"], "msg": "given 2 times, expected one value"}]
