"""Columns for the lines of the training and those of an evaluation: `Training:            Testing:`.

A program that prints both next to each other heads each, and begins their lines below the heading: what is
indented so far is of the evaluation.
"""

from __future__ import annotations

import re
from typing import Any

from holter.ingest.console.dialect import DialectState, LineKind, LineValues
from holter.ingest.console.line.line_words import EVALUATIONS
from holter.ingest.console.line.number_names import counts
from holter.ingest.console.search.pattern_search import LinearPattern

LEAST_INDENT = 20
"""Blanks before the lines of the second column, more than any indentation has."""
_COLUMN = "column of data"
_HEADING = (
    r"(?P<indent>[ ]{0,16})train(?:ing)?(?: [a-z]{1,12})?:? {8,200}"
    rf"(?P<data>{EVALUATIONS})(?: [a-z]{{1,12}})?:?[ \t\r]{{0,200}}$"
)
_BOTH = re.compile(rf"(?i){_HEADING}")


def _note(line: str, state: DialectState) -> None:
    """Note where the lines of an evaluation begin, and its data."""
    match = _BOTH.match(line)
    if match is not None and (column := match.start("data") - len(match["indent"])) >= LEAST_INDENT:
        state.setdefault("plain lines", {})[_COLUMN] = [column, match["data"].lower()]


def of_column(values: LineValues, line: str, axis: dict[str, Any]) -> LineValues:
    """The values of a line named after the data of the column that it begins in."""
    if _COLUMN not in axis:
        return values
    column, data = axis[_COLUMN]
    if len(line) - len(line.lstrip(" ")) < column:
        return values
    return values._replace(
        values={name if counts(name) else f"{data}/{name}": value for name, value in values.values.items()}
    )


COLUMN_HEADINGS = LineKind(
    pattern=LinearPattern(b"(?im)^" + re.sub(r"\?P<\w+>", "?:", _HEADING).encode()),
    parse=_note,
    any_program=True,
)
"""Lines of nothing but the data of two columns."""
