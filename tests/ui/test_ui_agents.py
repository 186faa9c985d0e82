"""Agents on the overview: a summary, and a list of those with problems."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.support.pages import Opener, Runs, Server

Call = Callable[..., Any]


def agent(**fields: Any) -> dict[str, Any]:
    return {"kind": "files", "files": 3, "state": "well", "ended": False, "trouble": ""} | fields


@pytest.mark.parametrize(
    ("agents", "words"),
    [
        ([], ""),
        ([agent(), agent(files=37)], "2 agents follow 40 files"),
        ([agent(kind="pipe", files=0)], "1 agent follows 1 pipe"),
        ([agent(files=0)], "1 agent waiting for files"),
        ([agent(state="silent"), agent(ended=True)], ""),
    ],
)
def test_the_summary_of_agents_counts_files_and_pipes(
    call: Call, agents: list[dict[str, Any]], words: str
) -> None:
    assert call("pages/agent_status.js", "agentSummary", agents) == words


def test_an_agent_with_a_problem_is_listed_and_can_be_forgotten(
    open_page: Opener, server: Server, runs: Runs
) -> None:
    gone = {"agent": "n17:1", "host": "n17", "ended": True, "spool_bytes": 4096, "kind": "pipe"}
    server.ask("/agents", gone)
    server.ask("/agents", {"agent": "n18:1", "host": "n18", "files": 40})
    page = open_page(server.address)
    trouble = page.get_by_role("region", name="Agents with problems")
    expect(trouble).to_contain_text("Agent on n17, 4,096 bytes wait in its spool")
    expect(trouble).not_to_contain_text("n18")
    expect(page.get_by_text(re.compile("1 agent follows 40 files"))).to_be_visible()
    page.get_by_role("button", name="Forget the agent on n17").click()
    expect(trouble).to_be_hidden()
