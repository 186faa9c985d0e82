"""The addresses that trackio's clients call, and their answers in the form that these expect."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec
from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

import holter
from holter.server.api.responses import ApiResponse
from holter.server.context import Context
from holter.server.ingest_http.refusals import REFUSED_ERRORS, refusal_of
from holter.server.ingest_http.request_body import read_body
from holter.server.tracker_paths import TRACKIO_VERSION
from holter.server.trackio_api.call import Handler, TrackioCall, TrackioError

API_VERSION = 1
"""The version of the interface that clients require."""
MAX_BODY_BYTES = 64 * 2**20
"""Clients send all rows that they could not send before in one request."""
_MEMORY_OF_A_BYTE = 4
"""Bytes of memory for a byte of JSON while it is decoded and stored."""
router = APIRouter(include_in_schema=False)


@router.get(TRACKIO_VERSION)
async def version() -> Response:
    """What clients ask first; with any other answer they expect a server of Gradio."""
    return ApiResponse({"version": holter.__version__, "api_version": API_VERSION, "writes_paused": False})


@router.post("/api/upload")
async def upload(request: Request) -> Response:
    """Read a file and discard it."""
    async for _ in request.stream():
        pass
    return ApiResponse({"paths": ["discarded"]})


@router.post("/api/{name}")
async def call_api(name: str, request: Request, context: Context) -> Response:
    """Answer one call. After any error, clients keep what they have sent, and send it again."""
    handler = handlers().get(name)
    if handler is None:
        return _error(404, f"Holter does not have {name[:60]!r}")
    share = context.receiver.budget.share()
    share.hold()
    try:
        body = await read_body(request, context.receiver.arriving, limit=MAX_BODY_BYTES)
        share.grow(_MEMORY_OF_A_BYTE * len(body))
        may_read = context.authenticator.may_read(request.headers)
        call = TrackioCall(context=context, parameters=_parameters(body), may_read=may_read)
        return ApiResponse({"data": await run_in_threadpool(handler, call)})
    except TrackioError as error:
        return _error(400, str(error))
    except REFUSED_ERRORS as error:
        return _error(*refusal_of(error))
    finally:
        share.release()


@cache
def handlers() -> Mapping[str, Handler]:
    """All calls by name."""
    # imported with the first call, since names and values of trackio come with the formats of logs
    from holter.server.trackio_api import alerts, files, logging, runs  # noqa: PLC0415

    modules = (runs, logging, alerts, files)
    return {name: handler for module in modules for name, handler in module.HANDLERS.items()}


def _parameters(body: bytes) -> dict[str, Any]:
    """The named parameters of a call: `{"args": [], "kwargs": {...}}`. Raises TrackioError."""
    try:
        try:
            content = msgspec.json.decode(body)
        except msgspec.DecodeError:  # stricter than clients: NaN, Infinity
            content = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise TrackioError(f"the body is not JSON: {error}") from error
    named = content.get("kwargs") if isinstance(content, dict) else None
    if not isinstance(named, dict):
        raise TrackioError("expected a JSON object with kwargs")
    return named


def _error(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    return ApiResponse({"error": message}, status_code=status, headers=headers)
