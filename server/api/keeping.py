"""What becomes of a run as a whole: taken out as a file, or deleted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from fastapi import APIRouter
from starlette.responses import Response, StreamingResponse

from holter.server.api.answers import Problem, refused_fields
from holter.server.exchange.export import MEDIA, MissingPyarrowError, exported, need_pyarrow
from holter.server.live.news import run_news
from holter.server.parts import OfServer, Parts

router = APIRouter(tags=["runs"])
_NOT_FOUND: dict[int | str, dict[str, Any]] = {404: {"model": Problem, "description": "There is no such run"}}
_FILE: dict[int | str, dict[str, Any]] = {
    200: {"content": {media: {} for media in MEDIA.values()}, "description": "The file, as it is made"}
}
Form = Literal["csv", "jsonl", "json", "parquet", "arrow"]


@router.get("/runs/{run_id}/export", responses={**_FILE, **_NOT_FOUND}, response_class=StreamingResponse)
def export_run(run_id: str, parts: OfServer, format: Form = "csv") -> Response:
    """A run exactly as it is stored, as a file (docs/keeping.md)."""
    number = parts.overview.run_id(run_id)
    try:
        need_pyarrow(format)
    except MissingPyarrowError as error:
        return refused_fields([(("query", "format"), str(error))])
    name = f'attachment; filename="{run_id}.{format}"'
    return StreamingResponse(
        _content(parts, number, format), media_type=MEDIA[format], headers={"Content-Disposition": name}
    )


def _content(parts: Parts, number: int, form: str) -> Iterator[bytes]:
    with exported(parts.engine, number, form) as one:
        yield from one.content


@router.delete("/runs/{run_id}", status_code=204, responses=_NOT_FOUND, response_class=Response)
def delete_run(run_id: str, parts: OfServer) -> Response:
    """Delete a run with everything that belongs to it, for good. What is sent later is another run."""
    parts.keeper.delete(parts.overview.run_id(run_id))
    parts.live.tell(run_news(run_id))
    return Response(status_code=204)
