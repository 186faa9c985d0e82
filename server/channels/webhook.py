"""A webhook: JSON to an address of your own, signed, as Holter's documents or in Alertmanager's format."""

from __future__ import annotations

import hashlib
import hmac
import time
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit

from pydantic import SecretStr, field_validator

from holter.server.channels.channel import ChannelType, Outcome
from holter.server.channels.http_channel import (
    HeaderSecret,
    HTTPChannelSettings,
    SecretURL,
    encode_json,
    send_by_http,
)
from holter.server.channels.message import Message
from holter.server.channels.webhook_documents import alertmanager_document, holter_document


class WebhookFormat(StrEnum):
    """What the body is."""

    HOLTER = "holter"
    ALERTMANAGER = "alertmanager"


class WebhookSettings(HTTPChannelSettings):
    """An address. `signing_secret`: the key of signatures; `token`: sent as a bearer token."""

    url: SecretURL
    format: WebhookFormat = WebhookFormat.HOLTER
    signing_secret: SecretStr | None = None
    token: HeaderSecret | None = None

    @field_validator("signing_secret")
    @classmethod
    def _check_signing_secret(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and len(value.get_secret_value()) < 16:
            raise ValueError("expected at least 16 characters")
        return value


@dataclass(frozen=True)
class WebhookChannel:
    """Sends messages to one address."""

    settings: WebhookSettings

    @property
    def destination(self) -> str:
        """Where messages go, without the secret."""
        return f"webhook at {urlsplit(self.settings.url.get_secret_value()).hostname}"

    @property
    def wants_picture(self) -> bool:
        """Programs read the incident's page or the REST interface."""
        return False

    def send(self, message: Message, thread: str | None) -> Outcome:
        """Post the document."""
        build = holter_document if self.settings.format is WebhookFormat.HOLTER else alertmanager_document
        body = encode_json(build(message))
        url, headers = self.settings.url.get_secret_value(), self._headers(body, message.key)
        return send_by_http(
            "webhook",
            self.settings,
            lambda service: service.outcome(service.send_bytes(url, body, headers)),
        )

    def _headers(self, body: bytes, key: str) -> dict[str, str]:
        headers = {"Content-Type": "application/json; charset=utf-8", "Idempotency-Key": key}
        if self.settings.token is not None:
            headers["Authorization"] = f"Bearer {self.settings.token.get_secret_value()}"
        if self.settings.signing_secret is not None:
            timestamp = int(time.time())
            headers["Holter-Timestamp"] = str(timestamp)
            headers["Holter-Signature"] = sign(body, timestamp, self.settings.signing_secret)
        return headers


def sign(body: bytes, timestamp: int, secret: SecretStr) -> str:
    """The signature of a body: HMAC-SHA256 over the timestamp, a full stop and the body."""
    signed = b"%d.%b" % (timestamp, body)
    return f"v1={hmac.new(secret.get_secret_value().encode(), signed, hashlib.sha256).hexdigest()}"


WEBHOOK = ChannelType(name="webhook", settings=WebhookSettings, open=WebhookChannel)
