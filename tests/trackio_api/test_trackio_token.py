"""The token of trackio's clients, on a server that needs one."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from sqlalchemy.orm import Session

from holter.server import tokens
from holter.server.context import ServerContext
from holter.server.tokens import TokenScope
from holter.settings import Settings
from tests.support.servers import served

ROW = {"project": "demo", "run": "first", "run_id": "r", "metrics": {"loss": 1.0}, "step": 0}
BODY = {"args": [], "kwargs": {"logs": [ROW]}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServerContext, str]]:
    database = tmp_path_factory.mktemp("server") / "holter.db"
    settings = Settings(database_url=f"sqlite:///{database}", password="a long password")
    with served(settings) as running:
        yield running


def token(context: ServerContext, scope: TokenScope) -> str:
    """A new token, which the server knows."""
    with Session(context.engine) as session, session.begin():
        created = tokens.create(session, f"job-{scope}", now=context.clock(), scope=scope)
    context.authenticator.refresh()
    return created


def test_a_token_of_jobs_logs_and_does_not_read(server: tuple[ServerContext, str]) -> None:
    context, address = server
    headers = {"x-trackio-write-token": token(context, TokenScope.INGEST)}
    assert httpx.post(f"{address}/api/bulk_log", json=BODY, headers=headers, timeout=60).json() == {
        "data": None
    }
    asked = {"args": [], "kwargs": {"project": "demo", "run": "first", "run_id": "r"}}
    summary = httpx.post(f"{address}/api/get_run_summary", json=asked, headers=headers, timeout=60).json()[
        "data"
    ]
    assert (summary["last_step"], summary["metrics"]) == (0, [])
    assert httpx.get(f"{address}/api/v1/runs", headers=headers, timeout=60).status_code == 401


def test_an_unknown_token_is_refused_and_told_how_to_get_one(server: tuple[ServerContext, str]) -> None:
    answer = httpx.post(
        f"{server[1]}/api/bulk_log", json=BODY, headers={"x-trackio-write-token": "f" * 40}, timeout=60
    )
    assert answer.status_code == 401
    assert "holter token create NAME, then TRACKIO_WRITE_TOKEN" in answer.json()["error"]


def test_the_version_is_told_without_a_token_and_nothing_else(server: tuple[ServerContext, str]) -> None:
    assert httpx.get(f"{server[1]}/version", timeout=60).status_code == 200
    assert httpx.post(f"{server[1]}/api/bulk_log", json=BODY, timeout=60).status_code == 401


def test_a_token_of_another_scope_cannot_log(server: tuple[ServerContext, str]) -> None:
    headers = {"x-trackio-write-token": token(server[0], TokenScope.METRICS)}
    assert httpx.post(f"{server[1]}/api/bulk_log", json=BODY, headers=headers, timeout=60).status_code == 403
