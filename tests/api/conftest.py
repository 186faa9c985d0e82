"""A real server over a real database, on a free port, and a client that talks to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from holter.server.context import ServerContext
from holter.settings import Settings
from tests.support.response_check import ResponseCheck
from tests.support.servers import Post, holter, quiet_surroundings, serve, served

__all__ = ["holter", "quiet_surroundings", "serve"]


@pytest.fixture
def settings(sqlite_url: str) -> Settings:
    """A server for this machine only."""
    return Settings(database_url=sqlite_url)


@pytest.fixture
def server(settings: Settings) -> Iterator[tuple[ServerContext, str]]:
    """The context of a running server, and its address."""
    with served(settings) as running:
        yield running


@pytest.fixture
def context(server: tuple[ServerContext, str]) -> ServerContext:
    """The context of the running server."""
    return server[0]


@pytest.fixture(scope="session")
def response_check(tmp_path_factory: pytest.TempPathFactory) -> ResponseCheck:
    """The check of responses by the OpenAPI document, which no setting changes."""
    database = tmp_path_factory.mktemp("openapi") / "holter.db"
    with served(Settings(database_url=f"sqlite:///{database}")) as (_, address):
        return ResponseCheck(httpx.get(f"{address}/openapi.json", timeout=60).json())


@pytest.fixture
def client(server: tuple[ServerContext, str], response_check: ResponseCheck) -> Iterator[httpx.Client]:
    """Talks to the running server; every JSON response is validated against the OpenAPI document."""
    with httpx.Client(base_url=server[1], timeout=60, event_hooks={"response": [response_check]}) as client:
        yield client


@pytest.fixture
def post(client: httpx.Client) -> Post:
    """Sends a batch that must be accepted; returns what was answered."""

    def send(columns: dict[str, list[Any]], **header: Any) -> dict[str, Any]:
        body = {"project": "llm", "run": "a", "columns": columns} | header
        answer = client.post("/api/v1/ingest", json=body)
        assert answer.status_code == 200, answer.text
        reply: dict[str, Any] = answer.json()
        return reply

    return send
