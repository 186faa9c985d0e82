"""`run.alert`: an incident of its own kind."""

from __future__ import annotations

from typing import Any

from holter.server.store.keys import storable_text
from holter.server.tracked_runs import find_run
from holter.server.wandb_api.operations import GraphqlCall, Operation, OperationError
from holter.server.wandb_api.run_state import DEFAULT_PROJECT, read_state
from holter.types import Finding, Kind, Severity

SEVERITIES = {"INFO": Severity.INFO, "WARN": Severity.WARNING, "ERROR": Severity.CRITICAL}
_MAX_TITLE, _MAX_TEXT = 200, 5000


def raise_alert(call: GraphqlCall) -> dict[str, Any]:
    """Open an incident. The same title and text in one attempt are one incident, however often it is sent."""
    run = find_run(call.context, call.text("projectName") or DEFAULT_PROJECT, call.required("runName"))
    if run is None:
        raise OperationError("there is no such run")
    state, _ = read_state(call.context, run)
    attempt = state.launches[-1].attempt if state.launches else 0
    step = int(state.tail.get("step", 0))
    title = storable_text(call.text("title") or "Alert")[:_MAX_TITLE]
    text = storable_text(call.text("text") or "")[:_MAX_TEXT]
    severity = SEVERITIES.get((call.text("severity") or "INFO").upper(), Severity.INFO)
    call.context.incidents.open_user_alert(
        run.id, user_alert(title, text, severity, attempt=attempt, step=step)
    )
    return {"notifyScriptableRunAlert": {"success": True}}


def user_alert(title: str, text: str, severity: Severity, *, attempt: int, step: int) -> Finding:
    """The finding of an alert that the program itself raised."""
    one_line = " ".join(f"{title}: {text}".split()) if text else title
    return Finding(
        kind=Kind.USER_ALERT,
        metric="alert",
        attempt=attempt,
        start_step=step,
        detected_step=step,
        classified_step=step,
        severity=severity,
        confidence=1.0,
        summary=one_line[:500],
        advice="Read the text of the alert: the training program raised it.",
        evidence={"title": title, "text": text},
    )


OPERATIONS: dict[str, Operation] = {"NotifyScriptableRunAlert": raise_alert}
