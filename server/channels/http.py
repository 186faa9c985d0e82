"""One HTTP POST: bounded, without redirects, and without the address in any log or error.

The standard library in place of httpx or slack_sdk: a webhook's address is its secret, and both log it.
"""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from holter.settings import is_loopback

_REPLY_LIMIT = 64 * 1024


class NoReplyError(OSError):
    """The server could not be reached, or did not reply in time. States why, and not where."""


@dataclass(frozen=True, slots=True)
class HTTPReply:
    """A reply of any status. `headers` by lower-case name."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None  # a secret is not sent to wherever the reply points


_OPENER = urllib.request.build_opener(_NoRedirect)
_OPENER_WITHOUT_PROXY = urllib.request.build_opener(_NoRedirect, urllib.request.ProxyHandler({}))


def post(url: str, body: bytes, headers: Mapping[str, str], *, timeout: float) -> HTTPReply:
    """POST `body` and return the reply, whatever its status. Raises NoReplyError."""
    request = urllib.request.Request(url, data=body, headers=dict(headers), method="POST")
    # a proxy reaches its own loopback, not ours
    opener = _OPENER_WITHOUT_PROXY if is_loopback(urlsplit(url).hostname or "") else _OPENER
    try:
        with opener.open(request, timeout=timeout) as response:
            return _reply(response.status, response.headers, response.read(_REPLY_LIMIT))
    except urllib.error.HTTPError as error:
        with error:
            return _reply(error.code, error.headers, error.read(_REPLY_LIMIT))
    except urllib.error.URLError as error:
        raise NoReplyError(_describe(error.reason)) from None
    except (OSError, http.client.HTTPException) as error:
        raise NoReplyError(_describe(error)) from None


def _reply(status: int, headers: Any, body: bytes) -> HTTPReply:
    return HTTPReply(status, {name.lower(): value for name, value in headers.items()}, body)


def _describe(error: object) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return type(error).__name__
