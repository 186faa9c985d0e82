"""Headings that name what is measured of each class, above a row for each: `IoU per class:`.

`road: 0.42` below it is `IoU/road`, and `Class 3: 0.42` is the IoU of the class 3, also below any metric on a
line of its own, such as `Validation Dice scores:`.
"""

from __future__ import annotations

import re

from holter.ingest.console.dialect import DialectState, LineKind, LineResult
from holter.ingest.console.headings.evaluation_headings import announce
from holter.ingest.console.headings.subjects_above import note_heading_of_subject
from holter.ingest.console.search.pattern_search import LinearPattern
from holter.ingest.console.steps.known_steps import known_axis
from holter.ingest.console.steps.positions import position
from holter.ingest.metric_names import is_metric_name

_MEASURE = "measure of classes"
_CLASSES = r"(?:class|category)(?:es)?"
_PER_CLASS = rf"[ \t](?:per|by|for[ \t]each|of[ \t]each)[ \t-]{_CLASSES}"
_CLASS_WISE = r"(?:per|each)[ \t-]class|class-?wise"
_SIGNS = r"[ \t*#=>-]{0,20}"
_WORDS = r"[A-Za-z][\w @()/.-]{0,50}"
_END = r"[ \t]{0,4}:?[ \t*#=-]{0,20}\r?"
_HEADING = re.compile(
    rf"(?i){_SIGNS}(?:(?P<before>{_WORDS}?){_PER_CLASS}"
    rf"|(?P<data>(?:[a-z]{{2,12}}[ \t]){{0,2}})(?:{_CLASS_WISE})[ \t](?P<behind>{_WORDS}?)){_END}"
)
_NO_PART_OF_NAME = re.compile(r"(?i)[ _]scores?$| ?\([^()\n]{0,40}\)")
"""What names nothing else: that there are several values, and the metric once more, `F1 (Dice)`."""
_NAME_OF_ROW = re.compile(r"[A-Za-z][\w ./()-]{0,60}?(?=[ \t]{0,8}[:=])")
_ROW = re.compile(
    r"(?i)\bclass[ _#-]?(?P<class>\d{1,4})(?: ?\([^()\n]{1,40}\))?[ \t]{0,8}[:=][ \t]{0,8}"
    r"(?=[-+]?\d{1,6}\.?\d{0,20}[ \t]?%?\s*$)"
)


def note_measure_of_classes(name: str, state: DialectState, *, is_of_each: bool) -> None:
    """Note what the rows below may be of; `is_of_each`: the heading states that they are of classes."""
    if is_metric_name(name):
        measure = _NO_PART_OF_NAME.sub("", name)
        state[_MEASURE] = [measure if is_metric_name(measure) else name, _place(state), is_of_each]


def with_measure(line: str, state: DialectState) -> str:
    """A row of a class with what the heading above it measures before its name; other lines as they are."""
    measure, at, is_of_each = state.get(_MEASURE, ("", None, False))
    if not measure:
        return line
    if not state.get("is near") or at != _place(state):
        del state[_MEASURE]  # other lines are between, or another step is
        return line
    row = _ROW.search(line)
    if row is not None:
        return f"{line[: row.start()]}class {row['class']}: {measure}: {line[row.end() :]}"
    name = _NAME_OF_ROW.search(line) if is_of_each else None
    if name is None or is_metric_name(name[0]):
        return line
    return f"{line[: name.start()]}{measure}/{line[name.start() :]}"


def _place(state: DialectState) -> list[float | None]:
    axis = known_axis(state)
    return [position(axis), axis.get("heading")]


def _note(line: str, state: DialectState) -> LineResult:
    """Note a heading of classes, which may announce an evaluation as any other."""
    announce(line, state)
    note_heading_of_subject(line, known_axis(state))
    match = _HEADING.fullmatch(line)
    if match is not None:
        name = match["before"] or f"{match['data'] or ''}{match['behind']}"
        note_measure_of_classes(name.strip(), state, is_of_each=True)
    return None


CLASS_HEADINGS = LineKind(
    pattern=LinearPattern(
        rf"(?im)^{_SIGNS}(?:{_WORDS}{_PER_CLASS}|(?:[a-z]{{2,12}}[ \t]){{0,2}}(?:{_CLASS_WISE})[ \t]{_WORDS})"
        rf"{_END}$".encode()
    ),
    parse=_note,
    any_program=True,
    in_blocks=True,
)
"""Lines of nothing but what is measured of each class."""
