"""How names, labels and idempotency keys are written to the tables, and the limits of both databases."""

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
"""Maximum length of each kind of name, in characters."""


def parse_series_key(metric: str, labels: str) -> SeriesKey:
    """Return a series' key from the columns of its row."""
    return SeriesKey(intern(metric), parse_labels(labels))  # thousands of runs share the same metric names


@lru_cache(maxsize=10_000)
def parse_labels(text: str) -> Labels:
    """Return a series' labels from the JSON text of its row."""
    return tuple((name, value) for name, value in json.loads(text))


def batch_digest(batch_id: str) -> bytes:
    """Return the 16-byte digest under which a batch's idempotency key is stored."""
    return blake2b(batch_id.encode(), digest_size=16).digest()


@lru_cache(maxsize=10_000)
def labels_text(labels: Labels) -> str:
    """Return labels as JSON text, as the series table stores them."""
    return json.dumps(labels, ensure_ascii=False, separators=(",", ":"))


def storable_text(text: str) -> str:
    """Return the text with NUL and lone surrogates, which a database cannot store, replaced by "?"."""
    return text.replace("\0", "?").encode(errors="replace").decode()


def check_name(what: str, text: str) -> None:
    """Raise ValueError unless both databases can store `text` as a name of the kind `what` (see LIMITS)."""
    limit = LIMITS[what]
    if len(text) > limit:
        raise ValueError(f"{what} {text[:40]!r}… has {len(text)} characters, expected at most {limit}")
    if storable_text(text) != text:
        raise ValueError(f"{what} {text!r} contains a character that cannot be stored")
