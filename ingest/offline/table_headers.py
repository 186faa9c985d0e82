"""Tables of numbers below a line of names, as loggers write them that count nothing."""

from __future__ import annotations

from collections.abc import Sequence

from holter.ingest import step_columns
from holter.ingest.metric_names import is_metric_name
from holter.ingest.offline.counted_lines import is_number

_LEAST_METRICS = 2
"""Names of metrics in a header that is none of anything else, however few rows are below it."""


def with_signs_of_header(lines: Sequence[str]) -> Sequence[str]:
    """The lines of a table with tabs between its numbers as between its names, where these have bars.

    `Learning Rate<tab>epoch<tab>Train Loss<tab>` above `0.001000|1.000000|2.250000|`.
    """
    count = lines[0].count("\t") if lines else 0
    rows = [line for line in lines[1:] if line.strip()]
    if not count or not rows or any("\t" in row or row.count("|") != count for row in rows):
        return lines
    return [lines[0], *(line.replace("|", "\t") for line in lines[1:])]


def is_short_table(lines: Sequence[str], *, may_count: bool) -> bool:
    """Whether a table with a row or two is one of metrics: most of a header are their names.

    If a column counts, as it `may_count`, it is one in CSV.
    """
    lines = [line for line in lines if line.strip()]
    if len(lines) < 2:
        return False
    delimiter = max("\t,;", key=lines[0].count)
    names, *rows = (line.rstrip(delimiter).split(delimiter) for line in lines)
    metrics = sum(is_metric_name(name.strip()) for name in names)
    are_rows = all(len(row) == len(names) and all(map(is_number, row)) for row in rows)
    if not may_count and step_columns.find_step(names) is not None:
        return False
    return bool(rows) and are_rows and metrics >= max(_LEAST_METRICS, len(names) / 2)
