"""Texts of messages within the limits of services, and the key of the alert that a message is about."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import blake2b
from urllib.parse import urlsplit

from holter.server.channels.message import Message, one_line

_MARKDOWN = frozenset("\\`*_[]<>#|~:@")
"""Letters that begin markup within a line. The colon begins emojis, and links where an address is written."""
_SHOWN_ITEMS = 20


def alert_key(message: Message) -> str:
    """The key under which a service finds the alert of a message again: that of its thread of messages.

    It differs between servers, because several may send to one service. 39 letters, digits and hyphens.
    """
    server = urlsplit(message.link).netloc
    digest = blake2b(f"{server}\n{message.group or message.key}".encode(errors="replace"), digest_size=16)
    return f"holter-{digest.hexdigest()}"


def plain_text(message: Message) -> str:
    """What a message states below its headline, a line for each fact."""
    return "\n".join(_lines(message))


def _lines(message: Message) -> Iterator[str]:
    yield one_line(message.sentence)
    if message.advice:
        yield one_line(f"What to do: {message.advice}")
    for name, value in message.facts:
        yield one_line(f"{name}: {value}")
    for item in message.items[:_SHOWN_ITEMS]:
        yield one_line(f"- {item.text}")
    if len(message.items) > _SHOWN_ITEMS:
        yield f"and {len(message.items) - _SHOWN_ITEMS} more"
    if message.status:
        yield one_line(" · ".join(message.status))


def length(text: str) -> int:
    """Characters as services count them that are written in JavaScript: never fewer than others count."""
    return len(text) + sum(letter > "\uffff" for letter in text)


def truncate(text: str, limit: int, escape: Callable[[str], str] = str) -> str:
    """The text with each character escaped, of at most `limit` characters."""
    pieces, size = [], 0
    for letter in text:
        piece = escape(letter)
        size += length(piece)
        if size > limit:
            break
        pieces.append(piece)
    else:
        return "".join(pieces)
    while pieces and sum(map(length, pieces)) > limit - 1:
        pieces.pop()
    return "".join(pieces) + "…"


def truncate_bytes(text: str, limit: int) -> str:
    """The text, of at most `limit` bytes in UTF-8."""
    encoded = text.encode(errors="replace")
    if len(encoded) <= limit:
        return encoded.decode()
    return encoded[: limit - len("…".encode())].decode(errors="ignore") + "…"


def escape_markdown(letter: str) -> str:
    """A character that Markdown shows as it is."""
    return f"\\{letter}" if letter in _MARKDOWN else letter
