"""Requests to stop a run: asked by clients of versions up to 0.21, and sent by `run.stop()` of the API."""

from __future__ import annotations

from typing import Any

from holter.server.live import run_event
from holter.server.tracked_runs import find_run, find_run_by_public_id
from holter.server.wandb_api.operations import GraphqlCall, Operation, OperationError
from holter.server.wandb_api.run_state import DEFAULT_PROJECT


def stopped_status(call: GraphqlCall) -> dict[str, Any]:
    """Whether a run should stop."""
    run = find_run(call.context, call.text("projectName") or DEFAULT_PROJECT, call.required("runId"))
    stopped = run is not None and call.context.run_details.details(run.id).stop_pending
    return {"project": {"run": {"stopped": stopped}}}


def stop_run(call: GraphqlCall) -> dict[str, Any]:
    """Ask a run to stop."""
    call.require_read()
    run = find_run_by_public_id(call.context, call.required("id"))
    if run is None:
        raise OperationError("there is no such run")
    call.context.run_details.request_stop(run.id, by=call.user or "wandb.Api", reason=None)
    call.context.live.publish(run_event(run.public_id))
    return {"stopRun": {"clientMutationId": None, "success": True}}


OPERATIONS: dict[str, Operation] = {"RunStoppedStatus": stopped_status, "StopRun": stop_run}
