"""Stages of a program with a number and words each, no steps of its training: `Step 2: Loading data`.

The first of them sets something up before anything is trained; each that follows has the next number and
other words. A step of a training has the same words as the one before, or metrics.
"""

from __future__ import annotations

import re
from typing import Any

from holter.ingest.console.line.line_counters import Counter
from holter.ingest.console.line.line_shapes import LineShape
from holter.ingest.console.line.line_words import DATA_SPLIT
from holter.ingest.console.steps.evaluated_parts import end_evaluation

_STAGE = re.compile(
    r"(?i)(?:^|[\s\]|>:-])(?:step ?#?|\[(?:step )?)(?P<number>\d{1,2})(?: ?(?:/|of) ?\d{1,2})?"
    r"[\])]?(?: ?[:.]| [-\u2013\u2014])? (?P<words>[A-Z][^\n]{2,80})$"
)
_SETS_UP = re.compile(
    r"(?i)(?:creat|load|prepar|pre-?process|download|fetch|read|pars|import|install|check|validat"
    r"|clean|extract|set(?:ting)? ?-?up|configur|initiali[sz]|build|split|convert|tokeni[sz])"
    r"\w{0,5}\b[^\n]{0,60}\b(?:data\w{0,8}|model|tokeni[sz]er|environment|corpus|features?|files?"
    r"|libraries|packages|config\w{0,10}|settings|images|samples|splits?|vocab\w{0,6}"
    r"|checkpoint|weights|network|dependencies)\b"
)
_STAGES = "stages"
_FIRST = 1


def is_stage(line: str, shape: LineShape, axis: dict[str, Any]) -> bool:
    """Whether a line without values names a stage; what it states of an evaluation is noted."""
    if [field.counter for field in shape.counters] != [Counter.STEP] or shape.metrics:
        return False
    match = _STAGE.search(line.rstrip())
    if match is None:
        return False
    number, words = int(match["number"]), match["words"]
    last, last_words = axis.get(_STAGES, (None, ""))
    begins = number <= _FIRST and (last is not None or "step" not in axis) and _SETS_UP.search(words)
    if not begins and (last is None or number != last + 1 or words == last_words):
        axis.pop(_STAGES, None)
        return False
    axis[_STAGES] = [number, words]
    if data := shape.split or _evaluated(words):
        axis["evaluating"] = data
    else:
        end_evaluation(axis)
    return True


def _evaluated(words: str) -> str:
    """The data that a stage evaluates, in its words: `Evaluating on the test set`."""
    if _SETS_UP.search(words) is not None or "train" in words.lower():
        return ""
    found = [match[2].lower() for match in DATA_SPLIT.finditer(words) if match[2]]
    return next((data for data in found if not data.startswith("eval")), "".join(found[:1]))
