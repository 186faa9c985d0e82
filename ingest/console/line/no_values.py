"""Numbers that are no values: of identifiers, files, ranges, targets, limits and lines of code."""

from __future__ import annotations

import re

from holter.ingest.console.line.line_words import SUFFIXES_OF_FILES
from holter.ingest.console.line.numbers_behind import is_imaginary

_NO_UNIT = re.compile(r"[A-Za-z_]++\d")
FILE_BEHIND = re.compile(r"-?[\w=.]{0,40}?\.?(?<![A-Za-z])(?:" + SUFFIXES_OF_FILES + r")\b")
"""What is behind a number in the name of a file: `epoch=3.ckpt`."""
_MODULE = re.compile(r"(?:^|[\s|])(?:(?:[A-Za-z_]\w*\.)+\w+:(?:[\w<>]+:)?|[A-Za-z_]\w*:[\w<>]+:)$")
"""What loggers print before the number of a line: `yolox.core.trainer:after_iter:249 - `."""
_CALLER = re.compile(r"(?:^|\s)(?:__main__|[A-Za-z_]\w*(?:\.\w+)+):$")
"""The same before a function: `__main__:480:log_metrics E1`."""
_TARGET = re.compile(
    r"\( {0,2}(?:(?i:goal)|目标值?|目標|목표|(?i:target)(?= ?[:=]? ?[<>≤≥])) ?[:=<>≤≥][^()\n]{0,40}$"
)
"""What is before a value that is to be reached: `acc: 0.4 (goal: up to 0.8)`, `acc: 0.4 (target > 0.8)`."""
_LIMIT = re.compile(r"[<>\u2264\u2265]=? {0,2}[A-Za-z_]\w{0,40} ?= ?$")
"""What is before a limit with a name: `improved by 0.015 >= min_delta = 0.01`."""
_DEVICE = re.compile(r"\bdevice\(type=['\"]\w{1,12}['\"], index=$")
"""What is before the number of a device as PyTorch prints it: `[device(type='cuda', index=0)]`."""

_AMOUNT_AHEAD = re.compile(r"(?<![A-Za-z])to (?:learn|train|test|process|evaluate|compute|run|load) $")
"""What is before an amount of what something is done with: `time to learn 1 sample = 1.2ms`."""


def is_no_value(texts: tuple[str, ...], last: int, text: str, after: str) -> bool:
    """Whether a number is part of an identifier, a range or nested lists, a target, or a line of code.

    It, or its total, is the one behind the `last` of the texts around all numbers; `text` and `after` are
    those before and behind it.
    """
    is_end = last + 2 == len(texts)
    return (
        _NO_UNIT.match(after) is not None
        or FILE_BEHIND.match(after) is not None
        or (after == "-" and (is_end or not is_imaginary(after, texts[last + 2])))
        or _is_reference(text, after)
        or _TARGET.search(text) is not None
        or _LIMIT.search(text) is not None
        or (text.endswith("=") and _DEVICE.search(text) is not None)
        or (after[:1] == " " and _AMOUNT_AHEAD.search(text) is not None)
        or (text.rstrip(" ").endswith("[[") and not after.lstrip(" ").startswith("]]"))
        or (after == "," and not is_end and text[-1:] not in ("[", "("))
        or (text.endswith("[") and after.strip() == "," and is_end)  # a list continues
    )


def _is_reference(text: str, after: str) -> bool:
    """Whether a number is that of a line, as in `(trainer:737) INFO` and `yolox.core.trainer:246 - `."""
    if after.startswith(":") and _CALLER.search(text) is not None:
        return True
    if after.startswith((" - ", " | ")) and _MODULE.search(text) is not None:
        return True
    return after.startswith(")") and text.endswith(":") and text.rpartition("(")[2][:-1].isidentifier()
