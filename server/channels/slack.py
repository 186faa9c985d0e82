"""Slack: an incoming webhook, or a bot token, which also allows threads and the picture.

Three API calls by `post` in place of slack_sdk, whose WebhookClient logs the webhook's address, a secret.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

from pydantic import Field, SecretStr, model_validator

from holter.server.channels.channel import ChannelSettings, ChannelType, Delivered, GiveUp, Outcome, Retry
from holter.server.channels.deadline import SendDeadline
from holter.server.channels.http import HTTPReply, NoReplyError, post
from holter.server.channels.message import Message, MessageItem, one_line
from holter.types import Severity

_logger = logging.getLogger(__name__)

# limits of blocks and of the texts in them: https://docs.slack.dev/reference/block-kit/blocks
HEADER, SECTION, FIELD, FIELDS, BLOCKS, FALLBACK = 150, 3000, 2000, 10, 50, 3000
_SEVERITY_EMOJI = {
    Severity.CRITICAL: ":red_circle:",
    Severity.WARNING: ":large_orange_circle:",
    Severity.INFO: ":large_blue_circle:",
}
_CALM_EMOJI = ":large_green_circle:"
_TRANSIENT_ERRORS = frozenset(
    {"ratelimited", "internal_error", "fatal_error", "service_unavailable", "request_timeout"}
)
_MALFORMED_ERRORS = frozenset(
    {"invalid_blocks", "invalid_blocks_format", "msg_too_long", "no_text", "invalid_arguments"}
)
_REPAIR_SECONDS = 300.0
"""Seconds before the next attempt where a person has to repair something first."""


class SlackSettings(ChannelSettings):
    """A webhook's address (`url`), or a bot's `token` (scopes chat:write, files:write) and a `channel`."""

    url: SecretStr | None = None
    token: SecretStr | None = None
    channel: str = ""
    api_url: str = "https://slack.com/api"
    timeout: float = Field(10.0, gt=0, le=60)

    @model_validator(mode="after")
    def _check_destination(self) -> Self:
        if (self.url is None) == (self.token is None):
            raise ValueError("expected either url (an incoming webhook) or token and channel (a bot)")
        if self.token is not None and not self.channel:
            raise ValueError("channel: expected with token, as a channel's ID or #name")
        for address in (self.api_url, self.url.get_secret_value() if self.url else self.api_url):
            if urlsplit(address).scheme not in {"http", "https"} or not urlsplit(address).hostname:
                raise ValueError("url: expected an address such as https://hooks.slack.com/services/...")
        return self


@dataclass(frozen=True)
class SlackChannel:
    """Sends messages to one Slack channel."""

    settings: SlackSettings

    @property
    def destination(self) -> str:
        """Where messages go, without the secret."""
        if self.settings.url is not None:
            return f"Slack webhook at {urlsplit(self.settings.url.get_secret_value()).hostname}"
        return f"Slack channel {self.settings.channel}"

    @property
    def wants_picture(self) -> bool:
        """A bot can upload it; a webhook takes text only."""
        return self.settings.token is not None

    def send(self, message: Message, thread: str | None) -> Outcome:
        """Post it. A webhook returns no thread, so each message names the incident and links to it."""
        try:
            with SendDeadline(self.settings.deadline) as deadline:
                if self.settings.url:
                    return self._send_by_webhook(message, deadline)
                return self._send_by_bot(message, thread, deadline)
        except NoReplyError as error:
            return Retry(f"Slack: {error}")

    def _send_by_webhook(self, message: Message, deadline: SendDeadline) -> Outcome:
        assert self.settings.url is not None
        headers = {"Content-Type": "application/json; charset=utf-8"}
        body = json.dumps(build_payload(message)).encode()
        url, timeout = self.settings.url.get_secret_value(), self.settings.timeout
        reply = post(url, body, headers, timeout=timeout, deadline=deadline)
        if reply.status == 200:
            return Delivered()
        error = reply.body[:100].decode(errors="replace").strip()
        return _failure(reply, error, malformed=reply.status == 400)

    def _send_by_bot(self, message: Message, thread: str | None, deadline: SendDeadline) -> Outcome:
        body = {"channel": self.settings.channel, **build_payload(message)}
        body["metadata"] = {"event_type": "holter_notification", "event_payload": {"key": message.key}}
        in_thread = {"thread_ts": thread} if thread else {}
        reply, result = self._call("chat.postMessage", body | in_thread, deadline)
        if result.get("error") == "thread_not_found":
            reply, result = self._call("chat.postMessage", body, deadline)
        if not result.get("ok"):
            error = str(result.get("error", ""))
            return _failure(
                reply, error, malformed=error in _MALFORMED_ERRORS, transient=error in _TRANSIENT_ERRORS
            )
        first = thread or str(result["ts"])
        if message.picture is not None and thread is None:
            self._upload(message, deadline, channel=str(result["channel"]), thread=first)
        return Delivered(thread=first)

    def _upload(self, message: Message, deadline: SendDeadline, *, channel: str, thread: str) -> None:
        """Upload the picture into the thread. The message is delivered already: a failure is only logged."""
        assert message.picture is not None
        try:
            file = {"filename": "curve.png", "length": str(len(message.picture))}
            _, result = self._call("files.getUploadURLExternal", file, deadline, form=True)
            if result.get("ok"):
                headers = {"Content-Type": "image/png"}
                url, timeout = result["upload_url"], self.settings.timeout
                post(url, message.picture, headers, timeout=timeout, deadline=deadline)
                files = [{"id": result["file_id"], "title": message.headline}]
                body = {"files": files, "channel_id": channel, "thread_ts": thread}
                _, result = self._call("files.completeUploadExternal", body, deadline)
            if not result.get("ok"):
                _logger.warning("Slack did not accept the picture: %s", result.get("error"))
        except NoReplyError as error:
            _logger.warning("Slack did not accept the picture: %s", error)

    def _call(
        self, method: str, body: dict[str, Any], deadline: SendDeadline, *, form: bool = False
    ) -> tuple[HTTPReply, dict[str, Any]]:
        assert self.settings.token is not None
        headers = {
            "Authorization": f"Bearer {self.settings.token.get_secret_value()}",
            "Content-Type": "application/x-www-form-urlencoded"
            if form
            else "application/json; charset=utf-8",
        }
        data = urlencode(body) if form else json.dumps(body)
        url = f"{self.settings.api_url.rstrip('/')}/{method}"
        reply = post(url, data.encode(), headers, timeout=self.settings.timeout, deadline=deadline)
        if not reply.complete:  # what became of the message is in the body
            raise NoReplyError(deadline.reason or "no answer in time")
        try:
            result = json.loads(reply.body)
        except (ValueError, RecursionError):
            result = {}
        return reply, result if isinstance(result, dict) else {}


def _failure(reply: HTTPReply, error: str, *, malformed: bool, transient: bool = False) -> Outcome:
    """A malformed message is given up at once; what a person can repair is retried."""
    reason = f"Slack answered {reply.status} {error}".rstrip()
    after = reply.headers.get("retry-after", "")
    if reply.status == 429 or reply.status >= 500 or transient:
        return Retry(reason, after=float(after) if after.isdecimal() else None)
    return GiveUp(reason) if malformed else Retry(reason, after=_REPAIR_SECONDS)


def build_payload(message: Message) -> dict[str, Any]:
    """The message as Block Kit, within Slack's limits; `text` is what a phone's notification shows."""
    emoji = _CALM_EMOJI if message.tone == "calm" else _SEVERITY_EMOJI[message.severity]
    blocks = [
        {
            "type": "header",
            "text": {
                "type": "plain_text",
                "text": _truncate(f"{emoji} {one_line(message.headline)}", HEADER),
            },
        },
        *_body_blocks(message),
    ]
    return {
        "text": _truncate(f"{_escape(message.headline)}. {_escape(message.sentence)}", FALLBACK),
        "blocks": blocks[:BLOCKS],
        "unfurl_links": False,
        "unfurl_media": False,
        "parse": "none",
        "link_names": False,
    }


def _body_blocks(message: Message) -> Iterator[dict[str, Any]]:
    yield _section(_escape(message.sentence))
    if message.facts:
        fields = [
            _text(f"*{_escape(name)}*\n{_escape(value)}", FIELD) for name, value in message.facts[:FIELDS]
        ]
        yield {"type": "section", "fields": fields}
    if message.sketch:
        yield _section(f"`{message.sketch}`")
    if message.advice:
        yield _section(f"*What to do*\n{_escape(message.advice)}")
    if message.items:
        yield from _item_blocks(message.items)
    yield _section(f"<{_escape(message.link)}|*Open {_escape(message.link_to)} in Holter*>")


def _item_blocks(items: Sequence[MessageItem]) -> Iterator[dict[str, Any]]:
    lines = [
        f"{_SEVERITY_EMOJI[item.severity]} <{_escape(item.link)}|{_escape(item.text)}>" for item in items
    ]
    shown = lines[:20]
    for start in range(0, len(shown), 5):
        yield _section("\n".join(shown[start : start + 5]))
    if len(lines) > len(shown):
        yield _section(f"and {len(lines) - len(shown)} more")


def _section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": _text(text, SECTION)}


def _text(text: str, limit: int) -> dict[str, Any]:
    # verbatim: an address, a channel or a person in a run's name does not become a link
    return {"type": "mrkdwn", "text": _truncate(text, limit), "verbatim": True}


def _escape(text: str) -> str:
    return one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _truncate(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


SLACK = ChannelType(name="slack", settings=SlackSettings, open=SlackChannel)
