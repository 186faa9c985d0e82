"""Headings of settings, as of a search: `==== lr=0.1 hidden=32 ====` names the training below it."""

from __future__ import annotations

import re

from holter.ingest.console.dialect import DialectState, LineKind, LineResult
from holter.ingest.console.headings.training_sections import note_settings
from holter.ingest.console.line.line_settings import is_setting
from holter.ingest.console.line.number_names import counts
from holter.ingest.console.plain.result_blocks import parse_metric
from holter.ingest.console.search.pattern_search import LinearPattern
from holter.ingest.metric_names import is_metric_name

_NAME, _VALUE = r"[A-Za-z_][\w.-]{0,30}", r"[\w.+-]{1,30}"
_PAIR = rf"{_NAME} ?[=:] ?['\x22]?{_VALUE}['\x22]?"
_PAIRS = rf"{_PAIR}(?:[,;|]? {{1,4}}{_PAIR}){{1,8}}"
_HEADING = rf"[ \t]{{0,8}}[=*#~+>-]{{3,80}} {{0,4}}(?P<pairs>{_PAIRS}) {{0,4}}[=*#~+<-]{{3,80}}[ \t\r]{{0,8}}"
_FRAMED = re.compile(_HEADING)
_NAME_AND_VALUE = re.compile(rf"({_NAME}) ?[=:] ?['\x22]?({_VALUE})")


def _heading(line: str, state: DialectState) -> LineResult:
    """Note the settings of the training below; read a line with anything else, such as one of results."""
    match = _FRAMED.fullmatch(line)
    settings = {} if match is None else dict(_NAME_AND_VALUE.findall(match["pairs"]))
    if not any(map(is_setting, settings)) or any(map(_is_measured, settings)):
        return parse_metric(line, state)
    note_settings(settings, state)
    return None


def _is_measured(name: str) -> bool:
    """Whether a name is that of a metric or of what counts."""
    return (is_metric_name(name) and not is_setting(name)) or counts(name.replace("_", " "))


FRAMED_SETTINGS = LineKind(
    pattern=LinearPattern(rf"(?m)^{_HEADING}$".encode()),
    parse=_heading,
    any_program=True,
    in_blocks=True,
)
"""Lines of nothing but pairs of a name and a value between signs."""
