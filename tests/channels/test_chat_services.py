"""Microsoft Teams and Discord: cards and embeds within the limits, in which names are names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings

from holter.server.channels import Delivered
from holter.server.channels.discord import build_payload
from holter.server.channels.message import Message
from holter.server.channels.teams import build_message
from holter.server.channels.texts import escape_markdown, length, truncate
from tests.support.channel_messages import MESSAGES, PICTURE, TEXTS, message_about, open_channel
from tests.support.endpoints import Endpoint
from tests.support.receivers import make_incident


def card_of(payload: dict[str, Any]) -> dict[str, Any]:
    [attachment] = payload["attachments"]
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    card: dict[str, Any] = attachment["content"]
    return card


def runs_of(card: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for element in card["body"]:
        assert element["type"] == "RichTextBlock"  # TextBlock and FactSet would read Markdown
        yield from element["inlines"]


def test_teams_gets_a_card_with_what_happened_and_links(endpoint: Endpoint) -> None:
    channel = open_channel("teams", url=f"{endpoint.url}/workflows/1?sig=abc")
    assert channel.send(message_about(), None) == Delivered()
    assert endpoint.only.query == {"sig": "abc"}
    card = card_of(endpoint.only.json)
    texts = [run["text"] for run in runs_of(card)]
    assert any("Loss rose from 2.31 to 4.02" in text for text in texts)
    assert "Run: " in texts
    assert card["actions"][0]["url"] == "https://holter/incidents/17"
    assert endpoint.only.json["summary"] == message_about().headline


@settings(max_examples=25)
@given(MESSAGES)
def test_any_card_keeps_the_limits_of_teams(message: Message) -> None:
    payload = build_message(message)
    assert len(json.dumps(payload, ensure_ascii=False).encode(errors="replace")) <= 28 * 1024
    card = card_of(payload)
    assert card["body"]
    for run in runs_of(card):
        assert run["type"] == "TextRun"
        assert run["text"]
        assert run["text"].isprintable()
    assert "entities" not in card["msteams"]  # which mentions need


def test_discord_gets_an_embed_with_the_picture(endpoint: Endpoint) -> None:
    channel = open_channel("discord", url=f"{endpoint.url}/api/webhooks/1/token")
    assert channel.send(message_about(picture=PICTURE), None) == Delivered()
    request = endpoint.only
    assert request.query == {"wait": "true"}
    assert request.part("files[0]") == PICTURE
    assert request.parts["files[0]"].get_filename() == "curve.png"
    payload = json.loads(request.part("payload_json"))
    assert payload["allowed_mentions"] == {"parse": []}
    [embed] = payload["embeds"]
    assert embed["image"] == {"url": "attachment://curve.png"}
    assert embed["url"] == "https://holter/incidents/17"
    assert {field["name"] for field in embed["fields"]} >= {"Run", "Severity", "What to do"}


@pytest.mark.parametrize(
    "name", ["@everyone", "<@&1>", "<#5>", "**loud**", "[free](https://evil)", "https://evil", "||x||", "`a`"]
)
def test_names_are_no_markup_in_discord(name: str) -> None:
    [embed] = build_payload(message_about(make_incident(run=name)))["embeds"]
    for text in (embed["title"], *(field["value"] for field in embed["fields"] if field["name"] == "Run")):
        assert "".join(map(escape_markdown, name)) in text
        assert name not in re.sub(r"\\.", "", text)


@settings(max_examples=25)
@given(MESSAGES)
def test_any_embed_keeps_the_limits_of_discord(message: Message) -> None:
    [embed] = build_payload(message)["embeds"]
    sizes = [length(embed["title"]), length(embed["description"])]
    assert 0 < sizes[0] <= 256
    assert sizes[1] <= 4096
    assert len(embed["fields"]) <= 25
    for field in embed["fields"]:
        assert 0 < length(field["name"]) <= 256
        assert 0 < length(field["value"]) <= 1024
        sizes += [length(field["name"]), length(field["value"])]
    assert sum(sizes) <= 6000


@given(TEXTS)
def test_what_is_escaped_and_shortened_has_no_markup_left(text: str) -> None:
    short = truncate(text, 40, escape_markdown)
    assert length(short) <= 40
    assert not re.search(r"[*_~`|<>\[\]@#:]", re.sub(r"\\.", "", short, flags=re.DOTALL))
    assert not re.fullmatch(r".*(?<!\\)(\\\\)*\\…?", short, flags=re.DOTALL)
