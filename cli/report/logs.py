"""The log files below a path as text: for each its format and content, or why it is not read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from holter.ingest.offline.explain import FileReport
from holter.ingest.offline.numbered_rows import NumberedRows
from holter.ingest.offline.suggest_pattern import format_as_toml
from holter.plurals import counted, verb
from holter.roles import Role, role_of
from holter.types import SeriesKey

PLAIN_LINES = "key-value"
"""The format whose steps are found by a grammar, not by a program's own form of line."""
_MAX_METRICS = 8
_MAX_LOCATIONS = 3
_MAX_FILES = 20
_MAX_FILES_WITH_PROBLEMS = 10
_MAX_REASONS = 12
_MAX_SUGGESTIONS = 2
_YEAR_9999 = 2.5e14  # in milliseconds
MISSING_FORMAT_ADVICE = (
    "If your format is not supported: CSV with a column `step`, JSON Lines with a key `step`, and lines with "
    "a step and `loss: NUMBER` are always read (docs/formats.md)"
)


def summarize_files(files: Sequence[FileReport]) -> str:
    """The number of files that are read, by format."""
    formats = Counter(file.format for file in files if file.format is not None)
    total = counted(len(files), "file")
    if not formats:
        return f"{total}, none of a known format"
    return f"{', '.join(f'{count} {name}' for name, count in sorted(formats.items()))} of {total}"


def describe_files(files: Sequence[FileReport], root: Path) -> Iterator[str]:
    """A paragraph for each file that is read, a line for each that is not; repeated reasons are counted.

    Of thousands of files only the first, and those with unreadable locations, are described; the others are
    summed up.
    """
    read = [file for file in files if file.format is not None]
    with_problems = [file for file in read if file.unreadable][:_MAX_FILES_WITH_PROBLEMS]
    described = {file.path for file in (*read[:_MAX_FILES], *with_problems)}
    for file in read:
        if file.path in described:
            yield from _describe_file(file, root)
    yield from _sum_up([file for file in read if file.path not in described])
    yield from _describe_unread([file for file in files if file.format is None], root)
    if not read:
        yield MISSING_FORMAT_ADVICE


def _sum_up(files: Sequence[FileReport]) -> Iterator[str]:
    """A line about the files that are not described one by one."""
    if files:
        points = sum(sum(file.points.values()) for file in files)
        runs = len({file.run for file in files})
        locations = sum(file.unreadable_count for file in files)
        unreadable = f", {counted(locations, 'location')} could not be read" if locations else ""
        formats = Counter(file.format for file in files)
        counts = ", ".join(f"{count:,} {name}" for name, count in formats.most_common())
        size = f"{counted(runs, 'run')}, {counted(points, 'point')}"
        yield f"and {len(files):,} more: {counts}; {size}{unreadable}"


def _describe_unread(files: Sequence[FileReport], root: Path) -> Iterator[str]:
    reasons = Counter(file.why_not for file in files).most_common()
    for reason, count in reasons[:_MAX_REASONS]:
        names = [_name(file.path, root) for file in files if file.why_not == reason][:_MAX_LOCATIONS]
        more = " ..." if count > _MAX_LOCATIONS else ""
        yield f"not read: {', '.join(names)}{more} ({count:,}): {reason}"
    if len(reasons) > _MAX_REASONS:
        rest = sum(count for _, count in reasons[_MAX_REASONS:])
        yield f"not read: {rest:,} more, for {counted(len(reasons) - _MAX_REASONS, 'other reason')}"
    suggestions = {file.suggestion: file for file in reversed(files) if file.suggestion is not None}
    for suggestion, file in list(suggestions.items())[:_MAX_SUGGESTIONS]:
        yield f"{_name(file.path, root)} repeats a line with numbers; to read it, add to holter.toml:"
        yield from (f"    {line}" for line in format_as_toml(suggestion).splitlines())


