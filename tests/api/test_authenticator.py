"""Who sends a request: what headers and cookies prove, until when, and what they allow."""

from __future__ import annotations

import base64

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from holter.server import tokens
from holter.server.auth import COOKIE, SESSION_SECONDS, Authenticator, TokenScopeError
from holter.server.share_links import COOKIE as SHARE_COOKIE
from holter.server.share_links import ShareLinks
from holter.server.tokens import TokenScope
from holter.settings import Settings
from tests.support.alerting import Clock

PASSWORD = "correct horse"
RUNS = "/api/v1/runs"


@pytest.fixture
def clock() -> Clock:
    return Clock(1000.0)


@pytest.fixture
def made_tokens(sqlite_engine: Engine) -> dict[TokenScope, str]:
    """A token of each scope, named as it."""
    with Session(sqlite_engine) as session, session.begin():
        return {scope: tokens.create(session, scope.value, now=0.0, scope=scope) for scope in TokenScope}


def authenticator(engine: Engine, clock: Clock, **settings: object) -> Authenticator:
    made = Authenticator(Settings(**settings), engine, clock=clock)  # type: ignore[arg-type]
    made.refresh()
    return made


@pytest.fixture
def open_to_others(sqlite_engine: Engine, clock: Clock, made_tokens: dict[TokenScope, str]) -> Authenticator:
    """An authenticator of a server that requires a login."""
    return authenticator(sqlite_engine, clock, host="0.0.0.0", password=PASSWORD)


def basic(credentials: str) -> str:
    return "Basic " + base64.b64encode(credentials.encode()).decode()


def test_a_token_is_sent_as_bearer_or_as_password_of_any_user(
    open_to_others: Authenticator, made_tokens: dict[TokenScope, str]
) -> None:
    token = made_tokens[TokenScope.ALL]
    for right in (f"Bearer {token}", f"bearer  {token} ", basic(f"api:{token}"), basic(f":{token}")):
        assert open_to_others.user({"authorization": right}) == "all", right
        assert open_to_others.check("GET", RUNS, {"authorization": right}, open_to_all=False) is None
    encoded = basic(f"api:{token}")
    wrong = [token, f"Digest {token}", f"Token {token}", basic(token), basic(f"api:{token}x"), "Basic é"]
    wrong += [f"{encoded[:10]}!{encoded[10:]}", "Basic /w==", "Bearer", "", basic("a:b")]
    for header in wrong:
        assert open_to_others.user({"authorization": header}) is None, header
        denial = open_to_others.check("GET", RUNS, {"authorization": header}, open_to_all=False)
        assert denial is not None
        assert denial.status == 401


def test_only_those_who_may_read_runs_read_them(
    open_to_others: Authenticator, made_tokens: dict[TokenScope, str]
) -> None:
    may = {
        scope: open_to_others.may_read({"authorization": f"Bearer {token}"})
        for scope, token in made_tokens.items()
    }
    assert may == {TokenScope.ALL: True, TokenScope.INGEST: False, TokenScope.METRICS: False}
    assert not open_to_others.may_read({})
    assert not open_to_others.may_read({"authorization": "Bearer unknown"})
    assert open_to_others.may_read({"cookie": f"{COOKIE}={open_to_others.create_session(PASSWORD)}"})


def test_on_this_machine_everybody_reads_and_clients_of_trackers_may_send_any_key(
    sqlite_engine: Engine, clock: Clock
) -> None:
    local = authenticator(sqlite_engine, clock)
    assert local.may_read({})
    headers = {"host": "127.0.0.1:8765", "authorization": basic("api:any key")}
    assert local.check("POST", "/graphql", headers, open_to_all=False) is None
    denial = local.check("POST", RUNS, headers, open_to_all=False)
    assert denial is not None
    assert denial.status == 401
    other = local.check("POST", "/graphql", headers | {"host": "evil.example.com"}, open_to_all=False)
    assert other is not None
    assert other.status == 403


def test_where_a_login_is_required_trackers_need_a_token(open_to_others: Authenticator) -> None:
    headers = {"authorization": basic("api:any key")}
    assert open_to_others.check("POST", "/graphql", headers, open_to_all=False) is not None
    assert open_to_others.check("POST", "/graphql", {}, open_to_all=False) is not None
    assert open_to_others.check("GET", "/", {}, open_to_all=True) is None


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({"host": "10.0.0.5:8765", "origin": "https://holter.example.com"}, True),
        ({"host": "10.0.0.5:8765", "origin": "http://10.0.0.5:8765"}, True),
        ({"host": "HOLTER.example.com", "origin": "https://Holter.Example.com"}, True),
        ({"host": "10.0.0.5:8765", "origin": "https://evil.example.com"}, False),
        ({"origin": "null"}, False),
        ({"origin": "", "sec-fetch-site": "cross-site"}, False),
        ({"sec-fetch-site": "cross-site"}, False),
        ({"sec-fetch-site": "none"}, True),
        ({}, True),
    ],
)
def test_pages_of_other_sites_cannot_use_a_session(
    headers: dict[str, str], allowed: bool, sqlite_engine: Engine, clock: Clock
) -> None:
    server = authenticator(sqlite_engine, clock, password=PASSWORD, public_url="https://holter.example.com")
    session = {"cookie": f"{COOKIE}={server.create_session(PASSWORD)}"}
    denial = server.check("POST", RUNS, headers | session, open_to_all=False)
    assert (denial and denial.status) == (None if allowed else 403)
    # a page of another site can send a request to read, and cannot see the answer
    assert server.check("GET", RUNS, headers | session, open_to_all=False) is None


