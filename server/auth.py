"""Who may come in: the checks every request passes, tokens, and the sessions of people.

Failed logins: who tries passwords waits, and who tries from everywhere takes no memory.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from holter.server import tokens
from holter.settings import Settings, is_loopback

ALLOWED_FAILURES = 5
FAILURE_WINDOW = 60.0
"""Seconds within which a client may fail so many times."""
TRACKED_CLIENTS = 10_000
"""Clients whose failures are remembered, those that failed last."""


class FailedLogins:
    """The latest failures of each client. Threads may share it."""

    def __init__(self, clock: Callable[[], float], *, clients: int = TRACKED_CLIENTS) -> None:
        self._clock = clock
        self._most = clients
        self._guard = threading.Lock()
        self._at: OrderedDict[str, list[float]] = OrderedDict()  # by client, who failed last at the end

    def wait(self, client: str) -> int:
        """Seconds this client must wait before it may try again, 0 if it may now."""
        now = self._clock()
        with self._guard:
            recent = [at for at in self._at.get(client, ()) if now - FAILURE_WINDOW < at <= now]
        return int(recent[-ALLOWED_FAILURES] + FAILURE_WINDOW - now) + 1 if len(recent) >= ALLOWED_FAILURES else 0

    def add(self, client: str) -> None:
        """Count a failure of a client."""
        now = self._clock()
        with self._guard:
            self._at[client] = [*self._at.pop(client, ()), now][-ALLOWED_FAILURES:]
            while len(self._at) > self._most or self._first() <= now - FAILURE_WINDOW:
                self._at.popitem(last=False)

    def _first(self) -> float:
        """When the client failed last that has not for the longest time."""
        return self._at[next(iter(self._at))][-1]


COOKIE = "holter_session"
SESSION_SECONDS = 30 * 24 * 3600
TOKEN_CACHE_SECONDS = 5.0
_PROXY_HEADERS = ("x-forwarded-for", "x-forwarded-host", "forwarded", "x-real-ip")
_READING = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, kw_only=True, slots=True)
class AccessDenial:
    """Why a request does not pass: an HTTP status and a sentence."""

    status: int
    reason: str


def missing_credentials(settings: Settings, engine: Engine) -> str | None:
    """Why the server must not start: others could reach it and nothing would stop them. None: it may."""
    if not settings.login_required or settings.password is not None:
        return None
    with Session(engine) as session:
        if tokens.active_tokens(session):
            return None
    reached = settings.public_url if is_loopback(settings.host) else f"the address {settings.host}"
    return (
        f"{reached} can be reached from other machines, and neither a password nor a token is set.\n"
        "  set a password for people:     HOLTER_PASSWORD=... holter serve ...\n"
        "  or make a token first:         holter token create NAME\n"
        "  or listen on this machine only: --host 127.0.0.1"
    )


class Authenticator:
    """Decides who a request is from. Remembers tokens for some seconds, failed logins for a minute."""

    def __init__(self, settings: Settings, engine: Engine, *, clock: Callable[[], float] = time.time) -> None:
        self.login_required = settings.login_required
        self.secure_cookie = settings.public_url.startswith("https://")
        self._engine = engine
        self._clock = clock
        self._own_names = {urlsplit(settings.public_url).netloc.lower()} - {""}
        self._password = settings.password.get_secret_value().encode() if settings.password else b""
        self._password_key = _stretch(self._password) if self._password else b""
        self._tokens: dict[str, str] = {}
        self._used: dict[str, float] = {}
        self._read_at = float("-inf")
        self._failures = FailedLogins(clock)

    @property
    def stale(self) -> bool:
        """Whether the tokens remembered are too old to decide by: `refresh` first."""
        return not 0 <= self._clock() - self._read_at < TOKEN_CACHE_SECONDS

    def refresh(self) -> None:
        """Read the tokens in use, write down which were used. Blocks for the database."""
        with Session(self._engine) as session:
            self._tokens = tokens.active_tokens(session)
        used, self._used = self._used, {}
        if used:
            with Session(self._engine) as session, session.begin():
                tokens.record_use(session, used)
        self._read_at = self._clock()

    def refuse(self, method: str, headers: Mapping[str, str], *, open_to_all: bool) -> AccessDenial | None:
        """Why a request may not pass; `headers` by lower-case name. Pages and health are open to all."""
        stranger = self._refuse_host(headers) or self._refuse_origin(method, headers)
        if stranger is not None:
            return stranger
        if "authorization" in headers:
            if self.user(headers) is None:
                return AccessDenial(status=401, reason="this token is not known, or has been revoked")
        elif self.login_required and not open_to_all and self.user(headers) is None:
            return AccessDenial(
                status=401,
                reason="log in, or send a token (HOLTER_TOKEN; the header 'Authorization: Bearer TOKEN')",
            )
        return None

    def _refuse_host(self, headers: Mapping[str, str]) -> AccessDenial | None:
        # without a login the address alone protects: a page elsewhere must not reach us under its own
        # name (DNS rebinding), and a proxy in front would open the door to everyone
        if self.login_required:
            return None
        host = headers.get("host", "").lower()
        if host not in self._own_names and not is_loopback(_without_port(host)):
            reason = f"the host {host!r} is not this machine: open http://127.0.0.1 or set public_url"
            return AccessDenial(status=403, reason=reason)
        if proxied := next((name for name in _PROXY_HEADERS if name in headers), None):
            reason = f"a proxy stands in front (header {proxied}): set public_url and a password first"
            return AccessDenial(status=403, reason=reason)
        return None

    def _refuse_origin(self, method: str, headers: Mapping[str, str]) -> AccessDenial | None:
        # browsers send a token only where they are told to, a cookie everywhere: so other pages are
        # stopped by where they come from
        if method in _READING or "authorization" in headers:
            return None
        if origin := headers.get("origin"):
            ours = {headers.get("host", "").lower(), *self._own_names}
            source = urlsplit(origin).netloc.lower()
            foreign = not source or source not in ours
        else:
            foreign = headers.get("sec-fetch-site", "none") not in {"same-origin", "none"}
        return AccessDenial(status=403, reason="another site's page may not change this") if foreign else None

    def user(self, headers: Mapping[str, str]) -> str | None:
        """Who sent a request: a token's name, "admin" for the password, None when nobody is known."""
        if (authorization := headers.get("authorization")) is None:
            return self._session_user(_cookie(headers.get("cookie", "")))
        scheme, _, token = authorization.partition(" ")
        digest = tokens.digest(token.strip())
        if scheme.lower() != "bearer" or digest not in self._tokens:
            return None
        self._used[digest] = self._clock()
        return self._tokens[digest]

    def _session_user(self, cookie: str) -> str | None:
        subject, _, rest = cookie.partition(".")
        expires, _, signature = rest.partition(".")
        name, key = self._openers().get(subject, ("", b""))
        genuine = hmac.compare_digest(_sign(key, f"{subject}.{expires}"), signature.encode())
        return name if key and genuine and int(expires) > self._clock() else None

    def _openers(self) -> dict[str, tuple[str, bytes]]:
        # a session's key comes from what opened it: a new password or a revoked token ends the session
        # on every server, with no key to keep or share
        openers = {_subject(digest): (name, digest.encode()) for digest, name in self._tokens.items()}
        return openers | ({"password": ("admin", self._password_key)} if self._password else {})

    def log_in(self, secret: str) -> str | None:
        """A session cookie's value for the password, or a token in its place; None if it is neither."""
        if self._password and hmac.compare_digest(_bytes(secret), self._password):
            subject, key = "password", self._password_key
        elif (digest := tokens.digest(secret)) in self._tokens:
            subject, key = _subject(digest), digest.encode()
        else:
            return None
        signed = f"{subject}.{int(self._clock()) + SESSION_SECONDS}"
        return f"{signed}.{_sign(key, signed).decode()}"

    def wait_before_login(self, client: str) -> int:
        """Seconds this client must wait before it may try to log in again, 0 if it may now."""
        return self._failures.wait(client)

    def login_failed(self, client: str) -> None:
        """Count a failed login of a client."""
        self._failures.add(client)


def _stretch(password: bytes) -> bytes:
    return hashlib.scrypt(password, salt=b"holter session", n=2**13, r=8, p=1)


def _subject(digest: str) -> str:
    return hashlib.sha256(f"session {digest}".encode()).hexdigest()[:32]


def _sign(key: bytes, text: str) -> bytes:
    return base64.urlsafe_b64encode(hmac.digest(key or b"-", _bytes(text), "sha256")).rstrip(b"=")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _cookie(header: str) -> str:
    found = (part.strip().partition("=") for part in header.split(";"))
    return next((value for name, _, value in found if name == COOKIE), "")


def _without_port(host: str) -> str:
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
