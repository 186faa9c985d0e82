"""Everything that a run's logs hold, at once and in memory: what `holter analyze` looks at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from holter.ingest import formats
from holter.ingest.discovery.run_layout import assign_tree
from holter.ingest.discovery.scanner import LogTree, Source
from holter.ingest.format import Format
from holter.ingest.offline.series_builder import SeriesBuilder, count_attempts
from holter.ingest.open_log import open_log, uncompressed_name
from holter.ingest.stdout.system_text import NCCL_ONLY
from holter.types import Batch, RunData, Unreadable


@dataclass(frozen=True, kw_only=True, slots=True)
class OfflineRun:
    """A run's data, and how it was come by. `points` counts what stands in `data`; files are relative.

    `runs` are the folders that watching would tell apart, by their names.
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
    """Read a folder that holds one run's logs, or a single log, up to `until_step` (that one included).

    What cannot be read is listed with its file and place; nothing readable gives no points. `known` are
    the formats to recognise, by default all there are.
    """
    unreadable: list[Unreadable] = []
    sources: list[Source] = []
    if path.exists():
        sources = LogTree(path, known or formats(), one_run=True).scan()
    else:
        unreadable.append(Unreadable(source=str(path), location="path", reason="no such file or folder"))
    assembly, files = SeriesBuilder(until_step=until_step), dict[str, str]()
    for source in sources:
        if source.format is not NCCL_ONLY:
            files[_name(source.path, path)] = source.format.name
        for record in read_source(source):
            files.setdefault(_name(source.path, path), source.format.name)
            if isinstance(record, Unreadable):
                unreadable.append(replace(record, source=_name(source.path, path)))
            else:
                assembly.add(source.place.writer, source.place.put(record))
    series = assembly.series()
    return OfflineRun(
        data=RunData(series=series, config=assembly.config()),
        attempts=count_attempts(series),
        points=sum(len(one) for one in series.values()),
        unreadable=unreadable,
        files=files,
        runs=_runs(path, sources),
    )


def _runs(path: Path, sources: list[Source]) -> tuple[str, ...]:
    if not path.is_dir():
        return ()
    logs = [one.path for one in sources if not one.format.role.is_settings]
    return tuple(sorted({place.run for place in assign_tree(path, logs).values()}))


def read_source(source: Source) -> Iterator[Batch | Unreadable]:
    """All records of a log as it is now; a rest that may still be written to is told, not guessed at."""
    try:
        opened = open_log(source.path)
    except OSError as error:
        yield Unreadable(location="file", reason=f"expected to open it: {error.strerror or error}")
        return
    with opened.stream as stream:
        yield from source.format.reader(uncompressed_name(source.path), {}).read(stream)
        position = stream.tell()
        rest = stream.seek(0, 2) - position
    if opened.problem is not None:
        yield opened.problem
    if rest:
        reason = f"expected a complete record, found {rest} bytes that may still be written to: not read"
        yield Unreadable(location=f"byte {position}", reason=reason)


def _name(file: Path, root: Path) -> str:
    return file.name if file == root else file.relative_to(root).as_posix()
