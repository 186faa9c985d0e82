"""Headings of evaluations: lines such as `evaluate:dev`, `---- [Evaluate] ----`, `Testing ...`.

The metrics below them, up to the next line of the training, or a heading such as `Training measures:`, are
those of the evaluation.
"""

from __future__ import annotations

import re
from functools import lru_cache

from holter.ingest.console.dialect import DialectState, LineKind
from holter.ingest.console.headings.settings_in_blocks import is_section_of_settings
from holter.ingest.console.headings.subjects_above import note_heading_of_subject
from holter.ingest.console.line.line_words import ALL_DATA, DATA_SPLIT, EVALUATIONS
from holter.ingest.console.search.pattern_search import LinearPattern
from holter.ingest.console.steps.evaluated_parts import (
    BEGINS_TRAINING,
    begins_training,
    end_evaluation,
)
from holter.ingest.console.steps.evaluation_passes import note_heading_again
from holter.ingest.text_encoding import in_encodings

_NO_HEADING = re.compile(
    r"(?i)train|done|finish|complete|end(?:ed|s)?\b|sav|load|best|improv|better|size|sample|skip|no |not "
    r"|error"
)
_OF_TRAINING = re.compile(
    r"(?i)\W{0,20}(?:on (?:the )?)?train(?:ing)?(?:(?: \w{1,20}){0,2}(?: \([^()\n]{1,30}\))?\W{1,20})?"
)
_ON_TRAINING_DATA = (
    r"(?:check|evaluat|comput|calculat|measur)\w{0,4} [\w ]{0,30}\b(?:on|for|of|over)(?: the)? train(?:ing)?"
    r"(?: (?:set|data|dataset|images|samples))?[^\w\n]{0,20}$"
)
"""An evaluation of the data of the training: `Checking accuracy on training data`."""
_EVALUATES_TRAINING = re.compile(rf"(?i){_ON_TRAINING_DATA}")
_LONGEST = 60
_SPEAKER = re.compile(r"<\w{1,40}> ")
"""The part of a program that prints a line: `<trainer> on testing set:`."""
_FRAMED = re.compile(r"^[-=*#~]{3}.*[-=*#~]{3}$")
_SETTING_OF_YAML = re.compile(r"[ \t]+[A-Z_]+: ?(?:\(.*\)|\[.*\])?\s*")
"""A key of nested settings, as those of yacs: `  TEST:`, `  TEST: ("coco_2014_val",)`."""
_KEY = re.compile(r"\s*\w+:?\s*")
"""A line that may be a key of settings, where it comes before any record: `eval:`; or any word: `test`."""
_BEST = re.compile(r"(?i)\bbest\b")
"""A heading between signs of an evaluation of the best model: `=== Best model (validation) ===`."""
_NO_DATA = re.compile(r"(?i)eval")
_RESULTS_OF = "results of"
_OF = re.compile(
    r"(?i) (?:results?|metrics|scores?) (?:for|of|on) "
    r"(?!(?:the|all|each|this|epoch|step|best|last|final|model)\b)([a-z][\w.-]{0,40}?)[ \t]{0,4}:?\W{0,20}$"
)
"""What the results of an evaluation are of: `Evaluation results for segm:`."""
_PHASE = r"(?:phase|mode|stage|split) ?[:=] {0,4}"
_IN_PHASE = re.compile(rf"(?i)(\W{{0,20}}){_PHASE}(?=\w{{1,20}}\W{{0,20}}$)")
"""What a line with nothing but data may have before these: `Phase: val`."""
_PREFIX = re.compile(r"^.{0,120}? (?:-|:|\|) (?=\S)")


def announce(line: str, state: DialectState) -> None:
    """Note the data of an evaluation that begins."""
    axis = state.get("plain lines", {})
    if is_section_of_settings(line, state):
        return
    is_key = _KEY.fullmatch(_IN_PHASE.sub(r"\1", line)) is not None
    if is_key and "names" not in axis and "announced" not in axis:
        return
    text = _SPEAKER.sub("", line.strip(), count=1)
    if _IN_PHASE.match(line) is None:
        note_heading_of_subject(text, axis)
    data = announced_data(line)
    axis.pop(_RESULTS_OF, None)
    if data is None or "plain lines" not in state:
        return
    if data:
        note_heading_again(data, axis)
        axis["evaluating"] = data
        if (of := _OF.search(text)) is not None and DATA_SPLIT.fullmatch(of[1]) is None:
            note_evaluated(of[1], axis)
        return
    end_evaluation(axis)
    axis["headed training"] = True


