"""Limits of request bodies by route; and responses that are passed on in pieces, as the client reads them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holter.server.api.middleware import with_security_headers
from holter.server.api.responses import error_response
from holter.server.tracker_paths import (
    MLFLOW,
    MLFLOW_ARTIFACTS,
    TRACKIO_CALL,
    WANDB_FILE_STREAM,
    WANDB_GRAPHQL_PATH,
    WANDB_UPLOAD,
)
from holter.settings import Settings

SESSION_BODY_BYTES = 16 * 1024
"""The body of a login, which anybody may send."""
MLFLOW_BODY_BYTES = 8 * 2**20
"""Clients of MLflow send at most 1 MB at once."""
MACHINE_METRICS_BYTES = 16 * 2**20
"""Metrics of machines; Prometheus sends 2,000 samples at once, some 20 KB."""
SLACK_BODY_BYTES = 256 * 1024
"""A pressed button of a Slack message, with the message, which anybody may send."""
PIECE_BYTES = 64 * 1024
"""Bytes of a response that are passed on at once, when the client has read most of the earlier ones."""
READ_AHEAD_BYTES = 64 * 1024
"""Bytes of a body that are read to keep the connection although nobody needs them."""
_CLOSE = {"Connection": "close"}


@dataclass(frozen=True, slots=True)
class BodyLimit:
    """How large a body may be, in bytes, and the setting that says so.

    `counted`: whether the route itself counts what arrives, because it must count after decompression.
    """

    size: int
    setting: str
    counted: bool = False

    @property
    def reason(self) -> str:
        """Why a larger body is refused."""
        size = f"{self.size // 2**20} MiB" if self.size >= 2**20 else f"{self.size // 1024} KiB"
        return f"the body is larger than {size} ({self.setting})"


def body_limits(settings: Settings) -> dict[str, BodyLimit]:
    """The limits of the routes that have one of their own, by path."""
    batch, file = settings.max_batch_mb * 2**20, settings.max_import_mb * 2**20
    return {
        "/api/v1/session": BodyLimit(SESSION_BODY_BYTES, "of a login"),
        "/api/v1/slack/interactive": BodyLimit(SLACK_BODY_BYTES, "of an interaction of Slack"),
        "/v1/metrics": BodyLimit(MACHINE_METRICS_BYTES, "of metrics of machines", counted=True),
        "/api/v1/write": BodyLimit(MACHINE_METRICS_BYTES, "of metrics of machines", counted=True),
        "/api/v1/ingest": BodyLimit(batch, "max_batch_mb: send smaller batches", counted=True),
        "/api/v1/import": BodyLimit(file, "max_import_mb", counted=True),
    }


def tracker_limits(settings: Settings) -> tuple[tuple[re.Pattern[str], BodyLimit], ...]:
    """The limits of the paths of other trackers, whose routes answer in the form of their protocol."""
    batch = BodyLimit(settings.max_batch_mb * 2**20, "max_batch_mb", counted=True)
    file = BodyLimit(settings.max_import_mb * 2**20, "max_import_mb", counted=True)
    unlimited = BodyLimit(2**63, "", counted=True)
    return (
        (WANDB_GRAPHQL_PATH, batch),
        (WANDB_FILE_STREAM, unlimited),
        (WANDB_UPLOAD, file),
        (MLFLOW, BodyLimit(MLFLOW_BODY_BYTES, "of a request of MLflow's clients")),
        (MLFLOW_ARTIFACTS, unlimited),
        (TRACKIO_CALL, unlimited),
    )


class BodyLimitMiddleware:
    """ASGI middleware: 413 for bodies that are too large, before they are read and while they are.

    Of a body that is not read, nothing is stored: the connection is closed after the response.
    """

    def __init__(
        self,
        app: ASGIApp,
        limits: Mapping[str, BodyLimit],
        default: int,
        patterns: Sequence[tuple[re.Pattern[str], BodyLimit]] = (),
    ) -> None:
        """`limits` by path, `patterns` for paths with names in them; `default`: bytes on other routes."""
        self._app = app
        self._limits = limits
        self._patterns = patterns
        self._default = BodyLimit(default, "max_body_kb")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        send = _in_pieces(send)
        length, chunked = 0, False
        for name, value in scope["headers"]:
            if name == b"content-length":
                length = int(value)  # digits only, and not too many: the parser has checked it
            elif name == b"transfer-encoding":
                chunked = True
        if not length and not chunked:
            return await self._app(scope, receive, send)
        limit = self._limit_of(scope["path"])
        if length > limit.size:
            response = error_response(413, limit.reason, _CLOSE)
            return await response(scope, receive, with_security_headers(send, api=True))
        if chunked or length > READ_AHEAD_BYTES:
            body = _LimitedBody(receive, send, limit)
            receive, send = body.receive, body.send
        await self._app(scope, receive, send)

    def _limit_of(self, path: str) -> BodyLimit:
        matching = (limit for pattern, limit in self._patterns if pattern.fullmatch(path))
        return self._limits.get(path) or next(matching, self._default)


class _LimitedBody:
    """Counts a body while it is read; closes the connection where the response does not wait for its end."""

    def __init__(self, receive: Receive, send: Send, limit: BodyLimit) -> None:
        self._receive = receive
        self._send = send
        self._limit = limit
        self._size = 0
        self._complete = False

    async def receive(self) -> Message:
        """The next part of the body. Raises HTTPException if it is too large."""
        message = await self._receive()
        if message["type"] == "http.request":
            self._complete = not message.get("more_body", False)
            self._size += len(message.get("body", b""))
            if self._size > self._limit.size and not self._limit.counted:
                raise HTTPException(413, self._limit.reason, _CLOSE)
        return message

    async def send(self, message: Message) -> None:
        """Pass on a part of the response."""
        if message["type"] == "http.response.start" and not self._complete:
            others = [pair for pair in message["headers"] if pair[0].lower() != b"connection"]
            message["headers"] = [*others, (b"connection", b"close")]
        await self._send(message)


def _in_pieces(send: Send) -> Send:
    """Pass large bodies on in pieces, so that the server waits for the client to read each of them."""

    async def send_in_pieces(message: Message) -> None:
        body = message.get("body", b"")
        if len(body) <= PIECE_BYTES:
            return await send(message)
        content = memoryview(body)
        last = (len(content) - 1) // PIECE_BYTES * PIECE_BYTES
        for start in range(0, last, PIECE_BYTES):
            piece = content[start : start + PIECE_BYTES]
            await send({"type": message["type"], "body": piece, "more_body": True})
        await send({**message, "body": content[last:]})

    return send_in_pieces
