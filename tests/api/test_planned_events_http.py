"""Planned events over HTTP: they open no incidents, and close those that were planned."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import httpx
import numpy as np
import pytest
from pydantic import TypeAdapter

from holter.server.context import ServerContext
from holter.server.schemas import incidents as shapes
from holter.settings import Settings
from holter.types import Batch, Column, Delivery, SeriesKey
from tests.support.curves import loss_curve

Serve = Callable[[Settings], AbstractContextManager[tuple[ServerContext, str]]]
SPIKE = 1500


@pytest.fixture
def settings(database_url: str) -> Settings:
    """The tests of this file run on SQLite and on PostgreSQL."""
    detection = {"expected": [{"what": "evaluation", "every": 1000, "lasting": 50, "note": "held-out set"}]}
    return Settings(database_url=database_url, projects={"llm*": {"detection": detection}})


def deliver(
    context: ServerContext, *, attempt: int = 0, first: int = 0, last: int = 3000, project: str = "llm"
) -> int:
    """A loss with a spike, steps `first` to `last`; the run's number."""
    loss = loss_curve(np.random.default_rng(attempt), 3000)
    loss[SPIKE : SPIKE + 30] += 4.0
    times = time.time() - 3000 + np.arange(first, last, dtype=float) + 600 * attempt
    batch = Batch(
        steps=np.arange(first, last),
        times=times,
        columns=(Column(key=SeriesKey("loss"), values=loss[first:last]),),
        attempt=str(attempt),
    )
    delivery = Delivery(
        project=project, run="104b", writer="w", batch_id=f"{attempt}-{first}-{last}", batch=batch
    )
    return int(context.store.accept(delivery).run_id)


class Run:
    """A run with a spike on a server."""

    def __init__(self, context: ServerContext, address: str, **which: Any) -> None:
        self.context = context
        self.number = deliver(context, **which)
        self.address = f"{address}/api/v1"
        self.id = httpx.get(f"{self.address}/runs", timeout=60).json()["runs"][0]["id"]

    def incidents(self) -> list[dict[str, Any]]:
        """All of them, after a look."""
        self.context.analysis.analyze(self.number)
        found_incidents: list[dict[str, Any]] = self.ask("GET", f"/runs/{self.id}/incidents")["incidents"]
        return found_incidents

    def ask(self, method: str, path: str, body: object = None, *, status: int = 200) -> Any:
        answer = httpx.request(method, f"{self.address}{path}", json=body, timeout=60)
        assert answer.status_code == status, answer.text
        return answer.json()

    def expect(self, status: int = 200, /, **body: Any) -> Any:
        return self.ask("POST", f"/runs/{self.id}/expected", body, status=status)


def test_a_planned_event_opens_no_incident(settings: Settings, serve: Serve) -> None:
    with serve(settings) as (context, address):
        run = Run(context, address, last=1000)
        announced = run.expect(what="learning rate", from_step=1490, to_step=1510, note="decay")
        TypeAdapter(shapes.PlannedEventView).validate_python(announced)
        assert (announced["scope"], announced["note"], "spike_slow" in announced["kinds"]) == (
            "run",
            "decay",
            True,
        )
        deliver(context, first=1000)
        assert run.incidents() == []


def test_an_open_incident_that_was_planned_is_withdrawn_with_the_note(
    settings: Settings, serve: Serve
) -> None:
    with serve(settings) as (context, address):
        run = Run(context, address, last=SPIKE + 10)
        (incident,) = run.incidents()
        assert incident["state"] == "open"
        run.expect(kind="spike_fast", from_step=SPIKE, to_step=SPIKE, note="decay")
        (incident,) = run.incidents()
        assert incident["state"] == "closed"
        assert (incident["events"][-1]["type"], incident["events"][-1]["text"]) == (
            "withdrawn",
            "This was planned: decay",
        )


def test_an_incident_that_was_planned_is_closed_and_does_not_come_back_in_the_next_attempt(
    settings: Settings, serve: Serve
) -> None:
    with serve(settings) as (context, address):
        run = Run(context, address, last=SPIKE + 10)
        (incident,) = run.incidents()
        path = f"/incidents/{incident['id']}/planned"
        closed = run.ask("POST", path, {"by": "ana", "text": "data switch"})
        assert (closed["state"], closed["events"][-1]["by"], closed["events"][-1]["text"]) == (
            "closed",
            "ana",
            "data switch",
        )
        run.ask("POST", path, {"by": "ana", "text": "data switch"})  # a second click changes nothing
        own = [one for one in run.ask("GET", f"/runs/{run.id}/expected")["expected"] if one["scope"] == "run"]
        assert [(one["metric"], one["from_step"], one["note"], one["added_by"]) for one in own] == [
            ("loss", SPIKE, "data switch", "ana")
        ]
        deliver(context, first=SPIKE + 10, last=SPIKE + 20)
        deliver(context, attempt=1, first=1000)
        assert [(one["id"], one["state"]) for one in run.incidents()] == [(incident["id"], "closed")]


