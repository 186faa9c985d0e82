"""Access: this machine without a login, others with a password or a token."""

from __future__ import annotations

import base64
import hmac
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from threading import Barrier

import httpx
import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from holter.detectors.findings import catalogue_as_json
from holter.server import tokens
from holter.server.auth import (
    ALLOWED_FAILURES,
    ALLOWED_FAILURES_IN_ALL,
    COOKIE,
    FAILURE_WINDOW,
    SESSION_SECONDS,
    TOKEN_CACHE_SECONDS,
    Authenticator,
    FailedLogins,
    TooManyLoginsError,
    missing_credentials,
)
from holter.server.context import ServerContext, UnprotectedServerError
from holter.server.models import EndedSession, Token
from holter.server.session_secret import load_session_secret
from holter.server.tokens import TokenScope
from holter.settings import Settings, SettingsError, load

Serve = Callable[[Settings], AbstractContextManager[tuple[ServerContext, str]]]
LOCAL = {"host": "127.0.0.1:8765"}
PASSWORD = "correct horse"


class Clock:
    """A clock that stands until it is set."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def access_to(engine: Engine, clock: Clock | None = None, **settings: object) -> Authenticator:
    made = Authenticator(Settings(**settings), engine, clock=clock or Clock())  # type: ignore[arg-type]
    made.refresh()
    return made


def make_token(engine: Engine, name: str, scope: TokenScope = TokenScope.ALL) -> str:
    with Session(engine) as session, session.begin():
        return tokens.create(session, name, now=0.0, scope=scope)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"host": "0.0.0.0"}, "the address 0.0.0.0"),
        ({"host": "192.168.7.1"}, "the address 192.168.7.1"),
        ({"public_url": "https://holter.example.com"}, "https://holter.example.com"),
    ],
)
def test_where_others_can_reach_it_the_server_needs_a_password_or_a_token_to_start(
    settings: dict[str, str], reason: str, sqlite_engine: Engine
) -> None:
    refusal = missing_credentials(Settings(**settings), sqlite_engine)  # type: ignore[arg-type]
    assert refusal is not None
    assert reason in refusal
    assert "HOLTER_PASSWORD=" in refusal
    assert "holter token create" in refusal
    with_password = Settings(**settings, password=PASSWORD)  # type: ignore[arg-type]
    assert missing_credentials(with_password, sqlite_engine) is None
    make_token(sqlite_engine, "agents")
    assert missing_credentials(Settings(**settings), sqlite_engine) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.0.0.53"])
def test_on_this_machine_alone_it_needs_none(host: str, sqlite_engine: Engine) -> None:
    assert missing_credentials(Settings(host=host), sqlite_engine) is None


def test_an_unprotected_server_refuses_to_start(sqlite_url: str) -> None:
    with pytest.raises(UnprotectedServerError, match="neither a password nor a token"):
        ServerContext(Settings(database_url=sqlite_url, host="0.0.0.0")).start()


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        ("GET", {"host": "127.0.0.1:8765"}, None),
        ("GET", {"host": "localhost:9"}, None),
        ("GET", {"host": "[::1]:8765"}, None),
        ("GET", {"host": "rebound.example.com:8765"}, 403),
        ("GET", {"host": "127.0.0.1.example.com"}, 403),
        ("GET", {}, 403),
        ("GET", {**LOCAL, "x-forwarded-for": "10.0.0.1"}, 403),
        ("GET", {**LOCAL, "x-forwarded-host": "holter.example.com"}, 403),
        ("GET", {**LOCAL, "forwarded": "for=10.0.0.1"}, 403),
        ("GET", {**LOCAL, "x-real-ip": "10.0.0.1"}, 403),
        ("GET", {**LOCAL, "origin": "https://evil.example.com"}, None),
        ("POST", LOCAL, None),
        ("POST", {**LOCAL, "origin": "http://127.0.0.1:8765"}, None),
        ("POST", {**LOCAL, "origin": "http://127.0.0.1:9999"}, 403),
        ("POST", {**LOCAL, "origin": "https://evil.example.com"}, 403),
        ("POST", {**LOCAL, "origin": "null"}, 403),
        ("POST", {**LOCAL, "sec-fetch-site": "cross-site"}, 403),
        ("DELETE", {**LOCAL, "sec-fetch-site": "same-site"}, 403),
        ("POST", {**LOCAL, "sec-fetch-site": "same-origin"}, None),
        ("GET", {**LOCAL, "authorization": "Bearer holter_unknown"}, 401),
    ],
)
def test_without_login_only_this_machine_and_its_own_pages_have_access(
    method: str, headers: dict[str, str], status: int | None, sqlite_engine: Engine
) -> None:
    refusal = access_to(sqlite_engine).check(method, "/api/v1/runs", headers, open_to_all=False)
    assert (refusal and refusal.status) == status


def test_a_token_opens_until_it_is_revoked(sqlite_engine: Engine) -> None:
    clock = Clock()
    token = make_token(sqlite_engine, "agents")
    access = access_to(sqlite_engine, clock, host="0.0.0.0")
    headers = {"authorization": f"Bearer {token}"}
    assert access.check("POST", "/api/v1/runs", headers, open_to_all=False) is None
    assert access.user(headers) == "agents"
    for wrong in ("", "Bearer", f"Bearer {token}x", f"Basic {token}", token):
        assert access.check("GET", "/api/v1/runs", {"authorization": wrong}, open_to_all=False) is not None
    with Session(sqlite_engine) as session, session.begin():
        tokens.revoke(session, "agents", now=1.0)
    clock.now += 6
    assert access.stale
    access.refresh()
    refusal = access.check("POST", "/api/v1/runs", headers, open_to_all=False)
    assert refusal is not None
    assert refusal.status == 401
    with Session(sqlite_engine) as session:
        assert session.query(Token).one().last_used_at == 1000.0


def test_what_is_not_an_active_token_cannot_be_revoked(sqlite_engine: Engine) -> None:
    make_token(sqlite_engine, "ci")
    with Session(sqlite_engine) as session, session.begin():
        with pytest.raises(tokens.TokenError, match="no active token is called 'cd'"):
            tokens.revoke(session, "cd", now=2.0)
        tokens.revoke(session, "ci", now=2.0)
        with pytest.raises(tokens.TokenError, match="no active token is called 'ci'"):
            tokens.revoke(session, "ci", now=3.0)


def test_tokens_are_read_from_the_database_once_in_a_while(sqlite_engine: Engine) -> None:
    clock = Clock()
    access = Authenticator(Settings(), sqlite_engine, clock=clock)
    assert access.stale
    access.refresh()
    assert not access.stale
    clock.now += TOKEN_CACHE_SECONDS - 0.001
    assert not access.stale
    clock.now += 0.001
    assert access.stale
    access.refresh()
    clock.now -= 1  # a clock that was set back must not make the cached tokens last
    assert access.stale


def test_the_database_does_not_hold_the_token_itself(sqlite_engine: Engine) -> None:
    token = make_token(sqlite_engine, "agents")
    with Session(sqlite_engine) as session:
        stored = session.query(Token).one()
        assert token not in {stored.digest, stored.name}


def test_a_session_lasts_as_long_as_what_opened_it(sqlite_engine: Engine) -> None:
    clock = Clock()
    token = make_token(sqlite_engine, "ana")
    access = access_to(sqlite_engine, clock, host="0.0.0.0", password=PASSWORD)
    by_password, by_token = access.create_session(PASSWORD), access.create_session(token)
    assert access.user({"cookie": f"{COOKIE}={by_password}"}) == "admin"
    assert access.user({"cookie": f"a=b; {COOKIE}={by_token}; c=d"}) == "ana"
    changed = access_to(sqlite_engine, clock, host="0.0.0.0", password="another horse")
    assert changed.user({"cookie": f"{COOKIE}={by_password}"}) is None
    assert changed.user({"cookie": f"{COOKIE}={by_token}"}) == "ana"
    clock.now += SESSION_SECONDS + 1
    assert access.user({"cookie": f"{COOKIE}={by_password}"}) is None


def test_a_cookie_cannot_be_made_or_prolonged(sqlite_engine: Engine) -> None:
    access = access_to(sqlite_engine, password=PASSWORD)
    cookie = access.create_session(PASSWORD)
    assert cookie is not None
    subject, expires, number, signature = cookie.split(".")
    forged = [
        "", "...", "password...", f"{subject}.{int(expires) + 1}.{number}.{signature}",
        f"{subject}.{expires}.{number}.", f"nobody.{expires}.{number}.{signature}", f"{cookie}é",
        f"{subject}.x.{number}.{signature}", f"{subject}.{expires}.other.{signature}", f"{cookie}.",
        f"{subject}.{expires}.{signature}",
    ]  # fmt: skip
    for wrong in forged:
        assert access.user({"cookie": f"{COOKIE}={wrong}"}) is None
    assert access.create_session("wrong") is None
    assert access_to(sqlite_engine).create_session("") is None


def test_the_database_alone_does_not_suffice_to_sign_a_session(sqlite_engine: Engine, tmp_path: Path) -> None:
    token = make_token(sqlite_engine, "ana")
    with Session(sqlite_engine) as session:
        digest = session.query(Token).one().digest
    access = access_to(sqlite_engine, host="0.0.0.0", data_dir=tmp_path / "own")
    cookie = access.create_session(token)
    assert cookie is not None
    # with the digest as key, as cookies of earlier versions were signed
    subject, expires, number, _ = cookie.split(".")
    for signed in (f"{subject}.{expires}", f"{subject}.{expires}.{number}"):
        for key in (digest.encode(), bytes.fromhex(digest), b""):
            signature = hmac.digest(key or b"-", signed.encode(), "sha256")
            forged = f"{signed}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"
            assert access.user({"cookie": f"{COOKIE}={forged}"}) is None
    # with this program on a copy of the database
    elsewhere = access_to(sqlite_engine, host="0.0.0.0", data_dir=tmp_path / "copy")
    forged = elsewhere.create_session(token) or ""
    assert elsewhere.user({"cookie": f"{COOKIE}={forged}"}) == "ana"
    assert access.user({"cookie": f"{COOKIE}={forged}"}) is None


def test_a_session_outlives_a_restart_and_is_valid_on_servers_with_the_same_key(
    sqlite_engine: Engine, tmp_path: Path
) -> None:
    for common in ({"data_dir": tmp_path / "own"}, {"secret_key": "k" * 32}):
        one = access_to(sqlite_engine, password=PASSWORD, **common)
        cookie = one.create_session(PASSWORD)
        folder = {"data_dir": tmp_path / "other"} | common
        other = access_to(sqlite_engine, password=PASSWORD, **folder)
        assert other.user({"cookie": f"{COOKIE}={cookie}"}) == "admin"
    assert not (tmp_path / "other").exists()
    changed = access_to(sqlite_engine, password=PASSWORD, secret_key="l" * 32)
    assert changed.user({"cookie": f"{COOKIE}={cookie}"}) is None
    with pytest.raises(ValueError, match="32 random characters"):
        Settings(secret_key="short")  # type: ignore[arg-type]


def test_a_session_that_was_ended_is_over_on_every_server(sqlite_engine: Engine) -> None:
    clock = Clock()
    servers = [access_to(sqlite_engine, clock, password=PASSWORD) for _ in range(2)]
    ended, other = ({"cookie": f"{COOKIE}={servers[0].create_session(PASSWORD)}"} for _ in range(2))
    servers[0].end_session(ended)
    servers[0].end_session(ended)
    servers[0].end_session({"cookie": f"{COOKIE}=password.1.2.3"})
    assert (servers[0].user(ended), servers[0].user(other)) == (None, "admin")
    servers[1].refresh()
    assert (servers[1].user(ended), servers[1].user(other)) == (None, "admin")
    clock.now += SESSION_SECONDS + 1
    later = access_to(sqlite_engine, clock, password=PASSWORD)
    cookie = later.create_session(PASSWORD)
    later.end_session({"cookie": f"{COOKIE}={cookie}"})
    with Session(sqlite_engine) as session:
        assert session.query(EndedSession).count() == 1


def test_the_key_is_a_private_file_that_is_created_once(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data")
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(load_session_secret, [settings] * 8))) == 1
    [file] = (tmp_path / "data").iterdir()
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    secret = load_session_secret(settings)
    file.chmod(0o644)
    assert load_session_secret(settings) == secret
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_bytes(b"short")
    renewed = load_session_secret(settings)
    assert renewed != secret
    assert load_session_secret(settings) == renewed


def test_where_no_key_can_be_stored_sessions_last_as_long_as_the_server(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "known").write_bytes(b"k" * 32)
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "session.key").symlink_to(tmp_path / "known")
    (tmp_path / "file").write_text("")
    for folder in ("linked", "file"):
        settings = Settings(data_dir=tmp_path / folder)
        assert load_session_secret(settings) not in {load_session_secret(settings), b"k" * 32}
    assert "Set HOLTER_SECRET_KEY" in caplog.text


def test_failed_logins_make_an_address_wait(sqlite_engine: Engine) -> None:
    clock = Clock()
    access = access_to(sqlite_engine, clock, password=PASSWORD)
    for _ in range(ALLOWED_FAILURES):
        assert access.wait_before_login("10.0.0.1") == 0
        access.login_failed("10.0.0.1")
    assert 0 < access.wait_before_login("10.0.0.1") <= 61
    assert access.wait_before_login("10.0.0.2") == 0
    clock.now += 61
    assert access.wait_before_login("10.0.0.1") == 0


def test_logins_at_the_same_moment_are_counted_one_by_one(sqlite_engine: Engine) -> None:
    access = access_to(sqlite_engine, password=PASSWORD)
    attempts = 40
    together = Barrier(attempts)
    plain = access.create_session

    def slow(secret: str) -> str | None:
        time.sleep(0.01)  # others run between the check and the count
        return plain(secret)

    access.create_session = slow  # type: ignore[method-assign]

    def guess(number: int) -> str:
        together.wait(60)
        try:
            return "refused" if access.log_in("10.0.0.1", f"guess {number}") is None else "in"
        except TooManyLoginsError:
            return "waits"

    with ThreadPoolExecutor(attempts) as pool:
        outcomes = list(pool.map(guess, range(attempts)))
    assert outcomes.count("refused") == ALLOWED_FAILURES
    assert outcomes.count("waits") == attempts - ALLOWED_FAILURES


def test_failed_logins_from_everywhere_take_no_memory() -> None:
    clock = Clock()
    failures = FailedLogins(clock, clients=100)
    for number in range(1000):
        failures.add(f"client {number}")
    assert len(failures._times) == 100
    for _ in range(1000):
        failures.add("one")
    assert failures.wait("one") > 0
    assert len(failures._times["one"]) == ALLOWED_FAILURES
    clock.now += FAILURE_WINDOW + 1
    failures.add("another")
    assert list(failures._times) == ["another"]


def test_a_browser_logs_in_and_out(sqlite_url: str, serve: Serve) -> None:
    settings = Settings(database_url=sqlite_url, password=PASSWORD)  # type: ignore[arg-type]
    with serve(settings) as (_, address), httpx.Client(base_url=address, timeout=60) as browser:
        assert browser.get("/").status_code == 200
        state = browser.get("/api/v1/session").json()
        assert state.pop("findings") == catalogue_as_json()
        assert state == {"login_required": True, "logged_in": False, "user": None, "shared_path": None}
        refused = browser.get("/api/v1/runs")
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"] == "Bearer"
        for path in ("/metrics", "/docs", "/openapi.json", "/api/v1/stream"):
            assert browser.get(path).status_code == 401
        assert browser.post("/api/v1/session", json={"password": "wrong"}).status_code == 401
        entered = browser.post("/api/v1/session", json={"password": PASSWORD})
        entered_state = entered.json()
        assert entered_state.pop("findings") == catalogue_as_json()
        assert entered_state.items() >= {"login_required": True, "logged_in": True, "user": "admin"}.items()
        cookie = entered.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=lax" in cookie
        assert browser.get("/api/v1/runs").status_code == 200
        evil = browser.post("/api/v1/incidents/1/close", headers={"Origin": "https://evil.example.com"})
        assert evil.status_code == 403
        stolen = dict(browser.cookies)
        assert browser.delete("/api/v1/session").json()["logged_in"] is False
        assert browser.get("/api/v1/runs").status_code == 401
        assert httpx.get(f"{address}/api/v1/runs", cookies=stolen, timeout=60).status_code == 401


def test_too_many_failed_logins_get_a_time_to_retry(sqlite_url: str, serve: Serve) -> None:
    settings = Settings(database_url=sqlite_url, password=PASSWORD)  # type: ignore[arg-type]
    with serve(settings) as (_, address), httpx.Client(base_url=address, timeout=60) as browser:
        for _ in range(ALLOWED_FAILURES):
            assert browser.post("/api/v1/session", json={"password": "wrong"}).status_code == 401
        stopped = browser.post("/api/v1/session", json={"password": PASSWORD})
        assert stopped.status_code == 429
        assert 0 < int(stopped.headers["retry-after"]) <= 61


def test_forged_forwarded_addresses_do_not_reset_the_limit_of_logins(sqlite_url: str, serve: Serve) -> None:
    settings = Settings(database_url=sqlite_url, password=PASSWORD)  # type: ignore[arg-type]

    def attempt(browser: httpx.Client, forwarded: str) -> int:
        headers = {"X-Forwarded-For": forwarded}
        return browser.post("/api/v1/session", json={"password": "wrong"}, headers=headers).status_code

    with serve(settings) as (_, address), httpx.Client(base_url=address, timeout=60) as browser:
        states = [attempt(browser, f"10.0.0.{number}") for number in range(ALLOWED_FAILURES + 2)]
        assert states == [401] * ALLOWED_FAILURES + [429] * 2
    trusting = settings.model_copy(update={"trusted_proxies": ("127.0.0.0/8",)})
    with serve(trusting) as (_, address), httpx.Client(base_url=address, timeout=60) as browser:
        # what the client itself states comes first: the proxy appends the address that it sees
        states = [attempt(browser, f"10.0.0.{number}, 10.9.9.9") for number in range(ALLOWED_FAILURES + 2)]
        assert states == [401] * ALLOWED_FAILURES + [429] * 2
        assert attempt(browser, "10.0.0.1") == 401


def test_failed_logins_are_limited_in_all_and_tokens_still_open(sqlite_engine: Engine) -> None:
    clock = Clock()
    access = access_to(sqlite_engine, clock, password=PASSWORD)
    token = make_token(sqlite_engine, "ana")
    access.refresh()
    for number in range(ALLOWED_FAILURES_IN_ALL):
        assert access.wait_before_login(f"10.1.{number // 200}.{number % 200}", PASSWORD) == 0
        access.login_failed(f"10.1.{number // 200}.{number % 200}")
    assert 0 < access.wait_before_login("10.9.9.9", PASSWORD) <= 61
    assert access.wait_before_login("10.9.9.9", token) == 0
    clock.now += 61
    assert access.wait_before_login("10.9.9.9", PASSWORD) == 0


def test_clients_choose_their_address_within_a_network(sqlite_engine: Engine) -> None:
    access = access_to(sqlite_engine, Clock(), password=PASSWORD)
    for number in range(ALLOWED_FAILURES):
        access.login_failed(f"2001:db8::{number:x}")
    assert access.wait_before_login("2001:db8::ffff:1") > 0
    assert access.wait_before_login("2001:db8:0:1::1") == 0
    for _ in range(ALLOWED_FAILURES):
        access.login_failed("::ffff:10.0.0.1")
    assert access.wait_before_login("10.0.0.1") > 0
    assert access.wait_before_login("10.0.0.2") == 0


@pytest.mark.parametrize(
    ("given", "expected"), [("10.0.0.1, 10.2.0.0/16", ("10.0.0.1", "10.2.0.0/16")), ("", ())]
)
def test_trusted_proxies_are_addresses_and_networks(
    monkeypatch: pytest.MonkeyPatch, given: str, expected: tuple[str, ...]
) -> None:
    monkeypatch.setenv("HOLTER_TRUSTED_PROXIES", given)
    assert load().trusted_proxies == expected
    monkeypatch.setenv("HOLTER_TRUSTED_PROXIES", "proxy.example.com")
    with pytest.raises(SettingsError, match=r"trusted_proxies.*address or a network"):
        load()


def test_every_response_has_security_headers(client: httpx.Client) -> None:
    for path in ("/", "/api/v1/runs", "/nowhere"):
        answer = client.get(path)
        assert "script-src 'self'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert client.get("/api/v1/runs").headers["cache-control"] == "no-store"
    assert client.get("/api/v1/runs", headers={"Host": "rebound.example.com"}).status_code == 403
