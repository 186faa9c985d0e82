"""Lines with the name of a metric that count nothing: rows of a text, and the results behind these."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence

from holter.ingest.console.line.cached_shapes import shape_of, shape_of_line
from holter.ingest.console.line.line_counters import Counter as Counts
from holter.ingest.console.line.line_shapes import LineShape
from holter.ingest.console.line.line_tokens import split_numbers
from holter.ingest.console.line.line_words import BEFORE_MESSAGE, DATA_SPLIT
from holter.ingest.metric_names import is_metric_name
from holter.ingest.offline.counted_lines import layout_of
from holter.ingest.offline.numbered_tables import LEAST_ROWS

_ABOUT_METRICS = re.compile(
    r"(?i)\b(?:(?:eval|valid|test|train)\w{0,10}(?: set)?|val(?: set)?|metrics?|results?|scores?)\b"
)
"""Words before the first metric of a line: `Eval metrics - AUC: 0.5`."""
AROUND_RESULT = " \t*=#>-"
"""What may be before a result."""
Shape = tuple[str, ...]
"""The texts around the numbers of a line, or the keys of an object."""
BARE: Shape = ("", "")
"""The shape of a number alone."""


def results_behind(lines: Sequence[str], table: bytes) -> bytes:
    """The lines with metrics behind the last row of a table, each of its own form, at its last step.

    Other numbers of a metric that the rows have are no results.
    """
    header, *rows = table.decode().splitlines()
    step, *names = header.split(",")
    layouts = [layout_of(split_numbers(line)) for line in lines]
    counts = Counter(layouts)
    of_rows, number = counts.most_common(1)[0]
    if step != "step" or number < LEAST_ROWS:
        return b""
    end = len(lines) - layouts[::-1].index(of_rows)
    found = [
        line.lstrip(AROUND_RESULT)
        for line, layout in zip(lines[end:], layouts[end:], strict=True)
        if counts[layout] == 1
        and (shape := shape_with_metric(line)) not in ((), BARE)
        and {*names_of(shape)}.isdisjoint(names)
    ]
    last = rows[-1].split(",")[0]
    return "".join(f"step: {last}, {line}\n" for line in found).encode()


def shape_with_metric(line: str) -> Shape:
    """The text around the numbers of a line; nothing if it counts anything or begins with no metric."""
    parts = split_numbers(line)
    texts = tuple(parts[::2])
    if len(parts) == 3 and not "".join(texts).strip():
        return BARE
    shape = shape_of_line(parts)
    if is_batch_of_evaluation(shape) and shape.metrics:
        return texts
    names = [field.name for field in shape.metrics]
    if names[1:] and names[0].lower() == "progress":  # a part of the training, without a step
        del names[0]
    keys = _keys_of_object(line)
    is_about = sum(map(is_metric_name, names)) > 1 or any(map(is_metric_name, names if keys else names[:1]))
    is_about |= len(names) == 1 and DATA_SPLIT.fullmatch(names[0]) is not None and "." in parts[1]  # a loss
    if shape.counters or not is_about:
        return ()
    if keys:
        return keys
    first = shape.metrics[0].name
    before = _ABOUT_METRICS.sub("", "".join(texts[: shape.metrics[0].index + 1]).partition(first)[0])
    is_module = "." in first and bool(before.strip())  # `2026-01-01 10:00:00 INFO web.access 200`
    return texts if BEFORE_MESSAGE.fullmatch(before) is not None and not is_module else ()


def _keys_of_object(line: str) -> Shape:
    """The keys of an object of JSON, which are the shape of its line: a value may be a number or a text."""
    try:
        value = json.loads(line) if line[:1] == "{" else None
    except (ValueError, RecursionError):
        return ()
    return ("{", *value) if isinstance(value, dict) else ()


def is_batch_of_evaluation(shape: LineShape) -> bool:
    """Whether a line counts nothing but the batches of an evaluation: `Evaluated 10/287 with loss 0.5`."""
    return bool(shape.split) and {field.counter for field in shape.counters} == {Counts.BATCH}


def names_of(shape: Shape) -> list[str]:
    """The names of the values of a row."""
    return [*shape[1:]] if shape[0] == "{" else [field.name for field in shape_of(shape).metrics]
