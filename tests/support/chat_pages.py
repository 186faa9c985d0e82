"""What is sent to chats and telephones, drawn from the JSON of each channel as a page.

The services draw it themselves, in their own way; this is our rendering of the same fields, to see what a
message says and in which order.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from holter.server.channels import discord, ntfy, slack_blocks, teams
from holter.server.channels.message import Message

_PAGE = """<!doctype html><meta charset="utf-8"><title>Messages</title><style>
body { margin: 0; padding: 24px; background: #e9ecef; color: #1d1c1d; font: 15px/1.45 "IBM Plex Sans", "Liberation Sans", sans-serif; }
main { display: grid; grid-template-columns: 1fr 1fr; gap: 24px; align-items: start; }
h2 { margin: 0 0 8px; font-size: 15px; color: #495057; }
section > div { border-radius: 8px; padding: 16px; background: #fff; overflow-wrap: anywhere; }
p { margin: 0 0 10px; } a { color: #1264a3; text-decoration: none; }
code { font: 13px "Liberation Mono", monospace; background: #f3f3f3; padding: 1px 3px; border-radius: 3px; }
.head { font-size: 18px; font-weight: 700; } .fields { display: grid; grid-template-columns: 1fr 1fr; gap: 8px 16px; margin-bottom: 10px; }
.dot { display: inline-block; width: 14px; height: 14px; border-radius: 50%; vertical-align: -1px; }
.buttons span { display: inline-block; padding: 5px 12px; margin: 0 8px 8px 0; border: 1px solid #bbb; border-radius: 4px; font-weight: 600; font-size: 14px; }
.buttons .primary { background: #007a5a; border-color: #007a5a; color: #fff; } .subtle { color: #616061; font-size: 13px; }
img { display: block; width: 100%; border-radius: 4px; margin: 4px 0 10px; }
.attention { color: #c4314b; } .warning { color: #8a5a00; } .good { color: #237b4b; } .large { font-size: 18px; }
.discord { background: #2b2d31 !important; color: #dbdee1; } .discord a { color: #6cb6ff; } .discord .embed { border-left: 4px solid; padding-left: 12px; border-radius: 4px; }
.long { grid-column: 1 / -1; } .discord b { color: #f2f3f5; } .phone { max-width: 380px; white-space: pre-line; } .phone b { font-size: 16px; }
</style><main>SECTIONS</main>"""  # noqa: E501
_EMOJI = {"red": "#dd2e44", "large_orange": "#f4900c", "large_blue": "#55acee", "large_green": "#78b159"}


def chat_page(message: Message) -> str:
    """A page with a message as Slack's blocks, Teams' card, Discord's embed and a notification of ntfy."""
    picture = "" if message.picture is None else _image(message.picture)
    sections = {
        "Slack, by bot (Block Kit)": _slack(slack_blocks.build_payload(message, buttons=True))
        + f"<p>In its thread:</p>{picture}",
        "Microsoft Teams (Adaptive Card)": _teams(teams.build_message(message)),
        "Discord (embed)": _discord(discord.build_payload(message), picture),
        "ntfy (notification)": _ntfy(ntfy.build_payload(message, ntfy.MESSAGE)),
    }
    parts = (f"<section><h2>{escape(name)}</h2>{body}</section>" for name, body in sections.items())
    return _PAGE.replace("SECTIONS", "".join(parts))


def _image(picture: bytes) -> str:
    return f'<img alt="The curve" src="data:image/png;base64,{base64.b64encode(picture).decode()}">'


def _slack(payload: Mapping[str, Any]) -> str:
    return f"<div>{''.join(map(_slack_block, payload['blocks']))}</div>"


def _slack_block(block: Mapping[str, Any]) -> str:
    if block["type"] == "header":
        return f'<p class="head">{_slack_text(escape(block["text"]["text"]))}</p>'
    if block["type"] == "context":
        texts = (_slack_text(element["text"]) for element in block["elements"])
        return f'<p class="subtle">{" ".join(texts)}</p>'
    if block["type"] == "actions":
        return _buttons((each["text"]["text"], each.get("style", "")) for each in block["elements"])
    if "fields" in block:
        fields = (f"<div>{_slack_text(field['text'])}</div>" for field in block["fields"])
        return f'<div class="fields">{"".join(fields)}</div>'
    return f"<p>{_slack_text(block['text']['text'])}</p>"


def _slack_text(text: str) -> str:
    """Slack's mrkdwn, whose &, < and > are escaped already, as HTML."""
    text = re.sub(r"<([^|>]+)\|([^>]+)>", r'<a href="\1">\2</a>', text)
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    text = re.sub(r"(?<![\w*])\*([^*\n]+)\*", r"<b>\1</b>", text)
    for name, colour in _EMOJI.items():
        text = text.replace(f":{name}_circle:", f'<span class="dot" style="background:{colour}"></span>')
    return text.replace("\n", "<br>")


def _buttons(labels: Iterable[tuple[str, str]]) -> str:
    spans = (f'<span class="{style}">{escape(label)}</span>' for label, style in labels)
    return f'<p class="buttons">{"".join(spans)}</p>'


def _teams(payload: Mapping[str, Any]) -> str:
    card = payload["attachments"][0]["content"]
    lines = (f"<p>{''.join(map(_teams_run, element['inlines']))}</p>" for element in card["body"])
    return f"<div>{''.join(lines)}{_buttons((each['title'], '') for each in card['actions'])}</div>"


def _teams_run(run: Mapping[str, Any]) -> str:
    classes = [str(run[name]).lower() for name in ("color", "size") if name in run]
    text = escape(run["text"])
    text = f"<b>{text}</b>" if run.get("weight") == "Bolder" else text
    text = f"<code>{text}</code>" if run.get("fontType") == "Monospace" else text
    return f'<span class="{" ".join([*classes, "subtle" if run.get("isSubtle") else ""])}">{text}</span>'


def _discord(payload: Mapping[str, Any], picture: str) -> str:
    [embed] = payload["embeds"]
    fields = (
        f'<div class="{"" if field["inline"] else "long"}"><b>{_discord_text(field["name"])}</b>'
        f"<br>{_discord_text(field['value'])}</div>"
        for field in embed["fields"]
    )
    return (
        f'<div class="discord"><div class="embed" style="border-color:#{embed["color"]:06x}">'
        f'<p><a href="{escape(embed["url"])}"><b>{_discord_text(embed["title"])}</b></a></p>'
        f'<p>{_discord_text(embed["description"])}</p><div class="fields">{"".join(fields)}</div>{picture}'
        "</div></div>"
    )


def _discord_text(text: str) -> str:
    """Discord's Markdown, in which everything but links that could be markup is escaped, as HTML."""
    text = escape(re.sub(r"\\(.)", r"\1", text)).replace("\n", "<br>")
    return re.sub(r"\[(\w{1,40})\]\(([^()\s]{1,200})\)", r'<a href="\2">\1</a>', text)


def _ntfy(payload: Mapping[str, Any]) -> str:
    tags = ", ".join(payload["tags"])
    note = f"priority {payload['priority']}, tag {tags}"
    return (
        f'<div class="phone"><b>{escape(payload["title"])}</b>\n{escape(payload["message"])}'
        f'\n<span class="subtle">{escape(note)}</span></div>'
    )
