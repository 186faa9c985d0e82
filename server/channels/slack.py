"""Slack: an incoming webhook, or a bot token, which also gives threads and the picture."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

from pydantic import Field, SecretStr, model_validator

from holter.server.channels.channel import ChannelSettings, ChannelType, Delivered, GiveUp, Outcome, Retry
from holter.server.channels.http import HTTPReply, NoAnswerError, post
from holter.server.channels.message import Message
from holter.types import Severity

_logger = logging.getLogger(__name__)

# https://docs.slack.dev/reference/block-kit/blocks: limits of blocks and of the texts in them
HEADER, SECTION, FIELD, FIELDS, BLOCKS, FALLBACK = 150, 3000, 2000, 10, 50, 3000
_LIGHTS = {
    Severity.CRITICAL: ":red_circle:",
    Severity.WARNING: ":large_orange_circle:",
    Severity.INFO: ":large_blue_circle:",
}
_CALM = ":large_green_circle:"
_PASSING = frozenset(
    {"ratelimited", "internal_error", "fatal_error", "service_unavailable", "request_timeout"}
)
_OURS = frozenset({"invalid_blocks", "invalid_blocks_format", "msg_too_long", "no_text", "invalid_arguments"})
_REPAIR = 300.0


class SlackSettings(ChannelSettings):
    """A webhook's address (`url`), or a bot's `token` (scopes chat:write, files:write) with a `channel`."""

    url: SecretStr | None = None
    token: SecretStr | None = None
    channel: str = ""
    api_url: str = "https://slack.com/api"
    timeout: float = Field(10.0, gt=0, le=60)

    @model_validator(mode="after")
    def _names_one_way(self) -> Self:
        if (self.url is None) == (self.token is None):
            raise ValueError("expected either url (an incoming webhook) or token and channel (a bot)")
        if self.token is not None and not self.channel:
            raise ValueError("channel: expected beside token, as a channel's ID or #name")
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
        """Post it. A webhook tells no thread, so each of its messages names the incident and links to it."""
        try:
            return self._by_webhook(message) if self.settings.url else self._by_bot(message, thread)
        except NoAnswerError as error:
            return Retry(f"Slack: {error}")

    def _by_webhook(self, message: Message) -> Outcome:
        assert self.settings.url is not None
        headers = {"Content-Type": "application/json; charset=utf-8"}
        body = json.dumps(payload(message)).encode()
        answer = post(self.settings.url.get_secret_value(), body, headers, timeout=self.settings.timeout)
        if answer.status == 200:
            return Delivered()
        said = answer.body[:100].decode(errors="replace").strip()
        return _refusal(answer, said, ours=answer.status == 400)

    def _by_bot(self, message: Message, thread: str | None) -> Outcome:
        body = {"channel": self.settings.channel, **payload(message)}
        body["metadata"] = {"event_type": "holter_notification", "event_payload": {"key": message.key}}
        answer, said = self._call("chat.postMessage", body | ({"thread_ts": thread} if thread else {}))
        if said.get("error") == "thread_not_found":
            answer, said = self._call("chat.postMessage", body)
        if not said.get("ok"):
            error = str(said.get("error", ""))
            return _refusal(answer, error, ours=error in _OURS, passing=error in _PASSING)
        first = thread or str(said["ts"])
        if message.picture is not None and thread is None:
            self._upload(message, channel=str(said["channel"]), thread=first)
        return Delivered(thread=first)

    def _upload(self, message: Message, *, channel: str, thread: str) -> None:
        """Put the picture into the thread. The message stands already: a failure is only logged."""
        assert message.picture is not None
        try:
            place = {"filename": "curve.png", "length": str(len(message.picture))}
            _, slot = self._call("files.getUploadURLExternal", place, form=True)
            if slot.get("ok"):
                kind = {"Content-Type": "image/png"}
                post(slot["upload_url"], message.picture, kind, timeout=self.settings.timeout)
                files = [{"id": slot["file_id"], "title": message.headline}]
                done = {"files": files, "channel_id": channel, "thread_ts": thread}
                _, slot = self._call("files.completeUploadExternal", done)
            if not slot.get("ok"):
                _logger.warning("Slack did not take the picture: %s", slot.get("error"))
        except NoAnswerError as error:
            _logger.warning("Slack did not take the picture: %s", error)

    def _call(
        self, method: str, body: dict[str, Any], *, form: bool = False
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
        answer = post(url, data.encode(), headers, timeout=self.settings.timeout)
        try:
            said = json.loads(answer.body)
        except ValueError:
            said = {}
        return answer, said if isinstance(said, dict) else {}


def _refusal(answer: HTTPReply, said: str, *, ours: bool, passing: bool = False) -> Outcome:
    """A message that Slack calls malformed is given up; what a person can repair is tried for long."""
    reason = f"Slack answered {answer.status} {said}".rstrip()
    after = answer.headers.get("retry-after", "")
    if answer.status == 429 or answer.status >= 500 or passing:
        return Retry(reason, after=float(after) if after.isdecimal() else None)
    return GiveUp(reason) if ours else Retry(reason, after=_REPAIR)


def payload(message: Message) -> dict[str, Any]:
    """The message as Block Kit, within Slack's limits; `text` is what a phone's notification shows."""
    calm = message.reason in {"recovered", "withdrawn", "closed"}
    light = _CALM if calm else _LIGHTS[message.severity]
    blocks = [
        {
            "type": "header",
            "text": {"type": "plain_text", "text": _cut(f"{light} {message.headline}", HEADER)},
        },
        *_body(message),
    ]
    return {
        "text": _cut(f"{_escape(message.headline)}. {_escape(message.sentence)}", FALLBACK),
        "blocks": blocks[:BLOCKS],
        "unfurl_links": False,
    }


def _body(message: Message) -> Iterator[dict[str, Any]]:
    yield _section(_escape(message.sentence))
    if message.facts:
        fields = [_text(f"*{name}*\n{_escape(value)}", FIELD) for name, value in message.facts[:FIELDS]]
        yield {"type": "section", "fields": fields}
    if message.sketch:
        yield _section(f"`{message.sketch}`")
    if message.advice:
        yield _section(f"*What to do*\n{_escape(message.advice)}")
    if message.items:
        yield from _list(message)
    yield _section(f"<{message.link}|*Open {message.link_to} in Holter*>")


def _list(message: Message) -> Iterator[dict[str, Any]]:
    lines = [f"{_LIGHTS[item.severity]} <{item.link}|{_escape(item.text)}>" for item in message.items]
    shown = lines[:20]
    for start in range(0, len(shown), 5):
        yield _section("\n".join(shown[start : start + 5]))
    if len(lines) > len(shown):
        yield _section(f"and {len(lines) - len(shown)} more")


def _section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": _text(text, SECTION)}


def _text(text: str, longest: int) -> dict[str, Any]:
    return {"type": "mrkdwn", "text": _cut(text, longest)}


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


SLACK = ChannelType(name="slack", settings=SlackSettings, open=SlackChannel)
