"""POST /import: a run as a file, brought into the store while it runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator
from contextlib import AsyncExitStack
from dataclasses import asdict
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query, Request
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from holter.server.api.responses import error_response, field_errors_response
from holter.server.context import Context, ServerContext
from holter.server.database import unavailable_reason
from holter.server.import_export import ImportContext, ImportProgress, ImportRefusedError, import_file
from holter.server.ingest_http.compression import CompressionError, TooLargeError
from holter.server.ingest_http.memory_budget import MemoryBudgetError
from holter.server.ingest_http.receiver import BodyTimeoutError, ClientDisconnectedError
from holter.server.ingest_http.upload import CODINGS
from holter.server.live import run_event
from holter.server.schemas.service import Problem

_RETRY_SECONDS = "10"
_BODY: dict[str, Any] = {
    "required": True,
    "description": "a file of holter export, in any of its forms; zstd with Content-Encoding",
    "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
}
_LINE = msgspec.json.schema_components([ImportProgress])[1]["ImportProgress"]
_ANSWER = {
    "description": "A line as far as it has come; the last one is `whole`, or says in `detail` why not"
}
Name = Annotated[str | None, Query(min_length=1, max_length=500)]

router = APIRouter(tags=["runs"])


@router.post(
    "/import",
    openapi_extra={"requestBody": _BODY},
    response_class=StreamingResponse,
    responses={
        200: {"content": {"application/jsonl": {"schema": _LINE}}, **_ANSWER},
        408: {"model": Problem, "description": "Nothing of the body has arrived for a minute"},
        413: {"model": Problem, "description": "The body is larger than max_import_mb"},
        415: {"model": Problem, "description": "An unknown compression"},
    },
)
async def import_run(
    request: Request,
    context: Context,
    project: Annotated[str | None, Query(min_length=1, max_length=200)] = None,
    run: Name = None,
    file: Annotated[Name, Query(description="Its name, for a run that the file does not name")] = None,
) -> Response:
    """Store a file of `holter export` as a run of its own (docs/keeping.md); once, however often it comes."""
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if coding not in CODINGS:
        return error_response(415, f"Content-Encoding {coding!r}: expected zstd or none")
    async with AsyncExitStack() as held:
        try:
            content = await held.enter_async_context(context.uploads.file(request.receive, coding))
            await held.enter_async_context(context.uploads.turn())
            into = ImportContext(
                engine=context.engine,
                store=context.store,
                clock=context.clock,
                exclude=context.analysis.deferred,
            )
            steps = import_file(into, content, file or "the file", project=project, run=run)
            held.callback(steps.close)
            first = await run_in_threadpool(next, steps)
        except TooLargeError as error:
            return error_response(413, str(error))
        except CompressionError as error:
            return error_response(400, str(error))
        except (BodyTimeoutError, ClientDisconnectedError) as error:
            return error_response(408, str(error), {"Connection": "close"})
        except MemoryBudgetError as error:
            return error_response(503, f"{error}: send it again", {"Retry-After": _RETRY_SECONDS})
        except OSError as error:
            reason = f"there is no room for the file: {error.strerror}"
            return error_response(503, reason, {"Retry-After": _RETRY_SECONDS})
        except ImportRefusedError as error:
            return field_errors_response([(("body",), str(error))])
        told = _told(context, first, steps, held.pop_all())
        return StreamingResponse(told, media_type="application/jsonl")


async def _told(
    context: ServerContext, first: ImportProgress, steps: Generator[ImportProgress], held: AsyncExitStack
) -> AsyncIterator[bytes]:
    """A line for each step, the first of which is done. Who has gone is not waited for: the rest is left."""
    async with held:
        step: ImportProgress | None = first
        try:
            while step is not None:
                yield msgspec.json.encode(asdict(step)) + b"\n"
                if step.whole:
                    context.live.publish(run_event(step.run_id))
                step = await run_in_threadpool(next, steps, None)
        except ImportRefusedError as error:
            yield msgspec.json.encode({"detail": str(error)}) + b"\n"
        except SQLAlchemyError as error:
            why = unavailable_reason(error) or "the database failed: the server's log says more"
            yield msgspec.json.encode({"detail": f"{why}; send the file again"}) + b"\n"
