"""Reads a file that was given by hand and that no format claims: as records, printed lines, or rows.

So is one of which a format claims nothing but the lines of a scheduler, the kernel or NCCL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from holter.ingest.console.dialects import PLAIN_LINES
from holter.ingest.discovery.run_layout import assign_tree
from holter.ingest.discovery.scanner import Source
from holter.ingest.format import Format
from holter.ingest.offline.joined_records import JoinedRecords
from holter.ingest.offline.numbered_rows import NumberedRows
from holter.ingest.open_log import HEAD_BYTES, open_beginning, uncompressed_name, without_holes
from holter.ingest.stdout.system_text import SystemText
from holter.types import Batch

_TRIED_BYTES = 16 * 2**20


def source_by_hand(file: Path, sources: Sequence[Source], known: Mapping[str, Format]) -> Source | None:
    """The source of a file that was given by hand, better than the `sources` found; None if these are right.

    As records on one line, as lines of any program, else its rows as steps; as lines alone where the system's
    are among them. None if none has a value, or it is no text.
    """
    lines = known.get(PLAIN_LINES.name)
    if lines is None or not file.is_file():
        return None
    try:
        if not sources:
            guesses = (JoinedRecords(lines), lines, NumberedRows(lines))
            guess = next((guess for guess in guesses if _finds(file, guess, _is_any)), None)
        else:
            guess = lines if _lacks_training(file, sources) and _finds(file, lines, _is_of_training) else None
    except OSError:
        return None
    if guess is None:
        return None
    return Source(path=file, format=guess, assignment=assign_tree(file, [file], one_run=True)[file])


def _lacks_training(file: Path, sources: Sequence[Source]) -> bool:
    """Whether nothing but lines of the system are known in a file."""
    return all(
        isinstance(source.format, SystemText) and not _finds(file, source.format, _is_of_training)
        for source in sources
    )


def _finds(file: Path, guess: Format, is_found: Callable[[Batch], bool]) -> bool:
    with open_beginning(file, _TRIED_BYTES)[0].stream as stream:
        if b"\0" in without_holes(stream.read(HEAD_BYTES)):
            return False
        stream.seek(0)
        records = guess.reader(uncompressed_name(file), {}).read(stream)
        return any(isinstance(record, Batch) and record.points and is_found(record) for record in records)


def _is_any(batch: Batch) -> bool:
    """Any values count where no format knows the file."""
    return True


def _is_of_training(batch: Batch) -> bool:
    """Whether a value is at a step of the training, and not at the time of an event of the system."""
    return any("steps" not in dict(column.key.labels) for column in batch.columns)
