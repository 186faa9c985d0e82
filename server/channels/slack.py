"""Slack: an incoming webhook, or a bot, which also has threads, pictures and messages that it updates.

Calls of the API by `post` in place of slack_sdk, whose WebhookClient logs the webhook's address, a secret.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

from pydantic import SecretStr, model_validator

from holter.server.channels.channel import (
    Channel,
    ChannelType,
    Delivered,
    GiveUp,
    Outcome,
    Retry,
)
from holter.server.channels.deadline import SendDeadline
from holter.server.channels.http import HTTPReply, NoReplyError, post
from holter.server.channels.http_channel import HTTPChannelSettings, SecretURL, ServiceURL, retry_after
from holter.server.channels.message import QUIET, Message
from holter.server.channels.slack_blocks import build_payload, build_reply

_logger = logging.getLogger(__name__)

_TRANSIENT_ERRORS = frozenset(
    {"ratelimited", "internal_error", "fatal_error", "service_unavailable", "request_timeout"}
)
_MALFORMED_ERRORS = frozenset(
    {"invalid_blocks", "invalid_blocks_format", "msg_too_long", "no_text", "invalid_arguments"}
)
_REPAIR_SECONDS = 300.0
"""Seconds before the next attempt where a person has to repair something first."""
_LEAST_INTERVAL = 1.0
"""Slack takes one message a second in a channel: https://docs.slack.dev/apis/web-api/rate-limits"""
_UPDATE_SECONDS = 20.0
"""Seconds for an update at most: together with the message after it, it ends before the claim on both."""


class SlackSettings(HTTPChannelSettings):
    """A webhook's address (`url`), or a bot's `token` (scopes chat:write, files:write) and a `channel`.

    `signing_secret`: that of the app, with which Slack signs what people press; without it there are no
    buttons.
    """

    url: SecretURL | None = None
    token: SecretStr | None = None
    channel: str = ""
    signing_secret: SecretStr | None = None
    api_url: ServiceURL = "https://slack.com/api"

    @model_validator(mode="after")
    def _check_destination(self) -> Self:
        if (self.url is None) == (self.token is None):
            raise ValueError("expected either url (an incoming webhook) or token and channel (a bot)")
        if self.token is not None and not self.channel:
            raise ValueError("channel: expected with token, as a channel's ID or #name")
        if self.signing_secret is not None and not self.signing_secret.get_secret_value():
            raise ValueError("signing_secret: expected the app's signing secret")
        return self

    @property
    def has_buttons(self) -> bool:
        """Whether messages have buttons: what people press must be signed."""
        return self.signing_secret is not None


@dataclass(frozen=True)
class SlackWebhook:
    """Sends messages to the channel of an incoming webhook: no threads, so that each names the incident."""

    settings: SlackSettings

    @property
    def destination(self) -> str:
        """Where messages go, without the secret."""
        return f"Slack webhook at {urlsplit(self._url).hostname}"

    @property
    def wants_picture(self) -> bool:
        """A webhook takes text only."""
        return False

    @property
    def least_interval(self) -> float:
        """Seconds between two messages."""
        return _LEAST_INTERVAL

    def send(self, message: Message, thread: str | None) -> Outcome:
        """Post it."""
        payload = build_payload(message, buttons=self.settings.has_buttons)
        try:
            with SendDeadline(self.settings.deadline) as deadline:
                reply = _post_json(self._url, payload, self.settings, deadline)
        except NoReplyError as error:
            return Retry(f"Slack: {error}")
        if reply.status == 200:
            return Delivered()
        answer = reply.body[:100].decode(errors="replace").strip()
        return _failure(reply, answer, malformed=reply.status == 400)

    @property
    def _url(self) -> str:
        assert self.settings.url is not None
        return self.settings.url.get_secret_value()


