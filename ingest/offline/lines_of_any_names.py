"""Lines that are the same but for their numbers, whose names are of no known metric, as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain, zip_longest

from holter.ingest.console.line.cached_shapes import shape_of
from holter.ingest.console.line.line_tokens import split_numbers
from holter.ingest.metric_names import is_metric_name
from holter.ingest.offline.counted_lines import Cells, layout_of
from holter.ingest.offline.measured_columns import are_measured
from holter.ingest.offline.named_rows import Shape

_LEAST_OF_LINES = 0.9
"""Of the lines of a text that have the same names, which may be of anything."""
_MOST_FORMS = 8
"""Forms of lines in turn."""


def table_of_any_names(lines: Sequence[str]) -> Cells:
    """Lines that are the same but for their numbers, each with a name, numbered; nothing of other texts.

    So are lines of a few forms in turn, as many of each; the last ones of a text may be a part of them.
    """
    rows = [split_numbers(line) for line in lines if line.strip()]
    layouts = [*map(layout_of, rows)]
    counts = Counter(layouts)
    most = max(counts.values(), default=0)
    forms = {texts: number for texts, number in counts.items() if number >= most - 1}
    if not rows or len(forms) > _MOST_FORMS or sum(forms.values()) < _LEAST_OF_LINES * len(rows):
        return []
    cells: dict[Shape, Cells] = {texts: [] for texts in forms}
    for texts, row in zip(layouts, rows, strict=True):
        if texts in cells:
            cells[texts].append(row[1::2])
    names = [_names_of_any(texts, of_form) for texts, of_form in cells.items()]
    header = [*chain(*names)]
    if not all(names) or len({*header}) < len(header):
        return []
    in_turn = zip_longest(*cells.values(), fillvalue=())
    missing = [[""] * len(of_form) for of_form in names]
    return [
        ["step", *header],
        *(
            [str(number), *chain(*(row or gap for row, gap in zip(block, missing, strict=True)))]
            for number, block in enumerate(in_turn)
        ),
    ]


def _names_of_any(texts: Shape, cells: Cells) -> list[str]:
    """The names of the numbers of a form whose numbers are measurements, none of a known metric."""
    shape = shape_of(texts)
    names = [field.name for field in shape.metrics]
    if shape.counters or not are_measured(cells) or any(map(is_metric_name, names)):
        return []
    return names if len(names) >= len(texts) - 1 else []