def _describe_range(file: FileReport) -> str:
    """The first and last step of a file, or its times where its steps are milliseconds."""
    first, last = file.first_step or 0, file.last_step or 0
    if file.points and all(key.has_clock_steps for key in file.points) and 0 < first <= last < _YEAR_9999:
        begin, end = (datetime.fromtimestamp(step / 1000).astimezone() for step in (first, last))
        return f"{begin:%Y-%m-%d %H:%M:%S} to {end:%Y-%m-%d %H:%M:%S}"
    return f"steps {first:,} to {last:,}"


def _describe_file(file: FileReport, root: Path) -> Iterator[str]:
    run = f", run {file.run}" if file.run else ""
    yield f"{_name(file.path, root)}: {file.format}{run}, {_describe_content(file)}"
    metrics: dict[str, list[SeriesKey]] = {}
    for key in sorted(file.points, key=lambda key: (role_of(key) is Role.OTHER, str(key))):
        metrics.setdefault(key.metric, []).append(key)
    if metrics:
        more = f" and {len(metrics) - _MAX_METRICS:,} more" if len(metrics) > _MAX_METRICS else ""
        shown = list(metrics.values())[:_MAX_METRICS]
        yield "    " + ", ".join(_describe_metric(keys, file.points) for keys in shown) + more
    yield from _describe_lines(file)
    if file.encoding is not None:
        yield f"    lines that are not UTF-8 are read as {file.encoding}"
    if file.sampled_bytes is not None:
        yield f"    only its first {file.sampled_bytes // 2**20} MiB were read for this report"
    for unreadable in file.unreadable[:_MAX_LOCATIONS]:
        yield f"    {unreadable.location}: {unreadable.reason}"
    hidden = max(file.unreadable_count, len(file.unreadable)) - _MAX_LOCATIONS
    if hidden > 0:
        yield f"    {counted(hidden, 'more location')} could not be read"


def _describe_lines(file: FileReport) -> Iterator[str]:
    """What the steps of printed lines are, and which lines have numbers that were not read."""
    if file.is_guessed:
        rows = "its rows or values name no step and are counted from 0"
        read = rows if file.format == NumberedRows.name else "it was read as lines of any program"
        yield f"    guessed: no format claims this file; {read}"
    if file.lines is None:
        return
    if file.format == PLAIN_LINES and file.lines.axes:
        axes = ", ".join(f"{axis} ({count:,} lines)" for axis, count in file.lines.axes.most_common(3))
        back = file.lines.back
        doubt = f"; {back:,} of them {verb(back, 'goes', 'go')} back" if back else "; none goes back"
        yield f"    steps are {axes}{doubt}"
    if file.lines.unread:
        lines = counted(file.lines.unread, "line")
        yield f"    {lines} with numbers {verb(file.lines.unread, 'was', 'were')} not read:"
        yield from (f"        {example}" for example in file.lines.examples)


def _describe_content(file: FileReport) -> str:
    settings = counted(file.settings, "setting") if file.settings else ""
    if settings and not file.points:
        return settings
    steps = "" if file.first_step is None else f", {_describe_range(file)}"
    text = f"{len(file.points):,} series, {counted(sum(file.points.values()), 'point')}{steps}"
    if file.repeats:
        repeated = f"{file.repeats:,} of them {verb(file.repeats, 'repeats', 'repeat')} the step before"
        text = f"{text} ({repeated}: detection uses the last one)"
    return f"{text}, {settings}" if settings else text


def _describe_metric(keys: Sequence[SeriesKey], points: Mapping[SeriesKey, int]) -> str:
    """A metric with its role, its number of points and, if there are several, its number of series."""
    role = role_of(keys[0])
    meaning = "" if role is Role.OTHER else f" ({role.value.replace('_', ' ')})"
    several = f" in {len(keys):,} series" if len(keys) > 1 else ""
    name = keys[0].metric if several else str(keys[0])
    return f"{name}{meaning} {sum(points[key] for key in keys):,}{several}"


def _name(path: Path, root: Path) -> str:
    return path.name if path == root else path.relative_to(root).as_posix()
