"""Reads the body of a request to a route of another protocol than Holter's own."""

from __future__ import annotations

from starlette.requests import Request

from holter.server.ingest_http.arriving_bodies import ArrivingBodies
from holter.server.ingest_http.receiver import BODY_SECONDS


async def read_body(request: Request, arriving: ArrivingBodies, *, limit: int) -> bytes:
    """The body as it was sent, of at most `limit` bytes, within the memory for arriving ones.

    Raises TooLargeError, MemoryBudgetError, BodyTimeoutError and ClientDisconnectedError.
    """
    sender = request.client.host if request.client else ""
    return await arriving.read(request.receive, sender, limit=limit, seconds=BODY_SECONDS)
