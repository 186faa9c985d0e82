"""What Slack sends when somebody presses a button: its signature, and its content. Pure.

https://docs.slack.dev/authentication/verifying-requests-from-slack
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs

import msgspec

from holter.server.channels.message import one_line
from holter.server.channels.slack_blocks import GROUP_PREFIX, SlackAction

REPLAY_SECONDS = 300.0
"""Seconds by which the time of a request may differ from the server's: later, a copy of it is refused."""
_MAX_NAME = 200
_MAX_FIELDS = 10
_MAX_INCIDENTS = 1000
_NUMBER = re.compile(r"[0-9]{1,18}")


class SlackRequestError(ValueError):
    """A signed request has another form than Slack's documentation states."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PressedButton:
    """Who pressed which button: `user` is the name in Slack, `pressed_at` in Unix seconds.

    `group`: the button acts on all incidents of its message. What is sent to `response_url` answers the
    person.
    """

    action: SlackAction
    incident_ids: tuple[int, ...]
    user: str
    pressed_at: float
    response_url: str
    group: bool = False


def signers(
    secrets: Mapping[str, str], body: bytes, timestamp: str, signature: str, *, now: float
) -> tuple[str, ...]:
    """The names of the `secrets` that signed this body. Each comparison takes the same time."""
    if not re.fullmatch(r"[0-9]{1,12}", timestamp) or abs(now - int(timestamp)) > REPLAY_SECONDS:
        return ()
    given = signature.encode(errors="replace")
    text = b"v0:%b:%b" % (timestamp.encode(), body)
    matches = {
        name: hmac.compare_digest(b"v0=" + hmac.digest(secret.encode(), text, "sha256").hex().encode(), given)
        for name, secret in secrets.items()
    }
    return tuple(name for name, match in matches.items() if match)


class _User(msgspec.Struct):
    id: str = ""
    name: str = ""
    username: str = ""


class _Action(msgspec.Struct):
    action_id: str = ""
    value: str = ""
    action_ts: str = ""


class _Interaction(msgspec.Struct):
    type: str = ""
    user: _User = msgspec.field(default_factory=_User)
    actions: list[_Action] = msgspec.field(default_factory=list)
    response_url: str = ""


def parse_press(body: bytes, *, now: float) -> PressedButton | None:
    """The button of a request; None where it is about something else. Raises SlackRequestError."""
    try:
        fields = parse_qs(body.decode(), max_num_fields=_MAX_FIELDS)
        interaction = msgspec.json.decode(fields.get("payload", ["{}"])[0].encode(), type=_Interaction)
    except (ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise SlackRequestError(
            f"expected the field payload with an interaction of Slack ({type(error).__name__})"
        ) from None
    if interaction.type != "block_actions" or not interaction.actions:
        return None
    action = interaction.actions[0]
    if action.action_id not in set(SlackAction):
        return None  # the app may have buttons of its own
    numbers = action.value.removeprefix(GROUP_PREFIX).split(",", _MAX_INCIDENTS)
    if not all(_NUMBER.fullmatch(number) for number in numbers):
        raise SlackRequestError("actions[0].value: expected the numbers of incidents")
    user = interaction.user
    return PressedButton(
        action=SlackAction(action.action_id),
        incident_ids=tuple(map(int, numbers)),
        group=action.value.startswith(GROUP_PREFIX),
        user=one_line(user.name or user.username or user.id)[:_MAX_NAME].strip() or "a Slack user",
        pressed_at=_time(action.action_ts, now),
        response_url=interaction.response_url,
    )


def _time(text: str, now: float) -> float:
    """When a button was pressed, by Slack's clock; now, where that is implausible."""
    if not re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,9})?", text):
        return now
    return float(text) if abs(float(text) - now) <= REPLAY_SECONDS else now
