"""A pattern for lines that no format knows: what a user could put into holter.toml, made from the lines."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from holter.custom_format import STEP, TIME, CustomFormat
from holter.ingest.console.dialect import LineValues
from holter.ingest.console.prefixes import strip_prefixes
from holter.ingest.stdout.custom_patterns import custom_dialect

_LONGEST_LINE = 400
_LEAST_LINES = 3
_MOST_GROUPS = 12
_SHOWN_BEFORE = 24  # characters of what stands before a number, enough to find it by
_PIECE = re.compile(
    r"(?P<time>\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?)"
    r"|(?<![A-Za-z_\d.])(?P<number>[-+]?\d[\d,]*(?:\.\d*)?(?:[eE][-+]?\d+)?|nan|inf)(?![\d_])"
)
_WORD = re.compile(r"([A-Za-z_][\w/.-]*)\W*$")
_STEPS = frozenset({"step", "steps", "iter", "iteration", "it", "itr", "update", "updates", "global_step"})
_COUNTS = frozenset({"epoch", "rank", "gpu", "of", "batch", "eta", "node", "pid", "line"})


class _Shape(NamedTuple):
    """Lines that differ in their numbers alone: what stands before each number, and the numbers [line]."""

    before: list[str]
    kinds: list[str]
    texts: list[list[str]]


def suggest_format(head: bytes) -> CustomFormat | None:
    """A format of one pattern that reads the most frequent lines with numbers, None where there are none.

    The step is the number that a word says is one, else the first whole number that rises.
    """
    lines = [
        strip_prefixes(line).text for line in re.split(rb"[\r\n]+", head) if 0 < len(line) <= _LONGEST_LINE
    ]
    shapes: dict[str, list[str]] = defaultdict(list)
    for line in lines:
        shapes[_PIECE.sub("\0", line)].append(line)
    for same in sorted(shapes.values(), key=len, reverse=True)[:20]:
        if len(same) >= _LEAST_LINES and (found := _format(same)) is not None:
            return found
    return None


def format_as_toml(house: CustomFormat) -> str:
    """The format as lines of holter.toml."""
    quote = "'''" if "'" in house.pattern else "'"
    return f'[[formats]]\nname = "{house.name}"\npattern = {quote}{house.pattern}{quote}'


def _format(lines: Sequence[str]) -> CustomFormat | None:
    shape = _taken_apart(lines)
    step = _step_of(shape)
    if step is None:
        return None
    pattern = _pattern(shape, step)
    try:
        house = CustomFormat(name="ours", pattern=pattern)
    except ValueError:  # nothing beside the step, or text that RE2 reads otherwise
        return None
    [kind] = custom_dialect(house).kinds
    said = [kind.parse(line, {}) for line in lines]
    read = sum(isinstance(one, LineValues) and bool(one.values) for one in said)
    return house if 2 * read >= len(lines) else None


def _taken_apart(lines: Sequence[str]) -> _Shape:
    pieces = [list(_PIECE.finditer(line)) for line in lines]
    ends = [0, *(piece.end() for piece in pieces[0])]
    before = [lines[0][end : piece.start()] for end, piece in zip(ends, pieces[0], strict=False)]
    kinds = [TIME if piece["time"] else "number" for piece in pieces[0]]
    return _Shape(before, kinds, [[piece[0] for piece in line] for line in pieces])


def _step_of(shape: _Shape) -> int | None:
    """Which number is the step."""
    rising = []
    for place, kind in enumerate(shape.kinds):
        texts = [line[place].replace(",", "") for line in shape.texts]
        if kind == TIME or not all(text.isdecimal() for text in texts):
            continue
        word = _word(shape.before[place]).lower().rpartition("/")[2]
        if word in _STEPS:
            return place
        numbers = list(map(int, texts))
        if word not in _COUNTS and numbers == sorted(numbers) and numbers[0] < numbers[-1]:
            rising.append(place)
    return rising[0] if rising else None


def _word(before: str) -> str:
    found = _WORD.search(before)
    return found[1] if found else ""


def _pattern(shape: _Shape, step: int) -> str:
    return ".*".join(_parts(shape, step))


def _parts(shape: _Shape, step: int) -> Iterator[str]:
    taken = {STEP}
    for place, (before, kind) in enumerate(zip(shape.before, shape.kinds, strict=True)):
        name = re.sub(r"\W+", "_", _word(before)).strip("_")
        if kind == TIME:
            name = TIME
        elif place == step:
            yield rf"{_literal(before)}(?P<step>\d[\d,]*)"
            continue
        if not name or name in taken or name.lower() in _COUNTS or len(taken) > _MOST_GROUPS:
            continue
        taken.add(name)
        number = r"\d{4}\S+[ T]\S+" if kind == TIME else r"[-+.,\w]*\w"
        yield f"{_literal(before)}(?P<{name}>{number})"


def _literal(text: str) -> str:
    """The end of what stands before a number, as a pattern."""
    kept = text[-_SHOWN_BEFORE:]
    kept = kept[kept.find(" ") :] if len(text) > _SHOWN_BEFORE and " " in kept else kept
    return re.sub(r"(?:\\?\s)+", r"\\s+", re.escape(kept).replace("/", "/"))
