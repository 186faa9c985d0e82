"""Reads a file that was given by hand and that no format claims as lines of any program."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from holter.ingest.console.dialects import PLAIN_LINES
from holter.ingest.discovery.run_layout import assign_tree
from holter.ingest.discovery.scanner import Source
from holter.ingest.format import Format
from holter.ingest.open_log import HEAD_BYTES, open_beginning, uncompressed_name
from holter.types import Batch

_TRIED_BYTES = 16 * 2**20


def guessed_source(file: Path, known: Mapping[str, Format]) -> Source | None:
    """The file as lines of any program, None if these have no value at a step, or it is no text."""
    format_ = known.get(PLAIN_LINES.name)
    if format_ is None:
        return None
    try:
        with open_beginning(file, _TRIED_BYTES)[0].stream as stream:
            if b"\0" in stream.read(HEAD_BYTES):
                return None
            stream.seek(0)
            records = format_.reader(uncompressed_name(file), {}).read(stream)
            if not any(isinstance(record, Batch) and record.points for record in records):
                return None
    except OSError:
        return None
    return Source(path=file, format=format_, assignment=assign_tree(file, [file], one_run=True)[file])
