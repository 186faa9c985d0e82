"""One HTTP POST: bounded, without following redirects, and without the address in any log or error.

The address of a webhook is its secret, and HTTP libraries log the addresses that they call.
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

_LONGEST_ANSWER = 64 * 1024


class NoAnswerError(OSError):
    """The other side could not be reached, or did not answer in time. Says why, and not where."""


@dataclass(frozen=True, slots=True)
class HTTPReply:
    """What came back. `headers` by lower-case name."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None  # a secret is not carried to wherever the answer points


_OPENER = urllib.request.build_opener(_NoRedirect)
_DIRECT = urllib.request.build_opener(_NoRedirect, urllib.request.ProxyHandler({}))


def post(url: str, body: bytes, headers: Mapping[str, str], *, timeout: float) -> HTTPReply:
    """POST `body` and return the answer, whatever its status. Raises NoAnswerError."""
    request = urllib.request.Request(url, data=body, headers=dict(headers), method="POST")
    # a proxy reaches its own loopback, not ours
    opener = _DIRECT if is_loopback(urlsplit(url).hostname or "") else _OPENER
    try:
        with opener.open(request, timeout=timeout) as response:
            return _answer(response.status, response.headers, response.read(_LONGEST_ANSWER))
    except urllib.error.HTTPError as error:
        with error:
            return _answer(error.code, error.headers, error.read(_LONGEST_ANSWER))
    except urllib.error.URLError as error:
        raise NoAnswerError(_why(error.reason)) from None
    except (OSError, http.client.HTTPException) as error:
        raise NoAnswerError(_why(error)) from None


def _answer(status: int, headers: Any, body: bytes) -> HTTPReply:
    return HTTPReply(status, {name.lower(): value for name, value in headers.items()}, body)


def _why(error: object) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return type(error).__name__
