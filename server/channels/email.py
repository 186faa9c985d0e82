"""E-mail over SMTP: text and HTML with the curve inside, one thread of messages for each incident."""

from __future__ import annotations

import logging
import smtplib
import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.header import Header
from email.headerregistry import Address, HeaderRegistry, UniqueUnstructuredHeader
from email.message import EmailMessage
from email.policy import EmailPolicy
from email.utils import format_datetime, parseaddr
from enum import StrEnum
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, Self
from urllib.parse import parse_qs, unquote, urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined
from pydantic import Field, SecretStr, field_validator, model_validator

from holter.server.channels.channel import ChannelSettings, ChannelType, Delivered, GiveUp, Outcome, Retry
from holter.server.channels.deadline import SendDeadline
from holter.server.channels.message import QUIET, Message, one_line

_logger = logging.getLogger(__name__)
_REPAIR_SECONDS = 300.0
"""Seconds before the next attempt where a person has to repair something first."""


def _one_line_value(value: Any) -> Any:
    """A value of a template; texts, which may quote names, without line breaks and control characters."""
    return one_line(value) if type(value) is str else value


_TEMPLATES = Environment(
    loader=PackageLoader("holter.server", "channels"),
    autoescape=lambda name: name is not None and name.endswith(".html"),
    undefined=StrictUndefined,
    finalize=_one_line_value,
    trim_blocks=True,
    lstrip_blocks=True,
)


class SMTPSecurity(StrEnum):
    """How the connection is encrypted."""

    STARTTLS = "starttls"
    SSL = "ssl"
    NONE = "none"


_PORTS = {SMTPSecurity.STARTTLS: 587, SMTPSecurity.SSL: 465, SMTPSecurity.NONE: 25}


