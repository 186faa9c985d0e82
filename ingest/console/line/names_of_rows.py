"""The names of rows below a heading: `bus --> mAP : 0.5`, `agent_0 reward=1.5 loss=0.3`."""

from __future__ import annotations

import re

from holter.ingest.console.line.line_shapes import LineShape, MetricField
from holter.ingest.console.line.line_words import BEFORE_MESSAGE, DATA_SPLIT, LEVELS, ROWS

_LEAST_OF_ROW = 2
_ROW_BEFORE_ARROW = re.compile(r"(?:^ ?|\s\s|[-|\])] )([A-Za-z][\w-]{0,40}) {0,4}-{1,3}> {0,20}$")
_ROW_NAME = re.compile(r"(?:^ ?|\s\s|[-|\])] )([A-Za-z][\w-]{0,40}):[ \t]{0,20}$")
_NUMBERED_ROW = re.compile(rf"(?i)[^\w\n]*((?:{'|'.join(sorted(ROWS))})[_-]?\d{{1,4}})(?: {{1,8}}|: ?|\] ?)")
_TAG = re.compile(r"\[([A-Za-z][\w-]{0,40})\][:,|]?\s{1,8}$")
_OF_RESULTS = frozenset({"metrics", "results", "result", "scores", "performance"})
"""Words before the metrics of a line that name nothing: `Metrics: auc=0.5 f1=0.4`."""


def row_name(parts: list[str], shape: LineShape) -> str:
    """The name of a row before its metrics: `ORG: precision: 67.98%; recall: 50.91%`, `bus --> mAP : 0.5`.

    A name with a number needs no sign: `agent_0 reward=1.5 loss=0.3`.
    """
    if not shape.metrics:
        return ""
    before = text_before(parts, shape.metrics[0])
    if numbered := numbered_row(parts, shape):
        return numbered
    match = (_ROW_NAME if len(shape.metrics) >= _LEAST_OF_ROW else _ROW_BEFORE_ARROW).search(before)
    is_name = match is not None and match[1] not in LEVELS and match[1].lower() not in _OF_RESULTS
    return f"{match[1]}/" if match is not None and is_name and not DATA_SPLIT.fullmatch(match[1]) else ""


def numbered_row(parts: list[str], shape: LineShape) -> str:
    """The same of a row whose name has a number."""
    numbered = _NUMBERED_ROW.match(parts[0]) if len(shape.metrics) >= _LEAST_OF_ROW else None
    return "" if numbered is None else f"{numbered[1]}/"


def tag_in_brackets(parts: list[str], shape: LineShape) -> str:
    """The word in brackets that a message begins with, right before its metrics: `[Sample] loss: 1.4`."""
    before = text_before(parts, shape.metrics[0]) if shape.metrics else ""
    match = _TAG.search(before)
    if match is None or BEFORE_MESSAGE.fullmatch(before, 0, match.start()) is None:
        return ""
    word = match[1]
    return "" if word.upper() in LEVELS or DATA_SPLIT.fullmatch(word) is not None else word.lower()


def text_before(parts: list[str], field: MetricField) -> str:
    """The text before the name of a metric."""
    return "".join(parts[: 2 * field.index + 1]).rpartition(field.name)[0]
