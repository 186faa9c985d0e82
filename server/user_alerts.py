"""Alerts that a training program raises itself through its tracker's client: incidents of their own kind."""

from __future__ import annotations

from holter.server.context import ServerContext
from holter.server.store.keys import storable_text
from holter.types import Finding, Kind, Severity

_SEVERITIES = {"INFO": Severity.INFO, "WARN": Severity.WARNING, "ERROR": Severity.CRITICAL}
_MAX_TITLE, _MAX_TEXT = 200, 5000


def open_user_alert(
    context: ServerContext, run_id: int, *, title: str, text: str, level: str, attempt: int, step: int
) -> None:
    """Open an incident. The same title and text in one attempt are one incident, however often it is sent.

    `run_id` is the internal id; `level` is INFO, WARN or ERROR in any case, and anything else is INFO.
    """
    severity = _SEVERITIES.get(level.upper(), Severity.INFO)
    title = storable_text(title or "Alert")[:_MAX_TITLE]
    finding = user_alert(title, storable_text(text)[:_MAX_TEXT], severity, attempt=attempt, step=step)
    context.incidents.open_user_alert(run_id, finding)


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