class EmailSettings(ChannelSettings):
    """An SMTP server and the recipients. `url` sets everything about the server at once.

    `smtp://user:password@host:587` uses STARTTLS, `smtps://...` TLS from the start, and
    `smtp://host:25?security=none` neither. `ca_file` has certificates to trust in addition to the system's.
    """

    url: SecretStr | None = None
    host: str = ""
    port: int = Field(0, ge=0, le=65535)
    security: SMTPSecurity = SMTPSecurity.STARTTLS
    username: str = ""
    password: SecretStr | None = None
    ca_file: Path | None = None
    sender: str = Field("", alias="from")
    to: tuple[str, ...]
    timeout: float = Field(10.0, gt=0, le=60)

    @model_validator(mode="before")
    @classmethod
    def _read_url(cls, values: Any) -> Any:
        if not isinstance(values, dict) or not values.get("url"):
            return values
        url = values["url"]
        return _parse_url(url.get_secret_value() if isinstance(url, SecretStr) else str(url)) | values

    @field_validator("to", mode="before")
    @classmethod
    def _split_list(cls, value: Any) -> Any:
        return (
            tuple(part.strip() for part in value.split(",") if part.strip())
            if isinstance(value, str)
            else value
        )

    @field_validator("to")
    @classmethod
    def _check_addresses(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value or not all(_domain(address) for address in value):
            raise ValueError("expected addresses such as oncall@example.com")
        return value

    @model_validator(mode="after")
    def _check_complete(self) -> Self:
        if not self.host:
            raise ValueError("expected url (smtp://user:password@host:587) or host")
        if bool(self.username) != (self.password is not None):
            raise ValueError("username and password: expected both or neither")
        if not _domain(self.from_address):
            raise ValueError("from: expected an address such as holter@example.com")
        return self

    @property
    def from_address(self) -> str:
        """The sender: as set, else the login if it is an address, else holter at a recipient's domain."""
        return self.sender or (self.username if _domain(self.username) else f"holter@{_domain(self.to[0])}")


@dataclass(frozen=True)
class EmailChannel:
    """Sends messages to the recipients of one mail channel."""

    settings: EmailSettings

    @property
    def destination(self) -> str:
        """Where messages go, without the secret."""
        return f"mail to {', '.join(self.settings.to)} through {self.settings.host}:{self._port}"

    @property
    def wants_picture(self) -> bool:
        """Mail programs show it inline."""
        return True

    @property
    def _port(self) -> int:
        return self.settings.port or _PORTS[self.settings.security]

    def send(self, message: Message, thread: str | None) -> Outcome:
        """Send it, as a reply to the incident's first mail if there was one (`thread`: its Message-ID)."""
        mail = build_email(message, self.settings, thread)
        with SendDeadline(self.settings.deadline) as deadline:
            outcome = self._deliver(mail, thread, deadline)
        if deadline.over and isinstance(outcome, Retry):  # whatever a reply that was cut off looks like
            return Retry(f"SMTP: {deadline.reason}")
        return outcome

    def _deliver(self, mail: EmailMessage, thread: str | None, deadline: SendDeadline) -> Outcome:
        try:
            server = self._connect(deadline)
            try:
                refused = server.send_message(mail)
                with suppress(OSError, smtplib.SMTPException):  # the mail is taken, however the server parts
                    server.quit()
            finally:
                server.close()
        except smtplib.SMTPAuthenticationError as error:
            return Retry(f"SMTP: the server refused the login ({error.smtp_code})", after=_REPAIR_SECONDS)
        except smtplib.SMTPRecipientsRefused as error:
            return _refusal(max(code for code, _ in error.recipients.values()), "every recipient was refused")
        except smtplib.SMTPResponseException as error:
            return _refusal(error.smtp_code, "the server refused the message")
        except (OSError, smtplib.SMTPException) as error:
            return Retry(f"SMTP: {_describe(error)}")
        if refused:
            _logger.warning("mail did not reach %s: the server refused them", ", ".join(refused))
        return Delivered(thread=thread or str(mail["Message-ID"]))

    def _connect(self, deadline: SendDeadline) -> smtplib.SMTP:
        settings = self.settings
        context = ssl.create_default_context()
        if settings.ca_file is not None:
            context.load_verify_locations(settings.ca_file)
        if settings.security is SMTPSecurity.SSL:
            server: smtplib.SMTP = _BoundedTLSClient(
                deadline, settings.host, self._port, timeout=settings.timeout, context=context
            )
        else:
            server = _BoundedClient(deadline, settings.host, self._port, timeout=settings.timeout)
        try:
            if settings.security is SMTPSecurity.STARTTLS:
                server.starttls(context=context)
            if settings.password is not None:
                server.login(settings.username, settings.password.get_secret_value())
        except BaseException:
            server.close()
            raise
        return server


@dataclass(frozen=True)
class _WholeLines:
    """A server's lines, of which one that breaks off is none.

    smtplib takes `250` before a connection ends for the end of a reply: `250-...` may have been on its way.
    """

    stream: BinaryIO

    def readline(self, limit: int) -> bytes:
        """The next line, empty at the end of the connection."""
        line = self.stream.readline(limit)
        return line if line.endswith(b"\n") or len(line) == limit else b""

    def close(self) -> None:
        """Close it."""
        self.stream.close()


class _BoundedClient(smtplib.SMTP):
    """A connection that ends with a deadline."""

    def __init__(self, deadline: SendDeadline, *place: Any, **options: Any) -> None:
        self._deadline = deadline
        super().__init__(*place, **options)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        return self._deadline.connect(host, port, timeout=timeout)

    def getreply(self) -> tuple[int, bytes]:
        """The next reply of the server. Raises SMTPServerDisconnected where it breaks off, even in a line."""
        if self.file is None:
            self.file = _WholeLines(self.sock.makefile("rb"))  # type: ignore[union-attr]
        return super().getreply()


class _BoundedTLSClient(smtplib.SMTP_SSL, _BoundedClient):
    """The same with TLS from the start, which SMTP_SSL wraps around the connection of the next class."""

    def __init__(self, deadline: SendDeadline, *place: Any, **options: Any) -> None:
        self._deadline = deadline
        smtplib.SMTP_SSL.__init__(self, *place, **options)  # which calls SMTP's, and not the next class's


class EncodedSubject(UniqueUnstructuredHeader):
    """A subject whose text is data only, written as encoded words (RFC 2047) from beginning to end.

    The standard header decodes encoded words that it finds in a text, and so could a receiver if they were
    left in it: a run called `=?utf-8?q?=0d=0aBcc:...?=` would add headers and a body of its own.
    """

    @classmethod
    def parse(cls, value: str, kwds: dict[str, Any]) -> None:
        """Take a text as it is, on one line."""
        kwds["decoded"] = one_line(value)
        kwds["parse_tree"] = None

    def fold(self, *, policy: EmailPolicy) -> str:
        """The header as it is sent."""
        width = policy.max_line_length or 78
        encoded = Header(str(self), "utf-8", maxlinelen=min(width, 75), header_name="Subject")
        return f"Subject: {encoded.encode(linesep=policy.linesep)}{policy.linesep}"


def _mail_policy() -> EmailPolicy[EmailMessage]:
    headers = HeaderRegistry()
    headers.map_to_type("subject", EncodedSubject)  # type: ignore[arg-type] # the registry adds BaseHeader
    return EmailPolicy(header_factory=headers)


def build_email(message: Message, settings: EmailSettings, thread: str | None) -> EmailMessage:
    """The message as a mail. Sent again, it has the same Message-ID, and mail programs show it once.

    A message that asks nobody to wake up has the subject of the incident's first mail, because mail programs
    thread by it; any other has its news in the subject.
    """
    mail = EmailMessage(policy=_mail_policy())
    quiet_reply = thread is not None and message.reason in QUIET
    mail["Subject"] = f"Re: [Holter] {message.subject}" if quiet_reply else f"[Holter] {message.headline}"
    mail["From"] = settings.from_address
    mail["To"] = ", ".join(settings.to)
    mail["Date"] = format_datetime(datetime.fromtimestamp(message.sent_at, tz=UTC))
    mail["Message-ID"] = message_id(message.key, settings)
    mail["Auto-Submitted"] = "auto-generated"
    if thread is not None:
        mail["In-Reply-To"] = mail["References"] = thread
    picture = "curve@holter" if message.picture is not None else None
    mail.set_content(_TEMPLATES.get_template("email.txt").render(message=message))
    html = _TEMPLATES.get_template("email.html").render(message=message, picture=picture)
    mail.add_alternative(html, subtype="html")
    if message.picture is not None:
        part = mail.get_payload()[1]  # type: ignore[index]
        part.add_related(  # type: ignore[union-attr]
            message.picture, "image", "png", cid=f"<{picture}>", filename="curve.png", disposition="inline"
        )
    return mail


def message_id(key: str, settings: EmailSettings) -> str:
    """The Message-ID for a notification's key, at the sender's domain."""
    digest = blake2b(f"{key}|{','.join(settings.to)}".encode(), digest_size=12).hexdigest()
    return f"<holter.{digest}@{_domain(settings.from_address)}>"


def _domain(address: str) -> str:
    """The domain of a mail address, empty where it is not one."""
    try:
        return Address(addr_spec=parseaddr(address)[1]).domain
    except (ValueError, IndexError):
        return ""


def _parse_url(url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    if parts.scheme not in {"smtp", "smtps"} or not parts.hostname:
        raise ValueError("url: expected smtp://user:password@host:587 or smtps://user:password@host")
    query = parse_qs(parts.query)
    security = query.get("security", ["ssl" if parts.scheme == "smtps" else "starttls"])[0]
    values: dict[str, Any] = {"host": parts.hostname, "port": parts.port or 0, "security": security}
    if parts.username:
        values["username"] = unquote(parts.username)
        values["password"] = unquote(parts.password or "")
    return values


def _refusal(code: int, what: str) -> Outcome:
    reason = f"SMTP: {what} ({code})"
    return GiveUp(reason) if 500 <= code < 600 else Retry(reason)


def _describe(error: Exception) -> str:
    if isinstance(error, TimeoutError) or "timed out" in str(error):  # smtplib makes a disconnect of it
        return "no answer in time"
    if isinstance(error, smtplib.SMTPServerDisconnected):
        return "the server closed the connection"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the server's certificate is not trusted ({error.verify_message})"
    if isinstance(error, smtplib.SMTPNotSupportedError):
        return "the server does not offer what the settings ask for (STARTTLS or login)"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return type(error).__name__


EMAIL = ChannelType(name="email", settings=EmailSettings, open=EmailChannel)
