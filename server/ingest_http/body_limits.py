"""Limits on the content of a body, most of them checked before anything of it is decoded.

A few bytes can stand for objects of a hundred bytes each, and compressed for a thousand times as many: the
number of bytes alone limits neither the memory nor the time of decoding.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

MAX_JSON_ITEMS = 1_000_000
"""Values, objects and arrays in a JSON body; a decoded one takes up to 250 bytes."""
MAX_SERIES = 100_000
"""Series in a body; as many as a run may have by default."""
MAX_BODIES = 4000
"""Bodies in one request, as many as may wait to be written."""
MAX_SETTING_BYTES = 2**20
"""Encoded bytes of each of `config`, `settings` and `labels` in a msgpack body."""
MAX_LABELS = 64
"""Labels of a series."""
MAX_PROBLEMS = 20
"""Problems in the answer to an invalid body."""
_MAX_SHOWN = 100  # characters of a name in a problem's path

FieldPath = tuple[str | int, ...]
FieldProblem = tuple[FieldPath, str]


class BodyError(ValueError):
    """An invalid body; `problems` are paths in it, each with what was expected there: the first few."""

    def __init__(self, problems: Iterable[FieldProblem]) -> None:
        self.problems = tuple((_short(path), reason) for path, reason in islice(problems, MAX_PROBLEMS))
        super().__init__("; ".join(f"{'.'.join(map(str, path))}: {reason}" for path, reason in self.problems))


def _short(path: FieldPath) -> FieldPath:
    return tuple(
        f"{part[:_MAX_SHOWN]}..." if isinstance(part, str) and len(part) > _MAX_SHOWN else part
        for part in path
    )


def check_json_items(body: bytes) -> None:
    """Raise BodyError where a JSON body has too many values. Counts characters, also those in texts."""
    if len(body) <= MAX_JSON_ITEMS:  # each item takes a byte
        return
    items = body.count(b",") + body.count(b"[") + body.count(b"{")
    if items > MAX_JSON_ITEMS:
        reason = f"expected at most {MAX_JSON_ITEMS:,} values, got about {items:,}: send smaller batches"
        raise BodyError([((), reason)])


def check_series_count(count: int, path: FieldPath) -> None:
    """Raise BodyError where a body has too many series."""
    if count > MAX_SERIES:
        reason = f"expected at most {MAX_SERIES:,} series, got {count:,}: send smaller batches"
        raise BodyError([(path, reason)])


def check_body_count(count: int) -> None:
    """Raise BodyError where a request has too many bodies."""
    if count > MAX_BODIES:
        raise BodyError([((), f"expected at most {MAX_BODIES:,} bodies, got {count:,}: send fewer at once")])


def check_setting_bytes(size: int, field: str) -> None:
    """Raise BodyError where a field of settings or labels is too large."""
    if size > MAX_SETTING_BYTES:
        raise BodyError([((field,), f"expected at most {MAX_SETTING_BYTES:,} bytes, got {size:,}")])


def check_label_count(count: int, path: FieldPath) -> None:
    """Raise BodyError where a series has too many labels."""
    if count > MAX_LABELS:
        raise BodyError([(path, f"expected at most {MAX_LABELS} labels, got {count:,}")])


def msgpack_items(content: bytes | memoryview) -> int:
    """The number of items that a msgpack array or map announces in its first bytes, 0 for other types.

    Format: https://github.com/msgpack/msgpack/blob/master/spec.md
    """
    if not len(content):
        return 0
    first = content[0]
    if 0x80 <= first <= 0x9F:
        return first & 0x0F
    size = {0xDC: 2, 0xDD: 4, 0xDE: 2, 0xDF: 4}.get(first, 0)
    return int.from_bytes(content[1 : 1 + size], "big")
