"""Reads a file that was given by hand and that no format claims: as records, printed lines, or rows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from holter.ingest.console.dialects import PLAIN_LINES
from holter.ingest.discovery.run_layout import assign_tree
from holter.ingest.discovery.scanner import Source
from holter.ingest.format import Format
from holter.ingest.offline.joined_records import JoinedRecords
from holter.ingest.offline.numbered_rows import NumberedRows
from holter.ingest.open_log import HEAD_BYTES, open_beginning, uncompressed_name, without_holes
from holter.types import Batch

_TRIED_BYTES = 16 * 2**20


def guessed_source(file: Path, known: Mapping[str, Format]) -> Source | None:
    """The file as records on one line, as lines of any program, else its rows as steps.

    None if none has a value, or it is no text.
    """
    lines = known.get(PLAIN_LINES.name)
    if lines is None:
        return None
    for guess in (JoinedRecords(lines), lines, NumberedRows(lines)):
        try:
            if _has_points(file, guess):
                assignment = assign_tree(file, [file], one_run=True)[file]
                return Source(path=file, format=guess, assignment=assignment)
        except OSError:
            return None
    return None


def _has_points(file: Path, guess: Format) -> bool:
    with open_beginning(file, _TRIED_BYTES)[0].stream as stream:
        if b"\0" in without_holes(stream.read(HEAD_BYTES)):
            return False
        stream.seek(0)
        records = guess.reader(uncompressed_name(file), {}).read(stream)
        return any(isinstance(record, Batch) and record.points for record in records)
