"""Suggests a custom format for lines that no format knows: a pattern for holter.toml, made from the lines."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from holter.custom_format import STEP, TIME, CustomFormat
from holter.ingest.console.dialect import LineValues
from holter.ingest.console.text.prefixes import strip_prefixes
from holter.ingest.stdout.custom_patterns import custom_dialect

_MAX_LINE_LENGTH = 400
_MIN_LINES = 3
_MAX_GROUPS = 12
_LITERAL_LENGTH = 24  # characters of the text before a number, enough to find it by
_PIECE = re.compile(
    r"(?P<time>\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?)"
    # other dates and clocks are neither a step nor a value
    r"|(?P<clock>\d{1,4}[-/]\d\d?(?:[-/]\d{2,4})?[ ,]\d\d?:\d\d(?::\d\d)?(?:[.,]\d+)?"
    r"|\d{4}-\d\d-\d\d(?![\d:])"
    r"|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) {1,2}\d\d?(?:,? \d{4})?"
    r"|\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?)"
    r"|(?<![A-Za-z_\d.])(?P<number>[-+]?\d[\d,]*(?:\.\d*)?(?:[eE][-+]?\d+)?|nan|inf)(?![\d_])"
)
_CLOCK = "clock"
_WORD = re.compile(r"([A-Za-z_][\w/.-]*)\W*$")
_STEPS = frozenset({"step", "steps", "iter", "iteration", "it", "itr", "update", "updates", "global_step"})
_COUNTS = frozenset({"epoch", "rank", "gpu", "of", "batch", "eta", "node", "pid", "line"})


class _LineShape(NamedTuple):
    """Lines that differ in their numbers alone: the text before each, its kind, and the numbers [line]."""

    before: list[str]
    kinds: list[str]
    numbers: list[list[str]]


def suggest_format(head: bytes) -> CustomFormat | None:
    """A format of one pattern that reads the most frequent lines with numbers, None if there are none.

    The step is the number after a word for steps, else the first integer that increases.
    """
    lines = [
        strip_prefixes(line).text for line in re.split(rb"[\r\n]+", head) if 0 < len(line) <= _MAX_LINE_LENGTH
    ]
    by_shape: dict[tuple[str, int], list[str]] = defaultdict(list)
    for line in lines:
        by_shape[_PIECE.subn("\0", line)].append(line)
    for same in sorted(by_shape.values(), key=len, reverse=True)[:20]:
        if len(same) >= _MIN_LINES and (suggestion := _format(same)) is not None:
            return suggestion
    return None


def format_as_toml(custom: CustomFormat) -> str:
    """The format as lines of holter.toml."""
    quote = "'''" if "'" in custom.pattern else "'"
    return f'[[formats]]\nname = "{custom.name}"\npattern = {quote}{custom.pattern}{quote}'


def _format(lines: Sequence[str]) -> CustomFormat | None:
    shape = _shape_of(lines)
    step = _step_index(shape)
    if step is None:
        return None
    pattern = ".*".join(_pattern_parts(shape, step))
    try:
        custom = CustomFormat(name="ours", pattern=pattern)
    except ValueError:  # there is nothing but the step, or text that RE2 reads otherwise
        return None
    [kind] = custom_dialect(custom).kinds
    results = [kind.parse(line, {}) for line in lines]
    steps = [result.step for result in results if isinstance(result, LineValues) and result.values]
    rising = sum(after > before for before, after in pairwise(steps))
    # it finds records, and what it takes for their steps rises
    return custom if 2 * len(steps) >= len(lines) and 2 * rising >= len(steps) - 1 > 0 else None


def _shape_of(lines: Sequence[str]) -> _LineShape:
    pieces = [list(_PIECE.finditer(line)) for line in lines]
    ends = [0, *(piece.end() for piece in pieces[0])]
    before = [lines[0][end : piece.start()] for end, piece in zip(ends, pieces[0], strict=False)]
    kinds = [TIME if piece["time"] else _CLOCK if piece["clock"] else "number" for piece in pieces[0]]
    return _LineShape(before, kinds, [[piece[0] for piece in line] for line in pieces])


def _step_index(shape: _LineShape) -> int | None:
    """The index of the number that is the step."""
    increasing = []
    for index, kind in enumerate(shape.kinds):
        texts = [line[index].replace(",", "") for line in shape.numbers]
        if kind != "number" or not all(text.isdecimal() for text in texts):
            continue
        word = _last_word(shape.before[index]).lower().rpartition("/")[2]
        if word in _STEPS:
            return index
        numbers = list(map(int, texts))
        if word not in _COUNTS and numbers == sorted(numbers) and numbers[0] < numbers[-1]:
            increasing.append(index)
    return increasing[0] if increasing else None


def _last_word(before: str) -> str:
    match = _WORD.search(before)
    return match[1] if match else ""


def _pattern_parts(shape: _LineShape, step: int) -> Iterator[str]:
    taken = {STEP}
    for index, (before, kind) in enumerate(zip(shape.before, shape.kinds, strict=True)):
        name = re.sub(r"\W+", "_", _last_word(before)).strip("_")
        if kind == TIME:
            name = TIME
        elif index == step:
            yield rf"{_literal(before)}(?P<step>\d[\d,]*)"
            continue
        if kind == _CLOCK or not name or name in taken or name.lower() in _COUNTS or len(taken) > _MAX_GROUPS:
            continue
        taken.add(name)
        number = r"\d{4}\S+[ T]\S+" if kind == TIME else r"[-+.,\w]*\w"
        yield f"{_literal(before)}(?P<{name}>{number})"


def _literal(text: str) -> str:
    """The end of the text before a number, as a pattern."""
    end = text[-_LITERAL_LENGTH:]
    end = end[end.find(" ") :] if len(text) > _LITERAL_LENGTH and " " in end else end
    return re.sub(r"(?:\\?\s)+", r"\\s+", re.escape(end).replace("/", "/"))
