"""How answers are written: JSON with NaN and infinities as strings, errors as sentences."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

import msgspec
from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import DatabaseError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from starlette.exceptions import HTTPException

from holter.server.database import is_damage, why_away
from holter.server.ingest_http.json_body import Where
from holter.server.schemas.service import Problem

DATABASE_UNAVAILABLE = (OperationalError, InterfaceError, PoolTimeoutError)
RETRY_SECONDS = "5"
MSGPACK = "application/msgpack"
ResponseDocs = dict[int | str, dict[str, Any]]
"""Responses of a route as FastAPI documents them, by status."""
_logger = logging.getLogger(__name__)


class ApiResponse(Response):
    """A JSON answer. A bare NaN becomes null (a log without a clock); values pass through `number` before."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Encode; numbers and strings only, no numpy."""
        return msgspec.json.encode(content)


class MsgpackResponse(ApiResponse):
    """The same as msgpack."""

    media_type = MSGPACK

    def render(self, content: Any) -> bytes:
        """Encode; bytes are buffers of numbers."""
        return msgspec.msgpack.encode(content)


def not_found(reason: str) -> ResponseDocs:
    """What OpenAPI says of a 404."""
    return {404: {"model": Problem, "description": reason}}


RUN_NOT_FOUND = not_found("There is no such run")


def error_response(status: int, reason: str, headers: dict[str, str] | None = None) -> ApiResponse:
    """An error answer of one sentence."""
    return ApiResponse({"detail": reason}, status_code=status, headers=headers)


def field_errors_response(problems: Iterable[tuple[Where, str]]) -> ApiResponse:
    """422 with a reason for each field."""
    detail = [{"loc": list(place), "msg": reason} for place, reason in problems]
    return ApiResponse({"detail": detail}, status_code=422)


async def on_http_error(_: Request, error: Exception) -> ApiResponse:
    """Errors raised with a status keep their sentence."""
    assert isinstance(error, HTTPException)
    return error_response(error.status_code, error.detail, dict(error.headers or {}))


async def on_invalid_request(_: Request, error: Exception) -> ApiResponse:
    """Parameters and bodies that do not fit their description."""
    assert isinstance(error, RequestValidationError)
    return field_errors_response(
        (tuple(problem["loc"]), problem["msg"].removeprefix("Value error, ")) for problem in error.errors()
    )


async def on_not_found(_: Request, error: Exception) -> ApiResponse:
    """Something that was asked for by id and is not there."""
    return error_response(404, str(error))


async def on_database_unavailable(_: Request, error: Exception) -> ApiResponse:
    """The database does not answer: nothing is lost, it is to be tried again."""
    why = why_away(error) or "the database does not answer"
    _logger.error("%s: %s", why, error)
    return error_response(503, f"{why}: try again later", {"Retry-After": RETRY_SECONDS})


async def on_database_error(request: Request, error: Exception) -> ApiResponse:
    """What the database says of itself or of its files; what is the statement's own fault is ours."""
    assert isinstance(error, DatabaseError)
    if why_away(error):
        return await on_database_unavailable(request, error)
    if is_damage(error):
        return await on_corrupt_data(request, error)
    raise error


async def on_corrupt_data(_: Request, error: Exception) -> ApiResponse:
    """Stored bytes are not what was written: which, and what to do."""
    said = getattr(error, "orig", error)
    _logger.error("damaged: %s", said)
    return error_response(500, f"damaged data: {said}; `holter db check` lists everything that is damaged")


async def on_unexpected_error(_: Request, error: Exception) -> ApiResponse:
    """A fault of ours; the server's log has all of it."""
    return error_response(500, f"the server failed ({type(error).__name__}): its log says more")
