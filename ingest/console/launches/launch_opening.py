"""Recognises that a program was started again by the lines that it prints before its first record.

Steps show it only where they go back. The opening lines also show it where a launch resumes at the next step,
was interrupted after a few records, or printed a single one. Lines that a program prints once, without their
digits, are looked for behind its records; if most of them are there before the next record, that is one of
another launch. Some of them must be about the set-up of a program: others may come with each epoch. Where
there are only one or two such lines, the next record must also be before the last one. Lines that show the
start of a process do so by themselves (`process_starts`).

Where few of these lines come again, the launch is still the same: steps that begin anew are then those of its
next training. So they are where other lines come between, but neither these nor the first line of the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from holter.ingest.console.launches.crashes import LOADS, Crash, has_signs, has_traceback, states_loaded
from holter.ingest.console.launches.first_text_line import FirstTextLine
from holter.ingest.console.launches.opening_head import OpeningHead
from holter.ingest.console.launches.opening_lines import (
    ARGUMENTS,
    LETTER,
    REPEATED,
    SET_UP,
    SHORTEST,
    STATED,
    are_about_set_up,
    is_dated,
    is_round_of_booster,
    line_at,
)
from holter.ingest.console.launches.printed_arguments import PrintedArguments
from holter.ingest.console.launches.printed_settings import PrintedSettings
from holter.ingest.console.launches.process_starts import ProcessStart, evaluated_by, process_start
from holter.ingest.console.launches.repeated_warnings import RepeatedWarnings
from holter.ingest.console.launches.resumed_processes import BEGINS_TRAINING, LOADED_AT, OF_PROCESSES, resumes
from holter.ingest.console.line.line_settings import ROW_OF_MODEL
from holter.ingest.console.search.pattern_search import LinearPattern

_LEAST_PIECES = 3
_LEAST_SHARE = 0.75
_LONG_OPENING = 6
"""Lines of an opening of which the first one may be changed between two launches."""
_SHARE_OF_PART = 0.5
"""Each training of a launch may print a part of the opening lines, such as the size of its model."""
_FIRST_PIECES = 2
"""Lines with which a program begins: no later part of it prints them."""
_LEAST_OF_WORD = 3
_LINE = re.compile(rb"[^\r\n]+")
_WORD = re.compile(rb"[A-Za-z]{3}")
_EPOCH = re.compile(
    rb"(?i)(?:[^\n]{0,80}[\]\[:|> -])?(?:test |train(?:ing)? )?(?:epoch|round|cycle)"
    rb"(?:[ #\[(]{0,4}\d{1,6}(?: ?/ ?\d{1,6})?|[: \[(]{1,4}\d{1,6} ?/ ?\d{1,6})[^\w\n]{0,100}"
)
"""The heading of an epoch or a round, no setting as `epoch: 100`: lines below may come with each of them."""
_BEGINS = LinearPattern(rb"(?i)" + BEGINS_TRAINING)
"""What a program prints as it begins, but may print for each part of a training as well."""
_STARTED = -1
_DATED = re.compile(
    rb"(?m)^[=*#~-]{4,80} [^\n\r=*#~]{0,60}\d\d:\d\d:\d\d[^\n\r=*#~]{0,20} ?[=*#~-]{4,80}[ \t\r]*$"
)
"""A heading with a time: `=== Training Loss (Sat Apr  7 04:02:38 2018) ===`."""
_BEGINS_LOSSES = re.compile(rb"^=+ Training Loss \(", re.M)
"""The heading that CycleGAN, and what is derived from it, writes as it starts."""
_DATED_AGAIN = -2
_FIRST_AGAIN = -3
_OPENER_AGAIN = -4
_LOSSES_AGAIN = -5
_RESUMED = -6
_ARGUMENTS_AGAIN = -7
_MAY_HAVE_STARTED = -8
_SHOW_LAUNCH = (_STARTED, _LOSSES_AGAIN, _RESUMED)
"""What shows another launch by itself."""
_OF_MODEL = re.compile(ROW_OF_MODEL.encode() + rb"|[\d.]{1,12}(?: [KMB])?\s+(?:Non-t|T)rainable params")
"""A line of the summary of a model that a Trainer prints as each training begins, also within a launch."""


class LaunchOpening:
    """The opening lines of a text, and which of them came again since the last record.

    `_head` has these lines until the first record; then `_pieces` has their parts that are compared with what
    is below, and `_first`, `_is_repeated` and `_is_short` are what more is known of them (`OpeningPieces`).
    Short lines show that the launch is the same without them. So does the first record if it is a round of a
    booster (`_is_boosted`). `_opener` is the first line of the text; `_has_text`: other words came since the
    last record; `crash`: what was printed since then of a program that crashed; `_has_loaded`: a line states
    that a checkpoint was loaded, and `loaded_at`, its step or epoch. `_evaluated`: the data of the command of
    an evaluation. `_had_begun`: the first opening lines came again since then, before they were set aside.
    `has_begun_training`: a line since then states that a training starts. `_before_waiting`: what of `_found`
    was above the first line that waits for one below it; None if no line does.
    """

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._head = OpeningHead(state)
        self._pieces: list[bytes] | None = None
        if "pieces" in state:
            self._pieces = [piece.encode("latin-1") for piece in state["pieces"]]
        self._is_repeated: bool = state.get("repeated", False)
        self._is_short: bool = state.get("short", False)
        self._is_boosted: bool = state.get("boosted", False)
        self.settings = PrintedSettings(state.get("settings", {}))
        self._has_dated: bool = state.get("dated", False)
        self._first: bytes = state.get("first", "").encode("latin-1")
        self._opener = FirstTextLine(state)
        self._arguments = PrintedArguments(state)
        self._warnings = RepeatedWarnings(state)
        self._found: set[int] = set(state.get("found", ()))
        waiting = state.get("before waiting")
        self._before_waiting = None if waiting is None else frozenset(waiting)
        self._has_text: bool = state.get("text", False)
        self._has_loaded: bool = state.get("loaded", False)
        self._had_begun: bool = state.get("begun", False)
        self.loaded_at: int | None = state.get("loaded at")
        self._evaluated: str = state.get("evaluated", "")
        self.crash = Crash(state.get("crash", (0, 0, 0)))
        self._block, self._position = b"", 0
        self.has_begun_training: bool = state.get("training begins", False)
        self._is_setting = False
        self._has_set_up = are_about_set_up(self._pieces or ())

    def state(self) -> dict[str, Any]:
        """What later lines are compared with, as JSON-able values."""
        if self._pieces is None:
            head = self._head.state()
            return {**head, **self._known_signs()} if head else {}
        more: dict[str, Any] = {"found": sorted(self._found)} if self._found else {}
        if self._before_waiting is not None:
            more["before waiting"] = sorted(self._before_waiting)
        if self._is_repeated:
            more["repeated"] = True
        if self._is_boosted:
            more["boosted"] = True
        if self._is_short:
            more["short"] = True
        if self._first:
            more["first"] = self._first.decode("latin-1")
        if self._has_text:
            more["text"] = True
        if self._has_loaded:
            more["loaded"] = True
        if self._had_begun:
            more["begun"] = True
        if self.has_begun_training:
            more["training begins"] = True
        if self._evaluated:
            more["evaluated"] = self._evaluated
        if self.loaded_at is not None:
            more["loaded at"] = self.loaded_at
        if any(crash := self.crash.state()):
            more["crash"] = crash
        pieces = [piece.decode("latin-1") for piece in self._pieces]
        return {"pieces": pieces, **more, **self._known_signs()}

    def _known_signs(self) -> dict[str, Any]:
        """The part of the state that is known before the first record."""
        known: dict[str, Any] = {"dated": True} if self._has_dated else {}
        if settings := self.settings.state():
            known["settings"] = settings
        return known | self._warnings.state() | self._arguments.state() | self._opener.state()

    def begin_block(self, block: bytes) -> None:
        """The next block is read from its beginning."""
        self._block, self._position = block, 0

    def advance(self, position: int) -> None:
        """The block is read up to a position, with no record since the last one."""
        self._is_setting = False
        begin, self._position = self._position, position
        if position <= begin:
            return
        if self._pieces is not None:
            self._search(begin, position)
            return
        lines = _LINE.finditer(self._block, begin, position)
        while not self._head.is_complete and (line := next(lines, None)) is not None:
            self._count(line[0])

    def skip(self, position: int) -> None:
        """A record ends at a position of the block; one of settings may be an opening line."""
        if self._is_setting:
            self.advance(position)
        else:
            self._opener.note_record(self._block, self._position, position)
        self._position = position

    def _count(self, line: bytes) -> None:
        """Note a line before the first record; one of a few signs, or of digits alone, states nothing."""
        self._head.pass_over(line)
        if len(line) < _LEAST_OF_WORD or (len(line) < SHORTEST and LETTER.search(line) is None):
            self._warnings.pass_over()
            return
        is_first = not (self._opener.part or self._head.has_pieces)
        if is_first:
            self._opener.note(line)
        if _EPOCH.fullmatch(line) is not None:
            self._head.end()
        else:
            self._opener.note_above_record(line, is_first=is_first)
        if _DATED.fullmatch(line) is not None and REPEATED.search(line) is None:
            self._has_dated = True
        self._arguments.count(line)
        if self._warnings.count(line):  # workers that are started with each epoch warn again
            return
        if _OF_MODEL.match(line) is None and self._head.count(line):
            self.settings.count(line)

    def _search(self, begin: int, end: int) -> None:
        """Note what a part of the block has of launches, and whether it has words."""
        if self._opener.part:
            self._has_text = self._has_text or _WORD.search(self._block, begin, end) is not None
        for note in self._signs(begin, end):
            note()

    def is_quiet(self, begin: int, end: int) -> bool:
        """Whether nothing of launches would be noted of any part of this part of the block.

        That there is text is forgotten with the next record.
        """
        if self._pieces is None or self._found or self._warnings.came_again or self.crash.has_begun:
            return False
        return next(self._signs(begin, end), None) is None

    def _signs(self, begin: int, end: int) -> Iterator[Callable[[], None]]:
        """What notes each sign of launches that a part of the block has.

        It is called before the next one is asked for, which may depend on it.
        """
        block, pieces = self._block, self._pieces
        if self.settings.may_be_in(block, begin, end):
            yield partial(self.settings.search, block, begin, end)
        if self.crash.has_begun or OF_PROCESSES.search(block, begin, end) is not None:
            yield from self._signs_of_processes(begin, end)
        if self._warnings.are_in(block, begin, end):
            yield self._note_warning
        if self._arguments.came_again(block, begin, end):
            yield partial(self._found.add, _ARGUMENTS_AGAIN)
        if self._has_dated and _DATED.search(block, begin, end) is not None:
            yield partial(self._note_dated, begin, end)
        if self._first and block.find(self._first, begin, end) >= 0:
            yield partial(self._found.add, _FIRST_AGAIN)
        if self._opener.find(block, begin, end) >= 0 or (
            pieces and (self._found or block.find(pieces[0], begin, end) >= 0)
        ):
            yield partial(self._note_opening, begin, end)

    def _signs_of_processes(self, begin: int, end: int) -> Iterator[Callable[[], None]]:
        """The same of what states anything of processes by itself."""
        block = self._block
        if (start := process_start(block, begin, end)) is not ProcessStart.NONE:
            yield partial(self._note_process, start, begin, end)
        if _BEGINS.search(block, begin, end) is not None:
            yield self._note_training
        if resumes(block, begin, end):
            yield partial(self._found.add, _RESUMED)
        if states_loaded(block, begin, end):
            yield partial(self._note_loaded, begin, end)
        if self.crash.has_begun or has_signs(block, begin, end):
            yield partial(self._note_crash, begin, end)

    def _note_process(self, start: ProcessStart, begin: int, end: int) -> None:
        self._found.add(_STARTED if start is ProcessStart.SHOWN else _MAY_HAVE_STARTED)
        self._evaluated = evaluated_by(self._block, begin, end)

    def _note_training(self) -> None:
        self.has_begun_training = True

    def _note_loaded(self, begin: int, end: int) -> None:
        self._has_loaded = True
        if (stated := LOADED_AT.search(self._block, begin, end)) is not None:
            self.loaded_at = int(stated[1])

    def _note_crash(self, begin: int, end: int) -> None:
        first = self._opener.part or next(iter(self._pieces or ()), b"")
        self.crash.search(self._block, begin, end, first)
        if self._opener.part and has_traceback(self._block, begin, end):
            self._found.add(_OPENER_AGAIN)

    def _note_warning(self) -> None:
        self._warnings.came_again = True
        self._found.add(_MAY_HAVE_STARTED)

    def _note_dated(self, begin: int, end: int) -> None:
        self._found.add(_DATED_AGAIN)
        if _BEGINS_LOSSES.search(self._block, begin, end) is not None:
            self._found.add(_LOSSES_AGAIN)

    def _note_opening(self, begin: int, end: int) -> None:
        """Note which opening lines a part of the block has; a first line that counts on is none."""
        block, pieces, numbered = self._block, self._pieces or (), b""
        if (at := self._opener.find(block, begin, end)) >= 0:
            line = line_at(block, at)
            if len(pieces) < _LEAST_PIECES - 1 and self._opener.heads_training(line):
                numbered = line
            if not numbered or has_traceback(block, begin, end):
                self._found.add(_OPENER_AGAIN)
                numbered = b""
            if not numbered and self._opener.is_dated and is_dated(line):
                self._found.add(_DATED_AGAIN)
        if not pieces or (not self._found and block.find(pieces[0], begin, end) < 0):
            return
        for number, piece in enumerate(pieces):
            if number not in self._found and piece not in numbered and block.find(piece, begin, end) >= 0:
                self._found.add(number)

    @property
    def evaluated(self) -> str:
        """The data on which the command that was started evaluates what was loaded, "" if it may train."""
        return self._evaluated if self._has_loaded else ""

    def is_new_launch(self) -> bool:
        """Whether the next record is one of another launch."""
        if self._pieces is None:
            return False
        if self.settings.came_again and len(self._found) >= len(self._pieces):
            return True
        return not self._found.isdisjoint(_SHOW_LAUNCH) or (
            self._is_sufficient and self._begins() and self._is_opening()
        )

    def _begins(self) -> bool:
        """Whether the first line of the program came again; that of a long opening may be another one."""
        if len(self._pieces or ()) >= _LONG_OPENING:
            return True
        return (_FIRST_AGAIN if self._first else 0) in self._found

    @property
    def _is_sufficient(self) -> bool:
        """Whether the opening lines show another launch by themselves."""
        return len(self._pieces or ()) >= _LEAST_PIECES and not (self._is_repeated or self._is_short)

    @property
    def is_repeated(self) -> bool:
        """Whether each opening line was printed several times, as by several processes."""
        return self._is_repeated and bool(self._pieces)

    def may_be_new_launch(self) -> bool:
        """Whether the next record is one of another launch if it is before the last one."""
        if self._first and _FIRST_AGAIN not in self._found:
            return False
        return _DATED_AGAIN in self._found or (
            bool(self._found and self._pieces) and self._is_opening(_BEGINS)
        )

    @property
    def may_have_started(self) -> bool:
        """Whether something was printed that is mostly printed as a process starts."""
        return not self._found.isdisjoint((_STARTED, _MAY_HAVE_STARTED))

    def may_resume(self) -> bool:
        """Whether the next record is one of another launch if it is behind the last one."""
        if _ARGUMENTS_AGAIN in self._found or self.crash.is_followed:
            return True
        return self._has_loaded and (self._had_begun or self._has_begun)

    @property
    def _has_begun(self) -> bool:
        """Whether the first opening line came again, and half of them: others may be no text but records.

        One of them must be about the set-up, and not about what is loaded: that may come with each test.
        """
        pieces = self._pieces or []
        found = [piece for number, piece in enumerate(pieces) if number in self._found]
        if self._is_repeated or self._is_short or 0 not in self._found:
            return False
        return len(found) >= _SHARE_OF_PART * len(pieces) and any(
            SET_UP.search(piece) is not None and LOADS.search(piece) is None for piece in found
        )

    @property
    def is_same_launch(self) -> bool:
        """Whether the next record is one of the same launch, even if its step begins anew."""
        if self.crash.has_ended:
            return False
        if self._is_boosted and not self._found:
            return True
        if self._opener.part and self._has_text and not self._found:
            return True
        if not self._pieces:
            return False
        if self._is_short:
            return not self._found
        first = (_FIRST_AGAIN,) if self._first else range(_FIRST_PIECES)
        is_beginning = not self._found.isdisjoint((_STARTED, _MAY_HAVE_STARTED, _DATED_AGAIN, *first))
        if is_beginning or (not self._first and len(self._found) >= _SHARE_OF_PART * len(self._pieces)):
            return False
        return self._has_set_up

    @property
    def is_guess(self) -> bool:
        """Whether only other text tells whether the launch is the same: no line of a set-up is known."""
        return bool(self._opener.part) and not (
            self._found or self._has_set_up or self._is_short or self.crash.has_ended
        )

    def _is_opening(self, *others: LinearPattern) -> bool:
        """Whether most of the opening lines came again, one about the set-up or `others` among them."""
        pieces = self._pieces or []
        if self._is_short:
            return False
        if len(self._found) < _LEAST_SHARE * len(pieces):
            return False
        found = [pieces[number] for number in self._found if number >= 0]
        patterns: list[re.Pattern[bytes] | LinearPattern] = [SET_UP, *others]
        return any(pattern.search(piece) is not None for piece in found for pattern in patterns)

    @property
    def states_settings(self) -> bool:
        """Whether one of the opening lines that came again has the settings of a launch."""
        found = [piece for number, piece in enumerate(self._pieces or ()) if number in self._found]
        return any(piece == ARGUMENTS or STATED.search(piece) is not None for piece in found)

    @property
    def has_record(self) -> bool:
        """Whether any record was read."""
        return self._pieces is not None

    @property
    def was_interrupted(self) -> bool:
        """Whether warnings came again since the last record, or the program may have crashed."""
        return self._warnings.came_again or self.crash.may_repeat

    def note_waiting(self) -> None:
        """A line waits for one below it; what comes again from here on is behind it."""
        if self._before_waiting is None:
            self._before_waiting = frozenset(self._found)

    @contextmanager
    def reading_waiting(self) -> Iterator[None]:
        """Retain the signs of another launch behind lines that waited, while these are read as records."""
        behind = set() if self._before_waiting is None else self._found - self._before_waiting
        self._before_waiting = None
        yield
        self._found |= behind

    def set_aside(self) -> None:
        """Forget which opening lines came again, but for whether they did, until the next record."""
        had_begun = self._had_begun or self._has_begun
        self.forget()
        self._had_begun = had_begun

    def forget(self) -> None:
        """Forget which opening lines came again."""
        self._found.clear()
        self.settings.forget()
        self._warnings.came_again = self.has_begun_training = False
        self._has_text = self._has_loaded = self._had_begun = False
        self.loaded_at = None
        self.crash.forget()

    def note_step(self, step: int, last: int | None) -> None:
        """A record at a step begins no launch; `last` is the one before."""
        self.crash.may_repeat = False
        self._warnings.note_step(step, last)

    def note_record(self, *, is_setting: bool = False) -> tuple[str, ...]:
        """A record was read: what comes next is compared with the lines before the first one.

        Returns what is known from the first record on: "opening" if another launch will be recognised by its
        opening lines, "set up" if there are any about the set-up. What was found so far is retained behind a
        record that `is_setting`.
        """
        self._is_setting = is_setting
        if not is_setting:
            self.forget()
            self._evaluated = ""
        if self._pieces is not None:
            return ()
        self._is_boosted = is_round_of_booster(line_at(self._block, self._position))
        self._pieces, self._first, self._is_repeated, self._is_short = self._head.pieces()
        self.settings.note_first_record(0 if self._is_repeated or self._is_short else len(self._pieces))
        self._head = OpeningHead({})
        self._warnings.note_first_record()
        self._has_set_up = are_about_set_up(self._pieces)
        is_set_up = self._has_set_up and not (self._is_repeated or self._is_short)
        return (*(["opening"] if self._is_sufficient else []), *(["set up"] if is_set_up else []))
