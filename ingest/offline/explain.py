"""What was made of each file below a path: its format, what it holds, and why others are not read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from holter.custom_format import CustomFormat
from holter.ingest import formats, step_columns
from holter.ingest.discovery.scanner import LogTree, Source, is_skipped, walk_files
from holter.ingest.format import Format
from holter.ingest.offline.read_run import read_source
from holter.ingest.offline.suggest_pattern import suggest_format
from holter.ingest.open_log import HEAD_BYTES, open_log, read_head, uncompressed_name
from holter.ingest.stdout.system_text import NCCL_ONLY
from holter.ingest.trackers import collection_at
from holter.types import ConfigKey, SeriesKey, Unreadable

_SILENT = "no line names a step together with a loss"
_SHOWN = 60
_KEPT = 20
"""Unreadable places of a file that are kept; further ones are counted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FileReport:
    """A file: what it holds if it is read, else `why_not`. `points` counts the values of each series,
    `again` those among them at the step that the series had told right before, as when every rank prints
    the same line: the last one counts. `settings`: what it says of launches besides.

    Of `unreadable_count` places the first are kept. `suggestion` would read lines that no format knows.
    """

    path: Path
    format: str | None = None
    run: str | None = None
    points: Mapping[SeriesKey, int] = field(default_factory=dict)
    again: int = 0
    settings: int = 0
    first_step: int | None = None
    last_step: int | None = None
    unreadable: tuple[Unreadable, ...] = ()
    unreadable_count: int = 0
    why_not: str = ""
    suggestion: CustomFormat | None = None


def explain_files(root: Path, *, known: Mapping[str, Format] | None = None) -> list[FileReport]:
    """Every file below a folder, or the file itself, in the order of their paths.

    Files that are read are read whole. Raises OSError where `root` cannot be listed.
    """
    known = known or formats()
    sources = {source.path: source for source in LogTree(root, known).scan()}
    seen = {Path(path) for path, _ in walk_files(root)}
    everything = seen if root.is_file() else seen | {path for path in root.rglob("*") if path.is_file()}
    return [_explained(path, sources.get(path), seen, known) for path in sorted(everything)]


def _explained(path: Path, source: Source | None, seen: set[Path], known: Mapping[str, Format]) -> FileReport:
    read = None if source is None else _read(source)
    if read is None or (source is not None and source.format is NCCL_ONLY and not read.points):
        why_not = _why_not(path, seen, known)
        suggestion = _suggestion(path) if why_not == _SILENT else None
        return FileReport(path=path, why_not=why_not, suggestion=suggestion)
    return read


def _read(source: Source) -> FileReport:
    points: dict[SeriesKey, int] = defaultdict(int)
    newest: dict[SeriesKey, int] = {}
    again = 0
    unreadable: list[Unreadable] = []
    count = 0
    steps: list[int] = []
    settings: set[ConfigKey] = set()
    for record in read_source(source):
        if isinstance(record, Unreadable):
            unreadable += [record] if count < _KEPT else []
            count += 1
            continue
        settings.update(record.config)
        for column in source.place.put(record).columns:
            points[column.key] += len(column.values)
            told = record.steps if column.rows is None else record.steps[column.rows]
            if len(told):
                again += int(np.count_nonzero(told[1:] == told[:-1])) + (newest.get(column.key) == told[0])
                newest[column.key] = int(told[-1])
        if len(record.steps):
            steps = [min([*steps, int(record.steps.min())]), max([*steps, int(record.steps.max())])]
    return FileReport(
        path=source.path,
        format=source.format.name,
        run=source.place.run,
        points=dict(points),
        again=again,
        settings=len(settings),
        first_step=steps[0] if steps else None,
        last_step=steps[1] if steps else None,
        unreadable=tuple(unreadable),
        unreadable_count=count,
    )


def _why_not(path: Path, seen: set[Path], known: Mapping[str, Format]) -> str:
    collection = collection_at(path)
    if collection is not None:
        return f"runs that {collection.name} keeps: `holter import` takes them, `holter analyze` reads them"
    if path not in seen:
        if is_skipped(path.name):
            return "passed over by its name: hidden, or a model, an archive, a picture, a program"
        return "passed over: in a folder of checkpoints or a hidden one, or a link within the tree"
    try:
        head = read_head(path)
    except OSError as error:
        return f"cannot be opened: {error.strerror or error}"
    name = uncompressed_name(path)
    claims = [format_ for format_ in known.values() if format_.sniff(name, head)]
    if any(format_.role.is_settings for format_ in claims):
        return "settings: read beside the logs of one run, and none, several, or a newer copy stand there"
    if claims:
        return "left alone: other logs of its run say the same, exactly; or its first step is not there yet"
    return _unknown(name.suffix.lower(), head)


def _unknown(suffix: str, head: bytes) -> str:
    """Why no format claims a file."""
    if not head:
        return "empty so far"
    if b"\0" in head:
        return "no format is known for it"
    if suffix in {".csv", ".tsv"}:
        header = head.partition(b"\n")[0].decode("utf-8", "replace").strip()[:_SHOWN]
        if step_columns.is_long_table(header.split(",")):
            return "a table with a point a row: `holter import` takes it"
        return f"no column of its header is a step ({', '.join(step_columns.STEP_NAMES)}): {header}"
    if suffix in {".json", ".jsonl", ".ndjson"}:
        return (
            "no object a line with a key that is a step (one with a point a line: `holter import` takes it)"
        )
    return _SILENT


def _suggestion(path: Path) -> CustomFormat | None:
    """A pattern for the lines of a text, from its end, where its metrics are if anywhere."""
    try:
        with open_log(path).stream as stream:
            stream.seek(max(0, stream.seek(0, 2) - HEAD_BYTES))
            return suggest_format(stream.read(HEAD_BYTES))
    except OSError:
        return None
