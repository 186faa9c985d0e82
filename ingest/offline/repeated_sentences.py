"""Sentences about a metric that a text has several times in a row, with other numbers each time.

`Metric dev_acc improved by 0.015 >= min_delta = 0.01. New best score: 0.715`: where nothing else in a text
has values, what is repeated so is about a training.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from holter.ingest.console.line.cached_shapes import shape_of
from holter.ingest.console.line.improvements import improvement
from holter.ingest.console.line.line_tokens import split_numbers
from holter.ingest.metric_names import is_metric_name

_LEAST_IN_A_ROW = 5


def numbered_sentences(lines: Sequence[str]) -> bytes:
    """Such sentences, each with the count of those about the same metrics before it; nothing without any.

    Another one about these right above, as the first one may be, is of them.
    """
    parts = [split_numbers(line) for line in lines]
    texts = [tuple(each[::2]) for each in parts]
    seen: Counter[tuple[str, ...]] = Counter()
    numbered: list[str] = []
    begin = 0
    for shape, group in groupby(texts):
        rows = range(begin, begin + len([*group]))
        begin = rows.stop
        names = _metrics_of(shape) if len(rows) >= _LEAST_IN_A_ROW else ()
        if not names or len({tuple(parts[row][1::2]) for row in rows}) == 1:
            continue
        is_begun = rows.start > 0 and _metrics_of(texts[rows.start - 1]) == names
        for row in range(rows.start - is_begun, rows.stop):
            found = improvement(lines[row])
            stated = lines[row].lstrip() if found is None else f"best/{found.name}: {found.value}"
            numbered.append(f"step: {seen[names]}, {stated}\n")
            seen[names] += 1
    return "".join(numbered).encode()


def _metrics_of(texts: tuple[str, ...]) -> tuple[str, ...]:
    """The names of the metrics of a sentence; nothing if none is known, or it counts something."""
    shape = shape_of(texts) if len(texts) > 1 else None
    names = [field.name for field in shape.metrics] if shape is not None and not shape.counters else []
    return tuple(names) if any(map(is_metric_name, names)) else ()
