"""Reads all logs of a run into memory at once, for `holter analyze`."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from holter.ingest import formats
from holter.ingest.discovery.run_layout import assign_tree
from holter.ingest.discovery.scanner import LogTree, Source
from holter.ingest.errors import describe_error
from holter.ingest.format import Format
from holter.ingest.offline.series_builder import SeriesBuilder, count_attempts
from holter.ingest.open_log import open_log, uncompressed_name
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
    series = builder.series()
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


def read_source(source: Source) -> Iterator[Batch | Unreadable]:
    """All records of a log as it is now; a rest that may still be written to is reported as unreadable.

    So is whatever the format raises: the records up to there are those of the log.
    """
    try:
        opened = open_log(source.path)
    except OSError as error:
        yield Unreadable(location="file", reason=f"expected to open it: {error.strerror or error}")
        return
    with opened.stream as stream:
        try:
            yield from source.format.reader(uncompressed_name(source.path), {}).read(stream)
        except Exception as error:
            _log.debug("%s: the format %s fails", source.path, source.format.name, exc_info=error)
            reason = f"expected to read it as {source.format.name}: {describe_error(error)}"
            yield Unreadable(location=f"byte {stream.tell()}", reason=reason)
            return
        position = stream.tell()
        rest = stream.seek(0, 2) - position
    if opened.problem is not None:
        yield opened.problem
    if rest:
        reason = f"expected a complete record, found {rest} bytes that may still be written to: not read"
        yield Unreadable(location=f"byte {position}", reason=reason)


def _relative_name(file: Path, root: Path) -> str:
    return file.name if file == root else file.relative_to(root).as_posix()
