"""Routes of reference runs: which runs of a project later ones are compared with."""

from __future__ import annotations

from fastapi import APIRouter, Request

from holter.server.api.responses import RUN_NOT_FOUND, ApiResponse
from holter.server.context import Context, ServerContext
from holter.server.live import run_event
from holter.server.schemas.compare import ReferenceList

router = APIRouter(tags=["compare"])


@router.get("/projects/{name}/references", responses={200: {"model": ReferenceList}})
def list_references(name: str, context: Context) -> ApiResponse:
    """The reference runs of a project; none for a project that does not exist."""
    return ApiResponse(_listed(context, name))


@router.post("/runs/{run_id}/reference", responses={200: {"model": ReferenceList}, **RUN_NOT_FOUND})
def pin_reference(run_id: str, context: Context, request: Request) -> ApiResponse:
    """Make a run a reference of its project: other runs of the project are compared with it as they grow."""
    context.references.pin(context.runs.run_id(run_id), by=context.authenticator.user(request.headers))
    return _changed(context, run_id)


@router.delete("/runs/{run_id}/reference", responses={200: {"model": ReferenceList}, **RUN_NOT_FOUND})
def unpin_reference(run_id: str, context: Context) -> ApiResponse:
    """Make a run no longer a reference of its project."""
    context.references.unpin(context.runs.run_id(run_id))
    return _changed(context, run_id)


def _changed(context: ServerContext, run_id: str) -> ApiResponse:
    context.live.publish(run_event(run_id))
    return ApiResponse(_listed(context, context.planned_events.project_of(context.runs.run_id(run_id))))


def _listed(context: ServerContext, project: str) -> ReferenceList:
    return {
        "project": project,
        "references": [
            {"run": public_id, "name": name, "pinned_at": at, "pinned_by": by}
            for public_id, name, at, by in context.references.pinned(project)
        ],
    }
