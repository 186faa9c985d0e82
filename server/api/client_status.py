"""Routes between people and training loops: the status of a run, requests to save a checkpoint."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from holter.server.api.responses import RUN_NOT_FOUND, ApiResponse
from holter.server.api.runs import StopReason, who_and_why
from holter.server.client_status import SavedReport
from holter.server.context import Context
from holter.server.live import run_event
from holter.server.schemas.client_status import ClientStatus
from holter.server.schemas.runs import RunDetail
from holter.server.store.keys import storable_text

router = APIRouter(tags=["runs"])

_Seconds = Annotated[float, Field(ge=0, le=1e10, allow_inf_nan=False)]


class SavedCheckpoint(BaseModel):
    """The checkpoint that was requested at `requested_at` is saved; it took `seconds`."""

    model_config = ConfigDict(extra="forbid")

    requested_at: Annotated[float, Field(allow_inf_nan=False)]
    step: int | None = Field(default=None, ge=0, le=2**53)
    seconds: _Seconds | None = None


class StatusQuestion(BaseModel):
    """A client asks for the status of its run, which it opened `age` seconds ago, and reports what it did."""

    model_config = ConfigDict(extra="forbid")

    project: str = Field(min_length=1, max_length=200)
    run: str = Field(min_length=1, max_length=500)
    age: _Seconds = 0.0
    saved: SavedCheckpoint | None = None
    stopping: bool = False


@router.post("/status", responses={200: {"model": ClientStatus}})
def read_status(context: Context, body: StatusQuestion) -> ApiResponse:
    """The status of a run by its names, for the training loop: open incidents, requests of people."""
    saved = body.saved
    report = (
        None
        if saved is None
        else SavedReport(requested_at=saved.requested_at, step=saved.step, seconds=saved.seconds)
    )
    status, is_changed = context.client_status.poll(
        storable_text(body.project),
        storable_text(body.run),
        age=body.age,
        saved=report,
        stopping=body.stopping,
    )
    if is_changed and status["run_id"] is not None:
        context.live.publish(run_event(status["run_id"]))
    return ApiResponse(status)


@router.post("/runs/{run_id}/save", responses={200: {"model": RunDetail}, **RUN_NOT_FOUND})
def request_save(
    run_id: str, context: Context, request: Request, body: StopReason | None = None
) -> ApiResponse:
    """Ask the run's training loop to save a checkpoint now. Only loops that ask for their status do so."""
    by, reason = who_and_why(context, request, body)
    context.client_status.request_save(context.runs.run_id(run_id), by=by, reason=reason)
    context.live.publish(run_event(run_id))
    return ApiResponse(context.runs.run(run_id))


@router.delete("/runs/{run_id}/save", responses={200: {"model": RunDetail}, **RUN_NOT_FOUND})
def withdraw_save(run_id: str, context: Context) -> ApiResponse:
    """Withdraw a request to save a checkpoint."""
    context.client_status.withdraw_save(context.runs.run_id(run_id))
    context.live.publish(run_event(run_id))
    return ApiResponse(context.runs.run(run_id))
