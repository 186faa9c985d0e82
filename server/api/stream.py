"""GET /stream: live events as server-sent events."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from holter.server.context import Context
from holter.server.schemas.service import Problem

router = APIRouter(tags=["live"])
_DESCRIPTION = """Server-sent events. `points`: `{"run_id", "last_step", "attempt"}`, at most ten times a
second for each run; `incident`: an incident that has changed; `run`: `{"run_id"}`, a run that is new or has
changed otherwise."""


@router.get(
    "/stream",
    response_class=StreamingResponse,
    responses={
        200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}, "description": _DESCRIPTION},
        404: {"model": Problem, "description": "There is no such run"},
    },
)
async def stream(context: Context, run: str | None = None) -> StreamingResponse:
    """Events of one run, or of all. A client that reads too slowly is disconnected and should reconnect."""
    if run is not None:
        await run_in_threadpool(context.runs.run_id, run)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(context.live.stream(run), media_type="text/event-stream", headers=headers)
