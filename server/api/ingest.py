"""POST /ingest: stores batches of points, and responds once they are durable."""

from __future__ import annotations

import math
from collections.abc import Mapping

from fastapi import APIRouter, Request
from sqlalchemy.exc import DatabaseError
from starlette.types import ASGIApp, Receive, Scope, Send

from holter.server.api.error_docs import problem_docs
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
from holter.server.ingest_http.arriving_bodies import BodyTimeoutError, ClientDisconnectedError
from holter.server.ingest_http.body_limits import BodyError
from holter.server.ingest_http.compression import CODINGS, CompressionError, TooLargeError
from holter.server.ingest_http.memory_budget import MemoryBudgetError
from holter.server.ingest_http.receiver import (
    BODY_PARSERS,
    DURABLE_SECONDS,
    StoredDelivery,
)
from holter.server.live import run_event
from holter.server.schemas.points import BatchReceipt, BatchReceipts, RefusedSeries
from holter.server.store import RateLimitError, StoreBusyError, StoreClosedError

PATH = "/api/v1/ingest"
RETRY_SECONDS = "1"
_BUSY = (StoreBusyError, StoreClosedError, MemoryBudgetError, TimeoutError)

_HEADERS = frozenset({b"content-type", b"content-encoding"})

router = APIRouter(tags=["ingest"])


@router.post(
    "/ingest",
    openapi_extra={"requestBody": INGEST_BODY},
    responses={
        200: {"model": BatchReceipt | BatchReceipts},
        408: problem_docs("The body took longer than a minute to arrive"),
        413: problem_docs("The body is larger than max_batch_mb"),
        415: problem_docs("Neither JSON nor msgpack, or an unknown compression"),
        429: problem_docs("More points per second than the quota allows: see Retry-After"),
    },
)
async def ingest(request: Request, context: Context) -> ApiResponse:
    """Store a batch of points. The same `batch_id` again changes nothing."""
    return await respond(context, request.headers, request.receive, _sender(request.scope))


class IngestMiddleware:
    """ASGI middleware that handles POST /ingest directly, since the framework costs more than the points.

    Other requests, and those with a query, continue to the route above, which does the same.
    """

    def __init__(self, app: ASGIApp, context: ServerContext) -> None:
        self._app = app
        self._context = context

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        is_ingest = scope["type"] == "http" and scope["path"] == PATH
        if not is_ingest or scope["method"] != "POST" or scope["query_string"]:
            return await self._app(scope, receive, send)
        headers = {
            name.decode(): value.decode("latin-1") for name, value in scope["headers"] if name in _HEADERS
        }
        try:
            response = await respond(self._context, headers, receive, _sender(scope))
        except DATABASE_UNAVAILABLE as error:
            response = await on_database_unavailable(Request(scope), error)
        except DatabaseError as error:
            response = await on_database_error(Request(scope), error)
        await response(scope, receive, send)


def _sender(scope: Scope) -> str:
    """The address that a request comes from."""
    client = scope.get("client")
    return str(client[0]) if client else ""


async def respond(
    context: ServerContext, headers: Mapping[str, str], receive: Receive, sender: str
) -> ApiResponse:
    """Store a body and count the response by its status."""
    response = await _store_body(context, headers, receive, sender)
    context.metrics.batches.labels(str(response.status_code)).inc()
    return response


async def _store_body(
    context: ServerContext, headers: Mapping[str, str], receive: Receive, sender: str
) -> ApiResponse:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in BODY_PARSERS:
        return error_response(415, "send Content-Type: application/json or application/msgpack")
    coding = headers.get("content-encoding", "identity").strip().lower()
    if coding not in CODINGS:
        return error_response(415, f"Content-Encoding {coding!r}: expected gzip, zstd or none")
    try:
        taken = await context.receiver.take(receive, kind, coding, sender)
    except TooLargeError as error:
        return error_response(413, str(error))
    except CompressionError as error:
        return error_response(400, str(error))
    except BodyError as error:
        return field_errors_response((("body", *location), reason) for location, reason in error.problems)
    except RateLimitError as error:
        return error_response(429, str(error), {"Retry-After": str(math.ceil(error.seconds))})
    except (BodyTimeoutError, ClientDisconnectedError) as error:
        return error_response(408, str(error), {"Connection": "close"})
    except _BUSY as error:
        reason = str(error) or f"the points were not durable within {DURABLE_SECONDS:g} s"
        return error_response(503, f"{reason}: send the same batch_id again", {"Retry-After": RETRY_SECONDS})
    refused = [
        refusal
        for item in taken
        if item.receipt.refused and not item.receipt.accepted
        for refusal in item.receipt.refused
    ]
    if refused:
        return field_errors_response(
            (("body", "columns", refusal.what), refusal.reason) for refusal in refused
        )
    for item in taken:
        _finish_run(context, item)
    receipts = [_receipt(item) for item in taken]
    return ApiResponse(receipts[0] if len(receipts) == 1 else BatchReceipts(batches=receipts))


def _finish_run(context: ServerContext, taken: StoredDelivery) -> None:
    """Analyze and announce a run whose end the delivery reports."""
    receipt = taken.receipt
    if taken.delivery.finished:
        context.analysis.request_analysis(receipt.run_id)
        context.live.publish(run_event(receipt.public_id))


def _receipt(taken: StoredDelivery) -> BatchReceipt:
    stored = taken.receipt
    receipt: BatchReceipt = {
        "accepted": stored.accepted,
        "run_id": stored.public_id,
        "attempt": stored.attempt,
        "batch_id": taken.delivery.batch_id,
        "duplicate": stored.duplicate,
    }
    if stored.refused:
        receipt["refused"] = [
            RefusedSeries(metric=refusal.what, series=refusal.series, reason=refusal.reason)
            for refusal in stored.refused
        ]
    return receipt
