"""HTTP requests: bounded in time as a whole, without redirects, and without the address in any log or error.

The standard library in place of httpx or slack_sdk: a webhook's address is its secret, and both log it.
"""

from __future__ import annotations

import http.client
import socket
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from holter.server.channels.addresses import REFUSED, is_private_literal
from holter.server.channels.deadline import SendDeadline
from holter.settings import is_loopback

_REPLY_LIMIT = 64 * 1024


class NoReplyError(OSError):
    """The server could not be reached, or did not reply in time. States why, and not where."""


@dataclass(frozen=True, slots=True)
class HTTPReply:
    """A reply of any status. `headers` by lower-case name; `complete`: the body came to its end."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    complete: bool = True


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None  # a secret is not sent to wherever the reply points


class _BoundedHTTP(urllib.request.HTTPHandler):
    """Opens connections that end with a deadline."""

    def __init__(self, deadline: SendDeadline, *, public_only: bool) -> None:
        super().__init__()
        self._deadline = deadline
        self._public_only = public_only

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        kind = http.client.HTTPConnection
        return self.do_open(_bounded(kind, self._deadline, public_only=self._public_only), req)


class _BoundedHTTPS(urllib.request.HTTPSHandler):
    """The same with TLS."""

    def __init__(self, deadline: SendDeadline, *, public_only: bool) -> None:
        super().__init__()
        self._deadline = deadline
        self._public_only = public_only

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        kind = http.client.HTTPSConnection
        return self.do_open(_bounded(kind, self._deadline, public_only=self._public_only), req)


def _bounded(kind: type[http.client.HTTPConnection], deadline: SendDeadline, *, public_only: bool) -> Any:
    def connect(address: tuple[str, int], timeout: float, *_: object) -> socket.socket:
        return deadline.connect(*address, timeout=timeout, public_only=public_only)

    def create(host: str, **options: Any) -> http.client.HTTPConnection:
        connection = kind(host, **options)
        connection._create_connection = connect  # type: ignore[attr-defined] # as urllib3 has done for years
        return connection

    return create


def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    timeout: float,
    deadline: SendDeadline,
    public_only: bool = False,
) -> HTTPReply:
    """POST `body`, see `request`."""
    return request("POST", url, body, headers, timeout=timeout, deadline=deadline, public_only=public_only)


def request(
    method: str,
    url: str,
    body: bytes | None,
    headers: Mapping[str, str],
    *,
    timeout: float,
    deadline: SendDeadline,
    public_only: bool = False,
) -> HTTPReply:
    """Make a request and return the reply, whatever its status. Raises NoReplyError.

    `timeout`: seconds for a single read or write. A body that `deadline` cuts off is returned as far as it
    came: the status says whether the message has arrived. `public_only`: connections to addresses that are
    not public are refused; where a proxy is configured, it connects, and only addresses that are written as
    numbers are checked.
    """
    host = urlsplit(url).hostname or ""
    if public_only and is_private_literal(host):
        raise NoReplyError(REFUSED)
    outgoing = urllib.request.Request(url, data=body, headers=dict(headers), method=method)
    # a proxy reaches its own loopback, not ours
    proxies = {} if is_loopback(host) else _proxies(url, host)
    public_only = public_only and not proxies
    opener = urllib.request.build_opener(
        _NoRedirect,
        _BoundedHTTP(deadline, public_only=public_only),
        _BoundedHTTPS(deadline, public_only=public_only),
        urllib.request.ProxyHandler(proxies),
    )
    try:
        reply = _exchange(opener, outgoing, timeout)
        return replace(reply, complete=False) if deadline.over else reply
    except NoReplyError:
        if deadline.over:
            raise NoReplyError(deadline.reason) from None
        raise


def _proxies(url: str, host: str) -> dict[str, str]:
    """The proxy for an address by its scheme, as the environment sets it; empty where there is none."""
    if urllib.request.proxy_bypass(host):
        return {}
    scheme = urlsplit(url).scheme
    return {name: proxy for name, proxy in urllib.request.getproxies().items() if name == scheme}


def _exchange(
    opener: urllib.request.OpenerDirector, request: urllib.request.Request, timeout: float
) -> HTTPReply:
    try:
        with opener.open(request, timeout=timeout) as response:
            return _reply(response.status, response)
    except urllib.error.HTTPError as error:
        with error:
            return _reply(error.code, error)
    except urllib.error.URLError as error:
        raise NoReplyError(_describe(error.reason)) from None
    except (OSError, http.client.HTTPException) as error:
        raise NoReplyError(_describe(error)) from None


def _reply(status: int, response: Any) -> HTTPReply:
    """The reply with the beginning of its body; where that breaks off, with what has come."""
    headers = {name.lower(): value for name, value in response.headers.items()}
    body, complete = b"", True
    try:
        while len(body) < _REPLY_LIMIT and (part := response.read1(_REPLY_LIMIT - len(body))):
            body += part
    except (OSError, http.client.HTTPException):
        complete = False
    return HTTPReply(status, headers, body, complete)


def _describe(error: object) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return type(error).__name__