def test_after_removal_of_a_planned_event_incidents_open_again(settings: Settings, serve: Serve) -> None:
    with serve(settings) as (context, address):
        run = Run(context, address, last=1000)
        announced = run.expect(what="data switch", from_step=1400, to_step=1600)
        deliver(context, first=1000)
        assert run.incidents() == []
        left = run.ask("DELETE", f"/runs/{run.id}/expected/{announced['id']}")
        assert [one["scope"] for one in left["expected"]] == ["settings"]
        assert [one["kind"] for one in run.incidents()] == ["spike_fast"]
        run.ask("DELETE", f"/runs/{run.id}/expected/{announced['id']}", status=404)


def test_planned_events_of_a_project_apply_in_addition_to_the_settings(
    settings: Settings, serve: Serve
) -> None:
    with serve(settings) as (context, address):
        run = Run(context, address, last=1000)
        plan = {"kind": ["spike_fast", "spike_slow"], "every": 500, "lasting": 40}
        announced = run.ask("POST", "/projects/llm/expected", plan)
        deliver(context, first=1000)
        assert run.incidents() == []
        answer = run.ask("GET", f"/runs/{run.id}/expected")
        TypeAdapter(shapes.PlannedEventList).validate_python(answer)
        assert [(one["scope"], one["every"]) for one in answer["expected"]] == [
            ("project", 500),
            ("settings", 1000),
        ]
        assert run.ask("GET", "/projects/llm/expected") == answer
        run.ask("DELETE", f"/runs/{run.id}/expected/{announced['id']}", status=404)
        left = run.ask("DELETE", f"/projects/llm/expected/{announced['id']}")
        assert [one["scope"] for one in left["expected"]] == ["settings"]
        assert len(run.incidents()) == 1


@pytest.mark.slow
def test_planned_events_of_one_run_do_not_apply_to_another(settings: Settings, serve: Serve) -> None:
    with serve(settings) as (context, address):
        run = Run(context, address, last=1000)
        run.expect(kind="spike_fast", from_step=SPIKE)
        deliver(context, first=1000)
        other = Run(context, address, project="other")
        assert run.incidents() == []
        assert len(other.incidents()) == 1
        assert other.ask("GET", f"/runs/{other.id}/expected") == {"expected": []}


def test_an_invalid_planned_event_is_refused_with_a_reason(settings: Settings, serve: Serve) -> None:
    with serve(settings) as (context, address):
        run = Run(context, address, last=100)
        assert "kind or what" in run.expect(422, from_step=3)["detail"][0]["msg"]
        assert "not 'stal'" in run.expect(422, kind="stal", from_step=3)["detail"][0]["msg"]
        assert run.expect(422, kind="stall", from_step=3, colour=1)["detail"][0]["loc"][-1] == "colour"
        run.ask("GET", "/projects/none/expected", status=404)
        run.ask("POST", "/projects/none/expected", {"kind": "stall", "from_step": 3}, status=404)
        run.ask("GET", "/runs/none/expected", status=404)
        run.ask("POST", "/incidents/999/planned", status=404)


def test_the_role_set_for_a_metric_applies_to_findings_and_pages(database_url: str, serve: Serve) -> None:
    speed = 1e5 * np.exp(np.random.default_rng(0).normal(0, 0.02, 3000))
    speed[1500:] *= 0.8
    steps = np.arange(3000)
    clock = np.cumsum(1e5 / speed)
    clock += time.time() - clock[-1]
    detection_settings = {"metrics": {"my_*": "throughput"}, "metric": {"my_other": {"ignore": True}}}
    settings = Settings(database_url=database_url, projects={"llm": {"detection": detection_settings}})
    with serve(settings) as (context, address):
        changed_metrics: list[str] = []
        context.incidents.on_change(lambda incident: changed_metrics.append(incident.finding.metric))
        columns = {"step": steps.tolist(), "time": clock.tolist(), "my_tps": speed.tolist()}
        body = {"project": "llm", "run": "a", "columns": columns | {"my_other": speed.tolist()}}
        run_id = httpx.post(f"{address}/api/v1/ingest", json=body, timeout=60).json()["run_id"]
        context.analysis.analyze(context.runs.run_id(run_id))
        run = httpx.get(f"{address}/api/v1/runs/{run_id}", timeout=60).json()
        listed = httpx.get(f"{address}/api/v1/runs/{run_id}/series", timeout=60).json()["series"]
        found_incidents = httpx.get(f"{address}/api/v1/runs/{run_id}/incidents", timeout=60).json()[
            "incidents"
        ]
    assert [(one["kind"], one["metric"]) for one in found_incidents] == [("throughput_regression", "my_tps")]
    assert changed_metrics == ["my_tps"]
    assert run["latest"]["throughput"]["metric"] == "my_tps"
    assert [chart["role"] for chart in run["charts"]] == ["throughput", "throughput"]
    assert {one["metric"]: one["role"] for one in listed} == {
        "my_tps": "throughput",
        "my_other": "throughput",
    }
    assert run["strip"]["throughput"]["relative"]
