"""What channels that send by HTTP share: settings, one request with JSON, and what its reply means."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Annotated, Any
from uuid import uuid4

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
    """A service that receives messages by HTTP, during one send. `name` is how reasons call it."""

    name: str
    settings: HTTPChannelSettings
    deadline: SendDeadline

    def send_json(
        self, url: str, payload: Any, headers: Mapping[str, str] | None = None, *, method: str = "POST"
    ) -> HTTPReply:
        """Send JSON and return the reply, whatever its status. Raises NoReplyError."""
        types = {"Content-Type": "application/json; charset=utf-8"}
        return self.send_bytes(url, encode_json(payload), types | dict(headers or {}), method=method)

    def send_bytes(
        self, url: str, body: bytes, headers: Mapping[str, str], *, method: str = "POST"
    ) -> HTTPReply:
        """Send a body and return the reply, whatever its status. Raises NoReplyError."""
        return request(
            method,
            url,
            body,
            {"User-Agent": "Holter", "Accept": "application/json"} | dict(headers),
            timeout=self.settings.timeout,
            deadline=self.deadline,
            public_only=not self.settings.allow_private,
        )

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


def send_by_http(name: str, settings: HTTPChannelSettings, send: Callable[[HTTPService], Outcome]) -> Outcome:
    """The outcome of a send to a service, whose requests together end with the channel's deadline."""
    try:
        with SendDeadline(settings.deadline) as deadline:
            return send(HTTPService(name, settings, deadline))
    except NoReplyError as error:
        return Retry(f"{name}: {error}", after=_REPAIR_SECONDS if str(error) == REFUSED else None)


def encode_json(payload: Any) -> bytes:
    """JSON in UTF-8; what is no text in Unicode is replaced."""
    return json.dumps(payload, ensure_ascii=False, allow_nan=False).encode(errors="replace")


def encode_form(fields: Mapping[str, str], file: tuple[str, bytes] | None) -> tuple[bytes, str]:
    """A form (multipart/form-data) with a PNG under a name, and its content type."""
    boundary = f"holter-{uuid4().hex}"
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    ]
    body = "".join(parts).encode(errors="replace")
    if file is not None:
        disposition = f'form-data; name="{file[0]}"; filename="curve.png"'
        head = f"--{boundary}\r\nContent-Disposition: {disposition}\r\nContent-Type: image/png\r\n\r\n"
        body += head.encode() + file[1] + b"\r\n"
    return body + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


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
