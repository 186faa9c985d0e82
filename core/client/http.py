"""Posting one body to the server, and what its answer means for whoever sends."""

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


class Answer(NamedTuple):
    """What came back, whatever it says."""

    status: int
    reason: str
    retry_after: str | None
    content: bytes


class Packing(NamedTuple):
    """A way to compress bodies, as Content-Encoding calls it."""

    name: str
    pack: Callable[[bytes], bytes]


GZIP = Packing("gzip", lambda body: gzip.compress(body, 1, mtime=0))
OPENER = urllib.request.build_opener(NoRedirect)
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
KIND = "application/msgpack"
LONGEST_ANSWER = 2**20


class Wire:
    """A connection to the server, kept open from one post to the next. One thread uses it."""

    def __init__(self, packing: Packing = GZIP) -> None:
        self._packing = packing
        self._line: HTTPConnection | None = None
        self._place = ("", "")

    def post(
        self, url: str, body: bytes, *, token: str | None, timeout: float, kind: str = KIND
    ) -> Accepted | Later | Refused:
        """Post a body in the binary form. Never raises for what networks and servers do."""
        headers = {"Content-Type": kind, "User-Agent": "holter"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        try:
            parts = urlsplit(url)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ValueError("expected http://HOST or https://HOST")
            if (
                kind == KIND and parts.hostname not in LOOPBACK
            ):  # within a machine, compressing takes longer than sending
                headers["Content-Encoding"] = self._packing.name
                body = self._packing.pack(body)
            send = through_proxy if proxied(parts) else self._direct
            return judge(url, send(parts, body, headers, timeout))
        except (OSError, HTTPException) as error:
            return Later(
                reason=f"{url} cannot be reached: {getattr(error, 'reason', error) or type(error).__name__}"
            )
        except ValueError as error:
            return Later(reason=f"{url} is no address: {error}", misconfigured=True)

    def hang_up(self) -> None:
        """Close the connection; the next post opens another."""
        if self._line is not None:
            self._line.close()
            self._line = None

    def _direct(self, parts: SplitResult, body: bytes, headers: dict[str, str], timeout: float) -> Answer:
        place = (parts.scheme, parts.netloc)
        if self._line is not None and self._place == place:
            try:
                return self._ask(self._line, parts, body, headers)
            except TimeoutError:
                self.hang_up()
                raise
            except (OSError, HTTPException):  # the server may have closed it meanwhile: once more, anew
                pass
        self.hang_up()
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._line, self._place = kind(parts.hostname or "", parts.port, timeout=timeout), place
        try:
            return self._ask(self._line, parts, body, headers)
        except BaseException:
            self.hang_up()
            raise

    def _ask(self, line: HTTPConnection, parts: SplitResult, body: bytes, headers: dict[str, str]) -> Answer:
        line.request("POST", parts.path, body, headers)
        response = line.getresponse()
        content = whole(response)
        if not response.isclosed():  # there is more of it: no answer of ours
            self.hang_up()
        return Answer(response.status, response.reason, response.headers.get("Retry-After"), content)


def proxied(parts: SplitResult) -> bool:
    """Whether the environment puts a proxy before this server; never before this machine itself."""
    if parts.hostname in LOOPBACK or parts.scheme not in urllib.request.getproxies():
        return False
    return not urllib.request.proxy_bypass(parts.hostname or "")


def through_proxy(parts: SplitResult, body: bytes, headers: dict[str, str], timeout: float) -> Answer:
    """One post through the environment's proxy."""
    request = urllib.request.Request(parts.geturl(), body, headers, method="POST")
    try:
        with OPENER.open(request, timeout=timeout) as response:
            return Answer(response.status, "", None, whole(response))
    except urllib.error.HTTPError as error:
        with error:
            retry = error.headers.get("Retry-After")
            return Answer(error.code, str(error.reason), retry, error.read(LONGEST_ANSWER))


def whole(response: Any) -> bytes:
    """An answer's content. Raises IncompleteRead where the line was cut in the middle of it."""
    content: bytes = response.read(LONGEST_ANSWER)
    if response.length and len(content) < LONGEST_ANSWER:
        raise IncompleteRead(content, response.length)
    return content


def judge(url: str, answer: Answer) -> Accepted | Later | Refused:
    """What an answer means: this body, this address or token, or this moment."""
    if answer.status == 200:
        return read_reply(url, answer.content)
    reason = f"{url} answered {answer.status}: {detail(answer)}"
    if answer.status in REFUSED:
        return Refused(reason=reason)
    if answer.status in (408, 425, 429) or answer.status >= 500:
        return Later(reason=reason, wait=retry_after(answer.retry_after))
    return Later(reason=reason, misconfigured=True)


def read_reply(url: str, content: bytes) -> Accepted | Later:
    """Only JSON counts as an acknowledgement: a proxy's friendly page does not."""
    try:
        reply = json.loads(content)
    except ValueError:
        reply = None
    if isinstance(reply, dict):
        return Accepted(reply=reply)
    if not content or content.startswith(b"{"):  # the line was cut before it said how long the answer is
        return Later(reason=f"{url} was cut off in the middle of its answer")
    return Later(reason=f"{url} answers, but is no Holter server", misconfigured=True)


def detail(answer: Answer) -> str:
    """The server's own words, shortened."""
    try:
        reply = json.loads(answer.content)
    except ValueError:
        return answer.reason
    said = reply["detail"] if isinstance(reply, dict) and "detail" in reply else reply
    return (said if isinstance(said, str) else json.dumps(said))[:500]


def retry_after(value: str | None) -> float | None:
    """Seconds, as the header says; None when it says nothing of use (dates are not worth a parser)."""
    try:
        return min(MAX_WAIT, max(0.0, float(value or "")))
    except ValueError:
        return None
