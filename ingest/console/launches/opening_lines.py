"""The parts of a line by which the opening lines of two launches are compared.

Mostly that is the longest part without digits (`piece_of`). The first line of a text is compared by its
numbers, too, and the arguments that a program prints by all of their text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from zlib import crc32

from holter.ingest.console.text.prefixes import DIGITS_AS_ZEROS

SHORTEST = 12
"""Characters of a line that may be compared."""
_LONGEST = 80
_LEAST_OF_OPENER = 4
_LEAST_LETTERS = 8
_WITHOUT_DIGITS = re.compile(rb"[^0-9\x1b]+")
_DAY = rb"(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?[.,]{0,2} {1,2}"
_MONTH = (
    rb"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    rb"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_NAMED_DATE = re.compile(
    rb"(?i)(?<![a-z\d])(?:(?:%b)?(?:%b[.,]? {1,2}\d{1,2}|\d{1,2}(?:st|nd|rd|th)?[.,]?[ -]%b)(?![a-z\d])"
    rb"|%b(?=\d{1,4}[/.-]\d))" % (_DAY, _MONTH, _MONTH, _DAY)
)
"""A date with the names of its day or month: `Mon Mar  3`, `Tuesday, 4 March`."""
_DATE = re.compile(rb"(?<![\d.])\d{1,4}([/.-])\d{1,2}\1\d{1,4}(?![\d.])")
_TIME = re.compile(rb"(?<!\d)\d\d:\d\d(?!\d)")
_TEMPORARY = re.compile(rb"/tmp/[^\s'\"]{1,200}")
"""A file that has another name each time."""
_NUMBER = re.compile(rb"(?<![\w.:/-])(?<!\d,)\d{1,6}(?![\w/-]|[.:]\d)|(?<=[\[(])\d{1,4}(?=/\d{1,4}[\])])")
_DIGITS = re.compile(rb"\d{1,4}")
_AMOUNTS = re.compile(
    rb"(?i)(?:batch[ _-]?size|(?<![a-z])(?:[a-z]{1,5}_)?(?:epochs|steps|iters|iterations))"
    rb"['\x22]? {0,3}[:=](?! ?\d+/)"
)
"""Names of settings whose words are else those of lines that come again."""
LETTER = re.compile(rb"[A-Za-z\x80-\xff]")
"""A letter of any language."""
REPEATED = re.compile(
    rb"(?i)epoch|step|iter|batch|updat|episode|round|progress|tick|warn|nohup|%\||fold\b|trial|[$#] "
)
"""Words of lines that may come again within a launch, or that the shell prints."""
SET_UP = re.compile(
    rb"(?i)seed|devices?\b|cuda|gpus?\b|namespace|config|arg(?:ument)?s\b|hyper|param|data|resum|checkpoint"
    rb"|(?:program|script|process|experiment) (?:start|begin)"
    rb"|version|import|rate\b|tensorflow|torch|tokenizer|model|network|initiali[sz]|load|sav(?:e|ing)|director|folder"
)
"""Words of lines about the set-up of a program."""
_SETTING = re.compile(
    rb"(?i)(?:batch|lr|rate|decay|epochs?|size|dim|layers|dropout|workers)['\"]? {0,3}[:=] {0,3}\d"
)
_LEAST_SETTINGS = 3
"""Settings of a line that states those of a launch, a number of epochs among them."""
_VALUE = re.compile(rb"([:=] {0,3}['\x22]?)[A-Za-z][\w./-]{0,80}(?=['\x22]?(?:[ \t]*[,;|)}\]]|[ \t\r]*$))")
"""A word that is the value of what is named before it: it may be another one in the next launch."""
_DEVICE = re.compile(rb"(?i)\b(?:cpu|cuda|gpu|mps)\b")
"""The device that a launch runs on; the next one may run on another."""
_TOKEN = re.compile(rb"[\w.+/-]+")
_HEADING_WORD = re.compile(rb"[A-Za-z_-]{1,30}(?<!ing)(?<!ed)")
_HEADING_NAME = re.compile(rb"(?!.{0,40}\d{5})[A-Za-z][\w+-]{0,40}|\d{0,4}\.?\d{1,4}")
_MOST_WORDS = 4
"""Words of a heading, before the name of what is trained."""
_TRAINED = re.compile(rb"(?i)model|data ?-?(?:set)?|network")
"""What several trainings of a launch differ in, and lines about its set-up name as well."""
_BEGINS = re.compile(
    rb"(?i)\b(?:training|process|program|script|experiment) (?:has )?(?:start|begin|beg[au]n)"
)
_ONLY_ONCE = re.compile(rb"(?i)download|creat|mkdir|nohup|warn|extract|finish|complete")
"""Words of lines that only the first launch may print, or the shell, or the end of another program."""
STATED = re.compile(
    rb"(?i)(?<![a-z])(?:config(?:uration)?|arg(?:ument)?s?(?: used)?|hyper-?param(?:eter)?s|settings)"
    rb"[ =:\[\]]{0,5}\{"
)
"""How a dictionary of settings begins."""
ARGUMENTS = b"Namespace("
"""How a program prints its arguments, whatever words are among them."""
_ROUND = re.compile(rb"(?:\[[\d:]{5,8}\] )?(?:\[\d{1,6}\]\t[\w' @.-]{1,60}|\d{1,6}:\t(?:learn|test)): ?-?\d")
"""The results of a round of boosting, as XGBoost, LightGBM and CatBoost print them."""


def are_about_set_up(pieces: Sequence[bytes]) -> bool:
    """Whether one of some lines is about the set-up of a program."""
    return any(SET_UP.search(piece) is not None for piece in pieces)


def is_about_set_up(line: str) -> bool:
    """Whether a line is about the set-up of a program: a device, data, a model, settings."""
    return SET_UP.search(line.encode()) is not None and REPEATED.search(line.encode()) is None


def arguments_of(line: bytes) -> int:
    """A checksum of the arguments that a line states."""
    return crc32(line[line.index(ARGUMENTS) :].rstrip())


def line_at(block: bytes, position: int) -> bytes:
    """The line of a block around a position."""
    end = block.find(b"\n", position)
    return block[block.rfind(b"\n", 0, position) + 1 : end if end >= 0 else len(block)]


def is_round_of_booster(line: bytes) -> bool:
    """Whether a line has the results of a round of boosting: `[10]\ttrain-logloss:0.48`.

    Boosters print nothing as a training begins, and a program mostly trains several: of folds, of targets.
    """
    return _ROUND.match(line) is not None


def numbers_of(line: bytes) -> list[int]:
    """The whole numbers of a line without those of dates, times and versions, and those of a heading."""
    if is_heading(line):
        return [int(number) for number in _DIGITS.findall(line)]
    return [int(number) for number in _NUMBER.findall(_NAMED_DATE.sub(b"", line))]


def is_dated(line: bytes) -> bool:
    """Whether a line states a day and a time: that of another launch states others."""
    return _TIME.search(line) is not None and any(date.search(line) for date in (_DATE, _NAMED_DATE))


def is_heading(line: bytes) -> bool:
    """Whether a line is a short heading that names what is trained below it: `view1:`, `Dataset: iris`."""
    *words, name = _TOKEN.findall(line) or [b""]
    is_short = len(words) < _MOST_WORDS and _HEADING_NAME.fullmatch(name) is not None
    if not is_short or not all(map(_HEADING_WORD.fullmatch, words)):
        return False
    return _DEVICE.search(line) is None and SET_UP.search(_TRAINED.sub(b"", line)) is None


def opener_of(line: bytes) -> bytes:
    """The longest part without digits of the first line; nothing of one that may come again or come once."""
    text = line.lstrip(b"# ") if is_heading(line) else line  # the sign of a heading, and not of a prompt
    return _opener_of(text.translate(DIGITS_AS_ZEROS))


@lru_cache(maxsize=256)  # a text may begin with many lines that differ in their digits alone
def _opener_of(line: bytes) -> bytes:
    if REPEATED.search(_AMOUNTS.sub(b"", line)) is not None or _ONLY_ONCE.search(line) is not None:
        return b""
    parts = _WITHOUT_DIGITS.findall(_VALUE.sub(rb"\g<1>0", _NAMED_DATE.sub(b"0", line)))
    part = _without_device(max(parts, key=len, default=b"")[:_LONGEST].strip())
    return part if len(LETTER.findall(part)) >= _LEAST_OF_OPENER else b""


def _without_device(piece: bytes) -> bytes:
    """A part of a line up to the name of a device, if that is about a set-up or the start of a launch."""
    if (device := _DEVICE.search(piece)) is None:
        return piece
    before = piece[: device.start()].rstrip()
    is_enough = len(before) >= SHORTEST and len(LETTER.findall(before)) >= _LEAST_LETTERS
    is_known = SET_UP.search(before) is not None or _BEGINS.search(before) is not None
    return before if is_enough and is_known else piece


def piece_of(line: bytes) -> bytes:
    """The longest part without digits of a line; nothing of a line with too few letters.

    Of a line that states settings it is the beginning of these: the number of epochs may be among them.
    """
    return _piece_of(line.translate(DIGITS_AS_ZEROS))


@lru_cache(maxsize=256)
def _piece_of(line: bytes) -> bytes:
    if ARGUMENTS in line:
        return ARGUMENTS
    parts = _WITHOUT_DIGITS.findall(_TEMPORARY.sub(b"0", _NAMED_DATE.sub(b"0", line)))
    if (stated := STATED.search(line)) is not None:
        last: bytes = _WITHOUT_DIGITS.findall(line[: stated.end()])[-1]
        return last[-_LONGEST:].lstrip()
    piece = _without_device(max(parts, key=len, default=b"")[:_LONGEST].strip())
    is_settings = len(_SETTING.findall(line)) >= _LEAST_SETTINGS and REPEATED.search(piece) is None
    if not is_settings and REPEATED.search(line) is not None:
        return b""
    has_words = len(piece) >= SHORTEST and len(LETTER.findall(piece)) >= _LEAST_LETTERS
    return piece if has_words else b""
