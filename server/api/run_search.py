"""Routes that find runs and describe them: the list of runs, completion, descriptions, saved views."""

from __future__ import annotations

import gzip
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from holter.server.api.responses import RUN_NOT_FOUND, ApiResponse, field_errors_response, not_found
from holter.server.context import Context, ServerContext
from holter.server.live import run_event
from holter.server.run_search.ordering import UnknownOrderError
from holter.server.run_search.run_search import MAX_COLUMNS, RunQuery
from holter.server.run_search.syntax import FilterError
from holter.server.saved_views import ViewContent, ViewNameError
from holter.server.schemas.run_search import ColumnList, CompletionList, SavedView, SavedViewList
from holter.server.schemas.runs import RunDetail, RunList, RunState
from holter.server.store.keys import storable_text

MAX_PAGE = 1000
MAX_TAGS = 100
_COMPRESSED_FROM = 1024  # bytes
_COMPRESSION_LEVEL = 3
_VIEW_NOT_FOUND = not_found("There is no such view")

router = APIRouter(tags=["runs"])

ColumnName = Annotated[str, Field(min_length=1, max_length=300)]
TagText = Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]


@router.get("/runs", responses={200: {"model": RunList}})
def list_runs(
    context: Context,
    request: Request,
    project: str | None = None,
    state: RunState | None = None,
    q: str | None = None,
    filter: Annotated[str, Query(max_length=2000, description="docs/dashboard.md describes filters")] = "",
    sort: Annotated[str, Query(max_length=310, description="`-` in front: from the highest")] = "",
    columns: Annotated[list[ColumnName] | None, Query(max_length=MAX_COLUMNS)] = None,
    limit: Annotated[int | None, Query(ge=1, le=MAX_PAGE)] = None,
    cursor: Annotated[str | None, Query(pattern=r"^\d{1,9}$", description="`next` of another page")] = None,
    since: Annotated[str | None, Query(max_length=40, description="`version` of an answer")] = None,
) -> Response:
    """Runs that a filter finds, page by page; without parameters all, the one with the newest points first.

    `q`: part of the run's or project's name. With `since`, only runs that have changed since.
    """
    query = RunQuery(
        filter=filter,
        sort=sort or None,
        columns=tuple(dict.fromkeys(columns or ())),
        offset=int(cursor or 0),
        limit=limit,
        since=since,
        project=project,
        state=state,
        name_part=q,
    )
    try:
        return compressed(ApiResponse(context.run_search.runs(query)), request)
    except FilterError as error:
        return field_errors_response([(("query", "filter", error.position), error.expected)])
    except UnknownOrderError as error:
        return field_errors_response([(("query", "sort"), str(error))])


def compressed(response: ApiResponse, request: Request) -> ApiResponse:
    """The response with gzip, where the client takes it and it is large enough to save anything."""
    response.headers["Vary"] = "Accept-Encoding"
    accepts = "gzip" in request.headers.get("accept-encoding", "")
    if accepts and len(response.body) >= _COMPRESSED_FROM:
        response.body = gzip.compress(bytes(response.body), _COMPRESSION_LEVEL, mtime=0)
        response.headers["Content-Encoding"] = "gzip"
        response.headers["Content-Length"] = str(len(response.body))
    return response


@router.get("/completions", responses={200: {"model": CompletionList}})
def complete_filter(
    context: Context,
    filter: Annotated[str, Query(max_length=2000)] = "",
    at: Annotated[
        int | None, Query(ge=0, le=2000, description="Position of the caret; default: the end")
    ] = None,
) -> ApiResponse:
    """What can stand at a position of a filter: keys, settings, metrics, values."""
    return ApiResponse(context.run_search.complete(filter, len(filter) if at is None else at))


@router.get("/columns", responses={200: {"model": ColumnList}})
def list_columns(context: Context, q: Annotated[str, Query(max_length=300)] = "") -> ApiResponse:
    """Settings and metrics that can be columns of the list of runs. `q`: part of the name."""
    return ApiResponse(context.run_search.columns(q))


