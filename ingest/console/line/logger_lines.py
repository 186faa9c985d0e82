"""Lines of loggers in turn, with a tag, a counter and pairs: `[Learner] Critic Loss = 0.5 | Steps = 200`.

A logger also repeats the counters of others. Its own has the words of the tag before it, as in
`[Actor] Actor Steps = 500 | Episode Return = 20.5 | Learner Steps = 40`, or nothing.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from holter.ingest.console.line.line_words import DATA_SPLIT, LEVELS

_NAME = r"((?:[A-Za-z][\w/()-]{0,30} ){1,5})= "
_FIRST = re.compile(r"\s{0,4}\[([A-Za-z][\w .+-]{1,40})\] " + _NAME)
_NEXT = re.compile(r" \| " + _NAME)
_LEAST_OF_LINE = 2
_COUNTED = ("steps", "episodes")
"""What loggers count, the more exact first."""


class LoggerLine(NamedTuple):
    """The tag of a line, the index of what it counts, -1 without that, and those of other counters."""

    tag: str
    counted: int
    others: frozenset[int]


@lru_cache(maxsize=1024)
def logger_line(texts: tuple[str, ...]) -> LoggerLine | None:
    """What a line is of whose numbers are between these texts; None of other lines."""
    first = _FIRST.fullmatch(texts[0])
    if first is None or len(texts) <= _LEAST_OF_LINE or first[1].upper() in LEVELS:
        return None
    if DATA_SPLIT.fullmatch(first[1]) is not None:
        return None
    following = [_NEXT.fullmatch(text) for text in texts[1:-1]]
    names = [first[2], *(match[1] for match in following if match is not None)]
    if len(names) < len(texts) - 1:
        return None
    words = [name.lower().rpartition(" ")[0].rsplit(" ", 1) for name in names]
    counters = {index: " ".join(each[:-1]) for index, each in enumerate(words) if each[-1] in _COUNTED}
    # the first one is that of the program where none is of the tag
    of = next((of for of in (first[1].lower(), "", *counters.values()) if of in counters.values()), None)
    own = [index for index in counters if counters[index] == of]
    counted = min(own, key=lambda index: _COUNTED.index(words[index][-1]), default=-1)
    return LoggerLine(first[1], counted, frozenset(counters.keys() - {counted}))
