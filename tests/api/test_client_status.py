"""What a training loop reads about its run: open incidents, requests to stop and to save a checkpoint."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from holter.server.context import ServerContext
from holter.types import Finding, Kind, Severity
from tests.support.servers import Post

POINTS = {"step": [1, 2], "loss": [1.0, 2.0]}


def finding(kind: Kind, severity: Severity, step: int) -> Finding:
    return Finding(
        kind=kind,
        metric="loss",
        labels=(),
        attempt=0,
        start_step=step,
        peak_step=None,
        end_step=None,
        detected_step=step,
        classified_step=None,
        severity=severity,
        confidence=1.0,
        summary="something",
        advice="",
        evidence={"title": f"at {step}", "text": "something"},
    )


@pytest.fixture
def run_id(post: Post) -> str:
    return str(post(POINTS)["run_id"])


def ask(client: httpx.Client, **fields: Any) -> dict[str, Any]:
    answer = client.post("/api/v1/status", json={"project": "llm", "run": "a", **fields})
    assert answer.status_code == 200, answer.text
    status: dict[str, Any] = answer.json()
    return status


def test_a_run_that_has_not_arrived_yet_has_an_empty_status(client: httpx.Client) -> None:
    assert ask(client) == {
        "run_id": None,
        "incidents": [],
        "incident_count": 0,
        "worst": None,
        "stop": None,
        "save": None,
    }


def test_open_incidents_are_listed_with_the_most_severe_first(
    client: httpx.Client, context: ServerContext, run_id: str
) -> None:
    number = context.runs.run_id(run_id)
    for kind, severity, step in (
        (Kind.USER_ALERT, Severity.WARNING, 5),
        (Kind.USER_ALERT, Severity.CRITICAL, 7),
    ):
        found = finding(kind, severity, step)
        context.incidents.open_user_alert(number, found)
    status = ask(client)
    assert status["run_id"] == run_id
    assert [(incident["severity"], incident["step"]) for incident in status["incidents"]] == [
        ("critical", 7),
        ("warning", 5),
    ]
    assert (status["worst"], status["incident_count"]) == ("critical", 2)
    assert status["incidents"][0]["title"]


def test_a_request_to_stop_reaches_the_loop_and_its_end_answers_it(client: httpx.Client, run_id: str) -> None:
    client.post(f"/api/v1/runs/{run_id}/stop", json={"by": "ana", "reason": "diverged"})
    stop = ask(client, age=60.0)["stop"]
    assert (stop["by"], stop["reason"]) == ("ana", "diverged")
    assert ask(client, age=60.0, stopping=True)["stop"] is None
    assert client.get(f"/api/v1/runs/{run_id}").json()["stop"]["stopped_at"] is not None


def test_a_request_from_before_a_launch_does_not_concern_it(
    client: httpx.Client, context: ServerContext, run_id: str
) -> None:
    client.post(f"/api/v1/runs/{run_id}/stop")
    client.post(f"/api/v1/runs/{run_id}/save")
    status = ask(client, age=0.0)
    assert (status["stop"], status["save"]) == (None, None)
    assert (
        client.get(f"/api/v1/runs/{run_id}").json()["stop"]["stopped_at"] is None
    )  # perhaps another process
    context.run_details.update(context.runs.run_id(run_id), stop_requested_at=1.0)
    ask(client, age=0.0)
    assert client.get(f"/api/v1/runs/{run_id}").json()["stop"]["stopped_at"] is not None


def test_a_checkpoint_is_requested_once_and_its_report_ends_the_request(
    client: httpx.Client, run_id: str
) -> None:
    path = f"/api/v1/runs/{run_id}/save"
    asked = client.post(path, json={"by": "ana", "reason": "maintenance"}).json()["save"]
    assert client.post(path, json={"by": "bob"}).json()["save"] == asked
    save = ask(client, age=60.0)["save"]
    assert save == {"requested_at": asked["requested_at"], "by": "ana", "reason": "maintenance"}
    report = {"requested_at": save["requested_at"], "step": 120, "seconds": 1.5}
    assert ask(client, age=60.0, saved=report | {"requested_at": 1.0})["save"] == save  # of another request
    assert ask(client, age=60.0, saved=report)["save"] is None
    done = client.get(f"/api/v1/runs/{run_id}").json()["save"]
    assert (done["saved_step"], done["saved_seconds"]) == (120, 1.5)
    assert done["saved_at"] is not None
    again = client.post(path).json()["save"]
    assert again["saved_at"] is None
    assert client.delete(path).json()["save"] is None


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"project": "llm"},
        {"project": "llm", "run": "a", "age": -1},
        {"project": "llm", "run": "a", "age": "NaN"},
        {"project": "llm", "run": "a", "more": 1},
    ],
)
def test_an_invalid_question_is_refused(client: httpx.Client, body: dict[str, Any]) -> None:
    assert client.post("/api/v1/status", json=body).status_code == 422
