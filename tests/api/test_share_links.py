"""Share links open exactly one page, read-only, until they end or are revoked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select
from sqlalchemy.orm import Session

from holter.server import tokens
from holter.server.context import ServerContext
from holter.server.models import ShareLinkRow
from holter.server.share_links import ActiveShare, SharedPageError, check_page
from holter.settings import Settings

Serve = Callable[..., AbstractContextManager[tuple[ServerContext, str]]]


class Guarded:
    """A server with a password, a person who is logged in, and runs `a` and `b`."""

    def __init__(self, context: ServerContext, address: str) -> None:
        self.context = context
        with Session(context.engine) as session, session.begin():
            token = tokens.create(session, "ana", now=0.0, scope=tokens.TokenScope.ALL)
        self.person = httpx.Client(base_url=address, headers={"Authorization": f"Bearer {token}"}, timeout=60)
        self.visitors: list[httpx.Client] = []
        self.runs = {name: self._run(name) for name in "ab"}

    def _run(self, name: str) -> str:
        body = {"project": "llm", "run": name, "columns": {"step": [1, 2], "loss": [2.0, 1.0]}}
        return str(self.person.post("/api/v1/ingest", json=body).json()["run_id"])

    def share(self, path: str, days: float = 1.0) -> dict[str, Any]:
        answer = self.person.post("/api/v1/shares", json={"path": path, "days": days})
        assert answer.status_code == 200, answer.text
        link: dict[str, Any] = answer.json()
        return link

    def visitor(self, link: dict[str, Any]) -> httpx.Client:
        """A browser that has opened a link."""
        browser = httpx.Client(base_url=self.person.base_url, timeout=60)
        self.visitors.append(browser)
        opened = browser.get(urlsplit(link["address"]).path)
        assert (opened.status_code, opened.headers["location"]) == (303, link["path"])
        self.context.authenticator.refresh()
        return browser


@pytest.fixture
def guarded(sqlite_url: str, serve: Serve) -> Iterator[Guarded]:
    """A server that requires a login."""
    with serve(Settings(database_url=sqlite_url, password="correct horse")) as (context, address):  # type: ignore[arg-type]
        server = Guarded(context, address)
        yield server
        for client in (server.person, *server.visitors):
            client.close()


def statuses(browser: httpx.Client, *paths: str) -> list[int]:
    return [browser.get(path).status_code for path in paths]


def test_a_link_to_a_run_shows_that_run_and_nothing_else(guarded: Guarded) -> None:
    a, b = guarded.runs["a"], guarded.runs["b"]
    browser = guarded.visitor(guarded.share(f"/runs/{a}"))
    own = f"/api/v1/runs/{a}"
    assert statuses(browser, own, f"{own}/series", f"{own}/data?metric=loss", f"{own}/config") == [200] * 4
    others = ("/api/v1/runs", f"/api/v1/runs/{b}", "/api/v1/incidents", "/api/v1/shares", "/api/v1/views",
              "/api/v1/stream", "/metrics", f"/api/v1/compare/curves?runs={a}")  # fmt: skip
    assert statuses(browser, *others) == [403] * len(others)
    for method, path in (
        ("POST", f"{own}/finish"),
        ("PATCH", own),
        ("DELETE", own),
        ("POST", "/api/v1/shares"),
    ):
        assert browser.request(method, path, json={}).status_code == 403, (method, path)
    state = browser.get("/api/v1/session").json()
    assert (state["logged_in"], state["user"], state["shared_path"]) == (True, None, f"/runs/{a}")


def test_a_link_to_a_view_has_its_filter_only(guarded: Guarded) -> None:
    browser = guarded.visitor(guarded.share("/?q=name:a&columns=lr"))
    answer = browser.get("/api/v1/runs", params={"filter": "name:a", "limit": 10, "columns": "lr"})
    assert [run["name"] for run in answer.json()["runs"]] == ["a"]
    refused = ("/api/v1/runs", "/api/v1/runs?filter=name:b", "/api/v1/runs?filter=name:a&q=x",
               "/api/v1/runs?filter=name:a&columns=seed", "/api/v1/runs?filter=name:a&sort=seed",
               f"/api/v1/runs/{guarded.runs['a']}")  # fmt: skip
    assert statuses(browser, *refused) == [403] * len(refused)


def test_a_link_to_a_comparison_shows_its_runs(guarded: Guarded) -> None:
    a, b = guarded.runs["a"], guarded.runs["b"]
    browser = guarded.visitor(guarded.share(f"/compare?runs={a}"))
    assert browser.get(f"/api/v1/compare/curves?runs={a}").status_code != 403
    refused = (f"/api/v1/compare/curves?runs={a},{b}", f"/api/v1/compare/curves?runs={a}&baseline={b}",
               "/api/v1/compare/curves", f"/api/v1/runs/{b}")  # fmt: skip
    assert statuses(browser, *refused) == [403] * len(refused)


def test_a_link_ends_by_date_and_by_revocation(guarded: Guarded, monkeypatch: pytest.MonkeyPatch) -> None:
    path = f"/api/v1/runs/{guarded.runs['a']}"
    link = guarded.share(f"/runs/{guarded.runs['a']}", days=1.0)
    browser = guarded.visitor(link)
    assert browser.get(path).status_code == 200
    assert guarded.person.delete(f"/api/v1/shares/{link['id']}").status_code == 204
    guarded.context.authenticator.refresh()
    assert browser.get(path).status_code == 401
    assert browser.get(urlsplit(link["address"]).path).status_code == 404
    short = guarded.visitor(guarded.share(f"/runs/{guarded.runs['a']}", days=0.5))
    authenticator = guarded.context.authenticator
    later = guarded.context.clock() + 0.6 * 86_400
    monkeypatch.setattr(authenticator, "_clock", lambda: later)
    assert short.get(path).status_code == 401


def test_secrets_are_stored_as_digests_and_listed_never(guarded: Guarded) -> None:
    link = guarded.share(f"/runs/{guarded.runs['a']}")
    secret = link["address"].rpartition("/")[2]
    assert len(secret) >= 40
    listed = guarded.person.get("/api/v1/shares")
    assert listed.json()["links"][0]["path"] == link["path"]
    assert secret not in listed.text
    with guarded.context.engine.connect() as connection:
        rows = connection.execute(select(ShareLinkRow.__table__)).all()
    assert secret not in str(rows)
    assert tokens.digest(secret) in str(rows)


@pytest.mark.parametrize(
    "path",
    [
        "https://elsewhere.example/",
        "//elsewhere.example/",
        "/settings",
        "/?q=a&project=b",
        "/compare",
        "/runs/a/../b",
        "/runs/a%20b",
        "/compare?runs=a,../b",
        "/?view=3",
        "javascript:alert(1)",
    ],
)
def test_other_pages_cannot_be_shared(path: str) -> None:
    with pytest.raises(SharedPageError):
        check_page(path)


@given(st.sampled_from(["POST", "PUT", "PATCH", "DELETE"]), st.text(max_size=30), st.text(max_size=30))
def test_no_link_ever_changes_anything(method: str, path: str, query: str) -> None:
    for page in ("/runs/a", "/", "/compare?runs=a"):
        assert not ActiveShare(page, 1e12).allows(method, path, query)
