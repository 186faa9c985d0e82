"""PagerDuty's Events API v2: an alert opens, is acknowledged and resolved as its incidents are.

Limits: https://developer.pagerduty.com/docs/events-api-v2/trigger-events/
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from holter.server.channels.alerts import AlertState, change_alert
from holter.server.channels.channel import ChannelType, Outcome
from holter.server.channels.http_channel import HeaderSecret, HTTPChannelSettings, ServiceURL, send_by_http
from holter.server.channels.message import Message, one_line
from holter.server.channels.texts import truncate
from holter.types import Severity

SUMMARY, SOURCE, TEXT, LINKS = 1024, 255, 1024, 20
_SEVERITIES = {Severity.CRITICAL: "critical", Severity.WARNING: "warning", Severity.INFO: "info"}


class PagerDutySettings(HTTPChannelSettings):
    """The integration key of a service's Events API v2 integration. EU: https://events.eu.pagerduty.com."""

    routing_key: HeaderSecret
    api_url: ServiceURL = "https://events.pagerduty.com"


@dataclass(frozen=True)
class PagerDutyChannel:
    """Sends events to one PagerDuty service. A thread of messages is an alert, and is named by its key."""

    settings: PagerDutySettings

    @property
    def destination(self) -> str:
        """Where messages go, without the secret."""
        return f"PagerDuty at {urlsplit(self.settings.api_url).hostname}"

    @property
    def wants_picture(self) -> bool:
        """PagerDuty shows only pictures that it can fetch from a public address."""
        return False

    def send(self, message: Message, thread: str | None) -> Outcome:
        """Open the alert, or change its state."""
        return change_alert("PagerDuty", message, thread, partial(self._change, message))

    def update(self, message: Message, thread: str) -> Outcome:
        """Acknowledge or resolve the alert if its incidents are."""
        return change_alert("PagerDuty", message, thread, partial(self._change, message), opens=False)

    def _change(self, message: Message, key: str, state: AlertState) -> Outcome:
        event = {"routing_key": self.settings.routing_key.get_secret_value(), "dedup_key": key}
        if state is AlertState.OPEN:
            event |= build_alert(message)
        else:
            event["event_action"] = "resolve" if state is AlertState.RESOLVED else "acknowledge"
        url = f"{self.settings.api_url.rstrip('/')}/v2/enqueue"
        return send_by_http(
            "PagerDuty",
            self.settings,
            lambda service: service.outcome(service.send_json(url, event), thread=key),
        )


def build_alert(message: Message) -> dict[str, Any]:
    """The event that opens an alert, without its keys."""
    first = message.incidents[0].labels if message.incidents else {}
    summary = one_line(f"{message.headline}. {message.sentence}")
    source = one_line(first.get("run", "")) or urlsplit(message.link).netloc
    payload = {
        "summary": truncate(summary, SUMMARY),
        "source": truncate(source, SOURCE),
        "severity": _SEVERITIES[message.severity],
        "timestamp": datetime.fromtimestamp(message.sent_at, UTC).isoformat(),
        "component": truncate(one_line(first.get("metric", "")), SOURCE),
        "group": truncate(one_line(first.get("project", "")), SOURCE),
        "class": truncate(one_line(first.get("kind", "")), SOURCE),
        "custom_details": dict(_details(message)),
    }
    return {
        "event_action": "trigger",
        "client": "Holter",
        "client_url": message.link,
        "links": [{"href": href, "text": truncate(one_line(text), TEXT)} for href, text in _links(message)],
        "payload": {name: value for name, value in payload.items() if value},
    }


def _details(message: Message) -> Iterator[tuple[str, str]]:
    if message.advice:
        yield "What to do", truncate(one_line(message.advice), TEXT)
    for name, value in message.facts[:LINKS]:
        yield truncate(one_line(name), SOURCE), truncate(one_line(value), TEXT)


def _links(message: Message) -> Iterator[tuple[str, str]]:
    yield message.link, f"Open {message.link_to} in Holter"
    if message.run_link:
        yield message.run_link, "Open the run in Holter"
    if message.mute_link:
        yield message.mute_link, "Mute it in Holter"
    for item in message.items[: LINKS - 2]:
        yield item.link, item.text


PAGERDUTY = ChannelType(name="pagerduty", settings=PagerDutySettings, open=PagerDutyChannel)
