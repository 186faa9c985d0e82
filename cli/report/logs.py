"""What was made of the logs below a path, file by file, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from holter.ingest.offline.explain import FileReport
from holter.ingest.offline.suggest_pattern import format_as_toml
from holter.plurals import counted, verb
from holter.roles import Role, role_of
from holter.types import SeriesKey

_METRICS = 8
_PLACES = 3
_FILES = 20
_TROUBLED = 10
_REASONS = 12
_SUGGESTIONS = 2
_YEAR_9999 = 2.5e14  # in milliseconds
ADVICE = (
    "A format that is missing: a CSV with a column `step`, or JSON Lines with a key `step`, is always read; "
    "so is any line with a step and `loss: NUMBER` (docs/formats.md)"
)


def summary(files: Sequence[FileReport]) -> str:
    """How many files are read, by format."""
    kinds = Counter(file.format for file in files if file.format is not None)
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    there = counted(len(files), "file")
    return f"{told} of {there}" if kinds else f"{there}, none of a known format"


def lines(files: Sequence[FileReport], root: Path) -> Iterator[str]:
    """A paragraph for each file that is read, a line for each that is not; repeated reasons are counted.

    Of thousands of files the first are told, and those with places that could not be read; the rest is
    summed up.
    """
    read = [file for file in files if file.format is not None]
    troubled = [file for file in read if file.unreadable][:_TROUBLED]
    shown = {file.path for file in (*read[:_FILES], *troubled)}
    for file in read:
        if file.path in shown:
            yield from _read(file, root)
    yield from _rest([file for file in read if file.path not in shown])
    yield from _unread([file for file in files if file.format is None], root)
    if not read:
        yield ADVICE


def _rest(files: Sequence[FileReport]) -> Iterator[str]:
    """The files that are not told one by one."""
    if files:
        points = sum(sum(file.points.values()) for file in files)
        runs = len({file.run for file in files})
        places = sum(file.unreadable_count for file in files)
        more = f", {counted(places, 'place')} could not be read" if places else ""
        kinds = Counter(file.format for file in files)
        told = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
        yield f"and {len(files):,} more: {told}; {counted(runs, 'run')}, {counted(points, 'point')}{more}"


def _unread(files: Sequence[FileReport], root: Path) -> Iterator[str]:
    reasons = Counter(file.why_not for file in files).most_common()
    for reason, count in reasons[:_REASONS]:
        names = [_name(file.path, root) for file in files if file.why_not == reason][:_PLACES]
        yield f"not read: {', '.join(names)}{' ...' if count > _PLACES else ''} ({count:,}): {reason}"
    if len(reasons) > _REASONS:
        left = sum(count for _, count in reasons[_REASONS:])
        yield f"not read: {left:,} more, for {counted(len(reasons) - _REASONS, 'other reason')}"
    found = {file.suggestion: file for file in reversed(files) if file.suggestion is not None}
    for suggestion, file in list(found.items())[:_SUGGESTIONS]:
        yield f"{_name(file.path, root)} repeats a line with numbers; to read it, put into holter.toml:"
        yield from (f"    {line}" for line in format_as_toml(suggestion).splitlines())


def _reach(file: FileReport) -> str:
    """From where to where a file goes: in steps, or by the clock."""
    first, last = file.first_step or 0, file.last_step or 0
    if file.points and all(key.has_clock_steps for key in file.points) and 0 < first <= last < _YEAR_9999:
        begin, end = (datetime.fromtimestamp(step / 1000).astimezone() for step in (first, last))
        return f"{begin:%Y-%m-%d %H:%M:%S} to {end:%Y-%m-%d %H:%M:%S}"
    return f"steps {first:,} to {last:,}"


def _read(file: FileReport, root: Path) -> Iterator[str]:
    points = sum(file.points.values())
    steps = "" if file.first_step is None else f", {_reach(file)}"
    run = f", run {file.run}" if file.run else ""
    told = f"{len(file.points):,} series, {counted(points, 'point')}{steps}"
    if file.repeats:
        said = f"{file.repeats:,} of them {verb(file.repeats, 'repeats', 'repeat')} the step before"
        told = f"{told} ({said}: the last one counts)"
    if file.settings:
        said = counted(file.settings, "setting")
        told = f"{told}, {said}" if file.points else said
    yield f"{_name(file.path, root)}: {file.format}{run}, {told}"
    metrics: dict[str, list[SeriesKey]] = {}
    for key in sorted(file.points, key=lambda key: (role_of(key) is Role.OTHER, str(key))):
        metrics.setdefault(key.metric, []).append(key)
    if metrics:
        more = f" and {len(metrics) - _METRICS:,} more" if len(metrics) > _METRICS else ""
        shown = list(metrics.values())[:_METRICS]
        yield "    " + ", ".join(_metric(keys, file.points) for keys in shown) + more
    for unreadable in file.unreadable[:_PLACES]:
        yield f"    {unreadable.location}: {unreadable.reason}"
    left = max(file.unreadable_count, len(file.unreadable)) - _PLACES
    if left > 0:
        yield f"    {counted(left, 'more place')} could not be read"


def _metric(keys: Sequence[SeriesKey], points: Mapping[SeriesKey, int]) -> str:
    """A metric with what it means and its points; of several series of it, how many they are."""
    role = role_of(keys[0])
    meaning = "" if role is Role.OTHER else f" ({role.value.replace('_', ' ')})"
    several = f" in {len(keys):,} series" if len(keys) > 1 else ""
    name = keys[0].metric if several else str(keys[0])
    return f"{name}{meaning} {sum(points[key] for key in keys):,}{several}"


def _name(path: Path, root: Path) -> str:
    return path.name if path == root else path.relative_to(root).as_posix()
