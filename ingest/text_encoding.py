"""Decodes lines of text that are not UTF-8: as GB18030, of which GBK is a part, or else as Latin-1.

Each line by itself, so that positions in a text are those in its file. Pairs of bytes that are frequent
Chinese characters are GB18030; anything else is Latin-1, in which every byte is a letter. Patterns of words
that are searched for in undecoded text have them in each encoding.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

GB18030 = "gb18030"
LATIN_1 = "latin-1"
NAMES = {GB18030: "GB18030", LATIN_1: "Latin-1"}

_NO_TEXT = re.compile(rb"[\0-\x06\x0e-\x1a\x1c-\x1f]")
_HIGH_BYTES = re.compile(rb"[\x80-\xff]+")
_CHARACTER = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
"""A character of UTF-8 that is not ASCII; those of two bytes are also characters of GB18030."""
_LEAST_OF_UTF_8 = 0.8
_FREQUENT = re.compile(rb"(?:[\xa1-\xa3\xb0-\xd7][\xa1-\xfe])+")
"""Punctuation, letters as wide as a Chinese one, and the more frequent half of the Chinese characters."""
_LEAST_FREQUENT = 0.7
_LEAST_BYTES = 4
_CHINESE_TEXT = re.compile("[\u2026\u3000-\u3011\u4e00-\u9fff\uff01-\uff5e]+")
"""Chinese characters, and the punctuation between them."""
_WESTERN_TEXT = re.compile("[ -~\xc0-\xff]+")


def in_encodings(*words: str) -> bytes:
    """A pattern of words in the encodings in which lines are read: UTF-8, GB18030, Latin-1."""
    encoded = [word.encode() for word in words]
    encoded += [word.encode(GB18030) for word in words if _CHINESE_TEXT.fullmatch(word) is not None]
    encoded += [word.encode(LATIN_1) for word in words if _WESTERN_TEXT.fullmatch(word) is not None]
    return b"|".join(map(re.escape, encoded))


def words_in_encodings(words: Iterable[str]) -> bytes:
    """A pattern of words of other languages, in the cases that occur; without case for those in ASCII."""
    known = sorted(words, key=len, reverse=True)
    others = (word for word in known if not word.isascii())
    forms = dict.fromkeys(form for word in others for form in (word, word.capitalize(), word.upper()))
    in_ascii = "|".join(word for word in known if word.isascii()).encode()
    return in_encodings(*forms) + (rb"|\b(?i:" + in_ascii + rb")" if in_ascii else b"")


def decode_line(line: bytes) -> str:
    """The text of a line; bytes that are part of no character are replaced."""
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode(_encoding_of_line(line) or "utf-8", "replace")


def decode_lines(text: bytes) -> str:
    """The text of several lines, each decoded by itself."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return "\n".join(map(decode_line, text.split(b"\n")))


def other_encoding(text: bytes) -> str | None:
    """The name of the encoding in which the first line is read that is not UTF-8; None without such a line.

    Lines that are UTF-8 with damage, such as two that were printed over each other, do not count.
    """
    try:
        text.decode()
        return None
    except UnicodeDecodeError as error:
        position = error.start
    for line in text[text.rfind(b"\n", 0, position) + 1 :].split(b"\n")[:-1]:
        if not _is_utf_8(line) and (encoding := _encoding_of_line(line)) is not None:
            return NAMES[encoding]
    return None


def _is_utf_8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _encoding_of_line(line: bytes) -> str | None:
    """The encoding of a line that is not UTF-8; None if it is UTF-8 with damage, or no text."""
    runs = _HIGH_BYTES.findall(line)
    high = sum(map(len, runs))
    if sum(map(len, _CHARACTER.findall(line))) >= _LEAST_OF_UTF_8 * high or _NO_TEXT.search(line) is not None:
        return None
    frequent = sum(len(pairs) for run in runs for pairs in _FREQUENT.findall(run))
    if frequent < max(_LEAST_BYTES, _LEAST_FREQUENT * high):
        return LATIN_1
    try:
        line.decode(GB18030)
    except UnicodeDecodeError:
        return LATIN_1
    return GB18030
