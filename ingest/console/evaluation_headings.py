"""Headings of evaluations: lines such as `evaluate:dev`, `---- [Evaluate] ----`, `Testing ...`.

The metrics below them, up to the next line of the training, are those of the evaluation.
"""

from __future__ import annotations

import re

from holter.ingest.console.dialect import DialectState, LineKind
from holter.ingest.console.line_fields import DATA_SPLIT
from holter.ingest.console.pattern_search import LinearPattern

_NO_HEADING = re.compile(
    r"(?i)train|done|finish|complete|end(?:ed|s)?\b|sav|load|best|improv|size|sample|skip|no |not |error"
)
_LONGEST = 60
_PREFIX = re.compile(r"^.{0,120}? (?:-|:|\|) (?=\S)")


def _announce(line: str, state: DialectState) -> None:
    """Note the data of an evaluation that begins."""
    text = line.strip()
    while (prefix := _PREFIX.match(text)) is not None and DATA_SPLIT.search(text, prefix.end()) is not None:
        text = text[prefix.end() :]
    found = [match for match in DATA_SPLIT.finditer(text) if match[2]]
    if found and len(text) <= _LONGEST and _NO_HEADING.search(text) is None and "plain lines" in state:
        state["plain lines"]["evaluating"] = found[-1][2].lower()


EVALUATION_HEADINGS = LineKind(
    pattern=LinearPattern(
        rb"(?im)(?:^|[^\w/.])(?:evaluat(?:e|ion|ing)|valid(?:ation|ating)?|val|test(?:ing)?|dev)"
        rb"(?:[^\w\d\n./-][^\d\n]{0,40})?[-=*#:.\])>a-z][ \t\r]{0,8}$"
    ),
    parse=_announce,
    any_program=True,
)
"""Lines that announce an evaluation."""
