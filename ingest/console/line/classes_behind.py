"""Rows of classes that begin with a score, whose name is behind it: `41.5% = bird AP || t=0.5 : F1=0.4`.

So the scripts print it that measure the mAP of Pascal VOC. The threshold behind it is of the other scores,
which are of this class, too.
"""

from __future__ import annotations

import re

_ROW = re.compile(
    r"(?P<before>\s{0,20})(?P<value>\d{1,3}\.\d{1,4}%) = (?P<name>[^\W\d][\w -]{0,60}?) (?P<score>m?AP)\b"
    r"(?P<behind>[^\n]{0,200})"
)
_THRESHOLD = re.compile(r"\w{0,20}thre\w{0,10} ?= ?[\d.]{1,8} ?:?")
_SCORE = re.compile(r"(?<![\w/])(?=[A-Z][\w-]{0,20} ?[=:])")


def with_class_ahead(line: str) -> str:
    """The row of a class with its name before each of its scores; other lines as they are."""
    row = _ROW.fullmatch(line.rstrip()) if "% = " in line else None
    if row is None:
        return line
    name = row["name"]
    behind = _SCORE.sub(f"{name}/", _THRESHOLD.sub("", row["behind"]))
    return f"{row['before']}{name}/{row['score']}: {row['value']}{behind}"
