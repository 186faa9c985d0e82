"""Names that are behind their numbers: `E1 trn 1.36 loss, 0.59 precision`, `0.5 loss | 0.9 acc`."""

from __future__ import annotations

import re

from holter.ingest.console.line.line_words import DATA_SPLIT, STOP_WORDS
from holter.ingest.console.line.number_names import counts
from holter.ingest.metric_names import is_metric_name
from holter.translated_words import in_english

_NAME = re.compile(
    r"\s?%?\s{1,4}(?:\((?P<enclosed>[^\W\d][\w@%./+-]{0,30}(?: [^\W\d][\w@%./+-]{0,20}){0,2})\)"
    r"|(?P<name>[^\W\d][\w@%./+-]{0,30}(?: [^\W\d][\w@%./+-]{0,20}){0,2}))"
    r"(?:\s{0,4}[,;|/&.]\s{0,8}|\s{1,8}-\s{1,8}|\s{1,8}|$|\s?\($)"
)
"""What is between two numbers of which the first has its name behind it, or behind the last one."""
_EQUAL = re.compile(r"\s?%?\s{0,4}=\s{1,4}(?P<name>[^\W\d][^=:\d\n]{0,60}?)[\s,;|]{0,8}")
"""A name behind an equals sign and its number: `0.91 = Validation score (accuracy)`."""
_NOTHING = re.compile(r"[\s%:|,;>\])-]*(?:\b(?P<data>[A-Za-z]{2,10}(?:_[a-z]{1,10})?)[\s:|-]{1,12})?")
"""What may be before the first of them: the data that all are of."""
_OF_COUNTS = re.compile(r"[^0]*\( {0,8}0 ?(?:of|/) ?0 ?\)\s*")
"""What a share was counted from, behind its name."""
_LEAST, _LEAST_WITH_COUNTS = 2, 4


def names_behind(texts: tuple[str, ...]) -> dict[int, str]:
    """The names of the numbers of a line, if that of each is behind it, and none is before the first."""
    if (names := _names_behind_signs(texts)) is not None:
        return names
    first = len(texts) - 1
    if len(texts) > _LEAST_WITH_COUNTS and _OF_COUNTS.fullmatch("0".join(texts[-3:])) is not None:
        first -= 2  # `99.7% correct (5982 of 6000)`
    names = {}
    while first and (name := _name_behind(texts[first])):
        first -= 1
        names[first] = name
    # the last text that was no name is before the first of these numbers
    # a line that begins with a number may be about anything: `2 warnings, 3 errors`
    is_known = any if first else all
    if len(names) < _LEAST or not is_known(map(_is_known, names.values())):
        return {}
    before = _NOTHING.fullmatch(texts[first])
    if before is None:
        return {}
    data = before["data"] or ""
    if data and DATA_SPLIT.fullmatch(in_english(data.partition("_")[0]).strip()) is None:
        return {}
    return {index: f"{data} {name}".strip() for index, name in names.items()}


def _names_behind_signs(texts: tuple[str, ...]) -> dict[int, str] | None:
    """The names behind an equals sign of all numbers but a first one that counts; None if any has none."""
    found = [_EQUAL.fullmatch(text) for text in texts[1:]]
    begin = 1 if found and found[0] is None and texts[0].strip() else 0
    if (not begin and texts[0].strip()) or not all(found[begin:]) or not found[begin:]:
        return None
    names = [_with_data_ahead(match["name"]) for match in found[begin:] if match is not None]
    return dict(enumerate(names, begin)) if any(map(is_metric_name, names)) else None


def _with_data_ahead(name: str) -> str:
    """A name with the data behind it in brackets before it: `accuracy (val)`."""
    *words, last = name.split()
    is_data = bool(words) and last.startswith("(") and DATA_SPLIT.fullmatch(last.strip("()")) is not None
    return " ".join((last.strip("()"), *words) if is_data else (*words, last))


def _is_known(name: str) -> bool:
    return is_metric_name(name) or DATA_SPLIT.fullmatch(name) is not None


def _name_behind(text: str) -> str:
    """The name that a text begins with and is nothing else than, "" if it is no name."""
    match = _NAME.fullmatch(text)
    if match is None:
        return ""
    name = match["enclosed"] or match["name"].rstrip(".")
    is_data_alone = match["enclosed"] is None and DATA_SPLIT.fullmatch(name.partition("_")[0]) is not None
    return "" if is_data_alone or counts(name) or name.split()[0].lower() in STOP_WORDS else name
