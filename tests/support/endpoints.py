"""A real HTTP endpoint in place of the services that channels send to."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support.http_servers import serving


@dataclass(frozen=True)
class ReceivedRequest:
    """A request: `headers` by lower-case name."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def parts(self) -> dict[str, EmailMessage]:
        """The parts of a multipart body by name."""
        head = f"Content-Type: {self.headers['content-type']}\r\n\r\n".encode()
        message = BytesParser(EmailMessage, policy=HTTP).parsebytes(head + self.body)
        assert message.is_multipart(), "not a multipart body"
        parts = {part.get_param("name", header="content-disposition"): part for part in message.iter_parts()}
        return {str(name): part for name, part in parts.items()}

    def part(self, name: str) -> bytes:
        """The content of a part."""
        content = self.parts[name].get_payload(decode=True)
        assert isinstance(content, bytes)
        return content


@dataclass(frozen=True)
class EndpointReply:
    """What the endpoint replies; `delay`: seconds before, or until the test ends."""

    status: int
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0


@dataclass
class Endpoint:
    """An HTTP server on loopback that records requests. `replies` are given first, then `reply`."""

    url: str
    requests: list[ReceivedRequest] = field(default_factory=list)
    replies: list[EndpointReply] = field(default_factory=list)
    reply: EndpointReply = field(default_factory=lambda: EndpointReply(200, "{}"))

    def fail(self, status: int, body: str = "", delay: float = 0.0, **headers: str) -> None:
        """Reply so to the next request; `headers` with underscores in place of hyphens."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.replies.append(EndpointReply(status, body, named, delay))

    @property
    def only(self) -> ReceivedRequest:
        """The request, of which there is one."""
        [request] = self.requests
        return request


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    """An endpoint that accepts everything unless a test changes it."""
    state, ended = Endpoint(url=""), threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            headers = {name.lower(): value for name, value in self.headers.items()}
            state.requests.append(ReceivedRequest(self.command, parts.path, query, headers, body))
            reply = state.replies.pop(0) if state.replies else state.reply
            ended.wait(reply.delay)
            data = reply.body.encode()
            self.send_response(reply.status)
            for name, value in {**reply.headers, "Content-Length": str(len(data))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        do_PUT = do_POST  # noqa: N815 - a name of http.server

        def log_message(self, *_: object) -> None:
            pass

    with serving(Handler) as url:
        state.url = url
        yield state
        ended.set()
