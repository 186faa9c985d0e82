"""The addresses that MLflow's clients call, and their answers in the form that these expect."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any

import msgspec
from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from holter.server.api.request_limits import MLFLOW_BODY_BYTES
from holter.server.api.responses import ApiResponse
from holter.server.context import Context, ServerContext
from holter.server.ingest_http.refusals import REFUSED_ERRORS, refusal_of
from holter.server.ingest_http.request_body import read_body
from holter.server.mlflow_api.call import INVALID, Handler, MlflowCall, MlflowError

BASE = "/api/2.0/mlflow"
ARTIFACTS = "/api/2.0/mlflow-artifacts"
_RETRY_SECONDS = 5
"""Clients try seven times (old ones five times), and then raise an exception in the training."""
_ERROR_CODES = {
    429: "REQUEST_LIMIT_EXCEEDED",
    503: "TEMPORARILY_UNAVAILABLE",
    408: "TEMPORARILY_UNAVAILABLE",
}
"""MLflow's name of an error by its status; of all others it is that of a wrong parameter."""
router = APIRouter(include_in_schema=False)


@router.api_route(BASE + "/{endpoint:path}", methods=["GET", "POST", "PATCH", "PUT", "DELETE"])
async def call_endpoint(endpoint: str, request: Request, context: Context) -> Response:
    """Answer one call."""
    try:
        handler, path = _handler(request.method, endpoint)
        call = await _call(request, context, path)
        return ApiResponse(await run_in_threadpool(handler, call))
    except MlflowError as error:
        return _error(error.status, error.code, str(error))
    except REFUSED_ERRORS as error:
        status, message, headers = refusal_of(error, retry_seconds=_RETRY_SECONDS, least_wait=_RETRY_SECONDS)
        return _error(status, _ERROR_CODES.get(status, INVALID), message, headers)


@cache
def handlers() -> Mapping[tuple[str, str], Handler]:
    """All calls by method and path, in which * is a name."""
    # imported with the first call, since names and values of MLflow come with the formats of logs
    from holter.server.mlflow_api import experiments, logged_models, logging, runs, search  # noqa: PLC0415

    modules = (experiments, runs, logging, search, logged_models)
    return {key: handler for module in modules for key, handler in module.HANDLERS.items()}


def _handler(method: str, endpoint: str) -> tuple[Handler, tuple[str, ...]]:
    """The handler of an endpoint, and the names in its address."""
    parts = endpoint.split("/")
    for (known_method, path), handler in handlers().items():
        expected = path.split("/")
        if known_method == method and len(parts) == len(expected):
            pairs = list(zip(expected, parts, strict=True))
            if all(part and wanted in ("*", part) for wanted, part in pairs):
                return handler, tuple(part for wanted, part in pairs if wanted == "*")
    raise MlflowError("ENDPOINT_NOT_FOUND", f"Holter does not have {method} {endpoint[:100]}")


async def _call(request: Request, context: ServerContext, path: tuple[str, ...]) -> MlflowCall:
    query = request.query_params
    parameters: dict[str, Any] = dict(query)
    if request.method != "GET":
        body = await read_body(request, context.receiver.arriving, limit=MLFLOW_BODY_BYTES)
        parameters |= _object(body)
    return MlflowCall(
        context=context,
        parameters=parameters,
        path=path,
        user=context.authenticator.user(request.headers),
        may_read=context.authenticator.may_read(request.headers),
        repeated={name: query.getlist(name) for name in query} if request.method == "GET" else {},
    )


def _object(body: bytes) -> dict[str, Any]:
    try:
        content = msgspec.json.decode(body) if body else {}
    except (msgspec.DecodeError, RecursionError) as error:
        raise MlflowError(INVALID, f"the body is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise MlflowError(INVALID, "expected a JSON object")
    return content


def _error(status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> Response:
    return ApiResponse({"error_code": code, "message": message}, status_code=status, headers=headers)


@router.get(ARTIFACTS + "/artifacts")
async def list_artifacts() -> Response:
    """No files are stored."""
    return ApiResponse({"files": []})


@router.get(ARTIFACTS + "/artifacts/{path:path}")
async def read_artifact(path: str) -> Response:
    """No files are stored."""
    return _error(404, "RESOURCE_DOES_NOT_EXIST", "Holter stores no files")


@router.put(ARTIFACTS + "/artifacts/{path:path}")
@router.post(ARTIFACTS + "/artifacts/{path:path}")
async def discard_artifact(path: str, request: Request, context: Context) -> Response:
    """Read a file and discard it: an error would end the training."""
    async for _ in request.stream():
        pass
    public_id = path.split("/")[1] if path.count("/") > 1 else ""
    await run_in_threadpool(_note, context, public_id)
    return ApiResponse({})


@router.delete(ARTIFACTS + "/artifacts/{path:path}")
async def delete_artifact(path: str) -> Response:
    """There is nothing to delete."""
    return ApiResponse({})


def _note(context: ServerContext, public_id: str) -> None:
    from holter.server.mlflow_api.launches import find_run  # noqa: PLC0415
    from holter.server.mlflow_api.logging import note_discarded  # noqa: PLC0415 - as `handlers`

    with suppress(MlflowError):  # a file of no known run
        note_discarded(context, find_run(context, public_id))