def test_a_token_is_sent_on_purpose_from_anywhere(
    open_to_others: Authenticator, made_tokens: dict[TokenScope, str]
) -> None:
    headers = {"authorization": f"Bearer {made_tokens[TokenScope.ALL]}", "origin": "https://a.example.com"}
    assert open_to_others.check("POST", RUNS, headers, open_to_all=False) is None


def test_a_session_ends_at_the_second_stated(open_to_others: Authenticator, clock: Clock) -> None:
    headers = {"cookie": f"{COOKIE}={open_to_others.create_session(PASSWORD)}"}
    clock.now += SESSION_SECONDS - 0.5
    assert open_to_others.user(headers) == "admin"
    clock.now += 0.5
    assert open_to_others.user(headers) is None


def test_sessions_are_for_people(open_to_others: Authenticator, made_tokens: dict[TokenScope, str]) -> None:
    assert open_to_others.create_session(made_tokens[TokenScope.ALL]) is not None
    for scope in (TokenScope.INGEST, TokenScope.METRICS):
        with pytest.raises(TokenScopeError, match=f"'{scope}' has the scope {scope}"):
            open_to_others.create_session(made_tokens[scope])
    assert open_to_others.log_in("10.0.0.1", PASSWORD) is not None
    assert open_to_others.log_in("10.0.0.1", "wrong") is None


def test_each_login_has_a_session_of_its_own(open_to_others: Authenticator) -> None:
    cookies = [open_to_others.create_session(PASSWORD) for _ in range(3)]
    assert len(set(cookies)) == 3
    assert all("=" not in (cookie or "") for cookie in cookies)  # cookies are quoted then
    open_to_others.end_session({"cookie": f"a=b; {COOKIE}={cookies[0]}"})
    users = [open_to_others.user({"cookie": f"{COOKIE}={cookie}"}) for cookie in cookies]
    assert users == [None, "admin", "admin"]
    open_to_others.refresh()
    assert open_to_others.user({"cookie": f"{COOKIE}={cookies[0]}"}) is None


def test_only_a_cookie_of_this_name_counts(open_to_others: Authenticator) -> None:
    cookie = open_to_others.create_session(PASSWORD)
    assert open_to_others.user({"cookie": f"other={cookie}"}) is None
    assert open_to_others.user({"cookie": f" {COOKIE}={cookie}"}) == "admin"
    assert open_to_others.user({"cookie": COOKIE}) is None


@pytest.mark.parametrize(
    ("url", "secure"), [("https://holter.example.com", True), ("http://holter.example.com", False)]
)
def test_cookies_are_for_encrypted_connections_where_the_server_has_one(
    url: str, secure: bool, sqlite_engine: Engine, clock: Clock
) -> None:
    assert authenticator(sqlite_engine, clock, public_url=url).secure_cookie is secure


def test_a_signature_is_for_one_purpose_and_text(open_to_others: Authenticator) -> None:
    signed = open_to_others.signature("upload", "a")
    assert signed == open_to_others.signature("upload", "a")
    others = [open_to_others.signature("upload", "b"), open_to_others.signature("download", "a")]
    assert signed not in others


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("[::1]:8765", True),
        ("[::1]", True),
        ("localhost", True),
        ("LOCALHOST:8765", True),
        ("[2001:db8::1]:8765", False),
        ("127.0.0.1.example.com:8765", False),
        ("example.com", False),
    ],
)
def test_without_a_login_a_host_is_this_machine(
    host: str, allowed: bool, sqlite_engine: Engine, clock: Clock
) -> None:
    local = authenticator(sqlite_engine, clock)
    assert (local.check("GET", RUNS, {"host": host}, open_to_all=False) is None) is allowed


def test_a_token_of_a_job_logs_by_the_protocols_of_trackers_and_one_for_metrics_does_not(
    open_to_others: Authenticator, made_tokens: dict[TokenScope, str]
) -> None:
    for path in ("/graphql", "/api/2.0/mlflow/runs/create"):
        denials = {
            scope: open_to_others.check("POST", path, {"authorization": f"Bearer {token}"}, open_to_all=False)
            for scope, token in made_tokens.items()
        }
        assert (denials[TokenScope.ALL], denials[TokenScope.INGEST]) == (None, None)
        denial = denials[TokenScope.METRICS]
        assert denial is not None
        assert denial.status == 403
        assert "needs the scope ingest or all" in denial.reason


def test_a_share_link_ends_at_the_moment_stated(sqlite_engine: Engine, clock: Clock) -> None:
    links = ShareLinks(sqlite_engine, address="https://holter.example.com", clock=clock)
    secret = links.create("/", 1.0, by=None)["address"].rpartition("/")[2]
    server = authenticator(sqlite_engine, clock, host="0.0.0.0", password=PASSWORD)
    headers = {"cookie": f"{SHARE_COOKIE}={secret}"}
    assert server.check("GET", RUNS, headers, open_to_all=False) is None
    denial = server.check("POST", RUNS, headers, open_to_all=False)
    assert denial is not None
    assert denial.status == 403
    clock.now += 86_400 - 0.5
    assert server.share(headers) is not None
    assert server.user(headers) is None
    clock.now += 0.5
    assert server.share(headers) is None
    assert server.share({}) is None
