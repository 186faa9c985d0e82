"""Damages bytes as broken disks, killed writers, wrong encodings and hostile people do."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

NUMBER = re.compile(rb"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
ODD_TEXTS = tuple(
    text.encode()
    for text in (
        "", "-", "-0", "-1", "1e400", "-1e400", "1e-400", "nan", "NaN", "-nan", "inf", "-inf", "Infinity",
        "null", "true", "0x10", "1_000", "1,000", "172.160.5", "1.", ".5", "1e", "1e5", "1K", "50%",
        "1e999999999", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
        "18446744073709551616", "4611686018427387904", "1e18", "1e308", "253402300800", "1795194281",
        "99999999999999", "٣", "²", "½", "9999-99-99 99:99:99", "0000-00-00T00:00:00Z", "12:99:99", "\ud7ff",
        "\u2028", "{}", "[]", '""', "\x00", "9" * 25, "9" * 320, "1" * 5000, "0." + "0" * 400 + "1",
        "-" * 40, "é" * 40, "x" * 300,
    )
)  # fmt: skip
"""What may stand where a number is expected."""
_FRAGMENTS = (
    *ODD_TEXTS,
    b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xff\xfe", b"\x00\x00\x00\x00", b"\n", b"\r",
    b"\r\n", b"\n\n\n", b"\t", b" ", b",", b";", b'"', b"'", b"\\", b"\\u0000", b"\\ud800", b"{", b"}", b"[",
    b"]", b"<", b"(", b")", b":", b"=", b"|", b"/", b"#", b"%", b"---", b"===", b"\x1b[31m", b"\x1b[",
    b"\x08", b"&a", b"*a",
)  # fmt: skip
_RUN_CHARACTERS = b"0aZ \t.,:;=-_/|[](){}<>\"'#*%\n\r\x00\xff\\"
_OPENING = (b"[", b"{", b"(", b'{"a":', b"[[", b'{"a":[', b"- ", b"&a [", b"(1,", b"<a>", b"!!a ")
_USUAL_RUNS, _LONG_RUNS = (10, 100, 1000, 4000), (20_000, 120_000)
_LARGEST = 1_000_000

Mutation = Callable[[bytes, random.Random, Sequence[bytes]], bytes]


def mutate(content: bytes, chance: random.Random, others: Sequence[bytes], *, count: int = 0) -> bytes:
    """The content after one to four random mutations; `others` are samples it may be spliced with."""
    for _ in range(count or chance.choice((1, 1, 1, 2, 2, 3, 4))):
        content = chance.choice(MUTATIONS)(content, chance, others)[:_LARGEST]
    return content


def _flip(content: bytes, chance: random.Random, others: Sequence[bytes]) -> bytes:
    changed = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 8)) if changed else 0):
        position = chance.randrange(len(changed))
        changed[position] = chance.choice(
            (changed[position] ^ 1 << chance.randrange(8), chance.randrange(256))
        )
    return bytes(changed)


def _span(content: bytes, chance: random.Random) -> tuple[int, int]:
    start = chance.randrange(len(content) + 1)
    return start, min(len(content), start + chance.choice((1, 4, 30, 300, len(content))))


def _truncate(content: bytes, chance: random.Random, others: Sequence[bytes]) -> bytes:
    position = chance.randrange(len(content) + 1)
    return content[:position] if chance.random() < 0.8 else content[position:]


def _delete(content: bytes, chance: random.Random, others: Sequence[bytes]) -> bytes:
    start, stop = _span(content, chance)
    return content[:start] + content[stop:]


def _repeat(content: bytes, chance: random.Random, others: Sequence[bytes]) -> bytes:
    start, stop = _span(content, chance)
    times = chance.choice((1, 1, 1, 3, 50))
    return content[:stop] + content[start:stop][:2000] * times + content[stop:]


def _insert(content: bytes, chance: random.Random, others: Sequence[bytes]) -> bytes:
    inserted = (
        chance.choice(_FRAGMENTS) if chance.random() < 0.7 else chance.randbytes(chance.choice((1, 8, 99)))
    )
    position = chance.randrange(len(content) + 1)
    return content[:position] + inserted + content[position:]


def _replace_numbers(content: bytes, chance: random.Random, others: Sequence[bytes]) -> bytes:
    places = list(NUMBER.finditer(content, 0, 20_000))
    for place in sorted(
        chance.sample(places, min(len(places), chance.choice((1, 1, 3)))), key=lambda place: -place.start()
    ):
        content = content[: place.start()] + chance.choice(ODD_TEXTS) + content[place.end() :]
    return content


def _long_run(content: bytes, chance: random.Random, others: Sequence[bytes]) -> bytes:
    length = chance.choice(_USUAL_RUNS if chance.random() < 0.98 else _LONG_RUNS)
    unit = bytes([chance.choice(_RUN_CHARACTERS)])
    if chance.random() < 0.3:
        start, _ = _span(content, chance)
        unit = content[start : start + chance.choice((1, 2, 5, 12))] or unit
    position = chance.randrange(len(content) + 1)
    return content[:position] + unit * (length // len(unit)) + content[position:]


def _nest(content: bytes, chance: random.Random, others: Sequence[bytes]) -> bytes:
    depth = chance.choice((3, 50, 500, 2000) if chance.random() < 0.98 else (20_000, 100_000))
    position = chance.randrange(len(content) + 1)
    return content[:position] + chance.choice(_OPENING) * depth + content[position:]


def _change_lines(content: bytes, chance: random.Random, others: Sequence[bytes]) -> bytes:
    lines = content.split(b"\n")
    first, second = chance.randrange(len(lines)), chance.randrange(len(lines))
    kind = chance.randrange(6)
    if kind == 0:
        lines.insert(second, lines[first])
    elif kind == 1:
        del lines[first]
    elif kind == 2:
        lines[first], lines[second] = lines[second], lines[first]
    elif kind == 3:  # two writers, one of which was interrupted
        cut = chance.randrange(len(lines[first]) + 1)
        lines[first] = lines[first][:cut] + lines[second] + lines[first][cut:]
    elif kind == 4:
        lines[first : first + 2] = [b"".join(lines[first : first + 2])]
    else:
        lines = lines[:1] + sorted(lines[1:], key=lambda _: chance.random())
    return b"\n".join(lines)


def _encode(content: bytes, chance: random.Random, others: Sequence[bytes]) -> bytes:
    kind = chance.randrange(9)
    text = content.decode("latin-1")
    if kind == 0:
        return b"\xef\xbb\xbf" + content
    if kind == 1:
        return b"\xef\xbb\xbf"[: chance.randrange(1, 4)] + content[: chance.choice((0, 1, 20))]
    if kind in (2, 3):
        return text.encode(chance.choice(("utf-16", "utf-16-le", "utf-16-be", "utf-32")))
    if kind == 4:
        return content.replace(b"\n", b"\r")
    if kind == 5:
        return content.replace(b"\n", b"\r\n")
    if kind == 6:
        return content.replace(b"\n", b"")
    if kind == 7:
        return text.encode("utf-8").upper()
    return content.replace(b" ", chance.choice((b"\xa0", b"\t", b"\xff", b"\0")))


def _splice(content: bytes, chance: random.Random, others: Sequence[bytes]) -> bytes:
    if not others:
        return content
    other = chance.choice(others)
    position, cut = chance.randrange(len(content) + 1), chance.randrange(len(other) + 1)
    if chance.random() < 0.5:  # at the ends of lines
        position, cut = content.rfind(b"\n", 0, position) + 1, other.rfind(b"\n", 0, cut) + 1
    return content[:position] + other[cut:] + (content[position:] if chance.random() < 0.5 else b"")


MUTATIONS: tuple[Mutation, ...] = (
    _flip, _truncate, _delete, _repeat, _insert, _insert, _replace_numbers, _replace_numbers,
    _replace_numbers, _long_run, _nest, _change_lines, _change_lines, _encode, _splice,
)  # fmt: skip
