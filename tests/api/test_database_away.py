"""While the database is unavailable the server responds with 503 and Retry-After, and recovers afterwards."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager

import httpx
import psycopg
import pytest
from sqlalchemy import make_url

from holter.server import auth
from holter.server.context import ServerContext
from holter.settings import Settings

Serve = Callable[[Settings], AbstractContextManager[tuple[ServerContext, str]]]
BODY = {"project": "p", "run": "r", "columns": {"step": [1], "loss": [1.0]}}


def test_senders_get_503_until_the_database_is_back(
    postgres_server: str, postgres_url: str, serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    name = make_url(postgres_url).database
    with (
        serve(Settings(database_url=postgres_url)) as (_, address),
        httpx.Client(base_url=address, timeout=60) as client,
        psycopg.connect(postgres_server, autocommit=True) as admin,
    ):
        assert client.get("/readyz").status_code == 200
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        assert client.get("/readyz").status_code == 503
        assert client.get("/healthz").status_code == 200
        for answer in (client.get("/api/v1/runs"), client.post("/api/v1/ingest", json=BODY)):
            assert answer.status_code == 503
            assert int(answer.headers["retry-after"]) >= 1
            assert "detail" in answer.json()
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
        assert client.get("/readyz").status_code == 200
        assert client.post("/api/v1/ingest", json=BODY).json()["accepted"] == 1
        assert client.get("/api/v1/runs").json()["runs"][0]["points"] == 1


def test_no_token_is_accepted_while_tokens_cannot_be_read(
    postgres_server: str,
    postgres_url: str,
    serve: Serve,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.CRITICAL)
    monkeypatch.setattr(auth, "TOKEN_CACHE_SECONDS", 0.0)
    name = make_url(postgres_url).database
    settings = Settings(database_url=postgres_url, password="correct horse")  # type: ignore[arg-type]
    with (
        serve(settings) as (_, address),
        httpx.Client(base_url=address, timeout=60) as client,
        psycopg.connect(postgres_server, autocommit=True) as admin,
    ):
        assert client.get("/api/v1/runs").status_code == 401
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        for path in ("/api/v1/runs", "/api/v1/session", "/metrics"):
            assert client.get(path, headers={"Authorization": "Bearer x"}).status_code == 503
        for path in ("/healthz", "/login"):
            assert client.get(path).status_code == 200
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
        assert client.get("/api/v1/runs").status_code == 401