@dataclass(frozen=True)
class SlackBot:
    """Sends messages to one Slack channel, each incident in a thread below a message that is updated."""

    settings: SlackSettings

    @property
    def destination(self) -> str:
        """Where messages go."""
        return f"Slack channel {self.settings.channel}"

    @property
    def wants_picture(self) -> bool:
        """A bot can upload it."""
        return True

    @property
    def least_interval(self) -> float:
        """Seconds between two messages."""
        return _LEAST_INTERVAL

    def send(self, message: Message, thread: str | None) -> Outcome:
        """Post it, the first with its picture. Returns the thread as CHANNEL/TIMESTAMP."""
        try:
            with SendDeadline(self.settings.deadline) as deadline:
                return self._send(message, thread, deadline)
        except NoReplyError as error:
            return Retry(f"Slack: {error}")

    def update(self, message: Message, thread: str) -> Outcome:
        """Replace the first message of a thread. One that cannot be changed any more stays as it is."""
        channel, timestamp = self._position(thread)
        if channel == self.settings.channel and channel.startswith("#"):
            return Delivered(thread)  # of an older version: chat.update takes no names of channels
        body = self._body(build_payload(message, buttons=self.settings.has_buttons), message.key)
        body = {name: value for name, value in body.items() if not name.startswith("unfurl_")}
        body |= {"channel": channel, "ts": timestamp}
        try:
            with SendDeadline(min(self.settings.deadline, _UPDATE_SECONDS)) as deadline:
                reply, result = self._call("chat.update", body, deadline)
        except NoReplyError as error:
            return Retry(f"Slack: {error}")
        if not result.get("ok"):
            answer = str(result.get("error", ""))
            if _is_transient(reply, answer):
                return _failure(reply, answer)
            _logger.warning("a message in Slack was not updated: %s %s", reply.status, answer)
        return Delivered(thread)

    def _send(self, message: Message, thread: str | None, deadline: SendDeadline) -> Outcome:
        complete = self._body(build_payload(message, buttons=self.settings.has_buttons), message.key)
        if thread is None:
            reply, result = self._call("chat.postMessage", complete, deadline)
        else:
            channel, timestamp = self._position(thread)
            body = self._body(build_reply(message), message.key)
            body |= {"channel": channel, "thread_ts": timestamp}
            if message.reason not in QUIET:
                body["reply_broadcast"] = True  # a thread alone wakes nobody
            reply, result = self._call("chat.postMessage", body, deadline)
            if result.get("error") == "thread_not_found":
                reply, result = self._call("chat.postMessage", complete, deadline)
        if not result.get("ok"):
            error = str(result.get("error", ""))
            return _failure(reply, error, malformed=error in _MALFORMED_ERRORS)
        if thread is not None:
            return Delivered(thread)
        channel, timestamp = str(result["channel"]), str(result["ts"])
        if message.picture is not None:
            self._upload(message, deadline, channel=channel, thread=timestamp)
        return Delivered(thread=f"{channel}/{timestamp}")

    def _body(self, payload: dict[str, Any], key: str) -> dict[str, Any]:
        metadata = {"event_type": "holter_notification", "event_payload": {"key": key}}
        return {"channel": self.settings.channel, **payload, "metadata": metadata}

    def _position(self, thread: str) -> tuple[str, str]:
        """Channel and timestamp of a thread's first message; those of older versions lack the channel."""
        channel, _, timestamp = thread.rpartition("/")
        return channel or self.settings.channel, timestamp

    def _upload(self, message: Message, deadline: SendDeadline, *, channel: str, thread: str) -> None:
        """Upload the picture into the thread. The message is delivered already: a failure is only logged."""
        assert message.picture is not None
        try:
            file = {"filename": "curve.png", "length": str(len(message.picture))}
            _, result = self._call("files.getUploadURLExternal", file, deadline, form=True)
            if result.get("ok"):
                headers = {"Content-Type": "image/png"}
                _post(result["upload_url"], message.picture, headers, self.settings, deadline)
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
        reply = _post(url, data.encode(), headers, self.settings, deadline)
        if not reply.complete:  # what became of the message is in the body
            raise NoReplyError(deadline.reason or "no answer in time")
        try:
            result = json.loads(reply.body)
        except (ValueError, RecursionError):
            result = {}
        return reply, result if isinstance(result, dict) else {}


def respond(settings: SlackSettings, response_url: str, payload: dict[str, Any]) -> Outcome:
    """Answer somebody who pressed a button, through the address that Slack sent with it."""
    if not _is_slack(settings, response_url):
        return GiveUp("the address for the answer is not Slack's")
    try:
        with SendDeadline(settings.deadline) as deadline:
            reply = _post_json(response_url, payload, settings, deadline)
    except NoReplyError as error:
        return Retry(f"Slack: {error}")
    if reply.status == 200:
        return Delivered()
    return GiveUp(f"Slack answered {reply.status}")


def _is_slack(settings: SlackSettings, url: str) -> bool:
    """Whether an address is Slack's, or on the server that the settings name in its place."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").lower()
    except ValueError:
        return False
    if parts.scheme == "https" and host.endswith((".slack.com", ".slack-gov.com")):
        return True
    own = [settings.api_url, *([settings.url.get_secret_value()] if settings.url else [])]
    return (parts.scheme, parts.netloc) in {urlsplit(address)[:2] for address in own}


def _post_json(
    url: str, payload: dict[str, Any], settings: SlackSettings, deadline: SendDeadline
) -> HTTPReply:
    headers = {"Content-Type": "application/json; charset=utf-8"}
    return _post(url, json.dumps(payload).encode(), headers, settings, deadline)


def _post(
    url: str, body: bytes, headers: dict[str, str], settings: SlackSettings, deadline: SendDeadline
) -> HTTPReply:
    public_only = not settings.allow_private
    return post(url, body, headers, timeout=settings.timeout, deadline=deadline, public_only=public_only)


def _is_transient(reply: HTTPReply, error: str) -> bool:
    return reply.status == 429 or reply.status >= 500 or error in _TRANSIENT_ERRORS


def _failure(reply: HTTPReply, error: str, *, malformed: bool = False) -> Retry | GiveUp:
    """A malformed message is given up at once; what a person can repair is retried."""
    reason = f"Slack answered {reply.status} {error}".rstrip()
    if _is_transient(reply, error):
        return Retry(reason, after=retry_after(reply.headers))
    return GiveUp(reason) if malformed else Retry(reason, after=_REPAIR_SECONDS)


def _open_slack(settings: SlackSettings) -> Channel:
    return SlackBot(settings) if settings.token is not None else SlackWebhook(settings)


SLACK = ChannelType(name="slack", settings=SlackSettings, open=_open_slack)
