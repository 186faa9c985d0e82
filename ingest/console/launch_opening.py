"""Recognises that a program was started again by the lines that it prints before its first record.

Steps say it only where they go back. The opening lines say it, too, where a launch resumes at the next step,
was interrupted after a few records, or printed a single one. Lines that a program prints once, without their
digits, are looked for behind its records; if most of them are there before the next record, that is one of
another launch. Some of them must be about the set-up of a program: others may come with each epoch. Where
there are only one or two such lines, the next record must also be before the last one. A prompt of the shell
with a command shows a launch by itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_MAX_BYTES = 32 * 1024
_MAX_PIECES = 12
_LEAST_PIECES = 3
_LEAST_SHARE = 0.75
_SHORTEST, _LONGEST = 12, 160
_LEAST_LETTERS = 8
_LINE = re.compile(rb"[^\r\n]+")
_WITHOUT_DIGITS = re.compile(rb"[^0-9\x1b]+")
_LETTER = re.compile(rb"[A-Za-z\x80-\xff]")
_REPEATED = re.compile(
    rb"(?i)epoch|step|iter|batch|updat|episode|round|progress|tick|warn|nohup|%\||fold\b|trial|[$#] "
)
"""Words of lines that may come again within a launch, or that the shell prints."""
_SET_UP = re.compile(
    rb"(?i)seed|devices?\b|cuda|gpus?\b|namespace|config|arg(?:ument)?s\b|hyper|param|data|resum|checkpoint"
    rb"|version|import|tensorflow|torch|tokenizer|model|network|initiali[sz]|load|sav(?:e|ing)|director|folder"
)


_PROMPT = re.compile(
    rb"(?m)^(?:\([\w.-]{1,40}\) )?[\w.-]{1,40}@[\w.-]{1,60}:[^\n$#]{0,200}[$#] {1,4}"
    rb"(?:[\w./=-]{1,80} ){0,6}?(?:python[\d.]*|torchrun|accelerate|deepspeed|bash|sh|th|srun|mpirun) "
)
"""`user@host:~/project$ python3 train.py`."""
_TRACEBACK = b"Traceback (most recent call last)"
_PROMPTED = -1


class LaunchOpening:
    """The opening lines of a text, and which of them came again since the last record."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._head = state.get("head", "").encode("latin-1")
        self._pieces: list[bytes] | None = None
        if "pieces" in state:
            self._pieces = [piece.encode("latin-1") for piece in state["pieces"]]
        self._found: set[int] = set(state.get("found", ()))
        self._block, self._position = b"", 0
        self._occurrences: list[tuple[int, int]] = []

    def state(self) -> dict[str, Any]:
        """What later lines are compared with, as JSON-able values."""
        if self._pieces is None:
            return {"head": self._head.decode("latin-1")} if self._head else {}
        found = {"found": sorted(self._found)} if self._found else {}
        return {"pieces": [piece.decode("latin-1") for piece in self._pieces], **found}

    def scan(self, block: bytes) -> None:
        """Find opening lines in the next block; `advance` passes them."""
        self._block, self._position = block, 0
        self._occurrences = self._find(0)

    def _find(self, begin: int) -> list[tuple[int, int]]:
        """Where opening lines are in the block behind the first of them, the last one first."""
        found = []
        if b"@" in self._block and (b"$ " in self._block or b"# " in self._block):
            found = [(match.start(), _PROMPTED) for match in _PROMPT.finditer(self._block, begin)]
        first = begin if 0 in self._found else -1
        if self._pieces and first < 0:
            first = self._block.find(self._pieces[0], begin)
        if not self._pieces or first < 0:
            return found[::-1]
        for number, piece in enumerate(self._pieces):
            position = self._block.find(piece, first)
            while position >= 0:
                found.append((position, number))
                position = self._block.find(piece, position + len(piece))
        return sorted(found, reverse=True)

    def advance(self, position: int) -> None:
        """The block is read up to a position."""
        if self._pieces is None and len(self._head) < _MAX_BYTES:
            self._head = (self._head + self._block[self._position : position])[:_MAX_BYTES]
        self._position = position
        while self._occurrences and self._occurrences[-1][0] < position:
            self._found.add(self._occurrences.pop()[1])

    def is_new_launch(self) -> bool:
        """Whether the next record is one of another launch."""
        if not self._found or self._pieces is None:
            return False
        return _PROMPTED in self._found or (len(self._pieces) >= _LEAST_PIECES and self._is_opening())

    def may_be_new_launch(self) -> bool:
        """Whether the next record is one of another launch if it is before the last one."""
        return bool(self._found and self._pieces) and self._is_opening()

    def _is_opening(self) -> bool:
        """Whether most of the opening lines came again, one about the set-up among them."""
        pieces = self._pieces or []
        if len(self._found) < _LEAST_SHARE * len(pieces):
            return False
        return any(_SET_UP.search(pieces[number]) is not None for number in self._found if number >= 0)

    def forget(self) -> None:
        """Forget which opening lines came again."""
        self._found.clear()

    def note_record(self) -> bool:
        """A record was read: what comes next is compared with the lines before the first one.

        Whether it is the first record, and another launch will be recognised.
        """
        if self._found:
            self._found.clear()
        if self._pieces is not None:
            return False
        head, self._head = self._head, b""
        # launches that ended before their first record
        self._pieces = _opening_pieces(head) or _opening_pieces(head.rpartition(_TRACEBACK)[2])
        self._occurrences = self._find(self._position)
        return len(self._pieces) >= _LEAST_PIECES


def _opening_pieces(head: bytes) -> list[bytes]:
    """The longest parts without digits of lines that are printed once."""
    pieces: list[bytes] = []
    for line in _LINE.findall(head):
        if _REPEATED.search(line) is not None:
            continue
        piece = max(_WITHOUT_DIGITS.findall(line), key=len, default=b"")[:_LONGEST].strip()
        has_words = len(piece) >= _SHORTEST and len(_LETTER.findall(piece)) >= _LEAST_LETTERS
        if has_words and head.count(piece) == 1:
            pieces.append(piece)
            if len(pieces) == _MAX_PIECES:
                break
    return pieces
