"""The JSON documents that webhooks send: Holter's own, and version 4 of Alertmanager's."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from holter.server.channels.message import Message, MessageIncident

VERSION = "1"
_MOST_INCIDENTS = 500
_NO_END = "0001-01-01T00:00:00Z"
"""What Alertmanager writes as the end of an alert that lasts."""


def holter_document(message: Message) -> dict[str, Any]:
    """The document that docs/channels.md describes. Fields may be added within a version, none removed."""
    return {
        "version": VERSION,
        "key": message.key,
        "reason": message.reason,
        "status": _status(message),
        "severity": message.severity.value,
        "group": message.group or message.key,
        "receiver": message.receiver,
        "sent_at": _time(message.sent_at),
        "headline": message.headline,
        "sentence": message.sentence,
        "advice": message.advice,
        "link": message.link,
        "facts": [{"name": name, "value": value} for name, value in message.facts],
        "incidents": [_holter_incident(incident) for incident in message.incidents[:_MOST_INCIDENTS]],
        "truncated_incidents": max(0, len(message.incidents) - _MOST_INCIDENTS),
    }


def _holter_incident(incident: MessageIncident) -> dict[str, Any]:
    return {
        "id": incident.id,
        "state": incident.state,
        "title": incident.title,
        "summary": incident.summary,
        "advice": incident.advice,
        "link": incident.link,
        "run": incident.run_id,
        "step": incident.step,
        "rollback_step": incident.rollback_step,
        "started_at": _time(incident.started_at),
        "ended_at": None if incident.ended_at is None else _time(incident.ended_at),
        "acknowledged_by": incident.acknowledged_by,
        "labels": dict(incident.labels),
    }


def alertmanager_document(message: Message) -> dict[str, Any]:
    """The body of Alertmanager's webhook_config: https://prometheus.io/docs/alerting/latest/configuration/.

    A message that is about no incident, such as a test, is an alert of its own.
    """
    alerts = [_alert(incident) for incident in message.incidents[:_MOST_INCIDENTS]]
    alerts = alerts or [_alert_without_incident(message)]
    parts = urlsplit(message.link)
    return {
        "version": "4",
        "groupKey": message.group or message.key,
        "truncatedAlerts": max(0, len(message.incidents) - _MOST_INCIDENTS),
        "status": _status(message),
        "receiver": message.receiver,
        "groupLabels": {},
        "commonLabels": _common([alert["labels"] for alert in alerts]),
        "commonAnnotations": _common([alert["annotations"] for alert in alerts]),
        "externalURL": f"{parts.scheme}://{parts.netloc}",
        "alerts": alerts,
    }


def _alert(incident: MessageIncident) -> dict[str, Any]:
    labels = {_label_name(name): value for name, value in incident.labels.items()}
    kind = incident.labels.get("kind", "")
    return {
        "status": "firing" if incident.state == "open" else "resolved",
        "labels": {"alertname": kind or incident.title, "incident": str(incident.id)} | labels,
        "annotations": _annotations(
            summary=incident.title, description=incident.summary, advice=incident.advice
        ),
        "startsAt": _time(incident.started_at),
        "endsAt": _NO_END if incident.ended_at is None else _time(incident.ended_at),
        "generatorURL": incident.link,
        "fingerprint": _fingerprint(f"incident-{incident.id}"),
    }


def _alert_without_incident(message: Message) -> dict[str, Any]:
    # the end of an alert has its name
    reason = "channel_failing" if message.reason == "channel_working" else message.reason
    return {
        "status": _status(message),
        "labels": {"alertname": f"holter_{reason}", "severity": message.severity.value},
        "annotations": _annotations(summary=message.headline, description=message.sentence, advice=""),
        "startsAt": _time(message.sent_at),
        "endsAt": _time(message.sent_at) if _status(message) == "resolved" else _NO_END,
        "generatorURL": message.link,
        "fingerprint": _fingerprint(message.group or message.key),
    }


def _annotations(**texts: str) -> dict[str, str]:
    return {name: text for name, text in texts.items() if text}


def _common(tables: list[dict[str, str]]) -> dict[str, str]:
    first, *rest = tables
    return {name: value for name, value in first.items() if all(each.get(name) == value for each in rest)}


def _label_name(name: str) -> str:
    """A name that Prometheus allows."""
    return re.sub(r"^(?=[0-9])|[^a-zA-Z0-9_]", "_", name) or "_"


def _fingerprint(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _status(message: Message) -> str:
    ends = bool(message.incidents) or message.reason == "channel_working"
    return "resolved" if message.resolved and ends else "firing"


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
