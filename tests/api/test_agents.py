"""Reports of agents over HTTP, and how silent agents are shown."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from sqlalchemy import Engine

from holter.server.agents import AgentRegistry, AgentReport, UnknownAgentError, format_duration
from holter.server.agents import registry as module


class Hands:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1_787_400_000.0

    def __call__(self) -> float:
        return self.now


def report(**fields: Any) -> AgentReport:
    return AgentReport(**{"agent": "n17:abc", "host": "n17", "files": 40} | fields)


def test_an_agent_that_dies_is_silent_until_it_reports_again(engine: Engine) -> None:
    clock = Hands()
    agents = AgentRegistry(engine, clock=clock)
    agents.record(report(files_behind=3, bytes_behind=900, seconds_behind=20.0))
    (one,) = agents.statuses()
    assert (one["state"], one["trouble"]) == ("well", "")
    clock.now += 300
    (one,) = agents.statuses()
    assert (one["state"], one["trouble"]) == ("silent", "agent on n17 silent for 5 min, 3 files behind")
    agents.record(report())
    assert agents.statuses()[0]["state"] == "well"
    clock.now += 8 * 86_400
    assert agents.statuses() == [], "after a week nobody waits for it any more"


def test_an_agent_that_reported_its_end_is_not_silent(engine: Engine) -> None:
    clock = Hands()
    agents = AgentRegistry(engine, clock=clock)
    agents.record(report(ended=True))
    clock.now += 600
    assert agents.statuses()[0]["state"] == "ended"
    clock.now += 3_600
    assert agents.statuses() == []


@pytest.mark.parametrize(
    ("fields", "state", "trouble"),
    [
        ({"seconds_behind": 400.0, "files_behind": 1}, "behind", "agent on n17 is 7 min behind, with 1 file"),
        ({"last_error": "/logs/a cannot be read"}, "troubled", "agent on n17: /logs/a cannot be read"),
        ({"dropped": 1200}, "troubled", "agent on n17, 1,200 points lost, its spool was full"),
        (
            {"ended": True, "spool_bytes": 2048, "kind": "pipe"},
            "troubled",
            "agent on n17, 2,048 bytes wait in its spool",
        ),
    ],
)
def test_trouble_is_described_in_one_sentence(
    engine: Engine, fields: dict[str, Any], state: str, trouble: str
) -> None:
    agents = AgentRegistry(engine, clock=Hands())
    agents.record(report(**fields))
    (one,) = agents.statuses()
    assert (one["state"], one["trouble"]) == (state, trouble)


def test_simultaneous_reports_and_deletions_do_not_fail(engine: Engine) -> None:
    agents = AgentRegistry(engine, clock=Hands())

    def work(number: int) -> None:
        for _ in range(40):
            if number % 3:
                assert agents.record(report()) is not None
            else:
                with contextlib.suppress(UnknownAgentError):
                    agents.forget("n17:abc")

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))  # raises what failed
    agents.record(report())
    assert len(agents.statuses()) == 1


def test_agents_in_trouble_come_first_and_too_many_are_refused(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "AGENT_LIMIT", 3)
    agents = AgentRegistry(engine, clock=Hands())
    for name in ("a", "b", "c"):
        assert agents.record(report(agent=name, last_error="full disk" if name == "c" else "")) is not None
    assert agents.record(report(agent="d")) is None
    assert agents.record(report(agent="a")) is not None, "those known go on"
    assert [one["agent"] for one in agents.statuses()] == ["c", "a", "b"]


def test_reports_over_http(client: httpx.Client) -> None:
    status_report = {
        "agent": "n18:def",
        "host": "n18",
        "files": 3,
        "last_error": "disk full",
        "paths": ["/logs"],
    }
    answer = client.post("/api/v1/agents", json=status_report)
    assert (answer.status_code, answer.json()["state"]) == (200, "troubled")
    (one,) = [one for one in client.get("/api/v1/agents").json()["agents"] if one["agent"] == "n18:def"]
    assert one["trouble"] == "agent on n18: disk full"
    page = client.get("/metrics").text
    assert 'holter_agents{state="troubled"} 1.0' in page
    assert 'holter_agent_behind_bytes{agent="n18:def",host="n18"} 0.0' in page
    assert client.post("/api/v1/agents", json={**status_report, "files": -1}).status_code == 422
    assert client.post("/api/v1/agents", json={**status_report, "agent": "a b"}).status_code == 422
    assert client.delete("/api/v1/agents/n18:def").status_code == 204
    assert client.delete("/api/v1/agents/n18:def").status_code == 404


def test_durations_are_formatted_for_people() -> None:
    assert [format_duration(seconds) for seconds in (30, 90, 300, 3_600, 7_200, 200_000)] == [
        "30 s", "2 min", "5 min", "60 min", "2 h", "2 days",
    ]  # fmt: skip
