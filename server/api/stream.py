"""GET /stream: live news as server-sent events."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from holter.server.context import Context
from holter.server.schemas.service import Problem

router = APIRouter(tags=["live"])
_DESCRIPTION = """Server-sent events. `points`: `{"run_id", "last_step", "attempt"}`, at most ten times a
second for each run; `incident`: the incident as it now is; `run`: `{"run_id"}`, a run that is new or has
changed."""


@router.get(
    "/stream",
    response_class=StreamingResponse,
    responses={
        200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}, "description": _DESCRIPTION},
        404: {"model": Problem, "description": "There is no such run"},
    },
)
async def stream(context: Context, run: str | None = None) -> StreamingResponse:
    """News of one run, or of all. Who reads too slowly is cut off, and connects again."""
    if run is not None:
        await run_in_threadpool(context.runs.run_id, run)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(context.live.stream(run), media_type="text/event-stream", headers=headers)
