"""Numbers lines that repeat a name and a number, which count nothing: `loss: 0.5`, or nothing but a number.

Lines of each first name are numbered by themselves. A text of other lines is none of these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence, Set

from holter.ingest.console.line.cached_shapes import shape_of
from holter.ingest.console.line.line_settings import has_settings, is_setting
from holter.ingest.console.line.line_tokens import split_numbers
from holter.ingest.console.line.line_words import DATA_SPLIT
from holter.ingest.console.line.passed_lines import PassedLines
from holter.ingest.metric_names import is_metric_name
from holter.ingest.offline.measured_columns import LEAST_FRACTIONS, LEAST_OF_NUMBERS
from holter.ingest.offline.named_rows import (
    AROUND_RESULT,
    BARE,
    Shape,
    is_batch_of_evaluation,
    names_of,
    shape_with_metric,
)
from holter.ingest.offline.numbered_tables import LEAST_ROWS
from holter.ingest.offline.rare_evaluations import rare_evaluations
from holter.ingest.printed_numbers import without_objects

_NO_DIGITS = str.maketrans("", "", "0123456789")
_LEAST_OF_OPENING = 12
"""Characters of the first line of a text that shows another launch where it comes again."""
_ONE_NUMBER = 3
"""Texts and numbers of a line with one number."""
_ALL_DIGITS = 5
"""Digits behind the point of a number that few programs round to, such as those of `%.5f`."""
_AROUND_DATA = " \t-=*#~_:<>[]()."
"""What may be around the name of the data in a heading."""


def numbered_lines(lines: Sequence[str], name: str) -> bytes:
    """The lines that repeat named numbers, or nothing but a number, each with the count of its series."""
    shapes = [*_shapes(lines)]
    series = {shape: _first_series(shape) for shape in {*shapes} if shape}
    counts = Counter(series[shape] for shape in shapes if shape)
    frequent = {shape for shape, first in series.items() if counts[first] >= LEAST_ROWS}
    if not is_metric_name(name):
        frequent.discard(BARE)  # numbers of anything
    if others := _others_of_blocks(lines, [shape for shape in shapes if shape in frequent]):
        frequent |= others
        series |= {shape: _first_series(shape) for shape in others}
        shapes = [shape or _texts_in(others, line) for line, shape in zip(lines, shapes, strict=True)]
    if not _is_about(lines, shapes, frequent):
        return b""
    seen: Counter[Hashable] = Counter()
    numbered = []
    opening = _opening(lines, shapes)
    rare = rare_evaluations(Counter(shape for shape in shapes if shape in frequent), names_of)
    for line, shape in zip(lines, shapes, strict=True):
        if shape in frequent:
            named = _named(line, shape, name, is_of_block=shape in others)
            count = max(seen.values(), default=1) - 1 if shape in rare else seen[series[shape]]
            step = f"step: {count}"
            is_evaluation = is_batch_of_evaluation(shape_of(shape))
            numbered.append(f"{named} {step}\n" if is_evaluation else f"{step}, {named.lstrip()}\n")
            seen[series[shape]] += shape not in rare
        elif opening and line == opening:  # the program was started again
            seen.clear()
        elif shape and shape != BARE and seen:  # another row, without some values, or results behind the rows
            is_row = shape[0] == "{" and any({*shape[1:]} & {*each[1:]} for each in frequent)
            step = f"step: {max(seen.values()) - (not is_row)}"
            numbered.append(f"{step}, {line.lstrip(AROUND_RESULT)}\n")
    return "".join(numbered).encode()


def _shapes(lines: Sequence[str]) -> Iterator[Shape]:
    """The shape of each line with a metric; nothing for others."""
    passed = PassedLines()
    for line in lines:
        shape = () if passed.has(line) else shape_with_metric(line)
        if not shape:
            passed.add(line)
        yield shape


def _first_series(shape: Shape) -> Hashable:
    """The first value of a row by its data and name: rows of several shapes that have it count together."""
    known = shape_of(shape) if shape[0] != "{" else None
    return shape if known is None or not known.metrics else (known.split, known.metrics[0].name)


def _is_about(lines: Sequence[str], shapes: Sequence[Shape], frequent: Set[Shape]) -> bool:
    """Whether a text is about its rows: half of its lines, or enough measurements between any lines.

    The `frequent` shapes are those of its rows. A learning rate between other lines is a setting.
    """
    rows = [(line, shape) for line, shape in zip(lines, shapes, strict=True) if shape in frequent]
    if 2 * len(rows) >= sum(any(map(str.isalnum, line)) for line in lines):
        return True
    if any(DATA_SPLIT.fullmatch(line.strip(_AROUND_DATA)) for line in {*lines}):
        return False  # what is below `--- TEST ---` and what below `--- TRAIN ---` would be one series
    if 2 * len({shape for _, shape in rows}) > len(rows):
        return False  # each has other words: `map-395 0.0 <-> abc-207 1.0`
    measured = [line for line, shape in rows if not all(map(_is_rate, names_of(shape)))]
    fractions = sum("." in "".join(split_numbers(line)[1::2]) for line in measured)
    return len(measured) >= LEAST_OF_NUMBERS and fractions >= LEAST_FRACTIONS * len(measured)


def _is_rate(name: str) -> bool:
    return is_setting(name) and not has_settings([name])


def _others_of_blocks(lines: Sequence[str], rows: Sequence[Shape]) -> set[Shape]:
    """The shapes of other lines with a name and a number that come as often as each of the rows does.

    `Steps taken: 16` below `average reward: -71.1`, over and over; the last block may be a part of one.
    """
    counts = Counter(rows).values()
    least, most = min(counts, default=0), max(counts, default=0)
    if most - least > 1:
        return set()
    others = Counter(
        tuple(parts[::2])
        for line in lines
        if len(parts := _parts(line)) == _ONE_NUMBER and _is_named(line, parts)
    )
    return {texts for texts, count in others.items() if least <= count <= most and shape_of(texts).metrics}


def _parts(line: str) -> list[str]:
    """The texts and numbers of a line in turn, without what is printed around a tensor."""
    return split_numbers(without_objects(line))


def _named(line: str, shape: Shape, name: str, *, is_of_block: bool) -> str:
    """A row with a sign between its name and its number; a bare number has the `name` of the file."""
    if not any(text.strip() for text in shape):
        return f"{name}: {line.strip()}"
    if not is_of_block or shape[0].rstrip()[-1:] in (":", "="):
        return line
    return f"{shape_of(shape).metrics[0].name}: {_parts(line)[1]}"


def _is_named(line: str, parts: Sequence[str]) -> bool:
    """Whether the text before the number of a line names it: with a sign, or the number is printed as it is.

    `Steps taken: 16`, `Mu tensor(1.25)`, `fake out D 0.61234`.
    """
    is_printed = not parts[2].strip() and len(parts[1].partition(".")[2]) >= _ALL_DIGITS
    return is_printed or parts[0].rstrip()[-1:] in (":", "=") or "tensor(" in line.lower()


def _texts_in(known: Set[Shape], line: str) -> Shape:
    """The texts around the numbers of a line if they are known ones."""
    texts = tuple(_parts(line)[::2])
    return texts if texts in known else ()


def _opening(lines: Sequence[str], shapes: Sequence[Shape]) -> str:
    """The first line of a text, if it is none of its rows and is not printed before each of them again.

    Lines that differ from it in their digits alone count as well: a value may be printed twice.
    """
    first = next(((line, shape) for line, shape in zip(lines, shapes, strict=True) if line.strip()), ("", ()))
    if first[1] or len(first[0].strip()) < _LEAST_OF_OPENING:
        return ""
    most = max(Counter(filter(None, shapes)).values(), default=0)
    kind = first[0].translate(_NO_DIGITS)
    alike = sum(line.translate(_NO_DIGITS) == kind for line in lines)
    return "" if alike * LEAST_ROWS > most else first[0]
