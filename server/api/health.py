"""For machines that watch the server: whether it lives, whether it is ready, what it counts."""

from __future__ import annotations

from fastapi import APIRouter, Response
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from holter.server.api.answers import Answer, Problem, refused
from holter.server.api.shapes import Health
from holter.server.parts import OfServer

router = APIRouter(tags=["health"])


@router.get("/healthz", responses={200: {"model": Health}})
async def alive() -> Answer:
    """The process answers."""
    return Answer({"status": "alive"})


@router.get(
    "/readyz",
    responses={
        200: {"model": Health},
        503: {"model": Problem, "description": "The database does not answer"},
    },
)
def ready(parts: OfServer) -> Answer:
    """The database answers, so that points can be taken."""
    try:
        with parts.engine.connect() as connection:
            connection.execute(select(1))
    except SQLAlchemyError as error:
        return refused(503, f"the database does not answer: {type(error).__name__}")
    return Answer({"status": "ready"})


@router.get(
    "/metrics",
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
        401: {"model": Problem, "description": "A login or a token is needed"},
    },
)
def metrics(parts: OfServer) -> Response:
    """Counters and gauges for Prometheus."""
    return Response(parts.counts.page(), media_type="text/plain; version=0.0.4; charset=utf-8")
