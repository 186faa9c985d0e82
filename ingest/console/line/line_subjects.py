"""What a line states that its numbers are of: a data set, a method, a run, or a part of the line.

`dataset: CIFAR, dice: 0.8`, `Run: XOR_All | Epoch: 60`, `[DQN s0] Episode 10`, `unet: loss 0.5 acc 0.6`.
"""

from __future__ import annotations

import re

from holter.ingest.console.line.line_words import (
    ALL_DATA,
    COUNTED_ROWS,
    DATA_SPLIT,
    INDEX_WORDS,
    ROWS,
    ROWS_AHEAD,
    WRITERS,
)
from holter.ingest.console.line.logger_lines import logger_line
from holter.ingest.console.line.number_field import NumberField
from holter.ingest.metric_names import is_metric_name

_THINGS = (
    r"(dataset|subset|task|domain|category|corpus|lang(?:uage)?|speaker|class|model|method|algo(?:rithm)?|agent"
    r"|client|player)"
)
_ABOUT = re.compile(
    rf"(?i)(?:^|[\s,;|({{\[])['\"]?{_THINGS}['\"]?"
    r"\s?[:=]\s?['\"]?([a-z][\w.+-]{0,60})(?=['\"]?(?:[\s,;|)}\]]|$))"
)
"""A word before a name that tells one of several things apart, each with lines of its own."""
_ABOUT_AT_END = re.compile(rf"(?i)[|,;] {{0,4}}{_THINGS} ([a-z][\w.+-]{{0,60}})\s{{0,8}}$")
"""The same without a sign at the end of a line: `Epoch 3 | loss 0.5 | Model resnet18`."""
_RUN = re.compile(r"(?i)(?:^|[\]>:-] {1,4}|\s)(run|experiment) ?[:=] ?([a-z][^|\n]{0,100}?) {0,4}\|")
"""The run that a line is of, among others in turn: `Run: XOR_All_final | Epoch: 60 | Train Loss: 1.25`."""
_TAG = re.compile(
    r"\s{0,4}\[(?![^\]]*\b(?i:best|new|saved?|checkpoint|ckpt|improved)\b)"  # of any training
    r"(?!(?i:info|debug|warn|error|main|train|eval|val|test|epoch|step|iter|rank|gpu|worker|node))"
    r"([A-Za-z][\w .+-]{1,40})\](?:[ :|-]{1,4}|[ :|-]{0,4}\[)(?i:epoch|episode|step|iter|round|ep\b)"
)
"""A name in brackets before what a line counts: `[DQN s0] Episode 10 | reward: 5.2`, `[oak][Epoch 1/9]`."""
_NUMBERED = re.compile(
    r"(?i)[^\w\n]{0,12}(client)[_-]?(\d{1,6})\b[\])]?"
    rf"(?=\s{{0,8}}(?:[:|=>-]|$)|\s{{1,8}}(?:{ALL_DATA}|(?:local )?epoch)\b"
    r"|(?<=[\])]) {1,8}[a-z])"
)
"""A client with its number as one word, before data, an epoch or a sign: `Client3 Test => Loss: 0.5`.

In brackets it may be before any word: `[client_3] trained, loss 0.5`.
"""
_TRAINING = re.compile(
    r"(?i)[^\w\n]{0,12}(fold|trial|seed|subject|session|agent|model|task|experiment|repetition|repeat)[_-]?(\d{1,6})\b[\])]?"
    r"(?=\s{0,8}[:|,>-]{1,3}\s{0,8}[\[({]?[a-z]|\s{1,8}(?:local )?epoch\b)"
)
"""One of several trainings with its number as one word, before another word: `fold2: epoch 3 loss 0.5`."""
_OF_ROUND = re.compile(
    r"(?:^|[^\w.-])((?i:[a-z][a-z_-]{0,30}\d{1,6})) (?:has )?[a-z]{2,12}(?:ed|ent|s|ing) "
    r"(?:its |the )?(?:local )?round[ #:]{1,3}$"
)
"""One of those that take part in a round, before what it did: `node03 submitted round 2: loss 0.5`."""
_OF_WRITER = frozenset({"", "train", "training"})
"""What may be before the word for a writer."""
_PART_OF_LINE = re.compile(
    r"(?<![\w.])([A-Za-z][\w-]{1,30})(?: (?:metrics|results|losses|scores))?(?: ?[:=] ?[{(\[]?|: ?)$"
)
"""A word before a part of a line that has several numbers."""


def subject_of(texts: tuple[str, ...]) -> tuple[str, str] | None:
    """What a line states that it is about, if it is one of several things with names."""
    if (numbered := _NUMBERED.match(texts[0])) is not None:
        return (numbered[1].lower(), str(int(numbered[2])))
    if (member := _OF_ROUND.search(texts[0])) is not None:
        return ("client", member[1])
    if (training := _TRAINING.match(texts[0])) is not None and not _is_again(training[1], texts):
        return (training[1].lower(), str(int(training[2])))
    tag = _TAG.match(texts[0])
    if tag is not None and DATA_SPLIT.search(tag[1]) is None and not is_metric_name(tag[1]):
        return ("training", tag[1])
    if (logger := logger_line(texts)) is not None:
        return ("logger", logger.tag)
    if (run := _RUN.search(texts[0])) is not None:
        return ("run", run[2])
    found = [(match[1].lower(), match[2]) for text in texts for match in _ABOUT.finditer(text)]
    if not found and (end := _ABOUT_AT_END.search(texts[-1])) is not None:
        found = [(end[1].lower(), end[2])]
    if not found or DATA_SPLIT.fullmatch(found[0][1]):
        return None
    word, name = found[0]
    is_of_several = any(other == word and named != name for other, named in found)
    return None if is_of_several else (word, name)  # `player: red reward: 1.5 player: blue reward: 0.5`


def _is_again(word: str, texts: tuple[str, ...]) -> bool:
    """Whether a line has a word twice: `task0: loss 0.5, task1: loss 0.6` is of no single task."""
    return sum(text.lower().count(word.lower()) for text in texts) > 1


def label_of(before: str, name: str) -> str:
    """What a metric and those behind it are of: a word before them, or the first of two of its name."""
    if (part := _PART_OF_LINE.search(before)) is not None:
        return part[1]
    words = name.split(" ")
    is_of_word = len(words) == 2 and is_metric_name(words[1]) and DATA_SPLIT.fullmatch(words[0]) is None
    return words[0] if is_of_word else ""


def word_of_row(field: NumberField) -> str:
    """The word for what a number tells apart, if it does: `Class 0: acc 0.5`, `[Client 3] loss 0.5`."""
    if not field.name or field.explains or field.is_duration:
        return ""
    words = field.english.lower().replace("_", " ").split()
    if words[1:] and words[-1].rstrip(".:") in INDEX_WORDS:
        words.pop()
    if words[1:] and words[0] in ("on", "of", "for", "at"):
        del words[0]  # `epoch #1 on client #3`
    if field.index == 0 and words and words[-1] in WRITERS and " ".join(words[:-1]) in _OF_WRITER:
        return words[-1]  # `Training thread: 3 step: 100 loss: 0.5`
    is_ahead = field.index == 0 and not field.marked
    known = ROWS_AHEAD if is_ahead else COUNTED_ROWS if field.marked else ROWS
    if len(words) != 1 or words[0] not in known:
        return ""  # `Class: 0.5` is a loss
    if words == ["run"] and field.bracketed:
        return ""  # `run [50]:` is a step
    return words[0]
