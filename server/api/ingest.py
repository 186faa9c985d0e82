"""POST /ingest: points come in, and are acknowledged once they are durable."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy.exc import DatabaseError
from starlette.types import ASGIApp, Receive, Scope, Send

from holter.server.api.ingest_openapi import INGEST_BODY
from holter.server.api.responses import (
    DATABASE_UNAVAILABLE,
    ApiResponse,
    error_response,
    field_errors_response,
    on_database_error,
    on_database_unavailable,
)
from holter.server.context import Context, ServerContext
from holter.server.ingest_http.compression import CODINGS, CompressionError, TooLargeError
from holter.server.ingest_http.json_body import BodyError
from holter.server.ingest_http.memory_budget import NoRoomError
from holter.server.ingest_http.receiver import DURABLE_SECONDS, FORMS, GoneError, SlowError, Taken
from holter.server.live import run_event
from holter.server.schemas.points import BatchReceipt, BatchReceipts
from holter.server.schemas.service import Problem
from holter.server.store import RateLimitError, StoreBusyError, StoreClosedError

PATH = "/api/v1/ingest"
RETRY_SECONDS = "1"
_BUSY = (StoreBusyError, StoreClosedError, NoRoomError, TimeoutError)

_HEADERS = frozenset({b"content-type", b"content-encoding"})

router = APIRouter(tags=["ingest"])


@router.post(
    "/ingest",
    openapi_extra={"requestBody": INGEST_BODY},
    responses={
        200: {"model": BatchReceipt | BatchReceipts},
        408: {"model": Problem, "description": "The body took longer than a minute to arrive"},
        413: {"model": Problem, "description": "The body is larger than max_batch_mb"},
        415: {"model": Problem, "description": "Neither JSON nor msgpack, or an unknown compression"},
        429: {"model": Problem, "description": "More points a second than the quota: see Retry-After"},
    },
)
async def ingest(request: Request, context: Context) -> ApiResponse:
    """Accept a batch of points. The same `batch_id` again changes nothing."""
    return await respond(context, request.headers, request.receive)


class IngestMiddleware:
    """An ASGI middleware that answers POST /ingest by itself: the framework costs more than the points do.

    What is not plainly that (a query, say) goes on to the route above, which does and says the same.
    """

    def __init__(self, app: ASGIApp, context: ServerContext) -> None:
        self._app = app
        self._parts = context

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        here = scope["type"] == "http" and scope["path"] == PATH
        if not here or scope["method"] != "POST" or scope["query_string"]:
            return await self._app(scope, receive, send)
        said = {name.decode(): text.decode("latin-1") for name, text in scope["headers"] if name in _HEADERS}
        try:
            told = await respond(self._parts, said, receive)
        except DATABASE_UNAVAILABLE as error:
            told = await on_database_unavailable(Request(scope), error)
        except DatabaseError as error:
            told = await on_database_error(Request(scope), error)
        await told(scope, receive, send)


async def respond(context: ServerContext, headers: Mapping[str, str], receive: Receive) -> ApiResponse:
    """Take a body, and say what became of it."""
    told = await _outcome(context, headers, receive)
    context.metrics.batches.labels(str(told.status_code)).inc()
    return told


async def _outcome(context: ServerContext, headers: Mapping[str, str], receive: Receive) -> ApiResponse:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in FORMS:
        return error_response(415, "send Content-Type: application/json or application/msgpack")
    coding = headers.get("content-encoding", "identity").strip().lower()
    if coding not in CODINGS:
        return error_response(415, f"Content-Encoding {coding!r}: expected gzip, zstd or none")
    try:
        taken = await context.receiver.take(receive, kind, coding)
    except TooLargeError as error:
        return error_response(413, str(error))
    except CompressionError as error:
        return error_response(400, str(error))
    except BodyError as error:
        return field_errors_response((("body", *place), reason) for place, reason in error.problems)
    except RateLimitError as error:
        return error_response(429, str(error), {"Retry-After": str(math.ceil(error.seconds))})
    except (SlowError, GoneError) as error:
        return error_response(408, str(error), {"Connection": "close"})
    except _BUSY as error:
        why = str(error) or f"the points were not durable within {DURABLE_SECONDS:g} s"
        return error_response(503, f"{why}: send the same batch_id again", {"Retry-After": RETRY_SECONDS})
    if reasons := [
        one for _, receipt in taken if receipt.refused and not receipt.accepted for one in receipt.refused
    ]:
        return field_errors_response((("body", "columns", one.what), one.reason) for one in reasons)
    for one in taken:
        _tell(context, one)
    said = [_acknowledgement(one) for one in taken]
    return ApiResponse(said[0] if len(said) == 1 else {"batches": said})


def _tell(context: ServerContext, taken: Taken) -> None:
    """What a delivery says besides its points."""
    receipt = taken.receipt
    if taken.delivery.finished:
        context.analysis.look_soon(receipt.run_id)
        context.live.tell(run_event(receipt.public_id))


def _acknowledgement(taken: Taken) -> dict[str, Any]:
    receipt = taken.receipt
    said = {
        "accepted": receipt.accepted,
        "run_id": receipt.public_id,
        "attempt": receipt.attempt,
        "batch_id": taken.delivery.batch_id,
        "duplicate": receipt.duplicate,
    }
    if receipt.refused:
        return said | {
            "refused": [
                {"metric": one.what, "series": one.series, "reason": one.reason} for one in receipt.refused
            ]
        }
    return said
