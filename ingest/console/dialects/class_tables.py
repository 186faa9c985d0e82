"""Tables of an evaluation without lines between their cells: a name and its scores per row.

`Class  IoU  Acc` above `road  0.42  0.47`, `Class  IoU` above `road  0.42`; the names of several scores may
be without one for the first column. They are at the last step of the training, as `eval/road/IoU`.
"""

from __future__ import annotations

import re

from holter.ingest.console.dialect import DialectState, LineKind, LineValues
from holter.ingest.console.headings.training_sections import section_labels
from holter.ingest.console.line.evaluation_names import metric_name
from holter.ingest.console.plain.plain_line import axis_state
from holter.ingest.console.search.pattern_search import LinearPattern
from holter.ingest.console.steps.positions import position
from holter.ingest.console.text.values import parse_number
from holter.ingest.metric_names import is_metric_name

_FIRST = frozenset(
    {"class", "classes", "category", "label", "name", "dataset", "domain", "object", "subject", "part",
     "model", "symbol", "ticker", "stock", "asset", "station", "region", "language", "target", "variable",
     "feature", "method", "taxonomy"}
)  # fmt: skip
"""Names of the column that states what a row is about."""
_SHORT = re.compile(r"[A-Z]{2}[\w@.]{0,12}")
"""Short names of scores, as `MJE` and `ADD`."""
_OF_DATA = frozenset({"images", "instances", "labels", "targets", "samples", "sample", "support", "count"})
"""Columns that state how much data a row is of, and measure nothing; so do those with `#` before them."""
_IDENTIFIER = re.compile(r"0\d{4,11}")
"""A number that names a class, as the synsets of WordNet: `02691156`."""
_MOST_ROWS = 50
_GAP = re.compile(r"[ \t]{2,}|\t")
"""What is between names that may have several words: `Symbol   MAPE   Direction Acc`."""


def _begin(line: str, state: DialectState) -> None:
    """Note the names of the columns of the rows below."""
    words = line.split()
    is_named = words[0].lower() in _FIRST
    phrases = _GAP.split(line.strip())
    several = [names[1:] if is_named else names for names in (words, phrases)]
    # `#ModelName`, a column of other names of the same rows
    several = [names[:-1] if _is_other_name(names[-1]) else names for names in several]
    table = {"names": [names for names in several if _measures(names)], "rows": 0}
    state["class columns"] = {**table, "has other names": True} if _is_other_name(words[-1]) else table


def _measures(names: list[str]) -> bool:
    """Whether these are names of columns of scores, each another one."""
    scores = [name for name in names if not _is_amount(name)]
    is_short = len(scores) > 1 and all(map(_SHORT.fullmatch, scores))
    measures = any(map(is_metric_name, names)) or is_short
    return measures and len({*names}) == len(names)


def _is_amount(name: str) -> bool:
    """Whether a column states how much data a row is of."""
    return name.lower().lstrip("#") in _OF_DATA


def _is_other_name(name: str) -> bool:
    return name.startswith("#") and name.lower().endswith("name")


def parse_row(line: str, state: DialectState) -> LineValues | None:
    """The scores of a row right below the names of the columns, or below such a row."""
    table = state.get("class columns", {"names": [], "rows": 0})
    axis, parts = axis_state(state), line.split()
    step = position(axis)
    is_next = table["names"] and state.get("is near") and table["rows"] < _MOST_ROWS
    if not is_next or step is None:
        state.pop("class columns", None)
        return None
    if table.get("has other names") and len(parts) > 1 and parse_number(parts[-1]) is None:
        parts.pop()
    names = next((each for each in table["names"] if _fits(each, parts)), table["names"][0])
    table["names"] = [names]
    if not _fits(names, parts):  # the row of all classes may have no amount: `Overall  12.2  0.6`
        names = [name for name in names if not _is_amount(name)]
    cells = parts[-len(names) :]
    name = " ".join(parts[: -len(names)])
    split = axis.get("evaluating") or "eval"
    numbers = [number for cell in cells if (number := parse_number(cell)) is not None]
    is_metric = len(names) == 1 and is_metric_name(name)
    if is_metric or not _names_row(name) or len(numbers) < len(names):
        del state["class columns"]
        return None
    table["rows"] += 1
    values = {
        metric_name(f"{name}/{column}", split): number
        for column, number in zip(names, numbers, strict=True)
        if not _is_amount(column)
    }
    return LineValues(int(step), values, labels=section_labels(axis))


def _fits(names: list[str], parts: list[str]) -> bool:
    """Whether a row has a number for each of these names, and its own name before them."""
    are_numbers = all(parse_number(part) is not None for part in parts[-len(names) :])
    return are_numbers and _names_row(" ".join(parts[: -len(names)]))


def _names_row(name: str) -> bool:
    """Whether what is before the scores of a row is a name, rather than another number."""
    last = name.rpartition(" ")[2]
    return bool(last) and (parse_number(last) is None or _IDENTIFIER.fullmatch(last) is not None)


_WORD = rb"#?[A-Za-z][\w@.%-]*(?::\.?\d{1,3})?"
"""A name, maybe with a range of thresholds: `mAP@.5:.95`."""
_NUMBER = rb"-?\d+(?:\.\d+)?(?:e[-+]\d{2,3}|%)?"
BEGIN = LineKind(
    pattern=LinearPattern(
        rb"(?im)^(?:[ \t]{4,80}%s[ \t]+|(?:%s)(?:[ ]{2,80}|\t[ \t]{0,20}))(?:%s[ \t]+)*%s[ \t\r]{0,40}$"
        % (_WORD, "|".join(sorted(_FIRST)).encode(), _WORD, _WORD)
    ),
    parse=_begin,
    any_program=True,
    in_blocks=True,
)
"""A line of nothing but names, which are indented or below which things are named."""
ROW = LinearPattern(
    rb"(?m)^[ \t]{0,40}\w[\w.()/&+-]{0,60}(?: [\w.()/&+-]{1,40}){0,3}[ \t]+"
    rb"(?:%s[ \t]+)+%s(?:[ \t]*\t[A-Za-z]\w{0,30})?[ \t\r]{0,40}$" % (_NUMBER, _NUMBER)
)
"""A line of a name and several numbers, behind which may be another name."""
VALUE_ROW = LineKind(
    pattern=LinearPattern(
        rb"(?m)^[ \t]{0,40}[^\W\d][\w.()/&+-]{0,60}(?: [\w.()/&+-]{1,40}){0,3}(?: {2,40}|\t)[ \t]{0,40}"
        rb"\d{1,3}\.\d{1,20}%?[ \t\r]{0,40}$"
    ),
    parse=parse_row,
    any_program=True,
    in_blocks=True,
)
"""A line of a name and a single measured number."""
