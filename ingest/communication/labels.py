"""Names that the logs of collectives share: of labels, of sizes, of the steps they count."""

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


@lru_cache(maxsize=16_384)  # the same few, for millions of calls
def series_labels(steps: str, **labels: Hashable) -> Labels:
    """Labels of a series whose steps count `steps`; what is None or empty says nothing."""
    said = {
        name: storable_label(str(value))
        for name, value in labels.items()
        if value is not None and value != ""
    }
    return labels_of({**said, "steps": steps})


def is_step(number: object) -> bool:
    """Whether a number can be a step."""
    return isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= LARGEST_STEP


def size_class(size: float) -> str:
    """The power of two at or below a message's bytes, in words: 20,000,000 is "16MiB".

    Sizes apart by less than a factor of two take alike; a label of each size would be a series of each.
    """
    if not 1 <= size < 2.0**69:
        return "0B" if size == 0 else ""
    power = int(size).bit_length() - 1
    return f"{1 << power % 10}{_UNITS[power // 10]}"


def parse_size(text: str) -> int | None:
    """The bytes that "16GiB" are, None where a text is no such size."""
    found = _SIZE.fullmatch(text)
    if found is None:
        return None
    unit = found[2] if "i" in found[2] or found[2] == "B" else found[2][0] + "iB"
    return int(float(found[1]) * 1024 ** _UNITS.index(unit))
