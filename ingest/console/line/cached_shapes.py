"""The shape of a line, which is analysed once: a line costs one split and one look-up after that."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from holter.ingest.console.line.line_counters import epoch_behind_step, measured_counts
from holter.ingest.console.line.line_shapes import LineShape
from holter.ingest.console.line.line_tokens import is_time, with_ascii_punctuation
from holter.ingest.console.line.number_lists import with_words
from holter.ingest.console.line.shape_reader import NO_NUMBERS, ShapeReader
from holter.ingest.console.text.glued_lines import without_glued
from holter.ingest.printed_numbers import without_calls

_NOTHING_MEASURED: frozenset[int] = frozenset()


def shape_of_line(parts: list[str]) -> LineShape:
    """What the numbers of a line are, of which these are the texts and numbers in turn.

    Behind a time at its beginning a line is read as without it: `[2026-02-22 15:43:42] INFO - Epoch 1/3`.
    """
    shape = _shape_of_numbers(parts, _NOTHING_MEASURED)
    for field in shape.counters:
        if "." not in parts[2 * field.index + 1]:
            continue
        measured = measured_counts(shape.counters, parts[1::2]) or epoch_behind_step(shape.counters, parts)
        if measured:
            return replace(_shape_of_numbers(parts, measured), has_fractions=True)
    return shape


def _shape_of_numbers(parts: list[str], measured: frozenset[int]) -> LineShape:
    texts = without_glued(tuple(parts[::2]))
    if len(texts) > 2 and is_time(parts[1]) and not texts[0].strip(" [(\t"):
        return _shape_behind(1, texts[1].lstrip("]) \t"), texts, measured)
    return shape_of(texts, measured)


@lru_cache(maxsize=8192)
def _shape_behind(numbers: int, text: str, texts: tuple[str, ...], measured: frozenset[int]) -> LineShape:
    """The shape of a line whose first numbers are a time that nothing is before.

    `text` is that behind these numbers.
    """
    shape = shape_of((text, *texts[numbers + 1 :]), frozenset(index - numbers for index in measured))
    return replace(
        shape,
        counters=tuple(
            replace(
                field,
                index=field.index + numbers,
                total_index=field.total_index + numbers * (field.total_index >= 0),
            )
            for field in shape.counters
        ),
        metrics=tuple(replace(field, index=field.index + numbers) for field in shape.metrics),
        code=shape.code + numbers * (shape.code >= 0),
        row=None if shape.row is None else replace(shape.row, index=shape.row.index + numbers),
    )


@lru_cache(maxsize=8192)
def shape_of(texts: tuple[str, ...], measured: frozenset[int] = _NOTHING_MEASURED) -> LineShape:
    """What the numbers between these texts are, of which those `measured` count nothing."""
    if len(texts) < 2:
        return NO_NUMBERS
    texts = with_ascii_punctuation(texts)
    return ShapeReader(with_words(without_calls(texts)), measured).read()
