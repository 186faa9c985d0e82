"""Posts one body to the server and classifies the response."""

from __future__ import annotations

import gzip
import json
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPSConnection, IncompleteRead
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

REJECTED_STATUS = frozenset({400, 409, 411, 413, 415, 422})  # concerns this body: a retry cannot succeed
MAX_WAIT = 300.0


@dataclass(frozen=True, kw_only=True)
class Accepted:
    """The server has stored the body durably. `reply` is the JSON of its response."""

    reply: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class RetryLater:
    """Retry, after `wait` seconds if the server requested it.

    `misconfigured`: retries fail until a person fixes the configuration.
    """

    reason: str
    wait: float | None = None
    misconfigured: bool = False


@dataclass(frozen=True, kw_only=True)
class Rejected:
    """The server will never accept this body."""

    reason: str


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Refuses redirects: a redirected POST would arrive as a GET."""

    def redirect_request(self, *_: Any) -> None:
        return None


class HttpAnswer(NamedTuple):
    """A response with any status."""

    status: int
    reason: str
    retry_after: str | None
    content: bytes


class Compression(NamedTuple):
    """A compression of bodies and its Content-Encoding name."""

    name: str
    compress: Callable[[bytes], bytes]


GZIP = Compression("gzip", lambda body: gzip.compress(body, 1, mtime=0))
OPENER = urllib.request.build_opener(NoRedirect)
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
CONTENT_TYPE = "application/msgpack"
MAX_ANSWER_BYTES = 2**20


class PostConnection:
    """A persistent connection to the server, used by one thread."""

    def __init__(self, compression: Compression = GZIP) -> None:
        self._compression = compression
        self._connection: HTTPConnection | None = None
        self._endpoint = ("", "")

    def post(
        self, url: str, body: bytes, *, token: str | None, timeout: float, kind: str = CONTENT_TYPE
    ) -> Accepted | RetryLater | Rejected:
        """Post a body in the binary form. Network and server errors do not raise."""
        headers = {"Content-Type": kind, "User-Agent": "holter"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        try:
            parts = urlsplit(url)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ValueError("expected http://HOST or https://HOST")
            if (
                kind == CONTENT_TYPE and parts.hostname not in LOOPBACK
            ):  # within a machine, compressing takes longer than sending
                headers["Content-Encoding"] = self._compression.name
                body = self._compression.compress(body)
            send = through_proxy if proxied(parts) else self._direct
            return classify_answer(url, send(parts, body, headers, timeout))
        except (OSError, HTTPException) as error:
            return RetryLater(
                reason=f"{url} cannot be reached: {getattr(error, 'reason', error) or type(error).__name__}"
            )
        except ValueError as error:
            return RetryLater(reason=f"{url} is not a valid address: {error}", misconfigured=True)

    def disconnect(self) -> None:
        """Close the connection; the next post opens a new one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _direct(self, parts: SplitResult, body: bytes, headers: dict[str, str], timeout: float) -> HttpAnswer:
        place = (parts.scheme, parts.netloc)
        if self._connection is not None and self._endpoint == place:
            try:
                return self._request(self._connection, parts, body, headers)
            except TimeoutError:
                self.disconnect()
                raise
            except (
                OSError,
                HTTPException,
            ):  # the server may have closed the idle connection: retry on a new one
                pass
        self.disconnect()
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._connection, self._endpoint = kind(parts.hostname or "", parts.port, timeout=timeout), place
        try:
            return self._request(self._connection, parts, body, headers)
        except BaseException:
            self.disconnect()
            raise

    def _request(
        self, connection: HTTPConnection, parts: SplitResult, body: bytes, headers: dict[str, str]
    ) -> HttpAnswer:
        connection.request("POST", parts.path, body, headers)
        response = connection.getresponse()
        content = read_content(response)
        if not response.isclosed():  # the response exceeds the limit: not from Holter
            self.disconnect()
        return HttpAnswer(response.status, response.reason, response.headers.get("Retry-After"), content)


def proxied(parts: SplitResult) -> bool:
    """Return whether the environment sets a proxy for this server; never for this machine."""
    if parts.hostname in LOOPBACK or parts.scheme not in urllib.request.getproxies():
        return False
    return not urllib.request.proxy_bypass(parts.hostname or "")


def through_proxy(parts: SplitResult, body: bytes, headers: dict[str, str], timeout: float) -> HttpAnswer:
    """Post through the environment's proxy."""
    request = urllib.request.Request(parts.geturl(), body, headers, method="POST")
    try:
        with OPENER.open(request, timeout=timeout) as response:
            return HttpAnswer(response.status, "", None, read_content(response))
    except urllib.error.HTTPError as error:
        with error:
            retry = error.headers.get("Retry-After")
            return HttpAnswer(error.code, str(error.reason), retry, error.read(MAX_ANSWER_BYTES))


def read_content(response: Any) -> bytes:
    """Read a response's content. Raises IncompleteRead if the connection was cut."""
    content: bytes = response.read(MAX_ANSWER_BYTES)
    if response.length and len(content) < MAX_ANSWER_BYTES:
        raise IncompleteRead(content, response.length)
    return content


def classify_answer(url: str, answer: HttpAnswer) -> Accepted | RetryLater | Rejected:
    """Classify a response: it concerns this body, the address or token, or this moment."""
    if answer.status == 200:
        return read_reply(url, answer.content)
    reason = f"{url} answered {answer.status}: {error_detail(answer)}"
    if answer.status in REJECTED_STATUS:
        return Rejected(reason=reason)
    if answer.status in (408, 425, 429) or answer.status >= 500:
        return RetryLater(reason=reason, wait=retry_after(answer.retry_after))
    return RetryLater(reason=reason, misconfigured=True)


def read_reply(url: str, content: bytes) -> Accepted | RetryLater:
    """Accept only JSON as an acknowledgement: a proxy may answer 200 with a page."""
    try:
        reply = json.loads(content)
    except ValueError:
        reply = None
    if isinstance(reply, dict):
        return Accepted(reply=reply)
    if not content or content.startswith(b"{"):  # cut before the response headers were complete
        return RetryLater(reason=f"{url} closed the connection in the middle of its response")
    return RetryLater(reason=f"{url} answers, but is not a Holter server", misconfigured=True)


def error_detail(answer: HttpAnswer) -> str:
    """Return the server's error message, truncated."""
    try:
        reply = json.loads(answer.content)
    except ValueError:
        return answer.reason
    detail = reply["detail"] if isinstance(reply, dict) and "detail" in reply else reply
    return (detail if isinstance(detail, str) else json.dumps(detail))[:500]


def retry_after(value: str | None) -> float | None:
    """Return the seconds of a Retry-After header; None for missing, invalid and date values."""
    try:
        return min(MAX_WAIT, max(0.0, float(value or "")))
    except ValueError:
        return None
