"""Reports on each file below a path: its format and content, or why it is not read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from holter.custom_format import CustomFormat
from holter.ingest import formats, step_columns
from holter.ingest.discovery.detect_format import SniffError, claims_file
from holter.ingest.discovery.scanner import LogTree, Source, is_skipped, walk_files
from holter.ingest.errors import describe_error
from holter.ingest.file_tasks import file_task
from holter.ingest.format import Format
from holter.ingest.offline.explain_lines import LineSummary, summarize_lines
from holter.ingest.offline.guessed_format import source_by_hand
from holter.ingest.offline.read_run import LogSample, read_source
from holter.ingest.offline.suggest_pattern import suggest_format
from holter.ingest.open_log import HEAD_BYTES, open_beginning, read_head, uncompressed_name
from holter.ingest.stdout.system_text import NCCL_ONLY
from holter.ingest.text_encoding import other_encoding
from holter.ingest.trackers import find_collection
from holter.types import ConfigKey, SeriesKey, Unreadable

_NO_STEPS = "no line names a step together with a loss"
_SHOWN_HEADER = 60
SAMPLED_BYTES = 256 * 2**20
"""Bytes of a log that a report is made of: sparse files and endless ones take no longer."""
_EXPLAINED_BYTES = 8 * 2**20
"""Bytes of a text whose lines are counted by what was read from them."""
_MAX_UNREADABLE = 20
"""Unreadable locations of a file that are listed; further ones are counted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FileReport:
    """What a file holds, or why it is not read (`why_not`).

    `points` counts the values of each series. `repeats` counts those at the same step as the value of the
    series before, as when every rank prints the same line: detection uses the last one. `settings` counts the
    settings of launches. `unreadable` lists the first of `unreadable_count` locations. `suggestion` is a
    format that would read lines which no format knows. `sampled_bytes`: only that much of a larger file was
    read, from its beginning. `lines` states how the lines of printed text were read. `is_guessed`: no format
    claims the file, and it was read as lines of any program, or its rows as steps. `encoding`: that of lines
    that are not UTF-8.
    """

    path: Path
    format: str | None = None
    run: str | None = None
    points: Mapping[SeriesKey, int] = field(default_factory=dict)
    repeats: int = 0
    settings: int = 0
    first_step: int | None = None
    last_step: int | None = None
    unreadable: tuple[Unreadable, ...] = ()
    unreadable_count: int = 0
    why_not: str = ""
    suggestion: CustomFormat | None = None
    sampled_bytes: int | None = None
    lines: LineSummary | None = None
    is_guessed: bool = False
    encoding: str | None = None


def explain_files(root: Path, *, known: Mapping[str, Format] | None = None) -> list[FileReport]:
    """A report on every file below a folder, or on the file itself, in the order of their paths.

    Of each log at most SAMPLED_BYTES are read. Raises OSError if `root` cannot be listed.
    """
    known = known or formats()
    sources = {source.path: source for source in LogTree(root, known).scan()}
    guessed = source_by_hand(root, [*sources.values()], known)
    if guessed is not None:
        return [replace(_explain_file(root, guessed, {root}, known), is_guessed=True)]
    scanned = {Path(path) for path, _ in walk_files(root)}
    everything = scanned if root.is_file() else scanned | {path for path in root.rglob("*") if path.is_file()}
    return [_explain_file(path, sources.get(path), scanned, known) for path in sorted(everything)]


def _explain_file(
    path: Path, source: Source | None, scanned: set[Path], known: Mapping[str, Format]
) -> FileReport:
    try:
        report = None if source is None else _read(source)
    except Exception as error:
        return FileReport(path=path, why_not=f"cannot be read: {describe_error(error)}")
    if report is None or (source is not None and source.format is NCCL_ONLY and not report.points):
        why_not = _why_not_read(path, scanned, known)
        suggestion = _suggestion(path) if why_not == _NO_STEPS else None
        return FileReport(path=path, why_not=why_not, suggestion=suggestion)
    return report


