"""What channels that send by HTTP share: settings, one request with JSON, and what its reply means."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Annotated, Any

from pydantic import AfterValidator, Field, SecretStr

from holter.server.channels.addresses import REFUSED, check_url
from holter.server.channels.channel import ChannelSettings, Delivered, GiveUp, Outcome, Retry
from holter.server.channels.deadline import SendDeadline
from holter.server.channels.http import HTTPReply, NoReplyError, request
from holter.server.channels.message import one_line

_REPAIR_SECONDS = 300.0
"""Seconds before the next attempt where a person has to repair something first."""
_MALFORMED = frozenset({400, 413, 414, 415, 422, 431})
"""Replies to a message that no further attempt changes."""
_TRANSIENT = frozenset({408, 425, 429})
_SHOWN_REPLY = 200


def _check_secret_url(value: SecretStr) -> SecretStr:
    check_url(value.get_secret_value())
    return value


def _check_header_secret(value: SecretStr) -> SecretStr:
    secret = value.get_secret_value()
    if not secret or not secret.isascii() or not secret.isprintable() or secret.strip() != secret:
        raise ValueError("expected printable ASCII characters without spaces around them")
    return value


SecretURL = Annotated[SecretStr, AfterValidator(_check_secret_url)]
"""An address that is a secret, such as that of a webhook."""
ServiceURL = Annotated[str, AfterValidator(check_url)]
"""An address without a secret."""
HeaderSecret = Annotated[SecretStr, AfterValidator(_check_header_secret)]
"""A token or key that is sent in a header."""


class HTTPChannelSettings(ChannelSettings):
    """Settings of every channel that sends by HTTP."""

    allow_private: bool = Field(
        False, description="also connect to private, loopback and link-local addresses"
    )
    timeout: float = Field(10.0, gt=0, le=60)


@dataclass(frozen=True)
class HTTPService:
    """A service that receives messages by HTTP. `name` is how reasons call it."""

    name: str
    settings: HTTPChannelSettings

    def send_json(
        self, url: str, payload: Any, headers: Mapping[str, str] | None = None, *, method: str = "POST"
    ) -> HTTPReply:
        """Send JSON and return the reply, whatever its status. Raises NoReplyError."""
        body = json.dumps(payload, ensure_ascii=False, allow_nan=False).encode()
        types = {"Content-Type": "application/json; charset=utf-8"}
        return self.send_bytes(url, body, types | dict(headers or {}), method=method)

    def send_bytes(
        self, url: str, body: bytes, headers: Mapping[str, str], *, method: str = "POST"
    ) -> HTTPReply:
        """Send a body and return the reply, whatever its status. Raises NoReplyError."""
        settings = self.settings
        headers = {"User-Agent": "Holter", "Accept": "application/json"} | dict(headers)
        with SendDeadline(settings.deadline) as deadline:
            return request(
                method,
                url,
                body,
                headers,
                timeout=settings.timeout,
                deadline=deadline,
                public_only=not settings.allow_private,
            )

    def no_reply(self, error: NoReplyError) -> Retry:
        """The outcome of a request without a reply."""
        after = _REPAIR_SECONDS if str(error) == REFUSED else None
        return Retry(f"{self.name}: {error}", after=after)

    def outcome(self, reply: HTTPReply, *, thread: str | None = None) -> Outcome:
        """What a reply means. What a person can repair is retried, what nobody can is given up."""
        if 200 <= reply.status < 300:
            return Delivered(thread)
        return self.failure(reply)

    def failure(self, reply: HTTPReply) -> Retry | GiveUp:
        """What a reply with an error means."""
        reason = f"{self.name} answered {reply.status} {self._excerpt(reply)}".rstrip()
        if reply.status in _TRANSIENT or reply.status >= 500:
            return Retry(reason, after=retry_after(reply.headers))
        if reply.status in _MALFORMED:
            return GiveUp(reason)
        return Retry(reason, after=retry_after(reply.headers) or _REPAIR_SECONDS)

    def _excerpt(self, reply: HTTPReply) -> str:
        """The beginning of an error's text, without the channel's secrets."""
        if "html" in reply.headers.get("content-type", ""):
            return ""
        text = reply.body.decode(errors="replace")
        for secret in secrets_of(self.settings):
            text = text.replace(secret, "…")
        return one_line(text[:_SHOWN_REPLY]).strip()


def secrets_of(settings: ChannelSettings) -> list[str]:
    """The secrets of a channel, the longest first, with the parts of secret addresses."""
    values = [getattr(settings, name) for name in type(settings).model_fields]
    secrets = [value.get_secret_value() for value in values if isinstance(value, SecretStr)]
    parts = [part for secret in secrets if "://" in secret for part in re.split(r"[/?&=:@]+", secret)[2:]]
    return sorted({each for each in [*secrets, *parts] if len(each) >= 6}, key=len, reverse=True)


def retry_after(headers: Mapping[str, str], *, now: float | None = None) -> float | None:
    """Seconds that a reply asks to wait, as a number or a date (RFC 9110); None where it does not."""
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", value):
        return float(value)
    try:
        date = parsedate_to_datetime(value).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return max(0.0, date - (time.time() if now is None else now))


def truncate(text: str, limit: int) -> str:
    """The text, of at most `limit` characters."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def truncate_bytes(text: str, limit: int) -> str:
    """The text, of at most `limit` bytes in UTF-8."""
    encoded = text.encode(errors="replace")
    if len(encoded) <= limit:
        return encoded.decode()
    return encoded[: limit - 3].decode(errors="ignore") + "…"
