"""Opsgenie: an alert is created, acknowledged and closed as its incidents are, found by its alias.

Limits: https://docs.opsgenie.com/docs/alert-api
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import quote, urlsplit

from pydantic import Field

from holter.server.channels.alerts import AlertState, change_alert
from holter.server.channels.channel import ChannelType, Delivered, Outcome
from holter.server.channels.http_channel import (
    HeaderSecret,
    HTTPChannelSettings,
    HTTPService,
    ServiceURL,
    send_by_http,
)
from holter.server.channels.message import Message, one_line
from holter.server.channels.texts import plain_text, truncate
from holter.types import Severity

MESSAGE, DESCRIPTION, ENTITY, TAGS, TAG, DETAILS, NOTE = 130, 15_000, 512, 20, 50, 8_000, 25_000
_PRIORITIES = {Severity.CRITICAL: "P1", Severity.WARNING: "P3", Severity.INFO: "P5"}


class OpsgenieSettings(HTTPChannelSettings):
    """The key of an API integration. Accounts in the EU: https://api.eu.opsgenie.com."""

    api_key: HeaderSecret
    api_url: ServiceURL = "https://api.opsgenie.com"
    teams: tuple[str, ...] = Field((), max_length=50)


@dataclass(frozen=True)
class OpsgenieChannel:
    """Creates and closes alerts. A thread of messages is an alert, and is named by its alias."""

    settings: OpsgenieSettings

    @property
    def destination(self) -> str:
        """Where messages go, without the secret."""
        return f"Opsgenie at {urlsplit(self.settings.api_url).hostname}"

    @property
    def wants_picture(self) -> bool:
        """An attachment would need the alert's number, which Opsgenie makes known later."""
        return False

    def send(self, message: Message, thread: str | None) -> Outcome:
        """Create the alert, or change its state."""
        return change_alert("Opsgenie", message, thread, partial(self._change, message))

    def update(self, message: Message, thread: str) -> Outcome:
        """Acknowledge or close the alert if its incidents are."""
        return change_alert("Opsgenie", message, thread, partial(self._change, message), opens=False)

    def _change(self, message: Message, alias: str, state: AlertState) -> Outcome:
        path, body = "/v2/alerts", build_alert(message, alias, self.settings.teams)
        if state is not AlertState.OPEN:
            action = "close" if state is AlertState.RESOLVED else "acknowledge"
            path = f"/v2/alerts/{quote(alias, safe='')}/{action}?identifierType=alias"
            body = {"source": "Holter", "note": truncate(one_line(message.headline), NOTE)}
        url = f"{self.settings.api_url.rstrip('/')}{path}"
        headers = {"Authorization": f"GenieKey {self.settings.api_key.get_secret_value()}"}

        def send(service: HTTPService) -> Outcome:
            reply = service.send_json(url, body, headers)
            if reply.status == 404 and state is not AlertState.OPEN:
                return Delivered(alias)  # somebody has deleted the alert
            return service.outcome(reply, thread=alias)

        return send_by_http("Opsgenie", self.settings, send)


def build_alert(message: Message, alias: str, teams: tuple[str, ...] = ()) -> dict[str, Any]:
    """The request that creates an alert."""
    labels = message.incidents[0].labels if message.incidents else {}
    tags = [labels[name] for name in ("project", "kind") if labels.get(name)]
    alert: dict[str, Any] = {
        "message": truncate(one_line(message.headline), MESSAGE),
        "alias": alias,
        "description": truncate(f"{plain_text(message)}\n\n{message.link}", DESCRIPTION),
        "entity": truncate(one_line(labels.get("run", "")), ENTITY),
        "source": "Holter",
        "priority": _PRIORITIES[message.severity],
        "tags": ["holter", *(truncate(one_line(tag).replace(",", " "), TAG) for tag in tags)][:TAGS],
        "details": _details(labels, message.link),
    }
    if teams:
        alert["responders"] = [{"type": "team", "name": name} for name in teams]
    return alert


def _details(labels: Mapping[str, str], link: str) -> dict[str, str]:
    """The link and the labels, as far as the limit of all together allows."""
    details = {"link": link}
    size = len("link") + len(link)
    for name, value in labels.items():
        name, value = truncate(one_line(name), ENTITY), truncate(one_line(value), ENTITY)
        size += 2 * len(name) + 2 * len(value)
        if size > DETAILS:
            break
        details[name] = value
    return details


OPSGENIE = ChannelType(name="opsgenie", settings=OpsgenieSettings, open=OpsgenieChannel)
