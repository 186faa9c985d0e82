"""Authentication: tokens, password sessions, and the host and origin checks that every request passes.

The session cookie is signed here and not by itsdangerous: its key depends on the subject
that it names, so that the parsing would stay.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import NamedTuple
from urllib.parse import urlsplit

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from holter.server import tokens
from holter.server.client_address import client_group
from holter.server.session_secret import load_session_secret
from holter.server.share_links import COOKIE as SHARE_COOKIE
from holter.server.share_links import ActiveShare, active_shares
from holter.server.tokens import ActiveToken, TokenScope
from holter.server.tracker_paths import is_tracker_logging, is_tracker_path
from holter.settings import Settings, is_loopback

ALLOWED_FAILURES = 5
"""Failed logins that a client may have within FAILURE_WINDOW."""
ALLOWED_FAILURES_IN_ALL = 100
"""Failed logins that all clients together may have within FAILURE_WINDOW, since addresses are cheap."""
FAILURE_WINDOW = 60.0
"""Seconds."""
TRACKED_CLIENTS = 10_000
"""Clients whose failures are remembered, the most recent ones."""

COOKIE = "holter_session"
SESSION_SECONDS = 30 * 24 * 3600
_SESSION_ID_BYTES = 16
TOKEN_CACHE_SECONDS = 5.0
"""Seconds for which the active tokens are cached."""
_KEY_COST = {"n": 2**13, "r": 8, "p": 1}
"""Of scrypt, which makes a key of the password: 8 MiB and some 20 ms."""
_PROXY_HEADERS = ("x-forwarded-for", "x-forwarded-host", "forwarded", "x-real-ip")
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_HEALTH = frozenset({("GET", "/healthz"), ("GET", "/readyz")})
SCOPE_ROUTES: Mapping[TokenScope, frozenset[tuple[str, str]]] = {
    TokenScope.INGEST: _HEALTH
    | {("POST", "/api/v1/ingest"), ("POST", "/api/v1/agents"), ("POST", "/api/v1/status")}
    | {("POST", "/v1/metrics"), ("POST", "/api/v1/write")},
    TokenScope.METRICS: _HEALTH | {("GET", "/metrics")},
}
"""Method and path of everything that a token of a limited scope may call, beside the paths of other trackers
in `tracker_paths`; `all` is not limited."""


class FailedLogins:
    """The recent failed logins of each client and in all, to slow down guessing. Thread-safe, bounded."""

    def __init__(self, clock: Callable[[], float], *, clients: int = TRACKED_CLIENTS) -> None:
        self._clock = clock
        self._limit = clients
        self._lock = threading.Lock()
        self._times: OrderedDict[str, list[float]] = OrderedDict()  # by client, the latest to fail last
        self._all: deque[float] = deque(maxlen=ALLOWED_FAILURES_IN_ALL)

    def wait(self, client: str) -> int:
        """Seconds that a client must wait until its next attempt, 0 for none."""
        with self._lock:
            times = list(self._times.get(client, ()))
        return self._wait(times, ALLOWED_FAILURES)

    def wait_in_all(self) -> int:
        """Seconds until any client may attempt a login, 0 for none."""
        with self._lock:
            times = list(self._all)
        return self._wait(times, ALLOWED_FAILURES_IN_ALL)

    def _wait(self, times: Sequence[float], allowed: int) -> int:
        now = self._clock()
        recent = [time for time in times if now - FAILURE_WINDOW < time <= now]
        return 0 if len(recent) < allowed else ceil(recent[-allowed] + FAILURE_WINDOW - now)

    def add(self, client: str) -> None:
        """Record a failed login of a client."""
        now = self._clock()
        with self._lock:
            self._all.append(now)
            self._times[client] = [*self._times.pop(client, ()), now][-ALLOWED_FAILURES:]
            while len(self._times) > self._limit or self._oldest() <= now - FAILURE_WINDOW:
                self._times.popitem(last=False)

    def _oldest(self) -> float:
        """The time of the newest failure of the client that has not failed for the longest time."""
        return self._times[next(iter(self._times))][-1]


@dataclass(frozen=True, kw_only=True, slots=True)
class AccessDenial:
    """The HTTP status and the message for a request that is denied."""

    status: int
    reason: str


class TokenScopeError(ValueError):
    """A token is valid, and its scope does not include what it was used for. Names the scope needed."""


def missing_credentials(settings: Settings, engine: Engine) -> str | None:
    """The error message of a server that other machines can reach without password or token; else None."""
    if not settings.login_required or settings.password is not None:
        return None
    with Session(engine) as session:
        if tokens.any_active(session):
            return None
    address = settings.public_url if is_loopback(settings.host) else f"the address {settings.host}"
    return (
        f"{address} can be reached from other machines, and neither a password nor a token is set.\n"
        "  set a password for people:     HOLTER_PASSWORD=... holter serve ...\n"
        "  or make a token first:         holter token create NAME --scope all\n"
        "  or listen on this machine only: --host 127.0.0.1"
    )


class TooManyLoginsError(Exception):
    """A login is not tried, because too many have failed; `seconds`: when to try again."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"too many failed logins: try again in {seconds} s")
        self.seconds = seconds


