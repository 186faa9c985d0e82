"""The filter language of the overview: `project:llm lr<3e-4 tag:baseline -state:finished "free text"`.

Conditions are joined by spaces, and all of them must hold. `-` in front negates one, commas separate
alternatives. What a key means is decided where the condition is evaluated (`conditions.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

MAX_LENGTH = 2000
"""Characters of a filter."""
MAX_CONDITIONS = 50
_KEY = re.compile(r"[^\W\d][\w./-]*(?:\([^()\"]*\))?")
_OPERATOR = re.compile(r"!=|<=|>=|!~|[:=<>~]")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_BARE_VALUE = re.compile(r'[^\s,"]+')
_WORD = re.compile(r'[^\s"]+')
_JOINING = frozenset({"and", "or", "not"})


class Operator(StrEnum):
    """How a condition compares."""

    IS = ":"
    EQUALS = "="
    DIFFERS = "!="
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="
    LIKE = "~"
    UNLIKE = "!~"

    @property
    def orders(self) -> bool:
        """Whether it compares by size."""
        return self in _ORDERS


_ORDERS = (Operator.LESS, Operator.AT_MOST, Operator.MORE, Operator.AT_LEAST)


class FilterError(ValueError):
    """A filter cannot be read: `position` is the index of the character, `expected` what should be there."""

    def __init__(self, position: int, expected: str) -> None:
        super().__init__(f"position {position + 1}: {expected}")
        self.position = position
        self.expected = expected


@dataclass(frozen=True, slots=True)
class Condition:
    """`key operator value,value` as written. Without a key, the value is text to find anywhere.

    `position` is that of the key, `value_position` that of the first value.
    """

    key: str
    operator: Operator
    values: tuple[str, ...]
    negated: bool
    position: int
    value_position: int


def parse(text: str) -> list[Condition]:
    """The conditions of a filter, in their order. Raises FilterError."""
    if len(text) > MAX_LENGTH:
        raise FilterError(MAX_LENGTH, f"expected at most {MAX_LENGTH} characters")
    conditions: list[Condition] = []
    position = _skip_spaces(text, 0)
    while position < len(text):
        condition, position = _condition(text, position)
        conditions.append(condition)
        if len(conditions) > MAX_CONDITIONS:
            raise FilterError(condition.position, f"expected at most {MAX_CONDITIONS} conditions")
        position = _skip_spaces(text, position)
    return conditions


def _skip_spaces(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position


def _condition(text: str, start: int) -> tuple[Condition, int]:
    """The condition that begins at `start`, and the position behind it."""
    position = start
    negated = text[position] == "-" and position + 1 < len(text) and not text[position + 1].isspace()
    position += negated
    key, behind = _key(text, position)
    operator = _OPERATOR.match(text, behind) if key else None
    if operator is None:
        word, end = _free_text(text, position)
        return Condition("", Operator.IS, (word,), negated, position, position), end
    values, end = _values(text, operator.end(), text[position : operator.end()])
    return Condition(key, Operator(operator[0]), values, negated, position, operator.end()), end


def _key(text: str, position: int) -> tuple[str, int]:
    """The key at a position, empty if there is none, and the position behind it."""
    if quoted := _QUOTED.match(text, position):
        return _unescape(quoted[1]), quoted.end()
    key = _KEY.match(text, position)
    return (key[0], key.end()) if key else ("", position)


def _free_text(text: str, position: int) -> tuple[str, int]:
    if text[position] == '"':
        return _quoted(text, position)
    word = _WORD.match(text, position)
    assert word is not None
    if word[0].lower() in _JOINING:
        alternatives = "conditions are joined by spaces; write alternatives as state:running,stalled"
        raise FilterError(position, f"{alternatives}, a negation as -state:finished")
    return word[0], word.end()


def _values(text: str, position: int, condition: str) -> tuple[tuple[str, ...], int]:
    """The values separated by commas from a position on, and the position behind them."""
    values = []
    while True:
        if position >= len(text) or text[position].isspace() or text[position] == ",":
            raise FilterError(position, f"expected a value after {condition}")
        if text[position] == '"':
            value, position = _quoted(text, position)
        else:
            bare = _BARE_VALUE.match(text, position)
            assert bare is not None
            value, position = bare[0], bare.end()
        values.append(value)
        if position >= len(text) or text[position] != ",":
            return tuple(values), position
        position += 1


def _quoted(text: str, position: int) -> tuple[str, int]:
    quoted = _QUOTED.match(text, position)
    if quoted is None:
        raise FilterError(position, 'expected a closing quotation mark "')
    return _unescape(quoted[1]), quoted.end()


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def quote(text: str) -> str:
    """A value or key as the language writes it: in quotation marks where it needs them."""
    if text and _BARE_VALUE.fullmatch(text) and not text.startswith("-"):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
