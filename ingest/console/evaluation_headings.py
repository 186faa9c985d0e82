"""Headings of evaluations: lines such as `evaluate:dev`, `---- [Evaluate] ----`, `Testing ...`.

The metrics below them, up to the next line of the training, or a heading such as `Training measures:`, are
those of the evaluation.
"""

from __future__ import annotations

import re

from holter.ingest.console.dialect import DialectState, LineKind
from holter.ingest.console.line_fields import DATA_SPLIT
from holter.ingest.console.pattern_search import LinearPattern

_NO_HEADING = re.compile(
    r"(?i)train|done|finish|complete|end(?:ed|s)?\b|sav|load|best|improv|size|sample|skip|no |not |error"
)
_OF_TRAINING = re.compile(r"(?i)\W{0,20}train(?:ing)?(?: \w{1,20}){0,2}\W{1,20}")
_LONGEST = 60
_LOGGER = re.compile(
    r"(?:\[[^\]\n]{0,60}?(?:\d|INFO|DEBUG|WARN)[^\]\n]{0,60}\]|\b(?:INFO|DEBUG|WARN(?:ING)?)\b"
    r"|[\w.]{1,60}(?= (?:INFO|DEBUG|WARN))|\d[\d:.,T/-]*|[\s:|>-]+)*"
)
"""What loggers print before a message: levels, times, and in brackets lines of a source file."""
_PREFIX = re.compile(r"^.{0,120}? (?:-|:|\|) (?=\S)")


def _announce(line: str, state: DialectState) -> None:
    """Note the data of an evaluation that begins."""
    text = line.strip()
    text = text[_LOGGER.match(text).end() :] or text  # type: ignore[union-attr] # it matches anything
    if _OF_TRAINING.fullmatch(text) is not None and "plain lines" in state:
        state["plain lines"].pop("evaluating", None)
        return
    while (prefix := _PREFIX.match(text)) is not None and DATA_SPLIT.search(text, prefix.end()) is not None:
        text = text[prefix.end() :]
    found = [match for match in DATA_SPLIT.finditer(text) if match[2]]
    if found and len(text) <= _LONGEST and _NO_HEADING.search(text) is None and "plain lines" in state:
        state["plain lines"]["evaluating"] = found[-1][2].lower()


EVALUATION_HEADINGS = LineKind(
    pattern=LinearPattern(
        rb"(?im)(?:^|[^\w/.])(?:eval(?:uat(?:e|ion|ing))?|valid(?:ation|at(?:e|ing))?|val|test(?:ing)?|dev)"
        rb"(?:[^\w\d\n./-][^\d\n]{0,40})?[-=*#:.\])>a-z][ \t\r]{0,8}$"
        rb"|^[^\w\n]{0,20}train(?:ing)?(?: \w{1,20}){0,2}[^\w\n]{1,20}$"
    ),
    parse=_announce,
    any_program=True,
)
"""Lines that announce an evaluation."""
