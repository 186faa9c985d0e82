"""Checks of every request: authentication, host, origin, unknown parameters; security headers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, get_args, get_origin

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holter.server.api.responses import ApiResponse, error_response, on_database_unavailable
from holter.server.auth import AccessDenial, Authenticator
from holter.server.tracker_paths import (
    MLFLOW,
    MLFLOW_ARTIFACTS,
    TRACKIO_CALL,
    TRACKIO_VERSION_PATH,
    WANDB_FILE_STREAM,
    WANDB_UPLOAD,
    is_tracker_path,
    with_authorization,
)

# the files of the pages contain no secrets, and must load before the login; Slack signs what it sends
PUBLIC_PATHS = re.compile(
    r"/|/runs/[^/]+|/compare|/incidents(/[^/]+)?|/planned|/alerts|/settings|/login|/share/[^/]+|/static/.*|/vendor/.*|"
    r"/healthz|/readyz|/api/v1/session|/api/v1/slack/interactive"
)
_OPEN_PATHS = (PUBLIC_PATHS, WANDB_UPLOAD, TRACKIO_VERSION_PATH)
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
)


class SecurityMiddleware:
    """ASGI middleware that applies the Authenticator, and adds security headers to all responses.

    `on_read` is called for each request that reads, and must be fast.
    """

    def __init__(
        self, app: ASGIApp, authenticator: Authenticator, on_read: Callable[[], None] = lambda: None
    ) -> None:
        self._app = app
        self._authenticator = authenticator
        self._on_read = on_read

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        scope["headers"] = with_authorization(scope["path"], scope["headers"])
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]
        }
        path = scope["path"]
        open_to_all = any(pattern.fullmatch(path) for pattern in _OPEN_PATHS)
        api = scope["path"].startswith("/api/")
        send = with_security_headers(send, api=api)
        if api or not open_to_all or "authorization" in headers:
            try:
                await self._refresh(headers)
            except SQLAlchemyError as error:
                return await (await on_database_unavailable(Request(scope), error))(scope, receive, send)
        denial = self._authenticator.check(
            scope["method"],
            scope["path"],
            headers,
            open_to_all=open_to_all,
            query=scope["query_string"].decode("latin-1"),
        )
        if denial is None:
            if scope["method"] == "GET":
                self._on_read()
            return await self._app(scope, receive, send)
        if is_tracker_path(scope["path"]):
            return await tracker_denial(scope["path"], denial)(scope, receive, send)
        challenge = {"WWW-Authenticate": "Bearer"} if denial.status == 401 else {}
        await error_response(denial.status, denial.reason, challenge)(scope, receive, send)

    async def _refresh(self, headers: Mapping[str, str]) -> None:
        if (self._authenticator.login_required or "authorization" in headers) and self._authenticator.stale:
            await run_in_threadpool(self._authenticator.refresh)


def tracker_denial(path: str, denial: AccessDenial) -> ApiResponse:
    """A denial in the form of a tracker's protocol.

    A wandb client gives up for the rest of its run after any other status of its file stream than 503, and
    shows the message of a GraphQL error only.
    """
    if WANDB_FILE_STREAM.fullmatch(path):
        return error_response(503, denial.reason, {"Retry-After": "30"})
    reason = denial.reason
    if MLFLOW.fullmatch(path) or MLFLOW_ARTIFACTS.fullmatch(path):
        code = "UNAUTHENTICATED" if denial.status == 401 else "PERMISSION_DENIED"
        message = (
            f"{reason}: holter token create NAME, then MLFLOW_TRACKING_TOKEN"
            if denial.status == 401
            else reason
        )
        return ApiResponse({"error_code": code, "message": message}, status_code=denial.status)
    if TRACKIO_CALL.fullmatch(path):
        if denial.status == 401:
            reason = f"{reason}: holter token create NAME, then TRACKIO_WRITE_TOKEN"
        return ApiResponse({"error": reason}, status_code=denial.status)
    if denial.status == 401:
        reason = (
            f"this server needs a key of its own: holter token create NAME, then WANDB_API_KEY ({reason})"
        )
    return ApiResponse({"errors": [{"message": reason}]}, status_code=denial.status)


def with_security_headers(send: Send, *, api: bool) -> Send:
    """Add the security headers to a response; `api`: and that nothing may store it."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message["headers"]}
            extra = (*_HEADERS, (b"cache-control", b"no-store")) if api else _HEADERS
            message["headers"] = [*message["headers"], *(pair for pair in extra if pair[0] not in present)]
        await send(message)

    return send_with_headers


async def reject_unknown_parameters(request: Request) -> None:
    """Raise RequestValidationError for unknown parameters, and for those given twice that have one value.

    A mistyped filter must not return everything, and of two values none may be left out silently.
    """
    route = request.scope["route"]
    assert isinstance(route, APIRoute)
    known = {parameter.alias: parameter for parameter in route.dependant.query_params}
    given = Counter(name for name, _ in request.query_params.multi_items())
    problems = []
    for name, count in given.items():
        if name not in known:
            expected = f"expected {', '.join(known)}" if known else "this address has none"
            problems.append({"loc": ("query", name), "msg": f"there is no such parameter; {expected}"})
        elif count > 1 and not _is_list(known[name].field_info.annotation):
            problems.append({"loc": ("query", name), "msg": f"given {count} times, expected one value"})
    if problems:
        raise RequestValidationError(problems)


def _is_list(annotation: Any) -> bool:
    """Whether a type is a list, or allows one."""
    return get_origin(annotation) is list or any(map(_is_list, get_args(annotation)))
