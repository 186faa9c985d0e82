"""For machines that watch the server: whether it lives, whether it is ready, what it counts."""

from __future__ import annotations

import anyio
import anyio.to_thread
from fastapi import APIRouter, Response
from sqlalchemy.exc import SQLAlchemyError

from holter.server.api.responses import ApiResponse, error_response
from holter.server.context import Context
from holter.server.database import why_away
from holter.server.schemas.service import HealthStatus, Problem

_PATIENCE = 5.0
_ONE = anyio.CapacityLimiter(1)  # a database that says nothing keeps one thread waiting, not all

router = APIRouter(tags=["health"])


@router.get("/healthz", responses={200: {"model": HealthStatus}})
async def alive() -> ApiResponse:
    """The process answers."""
    return ApiResponse({"status": "alive"})


@router.get(
    "/readyz",
    responses={
        200: {"model": HealthStatus},
        503: {"model": Problem, "description": "The database does not answer, or takes no points"},
    },
)
async def ready(context: Context) -> ApiResponse:
    """The database answers, and points that came lately could be stored."""
    try:
        with anyio.fail_after(_PATIENCE):
            await anyio.to_thread.run_sync(context.store.check_writable, abandon_on_cancel=True, limiter=_ONE)
    except TimeoutError:
        return error_response(503, f"the database did not answer within {_PATIENCE:g} s")
    except SQLAlchemyError as error:
        return error_response(503, why_away(error) or f"the database does not answer: {type(error).__name__}")
    return ApiResponse({"status": "ready"})


@router.get(
    "/metrics",
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
        401: {"model": Problem, "description": "A login or a token is needed"},
    },
)
def metrics(context: Context) -> Response:
    """Counters and gauges for Prometheus."""
    return Response(context.metrics.page(), media_type="text/plain; version=0.0.4; charset=utf-8")
