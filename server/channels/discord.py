"""Discord: a webhook that posts an embed with the curve.

Limits: https://discord.com/developers/docs/resources/message#embed-object-embed-limits
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

from holter.server.channels.channel import ChannelType, Outcome
from holter.server.channels.http_channel import HTTPChannelSettings, SecretURL, encode_form, send_by_http
from holter.server.channels.message import ENDINGS, Message, one_line
from holter.server.channels.texts import escape_markdown, length, truncate
from holter.types import Severity

TITLE, DESCRIPTION, FIELDS, NAME, VALUE, TOTAL = 256, 4096, 25, 256, 1024, 6000
_COLOURS = {Severity.CRITICAL: 0xD64545, Severity.WARNING: 0xE08A1E, Severity.INFO: 0x3B7DD8}
_CALM = 0x3A9D5D
_LONGEST_SENTENCE, _LONGEST_LINE, _ITEMS = 1500, 150, 10


class DiscordSettings(HTTPChannelSettings):
    """The address of a channel's webhook."""

    url: SecretURL


@dataclass(frozen=True)
class DiscordChannel:
    """Sends messages to the channel of one webhook."""

    settings: DiscordSettings

    @property
    def destination(self) -> str:
        """Where messages go, without the secret."""
        return f"Discord webhook at {urlsplit(self.settings.url.get_secret_value()).hostname}"

    @property
    def wants_picture(self) -> bool:
        """The embed shows it."""
        return True

    def send(self, message: Message, thread: str | None) -> Outcome:
        """Post the embed, with the picture as an attachment."""
        picture = None if message.picture is None else ("files[0]", message.picture)
        body, kind = encode_form({"payload_json": json.dumps(build_payload(message))}, picture)
        return send_by_http(
            "Discord",
            self.settings,
            lambda service: service.outcome(service.send_bytes(self._url, body, {"Content-Type": kind})),
        )

    @property
    def _url(self) -> str:
        """The webhook, which then replies once the message is stored."""
        parts = urlsplit(self.settings.url.get_secret_value())
        query = {name: values[0] for name, values in parse_qs(parts.query).items()} | {"wait": "true"}
        return urlunsplit(parts._replace(query=urlencode(query)))


def build_payload(message: Message) -> dict[str, Any]:
    """The message as an embed within Discord's limits. It mentions nobody."""
    embed: dict[str, Any] = {
        "title": truncate(one_line(message.headline) or "Holter", TITLE, escape_markdown),
        "url": message.link,
        "description": "\n".join(_description(message)),
        "color": _CALM if message.reason in ENDINGS else _COLOURS[message.severity],
        "timestamp": datetime.fromtimestamp(message.sent_at, UTC).isoformat(),
    }
    embed["fields"] = list(_fields(message, TOTAL - length(embed["title"]) - length(embed["description"])))
    if message.picture is not None:
        embed["image"] = {"url": "attachment://curve.png"}
    return {"embeds": [embed], "allowed_mentions": {"parse": []}}


def _description(message: Message) -> Iterator[str]:
    yield truncate(one_line(message.sentence), _LONGEST_SENTENCE, escape_markdown)
    if message.sketch and message.picture is None:
        yield f"`{message.sketch.replace('`', ' ')[:_LONGEST_LINE]}`"
    for item in message.items[:_ITEMS]:
        text = truncate(one_line(item.text), _LONGEST_LINE, escape_markdown)
        yield f"• [{text}]({item.link[:_LONGEST_LINE]})"
    if len(message.items) > _ITEMS:
        yield f"and {len(message.items) - _ITEMS} more"
    if 0 < len(message.mute_link) <= _LONGEST_LINE:
        yield f"[Mute]({message.mute_link})"


def _fields(message: Message, rest: int) -> Iterator[dict[str, Any]]:
    """Facts and advice, as long as all together have at most `rest` characters."""
    advice = [("What to do", message.advice)] if message.advice else []
    status = [("State", " · ".join(message.status))] if message.status else []
    for name, value in [*advice, *status, *message.facts][:FIELDS]:
        name = truncate(one_line(name).strip() or "-", NAME, escape_markdown)
        value = truncate(one_line(value).strip() or "-", VALUE, escape_markdown)
        rest -= length(name) + length(value)
        if rest < 0:
            return
        yield {"name": name, "value": value, "inline": length(value) <= 40}


DISCORD = ChannelType(name="discord", settings=DiscordSettings, open=DiscordChannel)
