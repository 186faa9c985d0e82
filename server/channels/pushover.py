"""Pushover: notifications on phones, as emergencies that repeat until somebody acknowledges them if so set.

https://pushover.net/api: a message has at most 1,024 characters, a title 250.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Self
from urllib.parse import quote, urlencode, urlsplit

from pydantic import Field, model_validator

from holter.server.channels.alerts import AlertState, alert_state
from holter.server.channels.channel import Channel, ChannelType, Delivered, Outcome, Retry
from holter.server.channels.http import HTTPReply
from holter.server.channels.http_channel import (
    HeaderSecret,
    HTTPChannelSettings,
    HTTPService,
    ServiceURL,
    encode_form,
    send_by_http,
)
from holter.server.channels.message import QUIET, Message, one_line
from holter.server.channels.texts import alert_key, plain_text, truncate
from holter.types import Severity

TITLE, MESSAGE, URL, URL_TITLE, PICTURE = 250, 1024, 512, 100, 5 * 1024 * 1024
_REPAIR_SECONDS = 300.0
_NORMAL, _HIGH, _EMERGENCY, _QUIET = 0, 1, 2, -1


class PushoverSettings(HTTPChannelSettings):
    """An application's token and the key of a user or group.

    With `retry` and `expire`, critical messages are emergencies: repeated every `retry` seconds until
    somebody acknowledges them in Pushover or in Holter, or `expire` seconds have passed.
    """

    token: HeaderSecret
    user: HeaderSecret
    device: str = Field("", pattern=r"^[A-Za-z0-9_,-]*$")
    retry: int | None = Field(None, ge=30)
    expire: int | None = Field(None, ge=30, le=10_800)
    api_url: ServiceURL = "https://api.pushover.net"

    @model_validator(mode="after")
    def _check_emergency(self) -> Self:
        if (self.retry is None) != (self.expire is None):
            raise ValueError("retry and expire: expected both or neither")
        return self


@dataclass(frozen=True)
class PushoverChannel:
    """Sends notifications to one user or group."""

    settings: PushoverSettings

    @property
    def destination(self) -> str:
        """Where messages go, without the secret."""
        return f"Pushover at {urlsplit(self.settings.api_url).hostname}"

    @property
    def wants_picture(self) -> bool:
        """As an attachment."""
        return True

    def send(self, message: Message, thread: str | None) -> Outcome:
        """Send the notification."""
        fields = build_fields(message, self.settings)
        fields["token"] = self.settings.token.get_secret_value()
        fields["user"] = self.settings.user.get_secret_value()
        picture = message.picture if message.picture and len(message.picture) <= PICTURE else None
        body, kind = encode_form(fields, None if picture is None else ("attachment", picture))
        return self._post("/1/messages.json", body, kind)

    def _post(self, path: str, body: bytes, kind: str, *, thread: str | None = None) -> Outcome:
        url = f"{self.settings.api_url.rstrip('/')}{path}"

        def send(service: HTTPService) -> Outcome:
            reply = service.send_bytes(url, body, {"Content-Type": kind})
            if reply.status == 400 and _names_credentials(reply):
                return Retry("Pushover does not accept token or user", after=_REPAIR_SECONDS)
            return service.outcome(reply, thread=thread)

        return send_by_http("Pushover", self.settings, send)


@dataclass(frozen=True)
class PushoverEmergencyChannel(PushoverChannel):
    """The same, with emergencies, which are cancelled when somebody acknowledges or the incident ends."""

    def send(self, message: Message, thread: str | None) -> Outcome:
        """Send the notification. The thread is the tag by which an emergency is cancelled."""
        if message.reason in {"acknowledged", "unacknowledged", "muted", "unmuted"}:
            return self.update(message, thread) if thread else Delivered()
        outcome = super().send(message, thread)
        return Delivered(thread or alert_key(message)) if isinstance(outcome, Delivered) else outcome

    def update(self, message: Message, thread: str) -> Outcome:
        """Cancel the emergency if its incidents are acknowledged or have ended."""
        state = alert_state(message, thread, opens=False)
        if state not in {AlertState.ACKNOWLEDGED, AlertState.RESOLVED}:
            return Delivered(thread)
        body = urlencode({"token": self.settings.token.get_secret_value()}).encode()
        path = f"/1/receipts/cancel_by_tag/{quote(thread, safe='')}.json"
        return self._post(path, body, "application/x-www-form-urlencoded", thread=thread)


def build_fields(message: Message, settings: PushoverSettings) -> dict[str, str]:
    """The notification without token and user. Texts are plain: Pushover reads no markup unless told to."""
    fields = {
        "title": truncate(one_line(message.headline), TITLE),
        "message": truncate(plain_text(message), MESSAGE) or "-",
        "timestamp": str(int(message.sent_at)),
        "priority": str(_priority(message, settings)),
    }
    if len(message.link) <= URL:
        fields |= {"url": message.link, "url_title": truncate(f"Open {message.link_to} in Holter", URL_TITLE)}
    if settings.device:
        fields["device"] = settings.device
    if fields["priority"] == str(_EMERGENCY):
        fields |= {
            "retry": str(settings.retry),
            "expire": str(settings.expire),
            "tags": alert_key(message),
        }
    return fields


def _priority(message: Message, settings: PushoverSettings) -> int:
    if message.reason in QUIET or message.severity is Severity.INFO:
        return _QUIET
    if message.severity is Severity.WARNING:
        return _NORMAL
    return _HIGH if settings.retry is None else _EMERGENCY


def _names_credentials(reply: HTTPReply) -> bool:
    """Whether a reply names token or user, which a person has to correct."""
    try:
        result = json.loads(reply.body)
    except (ValueError, RecursionError):
        return False
    return isinstance(result, dict) and bool({"token", "user"} & result.keys())


def _open_pushover(settings: PushoverSettings) -> Channel:
    return PushoverChannel(settings) if settings.retry is None else PushoverEmergencyChannel(settings)


PUSHOVER = ChannelType(name="pushover", settings=PushoverSettings, open=_open_pushover)
