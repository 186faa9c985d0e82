"""Incidents over HTTP: pages, search, assignment, events with one safe step, trend of the loss, settings."""

from __future__ import annotations

import time
from typing import Any

import httpx
import pytest

from holter.server.context import ServerContext
from tests.support.pages import healthy
from tests.support.servers import Post


def rising_then_nan() -> dict[str, list[Any]]:
    """A loss that rises at step 1,200 and is NaN from step 1,400 on."""
    columns = healthy()
    columns["loss"][1200:] = [value + 3 for value in columns["loss"][1200:]]
    columns["loss"][1400:] = ["NaN"] * 100
    return columns


@pytest.fixture
def broken(client: httpx.Client, context: ServerContext, post: Post) -> str:
    """The id of a run with incidents."""
    run_id = str(post(rising_then_nan(), run="broken")["run_id"])
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        kinds = {each["kind"] for each in client.get("/api/v1/incidents").json()["incidents"]}
        if len(kinds) == 2 and "nonfinite" in kinds:
            return run_id
        time.sleep(0.1)
    raise AssertionError(f"incidents: {kinds}")


def test_incidents_are_paged_searched_acknowledged_and_assigned(client: httpx.Client, broken: str) -> None:
    everything = client.get("/api/v1/incidents", params={"order": "event"}).json()
    assert everything["total"] == everything["counts"]["all"] == len(everything["incidents"]) >= 2
    times = [incident["began_at"] for incident in everything["incidents"]]
    assert times == sorted(times, reverse=True)
    first = client.get("/api/v1/incidents", params={"order": "event", "limit": 1, "offset": 1}).json()
    assert [each["id"] for each in first["incidents"]] == [everything["incidents"][1]["id"]]
    found = client.get("/api/v1/incidents", params={"q": "BROKEN became nan"}).json()["incidents"]
    assert {each["kind"] for each in found} == {"nonfinite"}
    assert client.get("/api/v1/incidents", params={"q": "50%"}).json()["total"] == 0
    ranks = {"critical": 0, "warning": 1, "info": 2}
    by_severity = client.get("/api/v1/incidents", params={"order": "severity"}).json()["incidents"]
    severities = [ranks[incident["severity"]] for incident in by_severity]
    assert severities == sorted(severities)
    assert len(severities) == everything["total"]

    open_ids = [each["id"] for each in everything["incidents"] if each["state"] == "open"]
    answer = client.post("/api/v1/incidents/acknowledge", json={"ids": [*open_ids, 10**6], "by": "ana"})
    assert {each["acknowledged_by"] for each in answer.json()["incidents"]} == {"ana"}
    assert client.get("/api/v1/incidents", params={"state": "unacknowledged"}).json()["total"] == 0

    assigned = client.post(f"/api/v1/incidents/{open_ids[0]}/assign", json={"assignee": "bo", "by": "ana"})
    assert assigned.json()["assignee"] == "bo"
    freed = client.post(f"/api/v1/incidents/{open_ids[0]}/assign", json={"assignee": None})
    assert freed.json()["assignee"] is None


def test_the_event_of_an_incident_has_its_cause_first_and_one_safe_step(
    client: httpx.Client, broken: str
) -> None:
    (nan,) = client.get("/api/v1/incidents", params={"q": "became nan"}).json()["incidents"]
    event = client.get(f"/api/v1/incidents/{nan['id']}/context").json()["event"]
    assert [each["kind"] for each in event["incidents"]][-1] == "nonfinite"
    assert len(event["incidents"]) == 2
    assert event["rollback_step"] < 1200
    assert (
        f"{event['rollback_step']:,}" in event["advice"]
        or f"{event['rollback_step'] + 1:,}" in event["advice"]
    )
    events = client.get(f"/api/v1/runs/{broken}/events").json()["events"]
    assert [len(each["incidents"]) for each in events] == [2]


def test_the_trend_of_the_loss_knows_of_nan(client: httpx.Client, broken: str) -> None:
    run = client.get(f"/api/v1/runs/{broken}").json()
    trend = run["loss_trend"]
    assert (trend["slope"], trend["nonfinite_since"], trend["last_finite_step"]) == (None, 1400, 1399)
    assert run["spent"]["nonfinite"]["seconds"] == pytest.approx(100, abs=2)
    assert run["goodput"] < 0.95
    assert sum(part["share"] for part in run["spent"].values()) == pytest.approx(1)


