"""Trainings of one launch that follow one another: the folds of a cross-validation, several models or seeds.

A line such as `===== fold: 1 =====` or `Training model ResNet18` names the training below it, and words
before `epoch` name that of their own line (`FT Epoch [1/20]`). Where the steps begin anew there, the rows get
that name as a label; those of the first training have none. Where they go on, as for the phases of one
training, the names mean nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from holter.ingest.console.dialect import DialectState, LineKind
from holter.ingest.console.line_shapes import Counter
from holter.ingest.console.pattern_search import LinearPattern
from holter.types import Labels, labels_of

_WORDS = "fold|seed|trial|subject|client|model|experiment|repetition|repeat|replicate|split"
_NUMBERED = re.compile(
    rf"(?i)(?:[^\n]{{0,80}}\W)?(?:k-?|cv )?(?P<word>{_WORDS})s?(?: no\.?| number|_idx)?"
    r"[ \t]?[:=#_-]?[ \t]?#?(?P<number>\d{1,4})(?![\d.\w])(?: ?(?:/|of) ?\d{1,4})?"
    r"[^\w\n]{0,100}(?:[a-z][a-z ]{0,30})?[^\w\n]{0,100}$"
)
_TRAINING = (
    r"(?:now )?(?:training|train|fitting|model)(?: the)?(?: model| network| name)? ?[: ] ?"
    r"['\x22]?(?P<name>[a-z][\w.+-]{1,60})['\x22]?(?: model)?[^\w\n]{0,100}$"
)
_NAMED = re.compile(rf"(?i)[^\w\n]{{0,100}}{_TRAINING}")
_NO_NAMES = frozenset(
    {"and", "begin", "beginning", "begins", "complete", "completed", "config", "configuration", "data",
     "dataset", "device", "done", "end", "ended", "epoch", "epochs", "false", "finish", "finished", "for",
     "from", "images", "in", "info", "interrupted", "loaded", "log", "logs", "loop", "loss", "measures",
     "metrics", "mode", "model", "none", "now", "on", "parameters", "phase", "progress", "result", "results",
     "resumed", "samples", "saved", "set", "size", "stage", "start", "started", "starts", "steps", "stopped",
     "summary", "the", "time", "true", "using", "with"}
)  # fmt: skip
"""Words behind `Training` that name no model."""


def _begin(line: str, state: DialectState) -> None:
    """Note the training that a line names."""
    if (match := _NUMBERED.match(line)) is not None:
        named = [match["word"].lower(), match["number"].lstrip("0") or "0"]
    elif (match := _NAMED.match(line)) is None:
        return
    elif match["name"].lower() in _NO_NAMES:
        state.get("plain lines", {}).pop("evaluating", None)  # a heading of the training
        return
    else:
        named = ["model", match["name"]]
    axis = state.setdefault("plain lines", {})
    section = axis.setdefault("section", {"first": named, "now": named})
    section["next"] = named


SECTIONS = LineKind(
    pattern=LinearPattern(
        rb"(?im)^(?:[^\n]{0,80}[^\w\n])?(?:k-?|cv )?(?:" + _WORDS.encode() + rb")s?(?: no\.?| number|_idx)?"
        rb"[ \t]?[:=#_-]?[ \t]?#?\d{1,4}(?:[^\d.\w\n][^\n]{0,160})?$"
        rb"|^[^\w\n]{0,100}" + _TRAINING.replace("(?P<name>", "(?:").encode()
    ),
    parse=_begin,
    any_program=True,
)
"""Lines that name the training below them."""


def name_stage(stage: str, axis: DialectState) -> None:
    """Note the words before `epoch` in a line, such as those of a fine-tuning: `FT Epoch [1/20]`."""
    section = axis.get("section")
    if section is None:
        if not stage or "step" not in axis:
            return
        last = axis.get("epoch", [axis["step"], -1])
        section = {"first": ["stage", ""], "now": ["stage", ""], "last": [*last], "begin": [-1, -1]}
        axis["section"] = section
    if stage or section["now"][0] == "stage":
        section["next"] = ["stage", stage]


def enter_section(counts: Mapping[Counter, tuple[int, int]], axis: DialectState) -> bool:
    """Begin the training that a line above named, if what this line counts begins anew; else forget the name.

    Returns whether it begins. What was learnt of the steps of one training does not hold for the next one.
    """
    section = axis.get("section")
    if section is None or not counts:
        return False
    epoch = counts.get(Counter.EPOCH)
    inner = next((counts[counter] for counter in sorted(counts) if counter != Counter.EPOCH), None)
    position = [epoch[0] if epoch else -1, inner[0] if inner else -1]
    named, begins = section.pop("next", section["now"]), False
    if "last" not in section:  # names of the first training, such as its seed and its fold
        section["first"] = section["now"] = named
        section["begin"] = position
    elif named != section["now"] and _is_anew(position, section["last"], section["begin"]):
        for name in [*axis.keys() - {"section"}]:
            del axis[name]
        section["now"], section["begin"], begins = named, position, True
    section["last"] = position
    return begins


def _is_anew(position: list[int], last: list[int], first: list[int]) -> bool:
    """Whether `[epoch, step]`, -1 without one, is before the last one, or at the only one so far."""
    for number, before, begin in zip(position, last, first, strict=True):
        if number >= 0 and before >= 0:
            return number < before or number == before == begin
    return False


def is_named(axis: DialectState) -> bool:
    """Whether a line since the last record names a training, or the last records themselves do."""
    section = axis.get("section")
    return section is not None and ("next" in section or section["now"][0] == "stage")


def section_labels(axis: DialectState) -> Labels | None:
    """The labels of rows of the training that goes on; None for the first one."""
    section = axis.get("section")
    if section is None or section["now"] == section["first"]:
        return None
    name, value = section["now"]
    return labels_of({name: value})
