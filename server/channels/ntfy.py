"""ntfy: notifications on phones and desktops, through ntfy.sh or a server of your own.

https://docs.ntfy.sh/publish/; a message has at most 4,096 bytes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any
from urllib.parse import urlencode, urlsplit

from pydantic import Field, SecretStr, field_validator

from holter.server.channels.channel import ChannelType, Outcome
from holter.server.channels.http import HTTPReply
from holter.server.channels.http_channel import (
    HeaderSecret,
    HTTPChannelSettings,
    HTTPService,
    ServiceURL,
    send_by_http,
)
from holter.server.channels.message import ENDINGS, QUIET, Message, one_line
from holter.server.channels.texts import plain_text, truncate_bytes
from holter.types import Severity

TITLE, MESSAGE, PICTURE_MESSAGE = 250, 4000, 1500
"""Bytes. With a picture the message is in the address of the request, which must not be long."""
_PRIORITIES = {Severity.CRITICAL: 5, Severity.WARNING: 4, Severity.INFO: 2}
_TAGS = {
    Severity.CRITICAL: "rotating_light",
    Severity.WARNING: "warning",
    Severity.INFO: "information_source",
}
_NO_PICTURES = frozenset({400, 405, 413, 429})
"""Replies of servers that take no attachment, or no more of them today."""


class NtfySettings(HTTPChannelSettings):
    """A topic, which is a secret where the server needs no token, because whoever knows it may read it."""

    server: ServiceURL = "https://ntfy.sh"
    topic: SecretStr
    token: HeaderSecret | None = None
    picture: bool = Field(True, description="send the curve as an attachment")

    @field_validator("topic")
    @classmethod
    def _check_topic(cls, value: SecretStr) -> SecretStr:
        topic = value.get_secret_value()
        if not re.fullmatch(r"[-_A-Za-z0-9]{1,64}", topic):
            raise ValueError("expected at most 64 letters, digits, hyphens and underscores")
        return value


@dataclass(frozen=True)
class NtfyChannel:
    """Sends notifications to one topic."""

    settings: NtfySettings

    @property
    def destination(self) -> str:
        """Where messages go, without the secret."""
        return f"ntfy at {urlsplit(self.settings.server).hostname}"

    @property
    def wants_picture(self) -> bool:
        """As an attachment, which a server may have switched off."""
        return self.settings.picture

    def send(self, message: Message, thread: str | None) -> Outcome:
        """Publish it, without the picture where the server does not take that."""
        return send_by_http("ntfy", self.settings, lambda service: self._send(service, message))

    def _send(self, service: HTTPService, message: Message) -> Outcome:
        if message.picture is not None:
            reply = self._send_picture(service, message, message.picture)
            if reply.status not in _NO_PICTURES:
                return service.outcome(reply)
        payload = {"topic": self.settings.topic.get_secret_value(), **build_payload(message, MESSAGE)}
        return service.outcome(service.send_json(self.settings.server, payload, self._headers))

    def _send_picture(self, service: HTTPService, message: Message, picture: bytes) -> HTTPReply:
        payload = build_payload(message, PICTURE_MESSAGE)
        names = {"sequence_id": "sequence-id"}
        query = {names.get(name, name): value for name, value in payload.items() if name != "tags"}
        query |= {"tags": ",".join(payload["tags"]), "filename": "curve.png"}
        address = f"{self.settings.server.rstrip('/')}/{self.settings.topic.get_secret_value()}"
        url = f"{address}?{urlencode(query, errors='replace')}"
        return service.send_bytes(url, picture, {"Content-Type": "image/png"} | self._headers, method="PUT")

    @property
    def _headers(self) -> dict[str, str]:
        token = self.settings.token
        return {} if token is None else {"Authorization": f"Bearer {token.get_secret_value()}"}


def build_payload(message: Message, limit: int) -> dict[str, Any]:
    """The notification without its topic. Sent again, it replaces itself (`sequence_id`, ntfy 2.16)."""
    text = plain_text(message)
    priority = 3 if message.reason in QUIET else _PRIORITIES[message.severity]
    mute = {"action": "view", "label": "Mute", "url": message.mute_link}
    return {
        "title": truncate_bytes(one_line(message.headline), TITLE),
        "message": truncate_bytes(text, limit),
        "priority": priority,
        "tags": ["white_check_mark" if message.reason in ENDINGS else _TAGS[message.severity]],
        "click": message.link,
        "actions": [mute] if message.mute_link else [],
        "sequence_id": blake2b(message.key.encode(), digest_size=12).hexdigest(),
    }


NTFY = ChannelType(name="ntfy", settings=NtfySettings, open=NtfyChannel)
