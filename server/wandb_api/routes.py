"""The addresses that wandb clients call, and their answers in the form that these expect."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from holter.server.api.responses import ApiResponse, error_response
from holter.server.context import Context, ServerContext
from holter.server.ingest_http.arriving_bodies import BodyTimeoutError, ClientDisconnectedError
from holter.server.ingest_http.compression import CODINGS, CompressionError, TooLargeError, decompress
from holter.server.ingest_http.memory_budget import MemoryBudgetError
from holter.server.ingest_http.request_body import read_body
from holter.server.store import RateLimitError
from holter.server.tracked_runs import InvalidNameError, find_run_by_public_id
from holter.server.tracker_paths import WANDB_GRAPHQL
from holter.server.wandb_api import (
    alerts,
    environment,
    introspection,
    read_back,
    run_updates,
    stopping,
    uploads,
)
from holter.server.wandb_api.file_stream import (
    DefinitionsPendingError,
    InvalidChunkError,
    parse_request,
    store_chunk,
)
from holter.server.wandb_api.operations import GraphqlCall, Operation, OperationError, operation_name
from holter.server.wandb_api.patch_names import PatchNames

MAX_STREAM_BYTES = 64 * 2**20
"""Clients send at most 10 MiB of lines at once, which are 12 MiB as JSON."""
RETRY_SECONDS = "5"
_MEMORY_OF_A_BYTE = 4
"""Bytes of memory for a byte of JSON while it is decoded and stored."""

OPERATIONS: dict[str, Operation] = {
    name: operation
    for module in (introspection, run_updates, uploads, alerts, stopping, read_back)
    for name, operation in module.OPERATIONS.items()
}

router = APIRouter(include_in_schema=False)
_logger = logging.getLogger(__name__)


@router.post(WANDB_GRAPHQL)
async def graphql(request: Request, context: Context) -> Response:
    """Answer one operation; an error is part of the answer."""
    try:
        body = await _read_body(request, context)
        call, name = _graphql_call(request, context, body)
        operation = OPERATIONS.get(name)
        if operation is None:
            raise OperationError(f"Holter does not have the operation {name[:60]!r}")
        data = await run_in_threadpool(operation, call)
    except OperationError as error:
        return ApiResponse({"data": None, "errors": [{"message": str(error)}]}, status_code=error.status)
    except (TooLargeError, CompressionError) as error:
        return ApiResponse({"errors": [{"message": str(error)}]}, status_code=413)
    return ApiResponse({"data": data})


def _graphql_call(request: Request, context: ServerContext, body: bytes) -> tuple[GraphqlCall, str]:
    try:
        content: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise OperationError(f"the body is not JSON: {error}", status=400) from error
    if not isinstance(content, dict) or not isinstance(query := content.get("query"), str):
        raise OperationError("expected a JSON object with a query", status=400)
    variables = content.get("variables")
    call = GraphqlCall(
        context=context,
        variables=variables if isinstance(variables, dict) else {},
        query=query,
        user=context.authenticator.user(request.headers),
        may_read=context.authenticator.may_read(request.headers),
        address=context.settings.public_url.rstrip("/") or str(request.base_url).rstrip("/"),
        client=request.headers.get("x-wandb-client-id", ""),
    )
    return call, operation_name(query, content.get("operationName"))


@router.post("/files/{entity}/{project}/{run}/file_stream")
async def file_stream(entity: str, project: str, run: str, request: Request, context: Context) -> Response:
    """Store a chunk of a run's files. Clients give up for good after any status but 2xx, 429 and 5xx."""
    share = context.receiver.budget.share()
    share.hold()
    try:
        body = await _read_body(request, context)
        share.grow(_MEMORY_OF_A_BYTE * len(body))
        client = request.headers.get("x-wandb-async-client-id", "")[:200]
        return ApiResponse(await run_in_threadpool(_store, context, project, run, client, body))
    except RateLimitError as error:
        return error_response(429, str(error), {"Retry-After": str(int(error.seconds) + 1)})
    except DefinitionsPendingError:
        return error_response(429, "definitions of metrics are pending", {"Retry-After": "2"})
    except Exception as error:
        expected = (
            TooLargeError, CompressionError, InvalidChunkError, InvalidNameError, MemoryBudgetError,
            BodyTimeoutError, ClientDisconnectedError,
        )  # fmt: skip
        if not isinstance(error, expected):
            _logger.exception("a chunk of the run %s/%s was not stored", project, run)
        return error_response(503, f"not stored: {error}", {"Retry-After": RETRY_SECONDS})
    finally:
        share.release()


def _store(context: ServerContext, project: str, run: str, client: str, body: bytes) -> dict[str, Any]:
    answer = store_chunk(context, project, run, client, parse_request(body))
    context.metrics.batches.labels("200").inc()
    return answer


async def _read_body(request: Request, context: ServerContext) -> bytes:
    """The body within the memory for arriving ones, decompressed."""
    body = await read_body(request, context.receiver.arriving, limit=MAX_STREAM_BYTES)
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if coding not in CODINGS:
        raise CompressionError(f"Content-Encoding {coding[:40]!r}: expected gzip, zstd or none")
    return decompress(body, coding, MAX_STREAM_BYTES, lambda _: None)


@router.put(uploads.UPLOAD_PATH + "/{run_id}/{expires}/{signature}/{name:path}")
async def upload(
    run_id: str, expires: str, signature: str, name: str, request: Request, context: Context
) -> Response:
    """Read a file; of small texts about the run, the text or the environment that they state is stored."""
    if not uploads.is_valid_upload(context, run_id, expires, signature, name):
        return error_response(
            403, "this address for an upload is not valid, or no longer", {"Connection": "close"}
        )
    content, patch = bytearray(), PatchNames()
    async for piece in request.stream():
        if name == environment.PATCH:
            patch.feed(piece)
        elif name in uploads.STORED_FILES:
            content += piece
            del content[: -uploads.MAX_STORED_BYTES]
        elif name == environment.METADATA and len(content) <= environment.MAX_BYTES:
            content += piece
    run = await run_in_threadpool(find_run_by_public_id, context, run_id)
    if content and run is not None and name in uploads.STORED_FILES:
        await run_in_threadpool(uploads.store_file, context, run, name, bytes(content))
    if content and run is not None and name in (environment.METADATA, environment.PACKAGES):
        await run_in_threadpool(environment.store_environment, context, run, name, bytes(content))
    if patch.count and run is not None:
        await run_in_threadpool(environment.store_changed_files, context, run, patch)
    return Response(status_code=200)


@router.post("/sdk/otel/{path:path}")
async def telemetry(path: str) -> Response:
    """Clients send telemetry about themselves here, and stop after this answer."""
    return error_response(404, "Holter does not collect telemetry of clients")
