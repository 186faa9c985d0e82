"""Apprise: every service that the library of that name reaches by a URL, such as `matrixs://...`.

The library runs in a process of its own: it has no deadline as a whole, logs addresses, and takes memory.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pydantic import Field, SecretStr, field_validator

from holter.server.channels.addresses import REFUSED
from holter.server.channels.channel import ChannelSettings, ChannelType, Delivered, GiveUp, Outcome, Retry
from holter.server.channels.deadline import SendDeadline
from holter.server.channels.message import ENDINGS, Message, one_line
from holter.server.channels.texts import plain_text, truncate
from holter.types import Severity

TITLE, BODY = 250, 4000
_REPAIR_SECONDS = 300.0
_POLL_SECONDS = 0.05
_TYPES = {Severity.CRITICAL: "failure", Severity.WARNING: "warning", Severity.INFO: "info"}


class AppriseSettings(ChannelSettings):
    """One URL of Apprise's: https://github.com/caronc/apprise/wiki."""

    url: SecretStr
    picture: bool = Field(True, description="send the curve where the service takes attachments")
    allow_private: bool = Field(
        False, description="also connect to private, loopback and link-local addresses"
    )

    @field_validator("url")
    @classmethod
    def _check_url(cls, value: SecretStr) -> SecretStr:
        if not re.match(r"[A-Za-z0-9+.-]{2,32}://[^\s]", value.get_secret_value()):
            raise ValueError("expected a URL of Apprise's such as matrixs://user:password@host/#room")
        if importlib.util.find_spec("apprise") is None:
            raise ValueError("Apprise is not installed: pip install 'holter[server,apprise]'")
        return value


@dataclass(frozen=True)
class AppriseChannel:
    """Sends messages to one URL."""

    settings: AppriseSettings

    @property
    def destination(self) -> str:
        """The service. What follows in the URL may be a secret, in any place."""
        return f"Apprise ({self.settings.url.get_secret_value().partition('://')[0].lower()}://)"

    @property
    def wants_picture(self) -> bool:
        """Where the service takes attachments."""
        return self.settings.picture

    def send(self, message: Message, thread: str | None) -> Outcome:
        """Send it by a process, which is killed at the deadline."""
        request = json.dumps(self._request(message)).encode()
        command = [sys.executable, "-m", "holter.server.channels.apprise_process"]
        pipe = subprocess.PIPE
        with (
            SendDeadline(self.settings.deadline) as deadline,
            subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as process,
            ThreadPoolExecutor(1) as pool,
        ):
            # communicate() with a timeout never writes what did not fit into the pipe before the timeout
            exchange = pool.submit(process.communicate, request)
            while not deadline.over:
                with suppress(TimeoutError):
                    output, _ = exchange.result(timeout=_POLL_SECONDS)
                    return _read_outcome(output)
            process.kill()
            return Retry(f"Apprise: {deadline.reason}")

    def _request(self, message: Message) -> dict[str, Any]:
        picture = message.picture if self.settings.picture else None
        return {
            "url": self.settings.url.get_secret_value(),
            "allow_private": self.settings.allow_private,
            "title": truncate(one_line(message.headline), TITLE),
            "body": truncate(f"{plain_text(message)}\n{message.link}", BODY),
            "type": "success" if message.reason in ENDINGS else _TYPES[message.severity],
            "picture": None if picture is None else base64.b64encode(picture).decode(),
        }


def _read_outcome(output: bytes) -> Outcome:
    """What the process has reported: delivered, unknown, refused or failed, and the status of a reply."""
    try:
        report = json.loads(output)
    except ValueError:
        return Retry("Apprise: its process ended without a result")
    if report["result"] == "delivered":
        return Delivered()
    if report["result"] == "unknown":
        return GiveUp("Apprise does not know this URL")
    if report["result"] == "refused":
        return Retry(f"Apprise: {REFUSED}", after=_REPAIR_SECONDS)
    status = f" ({report['status']})" if report["status"] else ""
    return Retry(f"Apprise: the service did not accept the message{status}")


APPRISE = ChannelType(name="apprise", settings=AppriseSettings, open=AppriseChannel)