def test_a_similar_incident_of_the_past_shows_what_was_done(
    client: httpx.Client, context: ServerContext, broken: str, post: Post
) -> None:
    (nan,) = client.get("/api/v1/incidents", params={"q": "became nan"}).json()["incidents"]
    client.post(
        f"/api/v1/incidents/{nan['id']}/close", json={"text": "lowered the learning rate", "by": "ana"}
    )
    post(rising_then_nan(), run="again")
    deadline = time.monotonic() + 60
    while not (
        found := client.get("/api/v1/incidents", params={"q": "again became nan"}).json()["incidents"]
    ):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    (similar,) = client.get(f"/api/v1/incidents/{found[0]['id']}/context").json()["similar"]
    assert (similar["run"], similar["actions"]) == ("broken", ["ana: lowered the learning rate"])


def test_incidents_of_a_kind_on_another_quantity_are_not_similar(
    client: httpx.Client, context: ServerContext, post: Post
) -> None:
    """An accuracy that collapsed, and then a gradient norm that vanished, in two runs."""
    found: list[dict[str, Any]] = []
    for run, metric in (("first", "accuracy"), ("second", "grad_norm")):
        columns = healthy()
        del columns["grad_norm"]
        columns[metric] = [0.9 if step < 1000 else 0.005 for step in range(len(columns["step"]))]
        post(columns, run=run)
        deadline = time.monotonic() + 60
        while not (
            found := client.get("/api/v1/incidents", params={"q": f"{run} fallen"}).json()["incidents"]
        ):
            assert time.monotonic() < deadline
            time.sleep(0.1)
    assert found[0]["kind"] == "metric_collapse"
    assert client.get(f"/api/v1/incidents/{found[0]['id']}/context").json()["similar"] == []


def test_settings_state_their_source_and_no_secret(client: httpx.Client, context: ServerContext) -> None:
    answer = client.get("/api/v1/settings").json()
    by_name = {row["name"]: row for row in answer["settings"]}
    assert by_name["port"]["source"] == "default"
    assert by_name["database_url"]["secret"]
    assert context.settings.database not in str(answer)
    assert by_name["http.max_body_kb"]["default"] == "1024"
    names = (
        "alerting.heartbeat.every",
        "alerting.no_data.silence",
        "scrape.every",
        "alerting.heartbeat.method",
    )
    assert [by_name[name]["value"] for name in names] == ["60s", "3600s", "15s", "GET"]


def test_planned_events_of_all_runs_and_projects_are_listed(client: httpx.Client, post: Post) -> None:
    run_id = post({"step": [1, 2], "loss": [2.0, 1.9]})["run_id"]
    client.post(f"/api/v1/runs/{run_id}/expected", json={"what": "evaluation", "every": 100, "lasting": 5})
    client.post("/api/v1/projects/llm/expected", json={"what": "maintenance", "from_step": 7})
    listed = client.get("/api/v1/expected").json()["expected"]
    assert [(each["what"], each["project"], each["run"]) for each in listed] == [
        ("maintenance", "llm", None),
        ("evaluation", "llm", "a"),
    ]


def test_a_muted_incident_is_a_silence_that_ends_with_it(client: httpx.Client, broken: str) -> None:
    (nan,) = client.get("/api/v1/incidents", params={"q": "became nan"}).json()["incidents"]
    path = f"/api/v1/incidents/{nan['id']}"
    for_a_while = client.post(f"{path}/mute", json={"seconds": 1800, "by": "ana"}).json()
    assert (for_a_while["matchers"], for_a_while["created_by"]) == ([f'incident="{nan["id"]}"'], "ana")
    client.post(f"{path}/mute", json={"seconds": None})
    assert len(client.get("/api/v1/silences").json()["silences"]) == 1
    client.post(f"{path}/close")
    assert client.get("/api/v1/silences").json()["silences"] == []
    client.post(f"{path}/reopen")
    client.post(f"{path}/mute", json={"seconds": 60})
    assert client.delete(f"{path}/mute").status_code == 204
    assert client.get("/api/v1/silences").json()["silences"] == []
