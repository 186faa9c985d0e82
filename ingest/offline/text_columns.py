"""Tables with columns of texts between those of numbers: `Net | Accuracy | Kind` above `1 | 0.9 | relu`."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence

from holter.ingest.metric_names import is_metric_name
from holter.ingest.offline.counted_lines import is_number
from holter.ingest.step_columns import OF_EPISODES, find_step, is_empty_cell

_SEPARATORS = ("|", ",", ";", "\t")
_OF_CSV = ",;\t"
"""Separators that may be within a cell that has quotes around it."""
_OBJECT = "{"
"""How a cell begins that holds an object, whose numbers are no columns: `"{'cash': 1.5}"`."""
_LEAST_COLUMNS = 2
_LEAST_OF_ROWS = 3


def has_texts(lines: Sequence[str]) -> bool:
    """Whether the lines of a text are a table with columns of texts, see `without_texts`."""
    return without_texts(lines) != [*lines]


def without_texts(lines: Sequence[str]) -> list[str]:
    """The lines of a text without the columns of its table that have texts; as they are if there are none.

    Such a table has names above, of which one is that of a metric, or those of episodes are, and none is that
    of what counts: others are read as they are, and so are those whose first column has another text in each
    row, which is what the row is about. Other lines have not as many cells.
    """
    for separator in _SEPARATORS:
        split = [_cells(line, separator) if separator in line else [] for line in lines]
        width = Counter(map(len, filter(None, split))).most_common(1)
        if not width or width[0][0] < _LEAST_COLUMNS or width[0][1] <= _LEAST_OF_ROWS:
            continue
        table = [[cell.strip() for cell in cells] for cells in split if len(cells) == width[0][0]]
        names, rows = table[0], [cells for cells in table if cells != table[0]]
        if any(map(is_number, names)) or not rows or find_step(names) is not None:
            continue
        places = range(len(names))
        kept = [place for place in places if all(is_number(cells[place]) for cells in rows)]
        texts = [place for place in places if _are_texts([cells[place] for cells in rows])]
        if texts[:1] == [0] and len({cells[0] for cells in rows}) == len(rows):
            continue
        stated = {names[place] for place in kept}
        is_measured = any(map(is_metric_name, stated)) or stated >= OF_EPISODES
        if texts and len(kept) + len(texts) == len(names) and is_measured:
            return [
                f" {separator} ".join(cells[place].strip() for place in kept)
                if len(cells) == len(names)
                else line
                for line, cells in zip(lines, split, strict=True)
            ]
    return list(lines)


def _cells(line: str, separator: str) -> list[str]:
    if separator not in _OF_CSV or '"' not in line:
        return line.strip().strip("|").split(separator)
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:  # a cell that is too large
        return []


def _are_texts(cells: Sequence[str]) -> bool:
    """Whether cells are texts: objects, or words with numbers at most behind them, and not in all cells."""
    numbers = [not cell.startswith(_OBJECT) and any(map(is_number, cell.split())) for cell in cells]
    begin = any(is_number(cell.split()[0]) for cell, has in zip(cells, numbers, strict=True) if has)
    stated = any(not (has or is_empty_cell(cell)) for cell, has in zip(cells, numbers, strict=True))
    return not any(numbers) or (stated and not begin)
