"""Responses of the REST interface: strict JSON or msgpack; errors as one sentence or a reason per field."""

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

from holter.server.api.error_docs import problem_docs
from holter.server.database import is_damage, unavailable_reason
from holter.server.ingest_http.body_limits import FieldPath
from holter.server.schemas.service import FieldProblem, FieldProblems, Problem

DATABASE_UNAVAILABLE = (OperationalError, InterfaceError, PoolTimeoutError)
RETRY_SECONDS = "5"
MSGPACK = "application/msgpack"
ResponseDocs = dict[int | str, dict[str, Any]]
"""The documented responses of a route by status, as FastAPI takes them."""
_logger = logging.getLogger(__name__)


class ApiResponse(Response):
    """A JSON response. NaN becomes null, as for times without a clock; values are converted by `number`."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Encode JSON types; arrays of numpy raise TypeError."""
        return msgspec.json.encode(content)


class MsgpackResponse(ApiResponse):
    """A msgpack response."""

    media_type = MSGPACK

    def render(self, content: Any) -> bytes:
        """Encode JSON types, and buffers of numbers as bytes."""
        return msgspec.msgpack.encode(content)


def set_secret_cookie(response: Response, name: str, secret: str, *, seconds: int, secure: bool) -> None:
    """Give a browser a secret that scripts cannot read and other sites do not send."""
    response.set_cookie(name, secret, max_age=seconds, httponly=True, samesite="lax", secure=secure)


def not_found(reason: str) -> ResponseDocs:
    """The documentation of a 404 response."""
    return {404: problem_docs(reason)}


RUN_NOT_FOUND = not_found("There is no such run")


def error_response(status: int, reason: str, headers: dict[str, str] | None = None) -> ApiResponse:
    """An error response with one sentence."""
    return ApiResponse(Problem(detail=reason), status_code=status, headers=headers)


def field_errors_response(problems: Iterable[tuple[FieldPath, str]]) -> ApiResponse:
    """A 422 response with a reason for each field."""
    detail = [FieldProblem(loc=list(location), msg=reason) for location, reason in problems]
    return ApiResponse(FieldProblems(detail=detail), status_code=422)


async def on_http_error(_: Request, error: Exception) -> ApiResponse:
    """The response to an HTTPException, with its status and detail."""
    assert isinstance(error, HTTPException)
    return error_response(error.status_code, error.detail, dict(error.headers or {}))


async def on_invalid_request(_: Request, error: Exception) -> ApiResponse:
    """The response to invalid parameters and bodies."""
    assert isinstance(error, RequestValidationError)
    return field_errors_response(
        (tuple(problem["loc"]), problem["msg"].removeprefix("Value error, ")) for problem in error.errors()
    )


async def on_not_found(_: Request, error: Exception) -> ApiResponse:
    """The response to an id that does not exist."""
    return error_response(404, str(error))


async def on_database_unavailable(_: Request, error: Exception) -> ApiResponse:
    """The response while the database is unavailable: the client should retry, nothing is lost."""
    reason = unavailable_reason(error) or "the database does not answer"
    _logger.error("%s: %s", reason, error)
    return error_response(503, f"{reason}: try again later", {"Retry-After": RETRY_SECONDS})


async def on_stopping(_: Request, error: Exception) -> ApiResponse:
    """The response to a request whose work ended because the server is stopping."""
    return error_response(503, str(error), {"Retry-After": RETRY_SECONDS})


async def on_database_error(request: Request, error: Exception) -> ApiResponse:
    """The response to an error of the database or its files. Raises those that our statement caused."""
    assert isinstance(error, DatabaseError)
    if unavailable_reason(error):
        return await on_database_unavailable(request, error)
    if is_damage(error):
        return await on_corrupt_data(request, error)
    raise error


async def on_corrupt_data(_: Request, error: Exception) -> ApiResponse:
    """The response to damaged stored data: what is damaged, and what to do."""
    cause = getattr(error, "orig", error)
    _logger.error("damaged: %s", cause)
    return error_response(500, f"damaged data: {cause}; `holter db check` lists everything that is damaged")


async def on_unexpected_error(_: Request, error: Exception) -> ApiResponse:
    """The response to an unexpected exception, which the server logs in full."""
    return error_response(500, f"the server failed ({type(error).__name__}): see its log")
