"""Recognises a program that crashed or was ended, and the one that continues with what it saved.

A traceback alone shows little: programs catch exceptions and print them. Behind one that ends with its
exception, or behind what the shell or a queue states, a line that begins a program, or loads a checkpoint,
is one of another process, and so is behind any of them the step that was printed last.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from holter.ingest.console.search.pattern_search import LinearPattern

_TRACEBACK = b"Traceback (most recent call last)"
_HEADING = re.compile(rb"(?m)^Traceback \(most recent call last\):")
_EXCEPTION = re.compile(
    rb"(?m)^(?:[A-Za-z_]\w{0,60}\.){0,6}[A-Za-z_]\w{0,60}(?:Error|Exception|Interrupt|Exit)\b"
)
LOADS = LinearPattern(
    rb"(?im)\b(?:load(?:ed|ing)?|restor(?:ed|ing)|resum(?:e|ed|ing))\b[^\n]{0,80}"
    rb"(?:checkpoint|ckpt|snapshot|weights|\.(?:pth?|pkl|h5|keras|tar)\b"
    rb"|\b(?:epoch|iter(?:ation)?|step)[ :=]{1,3}\d)"
)
"""What a program prints that loads what another process, or an earlier part of itself, has saved."""
_MAY_LOAD = (b"oad", b"estor")
"""What a line has a part of that states what was loaded; one may resume without."""
_SIGNS_OF_END = (b"Killed", b"*** Aborted at ", b"Segmentation fault", b" CANCELLED AT ")
_END = re.compile(
    rb"(?m)(?:^|[\]\d]) {0,8}(?:Killed(?: {2,40}\S[^\n]{0,400})?[ \t\r]{0,8}$|Segmentation fault\b)"
    rb"|^\*\*\* Aborted at \d|\*\*\* (?:JOB|STEP) [\d.]{1,20} [^\n]{0,100} CANCELLED AT "
)
"""What a shell, a handler of signals or a queue states of a program that did not end by itself: `Killed`."""
_NOTHING, _HEADED, _ENDED, _CONTINUED = range(4)


class Crash:
    """What was printed since the last record of a program that crashed or was ended.

    `has_ended`: something else stated that it was ended. `may_repeat`: the next record may be the last one
    again, of a process that continues from a checkpoint.
    """

    def __init__(self, state: Sequence[int]) -> None:
        self._stage = state[0]
        self.has_ended, self.may_repeat = map(bool, state[1:])

    def state(self) -> list[int]:
        """What is known, as JSON-able values; all zero if nothing is."""
        return [self._stage, int(self.has_ended), int(self.may_repeat)]

    @property
    def has_begun(self) -> bool:
        """Whether anything of a crash, or of an end, was printed since the last record."""
        return self._stage != _NOTHING or self.has_ended

    @property
    def is_followed(self) -> bool:
        """Whether another process continues behind it."""
        return self._stage == _CONTINUED

    def ended_behind(self, step: int, last: int | None) -> bool:
        """Whether it was stated to be ended behind a step: one before it is of another launch."""
        return self.has_ended and last is not None and step < last

    def forget(self) -> None:
        """Forget what was printed: a record follows."""
        self._stage, self.has_ended, self.may_repeat = _NOTHING, False, False

    def search(self, block: bytes, begin: int, end: int, first: bytes) -> None:
        """Note what a part of a block has of it; `first` is a part of the first line of the program."""
        is_headed = has_traceback(block, begin, end)
        if any(block.find(sign, begin, end) >= 0 for sign in _SIGNS_OF_END):
            self.has_ended = self.has_ended or _END.search(block, begin, end) is not None
        self.may_repeat = self.may_repeat or is_headed or self.has_ended
        if self._stage != _NOTHING or is_headed or self.has_ended:
            self._advance(block, begin, end, first)

    def _advance(self, block: bytes, begin: int, end: int, first: bytes) -> None:
        """Note how far a part of a block takes a traceback, its exception and what continues behind it.

        What a shell or a queue states is an end by itself.
        """
        if self._stage == _NOTHING:
            begin = self._find(_HEADING, _HEADED, block, begin, end)
        if self._stage == _HEADED:
            begin = self._find(_EXCEPTION, _ENDED, block, begin, end)
        if self._stage < _ENDED and self.has_ended:
            begin = self._find(_END, _ENDED, block, begin, end)
        if self._stage == _ENDED and (
            LOADS.search(block, begin, end) is not None or (first and block.find(first, begin, end) >= 0)
        ):
            self._stage = _CONTINUED

    def _find(self, pattern: re.Pattern[bytes], stage: int, block: bytes, begin: int, end: int) -> int:
        """Where a pattern ends in a part of a block, by which the next stage is reached; else its begin."""
        match = pattern.search(block, begin, end)
        if match is None:
            return begin
        self._stage = stage
        return match.end()


def has_traceback(block: bytes, begin: int, end: int) -> bool:
    """Whether a traceback may begin in a part of a block."""
    return block.find(_TRACEBACK, begin, end) >= 0


def has_signs(block: bytes, begin: int, end: int) -> bool:
    """Whether a part of a block may say that a program crashed or was ended."""
    return any(block.find(sign, begin, end) >= 0 for sign in (_TRACEBACK, *_SIGNS_OF_END))


def states_loaded(block: bytes, begin: int, end: int) -> bool:
    """Whether a part of a block states that something was loaded that was saved before."""
    may_load = any(block.find(word, begin, end) >= 0 for word in _MAY_LOAD)
    return may_load and LOADS.search(block, begin, end) is not None
