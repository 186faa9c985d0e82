"""Messages as Slack's Block Kit: complete ones, replies in their threads, and buttons.

Limits of blocks and of the texts in them: https://docs.slack.dev/reference/block-kit/blocks
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any

from holter.server.channels.message import ENDINGS, QUIET, Message, MessageIncident, MessageItem, one_line
from holter.types import Severity

HEADER, SECTION, FIELD, FIELDS, BLOCKS, FALLBACK = 150, 3000, 2000, 10, 50, 3000
VALUE = 2000
"""Characters of a button's value."""
GROUP_PREFIX = "all:"
"""Begins the value of buttons that act on all incidents of a message."""
_SEVERITY_EMOJI = {
    Severity.CRITICAL: ":red_circle:",
    Severity.WARNING: ":large_orange_circle:",
    Severity.INFO: ":large_blue_circle:",
}
_CALM_EMOJI = ":large_green_circle:"


class SlackAction(StrEnum):
    """What a button does: its `action_id`."""

    ACKNOWLEDGE = "holter_acknowledge"
    SILENCE = "holter_silence"
    NOT_AN_INCIDENT = "holter_not_an_incident"


def build_payload(message: Message, *, buttons: bool = False) -> dict[str, Any]:
    """The message as Block Kit, within Slack's limits; `text` is what a phone's notification shows."""
    header = {
        "type": "header",
        "text": {
            "type": "plain_text",
            "text": _truncate(f"{_emoji(message)} {one_line(message.headline)}", HEADER),
        },
    }
    actions = _action_blocks(message.incidents) if buttons else []
    blocks = [header, *_body_blocks(message)][: BLOCKS - len(actions)]
    return _payload(message, [*blocks, *actions])


def build_reply(message: Message) -> dict[str, Any]:
    """The news of a message, for its thread: what the first message states is not repeated."""
    blocks = [_section(f"{_emoji(message)} *{escape(message.headline)}*\n{escape(message.sentence)}")]
    if message.reason not in QUIET and message.advice:
        blocks.append(_section(f"*What to do*\n{escape(message.advice)}"))
    blocks += _item_blocks(message.items)
    blocks.append(_links(message))
    return _payload(message, blocks[:BLOCKS])


def _payload(message: Message, blocks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        "text": _truncate(f"{escape(message.headline)}. {escape(message.sentence)}", FALLBACK),
        "blocks": list(blocks),
        "unfurl_links": False,
        "unfurl_media": False,
        "parse": "none",
        "link_names": False,
    }


def _emoji(message: Message) -> str:
    return _CALM_EMOJI if message.reason in ENDINGS else _SEVERITY_EMOJI[message.severity]


def _body_blocks(message: Message) -> Iterator[dict[str, Any]]:
    yield _section(escape(message.sentence))
    if message.advice:
        yield _section(f"*What to do*\n{escape(message.advice)}")
    if message.facts:
        fields = [
            _text(f"*{escape(name)}*\n{escape(value)}", FIELD) for name, value in message.facts[:FIELDS]
        ]
        yield {"type": "section", "fields": fields}
    if message.sketch:
        yield _section(f"`{message.sketch}`")
    if message.items:
        yield from _item_blocks(message.items)
    if message.status:
        text = " · ".join(escape(each) for each in message.status)
        yield {"type": "context", "elements": [_text(text, FIELD)]}
    yield _links(message)


def _links(message: Message) -> dict[str, Any]:
    links = [f"<{escape(message.link)}|*Open {escape(message.link_to)} in Holter*>"]
    if message.run_link:
        links.append(f"<{escape(message.run_link)}|the run>")
    if message.mute_link:
        links.append(f"<{escape(message.mute_link)}|mute it>")
    return _section(" · ".join(links))


def _item_blocks(items: Sequence[MessageItem]) -> Iterator[dict[str, Any]]:
    lines = [f"{_SEVERITY_EMOJI[item.severity]} <{escape(item.link)}|{escape(item.text)}>" for item in items]
    shown = lines[:20]
    for start in range(0, len(shown), 5):
        yield _section("\n".join(shown[start : start + 5]))
    if len(lines) > len(shown):
        yield _section(f"and {len(lines) - len(shown)} more")


def _action_blocks(incidents: Sequence[MessageIncident]) -> list[dict[str, Any]]:
    """Buttons for what can still be done with the open incidents of a message."""
    still_open = [incident for incident in incidents if incident.state == "open"]
    every, prefix = (" all", GROUP_PREFIX) if len(incidents) > 1 else ("", "")
    candidates = [
        _button(
            SlackAction.ACKNOWLEDGE,
            f"Acknowledge{every}",
            [each.id for each in still_open if each.acknowledged_by is None],
            prefix,
            style="primary",
        ),
        _button(
            SlackAction.SILENCE,
            f"Silence{every} two hours",
            [each.id for each in still_open if not each.muted],
            prefix,
        ),
    ]
    if len(incidents) == 1:
        numbers = [each.id for each in still_open]
        candidates.append(
            _button(SlackAction.NOT_AN_INCIDENT, "Not an incident", numbers, confirm=_CONFIRMATION)
        )
    elements = [button for button in candidates if button is not None]
    return [{"type": "actions", "elements": elements}] if elements else []


def _button(
    action: SlackAction, label: str, incident_ids: Sequence[int], prefix: str = "", **options: Any
) -> dict[str, Any] | None:
    """A button that acts on these incidents; None where there are none, or too many for its value."""
    value = prefix + ",".join(map(str, incident_ids))
    if not incident_ids or len(value) > VALUE:
        return None
    text = {"type": "plain_text", "text": label}
    return {"type": "button", "action_id": action.value, "text": text, "value": value, **options}


_CONFIRMATION = {
    "title": {"type": "plain_text", "text": "Not an incident?"},
    "text": {
        "type": "plain_text",
        "text": "It is closed, and what is detected at these steps opens no incident again.",
    },
    "confirm": {"type": "plain_text", "text": "Not an incident"},
    "deny": {"type": "plain_text", "text": "Cancel"},
}


def _section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": _text(text, SECTION)}


def _text(text: str, limit: int) -> dict[str, Any]:
    # verbatim: an address, a channel or a person in a run's name does not become a link
    return {"type": "mrkdwn", "text": _truncate(text, limit), "verbatim": True}


def escape(text: str) -> str:
    """A text as one line without markup, mentions and links."""
    return one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _truncate(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
