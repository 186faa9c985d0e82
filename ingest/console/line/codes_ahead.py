"""Codes in brackets before an epoch, such as those of stocks: `[035420][Epoch 01/10] Loss: 0.5`.

A number there may as well be a step, or that of a process. Such are codes if one of the first two begins with
a zero, and the second one does not follow the first as one step another. The values of the first code have no
label, as it may be the only one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from holter.ingest.console.line.line_counters import Counter, CounterField
from holter.ingest.console.line.line_shapes import LineShape

_BEFORE_EPOCH = re.compile(r"\] {0,2}\[? {0,2}(?i:epoch|episode|ep)[ :=#]{1,3}")
_EPOCHS = (Counter.EPOCH, Counter.OTHER)
"""What is counted behind a code, an episode as well."""
_LEAST_DIGITS = 4
"""Digits of a code: processes of a node have fewer."""
_MOST_CODES = 64
_CODES = "codes"
_ARE_CODES = "are codes"


def code_ahead(texts: Sequence[str], counters: Sequence[CounterField]) -> int:
    """The index of a number in brackets right before the epoch of a line, -1 if there is none."""
    counted = next(iter(counters), None)
    if counted is None or counted.index != 1 or counted.counter not in _EPOCHS:
        return -1
    return 0 if texts[0].strip() == "[" and _BEFORE_EPOCH.fullmatch(texts[1]) is not None else -1


def with_code(shape: LineShape, text: str, axis: dict[str, Any]) -> LineShape:
    """The shape of a line with a number before its epoch: about a code, if the number is known to be one."""
    if not text.isdecimal() or len(text) < _LEAST_DIGITS:
        return shape
    codes: list[str] = axis.setdefault(_CODES, [text])
    if not _are_codes(codes[0], text, axis):
        return shape
    if text not in codes and len(codes) < _MOST_CODES:
        codes.append(text)
    if text == codes[0]:
        return shape
    return replace(shape, about=("training", text), kind=f"{shape.kind} {text}")


def _are_codes(first: str, text: str, axis: dict[str, Any]) -> bool:
    """Whether the numbers are codes, which the second one shows."""
    if text != first and _ARE_CODES not in axis:
        has_zero = first.startswith("0") or text.startswith("0")
        axis[_ARE_CODES] = has_zero and not _follows_as_step(int(first), int(text))
    return bool(axis.get(_ARE_CODES))


def is_code(text: str, axis: dict[str, Any]) -> bool:
    """Whether a number in brackets is a code of lines above."""
    return bool(axis.get(_ARE_CODES)) and text in axis[_CODES]


def _follows_as_step(last: int, number: int) -> bool:
    """Whether a number is behind another one as the next step is, at an interval from 0 or 1 on."""
    distance = number - last
    return distance > 0 and any((last + from_zero) % distance == 0 for from_zero in (-1, 0, 1))
