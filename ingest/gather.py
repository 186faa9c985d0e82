"""Everything that a run's logs hold, at once and in memory: what `holter analyze` looks at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from holter.attempts import Attempts
from holter.ingest import formats
from holter.ingest.collectives.nccl_text import ASIDE
from holter.ingest.format import Format
from holter.ingest.opening import open_log, plain_name
from holter.ingest.placing import place_tree
from holter.ingest.sources import Source, Tree
from holter.types import Batch, FloatArray, IntArray, RunData, Series, SeriesKey, Unreadable


@dataclass(frozen=True, kw_only=True, slots=True)
class Gathered:
    """A run's data, and how it was come by. `points` counts what stands in `data`; files are relative.

    `runs` are the folders that watching would tell apart, by their names.
    """

    data: RunData
    attempts: int
    points: int
    unreadable: list[tuple[str, Unreadable]]
    files: dict[str, str]
    runs: tuple[str, ...] = ()


@dataclass(slots=True)
class _Parts:
    """The stretches of one series, in the order in which they were read."""

    attempt: list[IntArray] = field(default_factory=list)
    step: list[IntArray] = field(default_factory=list)
    time: list[FloatArray] = field(default_factory=list)
    value: list[FloatArray] = field(default_factory=list)


def gather(
    path: Path, *, until_step: int | None = None, known: Mapping[str, Format] | None = None
) -> Gathered:
    """Read a folder that holds one run's logs, or a single log, up to `until_step` (that one included).

    What cannot be read is listed with its file and place; nothing readable gives no points. `known` are
    the formats to recognise, by default all there are.
    """
    unreadable: list[tuple[str, Unreadable]] = []
    sources: list[Source] = []
    if path.exists():
        sources = Tree(path, known or formats(), one_run=True).scan()
    else:
        unreadable.append(
            (str(path), Unreadable(place="path", reason="expected a file or folder, found none"))
        )
    attempts, parts, files = Attempts(), dict[SeriesKey, _Parts](), dict[str, str]()
    for source in sources:
        if source.format is not ASIDE:
            files[_name(source.path, path)] = source.format.name
        for record in read_whole(source):
            files.setdefault(_name(source.path, path), source.format.name)
            if isinstance(record, Unreadable):
                unreadable.append((_name(source.path, path), record))
            else:
                _add(parts, attempts.split(source.place.writer, source.place.put(record)), until_step)
    series = {key: _series(key, parts[key]) for key in sorted(parts)}
    numbers = {number for one in series.values() for number in np.unique(one.attempt).tolist()}
    return Gathered(
        data=RunData(series=series),
        attempts=len(numbers),
        points=sum(len(one) for one in series.values()),
        unreadable=unreadable,
        files=files,
        runs=_runs(path, sources),
    )


def _runs(path: Path, sources: list[Source]) -> tuple[str, ...]:
    if not path.is_dir():
        return ()
    return tuple(sorted({place.run for place in place_tree(path, [one.path for one in sources]).values()}))


def read_whole(source: Source) -> Iterator[Batch | Unreadable]:
    """All records of a log as it is now; a rest that may still be written to is told, not guessed at."""
    try:
        opened = open_log(source.path)
    except OSError as error:
        yield Unreadable(place="file", reason=f"expected to open it: {error.strerror or error}")
        return
    with opened.stream as stream:
        yield from source.format.reader(plain_name(source.path), {}).read(stream)
        position = stream.tell()
        rest = stream.seek(0, 2) - position
    if opened.problem is not None:
        yield opened.problem
    if rest:
        reason = f"expected a complete record, found {rest} bytes that may still be written to: not read"
        yield Unreadable(place=f"byte {position}", reason=reason)


def _add(parts: dict[SeriesKey, _Parts], stretches: list[tuple[int, Batch]], until_step: int | None) -> None:
    for number, batch in stretches:
        for column in batch.columns:
            rows = np.arange(len(batch.steps)) if column.rows is None else column.rows
            step, time, value = batch.steps[rows], batch.times[rows], column.values
            if until_step is not None:
                kept = step <= until_step
                step, time, value = step[kept], time[kept], value[kept]
            if len(step):
                mine = parts.setdefault(column.key, _Parts())
                mine.attempt.append(np.full(len(step), number, dtype=np.int64))
                mine.step.append(step)
                mine.time.append(time)
                mine.value.append(value)


def _series(key: SeriesKey, parts: _Parts) -> Series:
    """The points in order; of several at one step of one attempt the newest, by time, then as read."""
    attempt, step = np.concatenate(parts.attempt), np.concatenate(parts.step)
    time, value = np.concatenate(parts.time), np.concatenate(parts.value)
    order = np.lexsort((np.where(np.isnan(time), -np.inf, time), step, attempt))
    attempt, step = attempt[order], step[order]
    last = np.append((attempt[1:] != attempt[:-1]) | (step[1:] != step[:-1]), True)
    arrays = attempt[last], step[last], time[order][last], value[order][last]
    for array in arrays:
        array.flags.writeable = False
    return Series(key=key, attempt=arrays[0], step=arrays[1], time=arrays[2], value=arrays[3])


def _name(file: Path, root: Path) -> str:
    return file.name if file == root else file.relative_to(root).as_posix()
