"""GET /stream: live events as server-sent events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, suppress

from fastapi import APIRouter, Request
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from holter.server.api.error_docs import problem_docs
from holter.server.auth import Authenticator
from holter.server.context import Context

PATH = "/api/v1/stream"

router = APIRouter(tags=["live"])
_DESCRIPTION = """Server-sent events. `points`: `{"run_id", "last_step", "attempt"}`, at most ten times a
second for each run; `incident`: an incident that has changed; `run`: `{"run_id"}`, a run that is new or has
changed otherwise."""


@router.get(
    "/stream",
    response_class=StreamingResponse,
    responses={
        200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}, "description": _DESCRIPTION},
        404: problem_docs("There is no such run"),
    },
)
async def stream(context: Context, request: Request, run: str | None = None) -> StreamingResponse:
    """Events of one run, or of all, until the token is revoked or the session ends.

    A client that reads too slowly is disconnected and should reconnect.
    """
    if run is not None:
        await run_in_threadpool(context.runs.run_id, run)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    events = _while_allowed(context.live.stream(run), context.authenticator, dict(request.headers))
    return StreamingResponse(events, media_type="text/event-stream", headers=headers)


async def _while_allowed(
    events: AsyncGenerator[bytes], authenticator: Authenticator, headers: Mapping[str, str]
) -> AsyncIterator[bytes]:
    """Pass events on, heartbeats included, as long as a new request with these headers would be allowed."""
    async with aclosing(events):
        async for event in events:
            if authenticator.stale and (authenticator.login_required or "authorization" in headers):
                with suppress(SQLAlchemyError):  # while the database is away, what was last read holds
                    await run_in_threadpool(authenticator.refresh)
            if authenticator.check("GET", PATH, headers, open_to_all=False) is not None:
                return
            yield event