class RunDescriptionChange(BaseModel):
    """What is to change about a run's description; what is left out stays."""

    model_config = ConfigDict(extra="forbid")

    tags: list[TagText] | None = Field(default=None, max_length=MAX_TAGS)
    add_tags: list[TagText] = Field(default_factory=list, max_length=MAX_TAGS)
    remove_tags: list[TagText] = Field(default_factory=list, max_length=MAX_TAGS)
    notes: str | None = Field(default=None, max_length=100_000)
    group: str | None = Field(default=None, max_length=500)
    starred: bool | None = None


@router.patch("/runs/{run_id}", responses={200: {"model": RunDetail}, **RUN_NOT_FOUND})
def describe_run(run_id: str, context: Context, body: RunDescriptionChange) -> ApiResponse:
    """Change tags, notes, group or star of a run. An empty group or note removes it."""
    internal = context.runs.run_id(run_id)
    context.run_details.describe(
        internal,
        tags=None if body.tags is None else _stored(body.tags),
        add_tags=_stored(body.add_tags),
        remove_tags=_stored(body.remove_tags),
        notes=None if body.notes is None else storable_text(body.notes),
        group=None if body.group is None else storable_text(body.group),
        starred=body.starred,
    )
    context.live.publish(run_event(run_id))
    return ApiResponse(context.runs.run(run_id))


def _stored(tags: list[str]) -> list[str]:
    return [storable_text(tag).strip() for tag in tags]


class ViewBody(BaseModel):
    """A view of the overview. `is_default`: the overview of its project (empty: of all) opens with it."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=100, pattern=r"\S")
    project: str = Field(default="", max_length=200)
    filter: str = Field(default="", max_length=2000)
    sort: str = Field(default="", max_length=310)
    columns: list[ColumnName] = Field(default_factory=list, max_length=MAX_COLUMNS)
    is_default: bool = False

    def content(self) -> ViewContent:
        """The view as it is stored."""
        return ViewContent(
            name=storable_text(self.name).strip(),
            project=storable_text(self.project),
            filter=storable_text(self.filter),
            sort=storable_text(self.sort),
            columns=tuple(map(storable_text, self.columns)),
            is_default=self.is_default,
        )


@router.get("/views", responses={200: {"model": SavedViewList}})
def list_views(context: Context) -> ApiResponse:
    """All saved views by name."""
    return ApiResponse(SavedViewList(views=context.views.all()))


@router.post("/views", responses={200: {"model": SavedView}})
def save_view(context: Context, request: Request, body: ViewBody) -> ApiResponse:
    """Save a view under a new name."""
    return _saved(context, request, body, None)


@router.put("/views/{view_id}", responses={200: {"model": SavedView}, **_VIEW_NOT_FOUND})
def replace_view(
    view_id: Annotated[int, Path(ge=1, le=2**31 - 1)], context: Context, request: Request, body: ViewBody
) -> ApiResponse:
    """Change a view."""
    return _saved(context, request, body, view_id)


def _saved(context: ServerContext, request: Request, body: ViewBody, view_id: int | None) -> ApiResponse:
    content = body.content()
    try:
        if view_id is None:
            by = context.authenticator.user(request.headers)
            return ApiResponse(context.views.add(content, by=by))
        return ApiResponse(context.views.replace(view_id, content))
    except ViewNameError as error:
        return field_errors_response([(("body", "name"), str(error))])


@router.delete("/views/{view_id}", status_code=204, responses=_VIEW_NOT_FOUND, response_class=Response)
def delete_view(view_id: Annotated[int, Path(ge=1, le=2**31 - 1)], context: Context) -> Response:
    """Delete a view; runs are not affected."""
    context.views.remove(view_id)
    return Response(status_code=204)
