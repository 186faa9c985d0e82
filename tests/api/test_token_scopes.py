"""What a token may do: one of a job sends points and reports agents, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import Engine, text
from sqlalchemy.orm import Session

from holter.server import tokens
from holter.server.context import ServerContext
from holter.server.database import connect
from holter.server.migrate import downgrade, upgrade
from holter.server.models import Token
from holter.server.tokens import TokenScope
from holter.settings import Settings
from tests.support.servers import Printed

Serve = Callable[[Settings], AbstractContextManager[tuple[ServerContext, str]]]
ALLOWED = {
    TokenScope.INGEST: {
        "POST /api/v1/ingest",
        "POST /api/v1/agents",
        "POST /api/v1/status",
        "GET /healthz",
        "GET /readyz",
    },
    TokenScope.METRICS: {"GET /metrics", "GET /healthz", "GET /readyz"},
}
"""Written here once more on purpose: what a token may do must not widen unnoticed."""
BATCH = {"project": "llm", "run": "a", "columns": {"step": [1, 2], "loss": [1.0, 2.0]}}


def make_token(engine: Engine, scope: TokenScope) -> str:
    with Session(engine) as session, session.begin():
        return tokens.create(session, f"token {scope}", now=0.0, scope=scope)


@pytest.fixture
def address(sqlite_url: str, serve: Serve) -> Iterator[str]:
    """A server that requires a login."""
    settings = Settings(database_url=sqlite_url, password="correct horse")  # type: ignore[arg-type]
    with serve(settings) as (_, address):
        yield address


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.parametrize("scope", list(ALLOWED))
def test_a_token_of_a_limited_scope_may_call_its_own_routes_only(
    scope: TokenScope, address: str, sqlite_engine: Engine
) -> None:
    everything, limited = (bearer(make_token(sqlite_engine, one)) for one in (TokenScope.ALL, scope))
    run_id = httpx.post(f"{address}/api/v1/ingest", json=BATCH, headers=everything, timeout=60).json()[
        "run_id"
    ]
    openapi: dict[str, Any] = httpx.get(f"{address}/openapi.json", headers=everything, timeout=60).json()
    routes = {(method.upper(), path) for path, methods in openapi["paths"].items() for method in methods}
    routes |= {("GET", path) for path in ("/", "/runs/{run_id}", "/docs", "/openapi.json", "/static/main.js")}
    routes |= {("HEAD", "/api/v1/runs"), ("OPTIONS", "/api/v1/runs"), ("GET", "/api/v1/ingest")}
    assert len(routes) > 40
    with httpx.Client(base_url=address, headers=limited, timeout=60) as client:
        for method, path in sorted(routes):
            filled = re.sub(r"\{\w+\}", "1", path.replace("{run_id}", run_id))
            for address_of_route in (filled, f"{filled}/", f"{filled}?a=b"):
                answer = client.request(method, address_of_route)
                if f"{method} {path}" in ALLOWED[scope] and not address_of_route.endswith("/"):
                    assert answer.status_code not in {401, 403}, (method, path)
                else:
                    assert answer.status_code == 403, (method, address_of_route, answer.text)
                    needed = answer.text if method != "HEAD" else "needs the scope all"
                    assert re.search("needs the scope ((ingest|metrics) or )?all", needed)
    assert httpx.get(f"{address}/api/v1/runs/{run_id}", headers=everything, timeout=60).status_code == 200


def test_a_job_can_do_what_it_needs(address: str, sqlite_engine: Engine) -> None:
    job, prometheus = (make_token(sqlite_engine, scope) for scope in (TokenScope.INGEST, TokenScope.METRICS))
    accepted = httpx.post(f"{address}/api/v1/ingest", json=BATCH, headers=bearer(job), timeout=60)
    assert accepted.json()["accepted"] == 2
    report = {"agent": "n1:1", "host": "n1", "kind": "files"}
    assert (
        httpx.post(f"{address}/api/v1/agents", json=report, headers=bearer(job), timeout=60).status_code
        == 200
    )
    assert (
        "holter_points_total 2.0"
        in httpx.get(f"{address}/metrics", headers=bearer(prometheus), timeout=60).text
    )
    assert "--scope metrics" in httpx.get(f"{address}/metrics", headers=bearer(job), timeout=60).text


@pytest.mark.parametrize("scope", list(ALLOWED))
def test_people_cannot_log_in_with_a_token_of_a_program(
    scope: TokenScope, address: str, sqlite_engine: Engine
) -> None:
    limited, full = make_token(sqlite_engine, scope), make_token(sqlite_engine, TokenScope.ALL)
    with httpx.Client(base_url=address, timeout=60) as browser:
        refused = browser.post("/api/v1/session", json={"password": limited})
        assert refused.status_code == 403
        assert f"has the scope {scope}" in refused.text
        assert "log in with the password, or with a token of the scope all" in refused.text
        assert not browser.cookies
        assert browser.get("/api/v1/runs").status_code == 401
        assert browser.post("/api/v1/session", json={"password": full}).status_code == 200
        assert browser.get("/api/v1/runs").status_code == 200


def test_tokens_from_before_scopes_may_do_everything_and_are_named(
    engine: Engine, database_url: str, holter: Printed
) -> None:
    where = ("--database-url", database_url)
    downgrade(engine, "0006")
    digest = tokens.digest("holter_old")
    with engine.begin() as connection:
        connection.execute(
            text("INSERT INTO token (name, digest, created_at) VALUES ('agents', :digest, 0)"),
            {"digest": digest},
        )
    upgrade(engine)
    with Session(engine) as session:
        assert tokens.active_tokens(session) == {digest: ("agents", TokenScope.ALL)}
    holter("token", "create", "job", *where)
    holter("token", "create", "prometheus", "--scope", "metrics", *where)
    lines = holter("token", "list", *where)[1].splitlines()
    assert [line.split("\t")[:2] for line in lines] == [
        ["agents", "scope all (created before tokens had scopes)"],
        ["job", "scope ingest"],
        ["prometheus", "scope metrics"],
    ]
    printed = holter("doctor", "--host", "0.0.0.0", "--port", "0", *where)[1]
    assert "created before tokens had scopes, and may do everything: agents (" in printed


def test_going_back_revokes_limited_tokens_rather_than_widen_them(engine: Engine) -> None:
    names = {scope: make_token(engine, scope) for scope in TokenScope}
    downgrade(engine, "0006")
    upgrade(engine)
    with Session(engine) as session:
        assert list(tokens.active_tokens(session)) == [tokens.digest(names[TokenScope.ALL])]


def test_doctor_tells_when_nobody_can_log_in(holter: Printed, tmp_path: Path) -> None:
    where = ("--data-dir", tmp_path / "data")
    holter("token", "create", "job", *where)
    code, printed, _ = holter("doctor", "--host", "0.0.0.0", "--port", 0, *where)
    assert (code, "nobody can log in to the pages" in printed) == (1, True)
    holter("token", "create", "ana", "--scope", "all", *where)
    assert "ok     access: login required\n" in holter("doctor", "--host", "0.0.0.0", "--port", 0, *where)[1]
    engine = connect(f"sqlite:///{tmp_path / 'data' / 'holter.db'}")
    with Session(engine) as session:
        assert [token.scope for token in session.query(Token).order_by(Token.id)] == ["ingest", "all"]
    engine.dispose()
