"""Reads a file that was given by hand and that no format claims: as records, printed lines, or rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from holter.ingest.console.dialects import PLAIN_LINES
from holter.ingest.discovery.run_layout import assign_tree
from holter.ingest.discovery.scanner import Source
from holter.ingest.format import Format
from holter.ingest.offline.joined_records import JoinedRecords
from holter.ingest.offline.numbered_rows import UNNAMED, NumberedRows
from holter.ingest.open_log import HEAD_BYTES, open_beginning, uncompressed_name, without_holes
from holter.types import Batch, SeriesKey

_TRIED_BYTES = 16 * 2**20
_SEVERAL = 2


def guessed_source(file: Path, known: Mapping[str, Format]) -> Source | None:
    """The file as records on one line, as lines of any program, else its rows as steps.

    Lines that hold nothing but single values come behind rows with a name: these are the results below such
    rows. None if none has a value, or it is no text.
    """
    lines = known.get(PLAIN_LINES.name)
    if lines is None:
        return None
    rows = NumberedRows(lines)
    guesses = (JoinedRecords(lines), 1), (lines, _SEVERAL), (rows, _SEVERAL), (lines, 1), (rows, 1)
    for guess, steps in guesses:
        try:
            if _has_points(file, guess, steps):
                assignment = assign_tree(file, [file], one_run=True)[file]
                return Source(path=file, format=guess, assignment=assignment)
        except OSError:
            return None
    return None


def _has_points(file: Path, guess: Format, steps: int) -> bool:
    """Whether a file read by a format has a series with points at so many steps, with a name if several."""
    with open_beginning(file, _TRIED_BYTES)[0].stream as stream:
        if b"\0" in without_holes(stream.read(HEAD_BYTES)):
            return False
        stream.seek(0)
        records = guess.reader(uncompressed_name(file), {}).read(stream)
        seen: defaultdict[SeriesKey, set[int]] = defaultdict(set)
        for record in records:
            if not isinstance(record, Batch):
                continue
            for column in record.columns:
                if steps > 1 and column.key.metric.startswith(UNNAMED):
                    continue
                at = record.steps if column.rows is None else record.steps[column.rows]
                seen[column.key] |= {*at[:steps].tolist()}
                if len(seen[column.key]) >= steps:
                    return True
        return False
