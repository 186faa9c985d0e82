"""What a format finds in a file that was given by hand: whether it has points, and at how many steps."""

from __future__ import annotations

import io
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from holter.ingest.format import Format, HoldingReader, Reader
from holter.ingest.offline.numbered_tables import UNNAMED
from holter.ingest.open_log import HEAD_BYTES, open_beginning, uncompressed_name, without_holes
from holter.types import Batch, SeriesKey, Unreadable

_log = logging.getLogger(__name__)
TRIED_BYTES = 16 * 2**20
SEVERAL = 2
_MOST_LINES = 6_000
"""Lines of a text that are tried as they are: of longer texts a slow format is tried on excerpts first."""
_EXCERPTS = 3
"""From the beginning of a long text to its end, which have a third of these lines each."""


class SeriesSteps(NamedTuple):
    """A series, and the steps of some of its points."""

    key: SeriesKey
    steps: np.ndarray


def series_found(file: Path, tried: Format) -> Iterator[SeriesSteps]:
    """The series of a text read by a format, with their steps, in parts; none of other files."""
    with open_beginning(file, TRIED_BYTES)[0].stream as stream:
        if b"\0" in without_holes(stream.read(HEAD_BYTES)):
            return
        stream.seek(0)
        for record in _records(file, tried, tried.reader(uncompressed_name(file), {}), stream):
            if isinstance(record, Batch):
                for column in record.columns:
                    yield SeriesSteps(column.key, record.steps_of(column))


def series_found_by_excerpts(file: Path, tried: Format) -> Iterator[SeriesSteps]:
    """The same for a slow format: none of a long text without any in its excerpts."""
    if _finds_any_in_excerpts(file, tried):
        yield from series_found(file, tried)


def has_points(series: Iterable[SeriesSteps], is_meant: Callable[[SeriesKey], bool] = bool) -> bool:
    """Whether one of the series that are meant has a point."""
    return any(is_meant(key) and len(steps) > 0 for key, steps in series)


def most_steps(series: Iterable[SeriesSteps]) -> int | None:
    """How many steps a series with a name has, up to several; None if no series has any point."""
    seen: defaultdict[SeriesKey, set[int]] = defaultdict(set)
    has_any = False
    for key, steps in series:
        has_any = has_any or len(steps) > 0
        if not key.metric.startswith(UNNAMED):
            seen[key].update(steps[:SEVERAL].tolist())
            if len(seen[key]) >= SEVERAL:
                return SEVERAL
    return max(map(len, seen.values()), default=0) if has_any else None


def holds_points(file: Path, lines: Format) -> bool:
    """Whether lines read by a format have a value, those held back at the end among them, or are faulty."""
    with open_beginning(file, TRIED_BYTES)[0].stream as stream:
        records = _records(file, lines, lines.reader(uncompressed_name(file), {}), stream)
        return any(not isinstance(record, Batch) or record.points > 0 for record in records)


def _finds_any_in_excerpts(file: Path, tried: Format) -> bool:
    """Whether a text is short, or an excerpt of it has a point."""
    with open_beginning(file, TRIED_BYTES)[0].stream as stream:
        lines = stream.read().splitlines(keepends=True)
    if len(lines) <= _MOST_LINES:
        return True
    size = _MOST_LINES // _EXCERPTS
    for begin in np.linspace(0, len(lines) - size, _EXCERPTS, dtype=int).tolist():
        excerpt = io.BytesIO(b"".join(lines[begin : begin + size]))
        records = _records(file, tried, tried.reader(uncompressed_name(file), {}), excerpt)
        if any(isinstance(record, Batch) and record.points > 0 for record in records):
            return True
    return False


def _records(file: Path, tried: Format, reader: Reader, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
    """What the reader of a format yields, with what it holds back at the end.

    One that fails has no more records, and the next format is tried.
    """
    try:
        yield from reader.read(stream)
        if isinstance(reader, HoldingReader):
            yield from reader.finish()
    except Exception as error:
        _log.debug("%s: the format %s fails", file, tried.name, exc_info=error)
