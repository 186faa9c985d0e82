"""Routes for monitoring: liveness, readiness, and metrics for Prometheus."""

from __future__ import annotations

import anyio
import anyio.to_thread
from fastapi import APIRouter, Response
from sqlalchemy.exc import SQLAlchemyError

from holter.server.api.error_docs import problem_docs
from holter.server.api.responses import ApiResponse, error_response
from holter.server.context import Context
from holter.server.database import unavailable_reason
from holter.server.schemas.service import HealthStatus

_TIMEOUT = 5.0
_ONE_THREAD = anyio.CapacityLimiter(1)  # an unresponsive database must not block all worker threads

router = APIRouter(tags=["health"])


@router.get("/healthz", responses={200: {"model": HealthStatus}})
async def alive() -> ApiResponse:
    """The process responds."""
    return ApiResponse(HealthStatus(status="alive"))


@router.get(
    "/readyz",
    responses={
        200: {"model": HealthStatus},
        503: problem_docs("The database does not respond, or could not store points"),
    },
)
async def ready(context: Context) -> ApiResponse:
    """The database responds, and recent points could be stored."""
    try:
        with anyio.fail_after(_TIMEOUT):
            await anyio.to_thread.run_sync(
                context.store.check_writable, abandon_on_cancel=True, limiter=_ONE_THREAD
            )
    except TimeoutError:
        return error_response(503, f"the database did not answer within {_TIMEOUT:g} s")
    except SQLAlchemyError as error:
        return error_response(
            503, unavailable_reason(error) or f"the database does not answer: {type(error).__name__}"
        )
    return ApiResponse(HealthStatus(status="ready"))


@router.get(
    "/metrics",
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
        401: problem_docs("A login or a token is required"),
        403: problem_docs("The token has the scope ingest: metrics or all is needed"),
    },
)
def metrics(context: Context) -> Response:
    """Counters and gauges for Prometheus."""
    return Response(context.metrics.render(), media_type="text/plain; version=0.0.4; charset=utf-8")
