"""Microsoft Teams: a workflow's webhook, which posts an Adaptive Card.

https://learn.microsoft.com/en-us/connectors/teams/#microsoft-teams-webhook. Texts are TextRun elements, which
know no Markdown and no mentions; a message has at most 28 KB.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from holter.server.channels.channel import ChannelType, Outcome
from holter.server.channels.http_channel import HTTPChannelSettings, SecretURL, encode_json, send_by_http
from holter.server.channels.message import ENDINGS, Message, one_line
from holter.server.channels.texts import truncate
from holter.types import Severity

SIZE = 28 * 1024 - 1024
"""Bytes of a message; the workflow adds something of its own."""
_HEADLINE, _TEXT, _VALUE, _FACTS, _ITEMS = 300, 2000, 400, 10, 20
_COLOURS = {Severity.CRITICAL: "Attention", Severity.WARNING: "Warning", Severity.INFO: "Accent"}


class TeamsSettings(HTTPChannelSettings):
    """The address of a workflow "When a Teams webhook request is received"."""

    url: SecretURL


@dataclass(frozen=True)
class TeamsChannel:
    """Sends messages to the chat or channel of one workflow."""

    settings: TeamsSettings

    @property
    def destination(self) -> str:
        """Where messages go, without the secret."""
        return f"Teams workflow at {urlsplit(self.settings.url.get_secret_value()).hostname}"

    @property
    def wants_picture(self) -> bool:
        """A card shows only pictures that Teams can fetch from a public address."""
        return False

    def send(self, message: Message, thread: str | None) -> Outcome:
        """Post the card."""
        url, payload = self.settings.url.get_secret_value(), build_message(message)
        return send_by_http(
            "Teams", self.settings, lambda service: service.outcome(service.send_json(url, payload))
        )


def build_message(message: Message) -> dict[str, Any]:
    """The message with its card, with as many of the card's elements as its limit allows."""
    elements = list(_elements(message))
    while len(encode_json(_wrap(message, elements))) > SIZE:
        elements.pop()
    return _wrap(message, elements)


def _wrap(message: Message, elements: list[dict[str, Any]]) -> dict[str, Any]:
    actions = [_link(f"Open {message.link_to} in Holter", message.link)]
    if message.run_link:
        actions.append(_link("Open the run", message.run_link))
    if message.mute_link:
        actions.append(_link("Mute", message.mute_link))
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "msteams": {"width": "Full"},
        "body": elements,
        "actions": actions,
    }
    kind = "application/vnd.microsoft.card.adaptive"
    attachment = {"contentType": kind, "contentUrl": None, "content": card}
    summary = truncate(one_line(message.headline), _HEADLINE)
    return {"type": "message", "summary": summary, "attachments": [attachment]}


def _elements(message: Message) -> Iterator[dict[str, Any]]:
    colour = "Good" if message.reason in ENDINGS else _COLOURS[message.severity]
    headline = truncate(one_line(message.headline), _HEADLINE)
    yield _text(_run(headline, weight="Bolder", size="Large", color=colour))
    yield _text(_run(truncate(one_line(message.sentence), _TEXT)))
    if message.advice:
        yield _text(_run("What to do", weight="Bolder"))
        yield _text(_run(truncate(one_line(message.advice), _TEXT)), spacing="None")
    for name, value in message.facts[:_FACTS]:
        value = truncate(one_line(value), _VALUE)
        yield _text(_run(f"{truncate(one_line(name), 60)}: ", weight="Bolder"), _run(value), spacing="Small")
    if message.sketch:
        yield _text(_run(message.sketch, fontType="Monospace"))
    if message.status:
        status = truncate(one_line(" · ".join(message.status)), _TEXT)
        yield _text(_run(status, isSubtle=True))
    for item in message.items[:_ITEMS]:
        run = _run(f"{item.severity.label}: {truncate(one_line(item.text), _VALUE)}")
        yield _text(run | {"selectAction": _link("Open", item.link)}, spacing="Small")
    if len(message.items) > _ITEMS:
        yield _text(_run(f"and {len(message.items) - _ITEMS} more"))


def _text(*runs: dict[str, Any], spacing: str = "Default") -> dict[str, Any]:
    return {"type": "RichTextBlock", "inlines": list(runs), "spacing": spacing}


def _run(text: str, **style: Any) -> dict[str, Any]:
    return {"type": "TextRun", "text": text or " ", **style}


def _link(title: str, url: str) -> dict[str, Any]:
    return {"type": "Action.OpenUrl", "title": truncate(one_line(title), 100), "url": url}


TEAMS = ChannelType(name="teams", settings=TeamsSettings, open=TeamsChannel)
