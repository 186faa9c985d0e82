"""How names and keys stand in the tables, and what both databases can keep."""

from __future__ import annotations

import json
from functools import lru_cache
from hashlib import blake2b
from sys import intern

from holter.types import Labels, SeriesKey

LIMITS = {
    "project": 200,
    "run": 500,
    "writer": 1000,
    "metric": 500,
    "labels": 2000,
    "attempt": 200,
    "source": 1000,
}
"""Characters."""


def key_of(metric: str, labels: str) -> SeriesKey:
    """A series' key out of the columns of its row."""
    return SeriesKey(intern(metric), labels_of_text(labels))  # thousands of runs have the same names


@lru_cache(maxsize=10_000)
def labels_of_text(text: str) -> Labels:
    """A series' labels out of the column of its row."""
    return tuple((name, value) for name, value in json.loads(text))


def digest_of(batch_id: str) -> bytes:
    """How an idempotency key is kept."""
    return blake2b(batch_id.encode(), digest_size=16).digest()


@lru_cache(maxsize=10_000)
def labels_text(labels: Labels) -> str:
    """Labels as the series table has them."""
    return json.dumps(labels, ensure_ascii=False, separators=(",", ":"))


def as_text(text: str) -> str:
    """The text as both databases can keep it: what is no character becomes a question mark."""
    return text.replace("\0", "?").encode(errors="replace").decode()


def check_name(what: str, text: str) -> None:
    """Raise ValueError unless both databases can keep the text as a `what`."""
    limit = LIMITS[what]
    if len(text) > limit:
        raise ValueError(f"{what} {text[:40]!r}… has {len(text)} characters, expected at most {limit}")
    if as_text(text) != text:
        raise ValueError(f"{what} {text!r} contains a character that is no text")
