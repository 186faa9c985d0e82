"""Rows of results whose name is that of a class and a word for data as well: `train` of Pascal VOC.

It is a class below rows that are alike but for this word, where it is none for data: `sheep: 0.5`,
`sofa: 0.4`, and so in a line of such pairs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from holter.ingest.console.line.line_words import DATA_SPLIT, DURATIONS
from holter.ingest.metric_names import is_metric_name

_LEAST_ROWS = 3
"""Rows above that show it."""
_LONGEST = 200
_LARGEST_GAP = 200
"""Bytes between rows, with what a logger prints before each."""
_WORD = re.compile(r"[A-Za-z][A-Za-z_-]{1,40}")
_MAY_BE_DATA = re.compile(r"(?i)tr(?:ai)?n|val|test|dev")
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\bnan\b")
_STANDS_FOR = "class_named_"
"""What is before the name of such a class while its row is parsed."""
_NAMED = re.compile(rf"{_STANDS_FOR}(?=[A-Za-z])")
_MAY_BE_CLASS = "train"
"""The word that is the name of a class in public data sets."""
_LEAST_IN_LINE = 4
"""Other classes in a line that show that it is one."""
_COUNTER = re.compile(r"(?i)epoch|step|iter|batch|round|episode")
_PAIR = re.compile(
    r"(?<![\w.-])['\"]?([A-Za-z][A-Za-z_-]{0,30}(?: [a-z]{1,20})?)['\"]?(?: ?[:=] ?| )"
    r"(?:\d{0,3}\.\d+|nan)(?![\w.])"
)
"""A name and a measured number."""
_PAIR_OF_CLASS = re.compile(rf"(?<![\w.-]){_MAY_BE_CLASS}(?=['\"]?(?: ?[:=] ?| )(?:\d|nan))")
_ABOVE, _HAS_CLASSES = "rows above", "has classes of data"


def with_class(text: str, kind: int, start: int, size: int, state: dict[str, Any]) -> tuple[str, int]:
    """A line of a kind, by its number, at a byte of the text, and the number of the kind to parse it.

    Where it is such a row, its class has a name that is none for data, and the kind is that of those above.
    `size`: how many bytes were printed.
    """
    end, rows, above = state.get(_ABOVE, (0, [], kind))
    if not 0 <= start - end <= _LARGEST_GAP:
        rows = []
    found = None
    if len(rows) == _LEAST_ROWS and _differs_in_data(text, rows[-1]):
        found = _class_of_row(text, rows)
    state[_ABOVE] = [start + size, [*rows[1 - _LEAST_ROWS :], text if len(text) <= _LONGEST else ""], kind]
    if found is not None:
        state[_ABOVE][2] = kind = above
    elif _MAY_BE_CLASS in text:
        found = _class_in_line(text)
    if found is None:
        return text, kind
    state[_HAS_CLASSES] = True
    return f"{text[: found.start()]}{_STANDS_FOR}{text[found.start() :]}", kind


def _class_in_line(text: str) -> re.Match[str] | None:
    """The name of a class that is a word for data, among several that are none, each with its number.

    In a line that counts something it may be the loss of the training beside parts of it.
    """
    found = _PAIR_OF_CLASS.search(text)
    if found is None or _COUNTER.search(text) is not None:
        return None
    names = [match[1] for match in _PAIR.finditer(text)]
    others = [name for name in names if _may_be_class(name.replace(" ", "_"))]
    is_one = len(others) >= _LEAST_IN_LINE and names.count(_MAY_BE_CLASS) == 1
    # `mAP: 0.5` beside the classes
    return found if is_one and len(names) - len(others) <= 1 + any(map(is_metric_name, names)) else None


def named_by_class(values: Mapping[str, float], state: Mapping[str, Any]) -> Mapping[str, float]:
    """Values by name, where a class has its own name; as a class where nothing is before it."""
    if _HAS_CLASSES not in state:
        return values
    return {
        _NAMED.sub("", name) if _NAMED.search(name, 1) else _NAMED.sub("class ", name): value
        for name, value in values.items()
    }


def _differs_in_data(text: str, row: str) -> bool:
    """Whether a word of a line that may be one for data is not that of another row, at little cost."""
    words, others = text.split(), row.split()
    if len(words) != len(others):
        return False
    differing = (word for word, other in zip(words, others, strict=True) if word != other)
    return any(not word[0].isdigit() and _MAY_BE_DATA.search(word) for word in differing)


def _class_of_row(text: str, rows: list[str]) -> re.Match[str] | None:
    """The word for data in a line, if rows differ from it in this word alone and have none for data."""
    found = DATA_SPLIT.search(text)
    if found is None:
        return None
    before, behind = _outline(text[: found.start()]), _outline(text[found.end() :])
    names = set()
    for row in rows:
        words = _outline(row)
        name = words[len(before) : len(words) - len(behind)]
        if [*words[: len(before)], *words[len(words) - len(behind) :]] != [*before, *behind] or len(
            name
        ) != 1:
            return None
        names.add(name[0])
    return found if len(names) == len(rows) and all(map(_may_be_class, names)) else None


def _outline(text: str) -> list[str]:
    """The words and signs of a text, with the same one for each number."""
    return re.findall(r"[A-Za-z_][\w-]*|[^\w\s]|\w+", _NUMBER.sub("0", text))


def _may_be_class(name: str) -> bool:
    is_word = _WORD.fullmatch(name) is not None and DATA_SPLIT.fullmatch(name) is None
    return is_word and not is_metric_name(name) and name.lower() not in DURATIONS