class _BrowserSession(NamedTuple):
    """What a cookie states, signed by a server."""

    user: str
    id: str
    expires_at: int


class Authenticator:
    """Identifies the sender of a request and denies what is not allowed. Caches the active tokens."""

    def __init__(self, settings: Settings, engine: Engine, *, clock: Callable[[], float] = time.time) -> None:
        self.login_required = settings.login_required
        self.secure_cookie = settings.public_url.startswith("https://")
        self._settings = settings
        self._engine = engine
        self._clock = clock
        self._own_hosts = {urlsplit(settings.public_url).netloc.lower()} - {""}
        self._password = settings.password.get_secret_value().encode() if settings.password else b""
        self._password_key = _derive_key(self._password) if self._password else b""
        self._tokens: dict[str, ActiveToken] = {}
        self._ended: frozenset[str] = frozenset()
        self._used: dict[str, float] = {}
        self._shares: dict[str, ActiveShare] = {}
        self._refreshed_at = float("-inf")
        self._failures = FailedLogins(clock)
        self._login_turn = threading.Lock()

    @cached_property
    def _secret(self) -> bytes:
        # read when first needed: a server without login stores none
        return load_session_secret(self._settings)

    @property
    def stale(self) -> bool:
        """Whether the cached tokens are too old, so that `refresh` must be called first."""
        return not 0 <= self._clock() - self._refreshed_at < TOKEN_CACHE_SECONDS

    def refresh(self) -> None:
        """Read active tokens and ended sessions; store when tokens were used. Blocks on the database."""
        with Session(self._engine) as session:
            self._tokens = tokens.active_tokens(session)
            self._ended = tokens.ended_sessions(session)
            self._shares = active_shares(session.connection(), self._clock())
        used, self._used = self._used, {}
        if used:
            with Session(self._engine) as session, session.begin():
                tokens.record_use(session, used)
        self._refreshed_at = self._clock()

    def check(
        self, method: str, path: str, headers: Mapping[str, str], *, open_to_all: bool, query: str = ""
    ) -> AccessDenial | None:
        """Why a request is denied, None if it is allowed.

        `path` as routes state it, without the `query`; `headers` by lower-case name; `open_to_all`: its path
        needs no login, as those of pages and health.
        """
        foreign = self._check_host(headers) or self._check_origin(method, headers)
        if foreign is not None:
            return foreign
        if not self.login_required and is_tracker_path(path):
            return None  # clients of trackers send a key in any case; it is neither needed nor looked at
        if "authorization" in headers:
            if (token := self._token(headers["authorization"])) is None:
                return AccessDenial(status=401, reason="this token is not known, or has been revoked")
            return _check_scope(token, method, path)
        elif self.login_required and not open_to_all and self.user(headers) is None:
            if (share := self.share(headers)) is not None:
                return _check_share(share, method, path, query)
            return AccessDenial(
                status=401,
                reason="log in, or send a token (HOLTER_TOKEN; the header 'Authorization: Bearer TOKEN')",
            )
        return None

    def _check_host(self, headers: Mapping[str, str]) -> AccessDenial | None:
        # without a login only the address protects: another site's page must not reach the server under
        # its own name (DNS rebinding), and a proxy would give everyone access
        if self.login_required:
            return None
        host = headers.get("host", "").lower()
        if host not in self._own_hosts and not is_loopback(_without_port(host)):
            reason = f"the host {host!r} is not this machine: open http://127.0.0.1 or set public_url"
            return AccessDenial(status=403, reason=reason)
        if header := next((name for name in _PROXY_HEADERS if name in headers), None):
            reason = (
                f"the request came through a proxy (header {header}): set public_url and a password first"
            )
            return AccessDenial(status=403, reason=reason)
        return None

    def _check_origin(self, method: str, headers: Mapping[str, str]) -> AccessDenial | None:
        # browsers send cookies with requests of any site's page, so that those are recognised by their
        # origin; a token is only sent deliberately
        if method in _SAFE_METHODS or "authorization" in headers:
            return None
        if origin := headers.get("origin"):
            own = {headers.get("host", "").lower(), *self._own_hosts}
            host = urlsplit(origin).netloc.lower()
            foreign = not host or host not in own
        else:
            foreign = headers.get("sec-fetch-site", "none") not in {"same-origin", "none"}
        if foreign:
            return AccessDenial(status=403, reason="another site's page may not change this")
        return None

    def user(self, headers: Mapping[str, str]) -> str | None:
        """The sender of a request: a token's name, "admin" for the password, None if unknown."""
        if (authorization := headers.get("authorization")) is None:
            return self._session_user(_session_cookie(headers.get("cookie", "")))
        token = self._token(authorization)
        return None if token is None else token.name

    def may_read(self, headers: Mapping[str, str]) -> bool:
        """Whether the sender of a request may read runs, which tokens of a limited scope may not."""
        if not self.login_required:
            return True
        if (authorization := headers.get("authorization")) is None:
            return self.user(headers) is not None
        token = self._token(authorization)
        return token is not None and token.scope is TokenScope.ALL

    def share(self, headers: Mapping[str, str]) -> ActiveShare | None:
        """The share link with which a browser came that is not logged in, None without one in force."""
        secret = _cookie(headers.get("cookie", ""), SHARE_COOKIE)
        share = self._shares.get(tokens.digest(secret)) if secret else None
        return share if share is not None and share.expires_at > self._clock() else None

    def signature(self, purpose: str, text: str) -> bytes:
        """Signs a text for a purpose, so that the server recognises what it wrote itself."""
        return hmac.digest(self._secret, f"holter {purpose}\0{text}".encode(), "sha256")

    def _token(self, authorization: str) -> ActiveToken | None:
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() == "basic":
            token = _basic_password(token)
        digest = tokens.digest(token.strip())
        if scheme.lower() not in {"bearer", "basic"} or digest not in self._tokens:
            return None
        self._used[digest] = self._clock()
        return self._tokens[digest]

    def _session_user(self, cookie: str) -> str | None:
        session = self._read_session(cookie)
        return None if session is None or session.id in self._ended else session.user

    def _read_session(self, cookie: str) -> _BrowserSession | None:
        """The session of a cookie that is genuine and has not expired."""
        subject, expires, session_id, signature = [*cookie.split(".", 3), "", "", "", ""][:4]
        keys = self._session_keys()
        if subject not in keys:
            return None
        user, key = keys[subject]
        signed = f"{subject}.{expires}.{session_id}"
        if not hmac.compare_digest(self._sign(key, signed), _encode(signature)):
            return None
        session = _BrowserSession(user, session_id, int(expires))
        return session if session.expires_at > self._clock() else None

    def _session_keys(self) -> dict[str, tuple[str, bytes]]:
        """User and signing key of each subject that can have a session."""
        # the key depends on the credential: a new password or a revoked token ends its sessions everywhere
        keys = {
            _token_subject(digest): (token.name, digest.encode())
            for digest, token in self._tokens.items()
            if token.scope is TokenScope.ALL
        }
        return keys | ({"password": ("admin", self._password_key)} if self._password else {})

    def log_in(self, client: str, secret: str) -> str | None:
        """The cookie of a new session; None if the login failed, which is counted. `client`: its address.

        Raises TooManyLoginsError where the client must wait, TokenScopeError as `create_session`.
        """
        # one at a time: many at once would all be tried before the first failure is counted
        with self._login_turn:
            if wait := self.wait_before_login(client, secret):
                raise TooManyLoginsError(wait)
            cookie = self.create_session(secret)
            if cookie is None:
                self.login_failed(client)
            return cookie

    def create_session(self, secret: str) -> str | None:
        """The value of a new session's cookie; None if `secret` is neither the password nor a token.

        Raises TokenScopeError for a token that is not made for people.
        """
        if self._password and hmac.compare_digest(_encode(secret), self._password):
            subject, key = "password", self._password_key
        elif (digest := tokens.digest(secret)) in self._tokens:
            _check_login_scope(self._tokens[digest])
            subject, key = _token_subject(digest), digest.encode()
        else:
            return None
        signed = (
            f"{subject}.{int(self._clock()) + SESSION_SECONDS}.{secrets.token_urlsafe(_SESSION_ID_BYTES)}"
        )
        return f"{signed}.{self._sign(key, signed).decode()}"

    def _sign(self, key: bytes, text: str) -> bytes:
        # the secret is not in the database, where the digests of tokens are
        signing_key = hmac.digest(self._secret, b"holter session\0" + key, "sha256")
        return base64.urlsafe_b64encode(hmac.digest(signing_key, _encode(text), "sha256")).rstrip(b"=")

    def end_session(self, headers: Mapping[str, str]) -> None:
        """End the session of a request on every server; its cookie is not accepted again. Blocks."""
        session = self._read_session(_session_cookie(headers.get("cookie", "")))
        if session is None:
            return
        with Session(self._engine) as transaction, transaction.begin():
            tokens.end_session(transaction, session.id, expires_at=session.expires_at, now=self._clock())
        self._ended |= {session.id}

    def wait_before_login(self, client: str, secret: str = "") -> int:
        """Seconds that a client must wait until its next login with a password or token, 0 for none.

        `client`: its address. With a valid token only its own failures count: nobody guesses a token, so that
        people can log in while others try passwords.
        """
        with_token = tokens.digest(secret) in self._tokens
        return max(
            self._failures.wait(client_group(client)), 0 if with_token else self._failures.wait_in_all()
        )

    def login_failed(self, client: str) -> None:
        """Record a failed login of a client."""
        self._failures.add(client_group(client))