def _read(source: Source) -> FileReport:
    points: dict[SeriesKey, int] = defaultdict(int)
    newest: dict[SeriesKey, int] = {}
    repeats = 0
    unreadable: list[Unreadable] = []
    count = 0
    extent: list[int] = []
    settings: set[ConfigKey] = set()
    sample = LogSample(SAMPLED_BYTES)
    for record in read_source(source, sample):
        if isinstance(record, Unreadable):
            unreadable += [record] if count < _MAX_UNREADABLE else []
            count += 1
            continue
        settings.update(record.config)
        for column in source.assignment.apply(record).columns:
            points[column.key] += len(column.values)
            steps = record.steps_of(column)
            if len(steps):
                repeats += int(np.count_nonzero(steps[1:] == steps[:-1]))
                repeats += int(newest.get(column.key) == steps[0])
                newest[column.key] = int(steps[-1])
        if len(record.steps):
            extent = [min([*extent, int(record.steps.min())]), max([*extent, int(record.steps.max())])]
    return FileReport(
        path=source.path,
        format=source.format.name,
        run=source.assignment.run,
        points=dict(points),
        repeats=repeats,
        settings=len(settings),
        first_step=extent[0] if extent else None,
        last_step=extent[1] if extent else None,
        unreadable=tuple(unreadable),
        unreadable_count=count,
        sampled_bytes=SAMPLED_BYTES if sample.is_part else None,
        lines=summarize_lines(source, _EXPLAINED_BYTES),
        encoding=_other_encoding(source),
    )


def _other_encoding(source: Source) -> str | None:
    """The encoding in which lines at the beginning of a text are read that are not UTF-8."""
    if not (source.format.role.in_text or uncompressed_name(source.path).suffix.lower() in {".csv", ".tsv"}):
        return None
    return other_encoding(read_head(source.path))


def _why_not_read(path: Path, scanned: set[Path], known: Mapping[str, Format]) -> str:
    collection = find_collection(path)
    if collection is not None:
        return f"runs in {collection.name}: `holter import` imports them, `holter analyze` reads them"
    if path not in scanned:
        if is_skipped(path.name):
            return "skipped by its name: hidden, or a model, an archive, a picture, a program"
        return "skipped: in a folder of checkpoints or a hidden one, or a link within the tree"
    try:
        head = read_head(path)
    except OSError as error:
        return f"cannot be opened: {error.strerror or error}"
    name = uncompressed_name(path)
    try:
        with file_task(path, "detect"):
            claims = [format_ for format_ in known.values() if claims_file(format_, name, head)]
    except SniffError as error:
        return f"cannot be read: {error}"
    if any(format_.role.is_settings for format_ in claims):
        return "settings: read next to the logs of one run, but there are none, several, or a newer copy"
    if claims:
        return "not needed: other logs of its run have the same, exactly; or its first step is not there yet"
    return _why_unknown(name.suffix.lower(), head)


def _why_unknown(suffix: str, head: bytes) -> str:
    """Why no format claims a file."""
    if not head:
        return "empty so far"
    if b"\0" in head:
        return "no format is known for it"
    if suffix in {".csv", ".tsv"}:
        header = head.partition(b"\n")[0].decode("utf-8", "replace").strip()[:_SHOWN_HEADER]
        if step_columns.is_long_table(header.split(",")):
            return "a table with one point per row: `holter import` reads it"
        return f"no column of its header is a step ({', '.join(step_columns.STEP_NAMES)}): {header}"
    if suffix in {".json", ".jsonl", ".ndjson"}:
        return (
            "no object per line with a key for the step (`holter import` reads files with one point per line)"
        )
    return _NO_STEPS


def _suggestion(path: Path) -> CustomFormat | None:
    """A pattern for the lines at the end of a text, where its metrics are most likely."""
    try:
        with file_task(path, "read"), open_beginning(path, SAMPLED_BYTES)[0].stream as stream:
            stream.seek(max(0, stream.seek(0, 2) - HEAD_BYTES))
            return suggest_format(stream.read(HEAD_BYTES))
    except Exception:  # a suggestion that fails is none
        return None
