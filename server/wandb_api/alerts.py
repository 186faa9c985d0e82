"""`run.alert`: an incident of its own kind."""

from __future__ import annotations

from typing import Any

from holter.server.tracked_runs import find_run
from holter.server.user_alerts import open_user_alert
from holter.server.wandb_api.operations import GraphqlCall, Operation, OperationError
from holter.server.wandb_api.run_state import DEFAULT_PROJECT, read_state


def raise_alert(call: GraphqlCall) -> dict[str, Any]:
    """Open an incident at the newest step of the newest launch."""
    run = find_run(call.context, call.text("projectName") or DEFAULT_PROJECT, call.required("runName"))
    if run is None:
        raise OperationError("there is no such run")
    state, _ = read_state(call.context, run)
    open_user_alert(
        call.context,
        run.id,
        title=call.text("title") or "",
        text=call.text("text") or "",
        level=call.text("severity") or "",
        attempt=state.launches[-1].attempt if state.launches else 0,
        step=int(state.tail.get("step", 0)),
    )
    return {"notifyScriptableRunAlert": {"success": True}}


OPERATIONS: dict[str, Operation] = {"NotifyScriptableRunAlert": raise_alert}