def _check_scope(token: ActiveToken, method: str, path: str) -> AccessDenial | None:
    sufficient = [scope for scope in SCOPE_ROUTES if _includes(scope, method, path)]
    if token.scope is TokenScope.ALL or token.scope in sufficient:
        return None
    needed = " or ".join([*sufficient, TokenScope.ALL])
    return AccessDenial(
        status=403,
        reason=f"the token {token.name!r} has the scope {token.scope}, and this request needs the scope "
        f"{needed}: holter token create NAME --scope {[*sufficient, TokenScope.ALL][0]}",
    )


def _includes(scope: TokenScope, method: str, path: str) -> bool:
    is_logging = scope is TokenScope.INGEST and is_tracker_logging(method, path)
    return is_logging or (method, path) in SCOPE_ROUTES[scope]


def _basic_password(credentials: str) -> str:
    """The password of HTTP basic authentication, in which clients of trackers send their key."""
    try:
        decoded = base64.b64decode(credentials.strip(), validate=True).decode()
    except ValueError:
        return ""
    return decoded.partition(":")[2]


def _check_login_scope(token: ActiveToken) -> None:
    if token.scope is not TokenScope.ALL:
        raise TokenScopeError(
            f"the token {token.name!r} has the scope {token.scope}, which is for programs: log in with the "
            "password, or with a token of the scope all (holter token create NAME --scope all)"
        )


def _derive_key(password: bytes) -> bytes:
    return hashlib.scrypt(password, salt=b"holter session", **_KEY_COST)


def _token_subject(digest: str) -> str:
    return hashlib.sha256(f"session {digest}".encode()).hexdigest()[:32]


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _check_share(share: ActiveShare, method: str, path: str, query: str) -> AccessDenial | None:
    if share.allows(method, path, query):
        return None
    return AccessDenial(status=403, reason="this link shows one page, read-only: log in for anything else")


def _session_cookie(header: str) -> str:
    return _cookie(header, COOKIE)


def _cookie(header: str, wanted: str) -> str:
    cookies = (part.strip().partition("=") for part in header.split(";"))
    return next((value for name, _, value in cookies if name == wanted), "")


def _without_port(host: str) -> str:
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
