"""Recognises a program that ended with an exception, and the one that goes on with what it saved.

A traceback alone says little: programs catch exceptions and print them. Behind one that ends with its
exception, a line that begins a program, or says that a checkpoint is loaded, is one of another process.
"""

from __future__ import annotations

import re

_HEADING = re.compile(rb"(?m)^Traceback \(most recent call last\):")
_EXCEPTION = re.compile(
    rb"(?m)^(?:[A-Za-z_]\w{0,60}\.){0,6}[A-Za-z_]\w{0,60}(?:Error|Exception|Interrupt|Exit)\b"
)
_LOADS = re.compile(
    rb"(?im)\b(?:load(?:ed|ing)?|restor(?:ed|ing)|resum(?:e|ed|ing))\b[^\n]{0,80}"
    rb"(?:checkpoint|ckpt|snapshot|weights|\.(?:pth?|pkl|h5|keras|tar)\b)"
)
_NOTHING, _HEADED, _ENDED, _GOES_ON = range(4)


class Crash:
    """What was printed since the last record of a program that ended with an exception."""

    def __init__(self, stage: int) -> None:
        self.stage = stage

    @property
    def is_followed(self) -> bool:
        """Whether another process goes on behind it."""
        return self.stage == _GOES_ON

    def forget(self) -> None:
        """Forget what was printed: a record follows."""
        self.stage = _NOTHING

    def search(self, block: bytes, begin: int, end: int, first: bytes) -> None:
        """Note what a part of a block has of it; `first` is a part of the first line of the program."""
        if self.stage == _NOTHING:
            if block.find(b"Traceback", begin, end) < 0:
                return
            begin = self._find(_HEADING, _HEADED, block, begin, end)
        if self.stage == _HEADED:
            begin = self._find(_EXCEPTION, _ENDED, block, begin, end)
        if self.stage == _ENDED and (
            _LOADS.search(block, begin, end) is not None or (first and block.find(first, begin, end) >= 0)
        ):
            self.stage = _GOES_ON

    def _find(self, pattern: re.Pattern[bytes], stage: int, block: bytes, begin: int, end: int) -> int:
        """Where a pattern ends in a part of a block, by which the next stage is reached; else its begin."""
        match = pattern.search(block, begin, end)
        if match is None:
            return begin
        self.stage = stage
        return match.end()
