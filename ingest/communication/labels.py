"""Labels, message sizes and units of steps that the formats of collectives share."""

from __future__ import annotations

import re
from collections.abc import Hashable
from functools import lru_cache

from holter.ingest.names import storable_label
from holter.ingest.step_columns import LARGEST_STEP
from holter.types import Labels, labels_of

BYTES = "message bytes"
SEQUENCE = "sequence number"

DTYPE_BYTES = {
    **dict.fromkeys(("Byte", "Char", "Bool", "Float8_e5m2", "Float8_e4m3fn"), 1),
    **dict.fromkeys(("Short", "Half", "BFloat16"), 2),
    **dict.fromkeys(("Int", "Float"), 4),
    **dict.fromkeys(("Long", "Double", "ComplexFloat"), 8),
    "ComplexDouble": 16,
}
"""Bytes of an element by PyTorch's name of its type."""

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_SIZE = re.compile(r"(\d{1,18}(?:\.\d{1,18})?)((?:[KMGTPE]i?)?B)")


@lru_cache(maxsize=16_384)  # few different labels, for millions of calls
def series_labels(steps: str, **labels: Hashable) -> Labels:
    """Labels of a series whose steps are in the unit `steps`; labels that are None or empty are left out."""
    given = {
        name: storable_label(str(value))
        for name, value in labels.items()
        if value is not None and value != ""
    }
    return labels_of({**given, "steps": steps})


def is_step(number: object) -> bool:
    """Whether a value is an integer in the range of steps."""
    return isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= LARGEST_STEP


def size_class(size: float) -> str:
    """The power of two at or below a message's bytes, as text: 20,000,000 is "16MiB".

    Sizes within a factor of two take about the same time, and a label with the exact size would make a series
    for each size.
    """
    if not 1 <= size < 2.0**69:
        return "0B" if size == 0 else ""
    power = int(size).bit_length() - 1
    return f"{1 << power % 10}{_UNITS[power // 10]}"


def parse_size(text: str) -> int | None:
    """The bytes of a size such as "16GiB"; None for other text."""
    match = _SIZE.fullmatch(text)
    if match is None:
        return None
    unit = match[2] if "i" in match[2] or match[2] == "B" else match[2][0] + "iB"
    return int(float(match[1]) * 1024 ** _UNITS.index(unit))
