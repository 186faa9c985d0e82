"""The lines above the first counter of a text, as they are retained, and what is known of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from holter.ingest.console.line.cached_shapes import shape_of_line
from holter.ingest.console.line.data_names import is_of_evaluation
from holter.ingest.console.line.improvements import without_old_value
from holter.ingest.console.line.line_settings import is_learning_rate, is_of_model, is_setting
from holter.ingest.console.line.line_shapes import LineShape
from holter.ingest.console.line.line_tokens import split_numbers, template_of
from holter.ingest.console.line.result_lines import is_named_number
from holter.ingest.metric_names import is_metric_name
from holter.translated_words import in_english

_OF_UPDATE = re.compile(r"(?i)grad(?:ient)?s?(?:[ _]|$)|\bnorm$|\btime\b|memory|/s(?:ec)?$|per[ _]sec")
"""Names of what is measured of an update, not of the model."""
_LOSS = re.compile(r"(?i)loss|(?<![a-z])(?:bce|kld)(?![a-z])")
"""A loss, or a term of that of an autoencoder."""
_BEFORE_DATA = re.compile(r"(?i)^(?:current|average|avg|mean|total|overall)[ _.-]{1,2}")
"""What may be before the data that a name begins with: `Average val loss`."""
_FRACTION = re.compile(r"-?\d{1,12}\.\d{2,20}")

LAST_OF_FIRST = 1
"""The number of the first epoch or step of a text that is not the rest of another one."""


class LineAbove(NamedTuple):
    """A line that waits for a counter: the number of its kind, where it begins, and its bytes as Latin-1.

    `message` is what of it was not printed by a launcher or a logger. `in_block`: lines of its kind below one
    another belong together. `is_initial`: it is read as a line of the step 0, above everything else;
    `is_renamed`: with names of its own, as the first epoch is the 0th. `data` is that of its evaluation,
    if it is known by now.
    """

    kind: int
    start: int
    text: str
    message: str
    in_block: bool = False
    is_initial: bool = False
    is_renamed: bool = False
    data: str = ""


class KnownLine(NamedTuple):
    """What is known of a line: its text without numbers, its shape, and its numbers."""

    template: int
    shape: LineShape
    numbers: tuple[str, ...]
    has_numbers: bool
    is_named_number: bool


@lru_cache(maxsize=2048)  # those that wait are looked at again with each line below them
def known_line(line: str) -> KnownLine:
    """What is known of a line."""
    parts = split_numbers(without_old_value(line))
    shape = shape_of_line(parts)
    return KnownLine(
        template_of(parts),
        shape,
        tuple(parts[1::2]),
        has_numbers=len(parts) > 1,
        is_named_number=is_named_number(parts, shape),
    )


def shares_value(record: KnownLine, lines: Iterable[LineAbove]) -> bool:
    """Whether a record has a value of the lines above it, maybe rounded: they are of it."""
    values = [*_fractions(record)]
    above = (value for line in lines for value in _fractions(known_line(line.message)))
    return any(_is_same(*pair) for pair in product(above, values))


def _fractions(line: KnownLine) -> Iterator[str]:
    """The values of a line with so many decimals that others hardly have the same."""
    numbers = (line.numbers[field.index] for field in line.shape.metrics)
    return (number for number in numbers if _FRACTION.fullmatch(number) is not None and float(number))


def _is_same(one: str, other: str) -> bool:
    decimals = min(len(each.partition(".")[2]) for each in (one, other))
    return round(float(one), decimals) == round(float(other), decimals)


def is_result(shape: LineShape) -> bool:
    """Whether a line has what may be measured before the training, unlike its rates and the memory."""
    return is_evaluation(shape) or any(
        is_metric_name(field.name) and not (_OF_UPDATE.search(field.name) or is_learning_rate(field.name))
        for field in shape.metrics
    )


def is_measured(shape: LineShape) -> bool:
    """Whether a line has a result or a rate, no other setting."""
    return any(
        is_learning_rate(field.name) or not (is_setting(field.name) or is_of_model(field.name))
        for field in shape.metrics
    )


def is_evaluation(shape: LineShape) -> bool:
    """Whether a line states that it is of an evaluation, by its own words."""
    return bool(shape.split) or any(is_of_evaluation(field.name) for field in shape.metrics)


def is_training(shape: LineShape) -> bool:
    """Whether a line has a loss of the training, which nobody measures before it."""
    return not shape.split and any(
        is_metric_name(field.name)
        and _LOSS.search(in_english(field.name)) is not None
        and not is_of_evaluation(_BEFORE_DATA.sub("", field.name))
        for field in shape.metrics
    )
