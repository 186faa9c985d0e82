"""Posting one body to the server, and what its answer means for whoever sends."""

from __future__ import annotations

import gzip
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit

REFUSED = frozenset({400, 409, 411, 413, 415, 422})  # this body, for good: no retry will change it
MAX_WAIT = 300.0


@dataclass(frozen=True, kw_only=True)
class Accepted:
    """The server has it, durably. `reply` is its JSON."""

    reply: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Later:
    """Try again, not before `wait` seconds if it said so. `misconfigured`: a person has to mend something."""

    reason: str
    wait: float | None = None
    misconfigured: bool = False


@dataclass(frozen=True, kw_only=True)
class Refused:
    """The server will never take this body."""

    reason: str


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirected POST arrives as a GET: better to say that the address is wrong."""

    def redirect_request(self, *_: Any) -> None:
        return None


OPENER = urllib.request.build_opener(NoRedirect)
DIRECT = urllib.request.build_opener(NoRedirect, urllib.request.ProxyHandler({}))
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def post(
    url: str, body: bytes, *, token: str | None, timeout: float, kind: str = "application/json"
) -> Accepted | Later | Refused:
    """Post a body of this kind, compressed. Never raises for what networks and servers do."""
    headers = {"Content-Type": kind, "Content-Encoding": "gzip", "User-Agent": "holter"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    try:
        request = urllib.request.Request(url, gzip.compress(body, 1, mtime=0), headers, method="POST")
        # clusters set proxies for the world outside: this machine is never behind one
        opener = DIRECT if urlsplit(url).hostname in LOOPBACK else OPENER
        with opener.open(request, timeout=timeout) as response:
            return read_reply(url, response.read())
    except urllib.error.HTTPError as error:
        with error:
            return judge(url, error)
    except (OSError, HTTPException) as error:
        return Later(
            reason=f"{url} cannot be reached: {getattr(error, 'reason', error) or type(error).__name__}"
        )
    except ValueError as error:
        return Later(reason=f"{url} is no address: {error}", misconfigured=True)


def read_reply(url: str, content: bytes) -> Accepted | Later:
    """Only JSON counts as an acknowledgement: a proxy's friendly page does not."""
    try:
        reply = json.loads(content)
    except ValueError:
        reply = None
    if isinstance(reply, dict):
        return Accepted(reply=reply)
    return Later(reason=f"{url} answers, but is no Holter server", misconfigured=True)


def judge(url: str, error: urllib.error.HTTPError) -> Later | Refused:
    """What an error status means: this body, this address or token, or this moment."""
    reason = f"{url} answered {error.code}: {detail(error)}"
    if error.code in REFUSED:
        return Refused(reason=reason)
    if error.code in (408, 425, 429) or error.code >= 500:
        return Later(reason=reason, wait=retry_after(error.headers.get("Retry-After")))
    return Later(reason=reason, misconfigured=True)


def detail(error: urllib.error.HTTPError) -> str:
    """The server's own words, shortened."""
    try:
        content = error.read(4096)
        reply = json.loads(content)
        said = reply["detail"] if isinstance(reply, dict) and "detail" in reply else reply
        return (said if isinstance(said, str) else json.dumps(said))[:500]
    except (OSError, HTTPException, ValueError):
        return str(error.reason)


def retry_after(value: str | None) -> float | None:
    """Seconds, as the header says; None when it says nothing of use (dates are not worth a parser)."""
    try:
        return min(MAX_WAIT, max(0.0, float(value or "")))
    except ValueError:
        return None
