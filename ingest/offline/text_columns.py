"""Tables with columns of texts between those of numbers: `Net | Accuracy | Kind` above `1 | 0.9 | relu`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from holter.ingest.metric_names import is_metric_name
from holter.ingest.offline.counted_lines import is_number
from holter.ingest.step_columns import find_step

_SEPARATORS = ("|", ",", ";", "\t")
_LEAST_COLUMNS = 2
_LEAST_OF_ROWS = 3


def without_texts(lines: Sequence[str]) -> list[str]:
    """The lines of a text without the columns of its table that have texts; as they are if there are none.

    Such a table has names above, of which one is that of a metric and none that of what counts: others are
    read as they are, and so are those whose first column has another text in each row, which is what the row
    is about. Other lines have not as many cells.
    """
    for separator in _SEPARATORS:
        split = [line.strip().strip("|").split(separator) if separator in line else [] for line in lines]
        width = Counter(map(len, filter(None, split))).most_common(1)
        if not width or width[0][0] < _LEAST_COLUMNS or width[0][1] <= _LEAST_OF_ROWS:
            continue
        table = [[cell.strip() for cell in cells] for cells in split if len(cells) == width[0][0]]
        names, rows = table[0], [cells for cells in table if cells != table[0]]
        if any(map(is_number, names)) or not rows or find_step(names) is not None:
            continue
        places = range(len(names))
        kept = [place for place in places if all(is_number(cells[place]) for cells in rows)]
        texts = [place for place in places if not any(_has_number(cells[place]) for cells in rows)]
        if texts[:1] == [0] and len({cells[0] for cells in rows}) == len(rows):
            continue
        if texts and len(kept) + len(texts) == len(names) and any(is_metric_name(names[at]) for at in kept):
            return [
                f" {separator} ".join(cells[place].strip() for place in kept)
                if len(cells) == len(names)
                else line
                for line, cells in zip(lines, split, strict=True)
            ]
    return list(lines)


def _has_number(cell: str) -> bool:
    return any(map(is_number, cell.split()))
