"""POST /import: imports a run from a file while the server runs."""

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

from holter.server.api.error_docs import problem_docs
from holter.server.api.responses import error_response, field_errors_response
from holter.server.context import Context, ServerContext
from holter.server.database import unavailable_reason
from holter.server.import_export.import_file import ImportRefusedError, import_file
from holter.server.import_export.importer import ImportContext, ImportProgress
from holter.server.import_export.reading_process import ImportInterruptedError, ReadingProcess
from holter.server.ingest_http.arriving_bodies import BodyTimeoutError, ClientDisconnectedError
from holter.server.ingest_http.compression import CompressionError, TooLargeError
from holter.server.ingest_http.memory_budget import MemoryBudgetError
from holter.server.ingest_http.upload import CODINGS
from holter.server.live import run_event

_RETRY_SECONDS = "10"
_BODY: dict[str, Any] = {
    "required": True,
    "description": "a file of holter export, in any of its formats; zstd with Content-Encoding",
    "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
}
_LINE = msgspec.json.schema_components([ImportProgress])[1]["ImportProgress"]
_PROGRESS = {"description": "A line for each step; the last one is `whole`, or has a reason in `detail`"}
Name = Annotated[str | None, Query(min_length=1, max_length=500)]

router = APIRouter(tags=["runs"])


@router.post(
    "/import",
    openapi_extra={"requestBody": _BODY},
    response_class=StreamingResponse,
    responses={
        200: {"content": {"application/jsonl": {"schema": _LINE}}, **_PROGRESS},
        408: problem_docs("No part of the body arrived for a minute"),
        413: problem_docs("The body is larger than max_import_mb"),
        415: problem_docs("An unknown compression"),
    },
)
async def import_run(
    request: Request,
    context: Context,
    project: Annotated[str | None, Query(min_length=1, max_length=200)] = None,
    run: Name = None,
    file: Annotated[
        Name, Query(description="The name of the file, used for a run that the file does not name")
    ] = None,
) -> Response:
    """Store a file of `holter export` as a new run (docs/maintenance.md); repeating it changes nothing."""
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if coding not in CODINGS:
        return error_response(415, f"Content-Encoding {coding!r}: expected zstd or none")
    async with AsyncExitStack() as resources:
        try:
            content = await resources.enter_async_context(context.uploads.file(request.receive, coding))
            await resources.enter_async_context(context.uploads.turn())
            reading = ReadingProcess(
                seconds=context.settings.parse_seconds, is_stopping=context.live.closed.is_set
            )
            resources.callback(reading.close)
            import_context = ImportContext(
                engine=context.engine,
                store=context.store,
                clock=context.clock,
                exclude=context.analysis.deferred,
                read=reading.read,
            )
            steps = import_file(import_context, content, file or "the file", project=project, run=run)
            resources.callback(steps.close)
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
            reason = f"the file could not be stored: {error.strerror}"
            return error_response(503, reason, {"Retry-After": _RETRY_SECONDS})
        except ImportInterruptedError as error:
            return error_response(503, str(error), {"Retry-After": _RETRY_SECONDS})
        except ImportRefusedError as error:
            return field_errors_response([(("body",), str(error))])
        lines = _progress(context, first, steps, resources.pop_all())
        return StreamingResponse(lines, media_type="application/jsonl")


async def _progress(
    context: ServerContext, first: ImportProgress, steps: Generator[ImportProgress], resources: AsyncExitStack
) -> AsyncIterator[bytes]:
    """A line for each step, the first of which is done. Stops the import when the client disconnects."""
    async with resources:
        step: ImportProgress | None = first
        try:
            while step is not None:
                yield msgspec.json.encode(asdict(step)) + b"\n"
                if step.whole:
                    context.live.publish(run_event(step.run_id))
                step = await run_in_threadpool(next, steps, None)
        except (ImportRefusedError, ImportInterruptedError) as error:
            yield msgspec.json.encode({"detail": str(error)}) + b"\n"
        except SQLAlchemyError as error:
            reason = unavailable_reason(error) or "the database failed: see the server's log"
            yield msgspec.json.encode({"detail": f"{reason}; send the file again"}) + b"\n"
