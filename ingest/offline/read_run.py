"""Reads all logs of a run into memory at once, for `holter analyze`."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from holter.ingest import formats
from holter.ingest.console.late_beginnings import reader_of_beginning
from holter.ingest.csv.csv_log import CsvLog
from holter.ingest.discovery.run_layout import assign_tree
from holter.ingest.discovery.scanner import LogTree, Source
from holter.ingest.errors import describe_error
from holter.ingest.file_tasks import file_task
from holter.ingest.format import Format, HoldingReader
from holter.ingest.offline.guessed_format import source_by_hand
from holter.ingest.offline.pasted_overlaps import without_overlaps
from holter.ingest.offline.plain_names import with_plain_names
from holter.ingest.offline.series_builder import SeriesBuilder, count_attempts
from holter.ingest.offline.shortened_text import ShortenedText
from holter.ingest.offline.thousands import without_thousands
from holter.ingest.offline.whole_file import WholeFile
from holter.ingest.open_log import OpenedLog, WithLineEnd, open_beginning, open_log, uncompressed_name
from holter.ingest.processor_time import ProcessorTimeError
from holter.ingest.stdout.system_text import NCCL_ONLY
from holter.types import Batch, RunData, Unreadable

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class OfflineRun:
    """A run's data, and where it comes from. `points` counts those in `data`.

    `files` maps files, relative to the path that was read, to the names of their formats. `runs` are the
    names of the folders that would be runs of their own if the path was tailed.
    """

    data: RunData
    attempts: int
    points: int
    unreadable: list[Unreadable]
    files: dict[str, str]
    runs: tuple[str, ...] = ()


def read_run(
    path: Path, *, until_step: int | None = None, known: Mapping[str, Format] | None = None
) -> OfflineRun:
    """Read a folder with the logs of one run, or a single log, up to `until_step` (inclusive).

    What cannot be read is listed with its file and location; nothing readable gives no points. `known` are
    the formats to recognise, by default all formats.
    """
    unreadable: list[Unreadable] = []
    sources: list[Source] = []
    if path.exists():
        tree = LogTree(path, known or formats(), one_run=True)
        sources = tree.scan()
        if (by_hand := source_by_hand(path, sources, known or formats())) is not None:
            sources = [by_hand]
        unreadable += [
            Unreadable(source=_relative_name(file, path), location="file", reason=problem)
            for file, problem in tree.problems().items()
        ]
    else:
        unreadable.append(Unreadable(source=str(path), location="path", reason="no such file or folder"))
    builder, files = SeriesBuilder(until_step=until_step), dict[str, str]()
    for source in sources:
        name = _relative_name(source.path, path)
        if source.format is not NCCL_ONLY:
            files[name] = source.format.name
        for record in read_source(source):
            files.setdefault(name, source.format.name)
            if isinstance(record, Unreadable):
                unreadable.append(replace(record, source=name))
            else:
                builder.add(source.assignment.writer, source.assignment.apply(record))
    series = with_plain_names(builder.series())
    return OfflineRun(
        data=RunData(series=series, config=builder.config()),
        attempts=count_attempts(series),
        points=sum(map(len, series.values())),
        unreadable=unreadable,
        files=files,
        runs=_runs_if_tailed(path, sources),
    )


def _runs_if_tailed(path: Path, sources: list[Source]) -> tuple[str, ...]:
    if not path.is_dir():
        return ()
    logs = [source.path for source in sources if not source.format.role.is_settings]
    return tuple(sorted({assignment.run for assignment in assign_tree(path, logs).values()}))


@dataclass(slots=True)
class LogSample:
    """Limits reading to the first `max_bytes` of a log; `is_part`: whether there are more, afterwards."""

    max_bytes: int
    is_part: bool = False

    def open(self, path: Path) -> OpenedLog:
        """Open the log as if it ended there. Raises OSError."""
        opened, self.is_part = open_beginning(path, self.max_bytes)
        return opened


def read_source(source: Source, sample: LogSample | None = None) -> Iterator[Batch | Unreadable]:
    """All records of a log as it is now; a rest that may still be written to is reported as unreadable.

    So is whatever the format raises: the records up to there are those of the log. With a `sample` only those
    at the beginning of a large log.
    """
    try:
        with file_task(source.path, "read"):
            opened = open_log(source.path) if sample is None else sample.open(source.path)
    except (OSError, ProcessorTimeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        yield Unreadable(location="file", reason=f"expected to open it: {reason}")
        return
    complete = _ends_lines(source) and not (sample is not None and sample.is_part)
    raw = io.BufferedReader(WithLineEnd(opened.stream)) if complete else opened.stream
    with raw as opened_stream:
        text = ShortenedText(opened_stream)
        if complete and source.format.role.in_text:
            text = without_overlaps(opened_stream)
        elif sample is None and isinstance(source.format, CsvLog | WholeFile):
            text = without_thousands(opened_stream)
        try:
            yield from _records(source, text)
        except Exception as error:
            _log.debug("%s: the format %s fails", source.path, source.format.name, exc_info=error)
            reason = f"expected to read it as {source.format.name}: {describe_error(error)}"
            yield Unreadable(location=f"byte {text.byte_of_file(text.stream.tell())}", reason=reason)
            return
        position = text.byte_of_file(text.stream.tell())
        rest = text.byte_of_file(text.stream.seek(0, 2)) - position
    if opened.problem is not None:
        yield opened.problem
    if rest and not (sample is not None and sample.is_part):
        reason = f"expected a complete record, found {rest} bytes that may still be written to: not read"
        yield Unreadable(location=f"byte {position}", reason=reason)


def _ends_lines(source: Source) -> bool:
    """Whether the records of a log are lines, of which the last one may lack its end."""
    name = uncompressed_name(source.path)
    return source.format.role.in_text or name.suffix.lower() in {".csv", ".tsv", ".jsonl", ".ndjson"}


def _records(source: Source, text: ShortenedText) -> Iterator[Batch | Unreadable]:
    """The records of a log; what is done with them meanwhile does not count as time for the file."""
    for record in _records_of_text(source, text.stream):
        if isinstance(record, Unreadable):
            yield replace(record, location=text.location_in_file(record.location))
        else:
            yield record


def _records_of_text(source: Source, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
    reader = reader_of_beginning(source.format, uncompressed_name(source.path), {})
    records = reader.read(stream)
    while True:
        with file_task(source.path, "read", start=stream.tell()):
            record = next(records, None)
        if record is None:
            break
        yield record
    if isinstance(reader, HoldingReader):
        yield from reader.finish()


def _relative_name(file: Path, root: Path) -> str:
    return file.name if file == root else file.relative_to(root).as_posix()