def note_evaluated(of: str, axis: DialectState) -> None:
    """Note what the results of an evaluation are of, up to the next step."""
    axis[_RESULTS_OF] = [of, axis.get("step")]


def evaluated_here(axis: DialectState) -> str:
    """The data that a heading above announces, with what its results are of: `evaluation/segm`."""
    return with_evaluated(axis.get("evaluating", ""), axis)


def with_evaluated(data: str, axis: DialectState) -> str:
    """The data of an evaluation with what the results at this step are of, as a line above names it."""
    of, step = axis.get(_RESULTS_OF, ("", None))
    return f"{data}/{of}" if data and of and step == axis.get("step") else data


def announced_data(line: str) -> str | None:
    """The data of the evaluation that a line announces; "" if it is the training, None if it is nothing."""
    if _SETTING_OF_YAML.fullmatch(line) is not None:
        return None
    line = _IN_PHASE.sub(r"\1", line)
    text = _SPEAKER.sub("", line.strip(), count=1)
    if begins_training(text) or _OF_TRAINING.fullmatch(text) is not None:
        return ""
    if _EVALUATES_TRAINING.match(text) is not None:
        return "eval/train"
    while (prefix := _PREFIX.match(text)) is not None and DATA_SPLIT.search(text, prefix.end()) is not None:
        text = text[prefix.end() :]
    found = [match for match in DATA_SPLIT.finditer(text) if match[2]]
    framed = _FRAMED.search(text)
    best = _BEST.search(text) if framed is not None else None
    other = text if best is None else text[: best.start()] + text[best.end() :]
    is_short = len(text if framed is None else text.strip("-=*#~ ")) <= _LONGEST
    if not found or not is_short or _NO_HEADING.search(other) is not None:
        return None
    # `Running test evaluation`
    of_data = [match[2] for match in found if not _NO_DATA.match(match[2])] or [found[-1][2]]
    data = of_data[-1].lower()
    return data if best is None else f"{data}/best"


EVALUATION_HEADINGS = LineKind(
    pattern=LinearPattern(
        rb"(?im)(?:^|[^\w/.\n])(?:" + EVALUATIONS.encode() + rb")"
        rb"(?:[^\w\d\n./-][^\d\n]{0,40}|\.\.)?(?:[-=*#:.\])>a-z]|(?:" + in_encodings("…") + rb"){1,2})"
        rb"[-=*#]{0,40}[ \t\r]{0,8}"
        rb"(?:\x1b\[\d{1,3}m[ \t\r]{0,4})?$"
        rb"|(?:^|[ \]>:-])(?:start|begin)(?:n?ing)?(?: the)?"
        rb" (?:" + EVALUATIONS.encode() + rb")[ \t\r]{0,8}$"
        rb"|^(?:<\w{1,40}>)?[^\w\n]{0,20}(?:on (?:the )?)?train(?:ing)?(?: \w{1,20}){0,2}"
        rb"(?: \([^()\n]{1,30}\))?[^\w\n]{1,20}$"
        rb"|(?:^|[ \]>:-])"
        + _ON_TRAINING_DATA.encode()
        + rb"|(?:^|[ \]>:-])"
        + BEGINS_TRAINING.encode()
        + rb"|^[ \t]{0,20}(?:[=>#*+-]{1,10}[ \t]{0,4})?(?:"
        + _PHASE.encode()
        + rb")?(?:"
        + ALL_DATA.encode()
        + rb")[ \t\r]{0,8}$"
    ),
    parse=announce,
    any_program=True,
)
"""Lines that announce an evaluation."""


@lru_cache(maxsize=2048)  # asked again for each line that waits
def heading_data(line: str) -> str | None:
    """The data that a line announces if it is such a heading, see `announced_data`."""
    is_heading = EVALUATION_HEADINGS.pattern.search(line.encode()) is not None
    return announced_data(line) if is_heading else None
