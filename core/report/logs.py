"""What was made of the logs below a path, file by file, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from holter.ingest.explain import Explained
from holter.metrics import Role, role_of
from holter.types import SeriesKey

_METRICS = 8
_PLACES = 3
ADVICE = (
    "A format that is missing: a CSV with a column `step`, or JSON Lines with a key `step`, is always read; "
    "so is any line with a step and `loss: NUMBER` (docs/formats.md)"
)


def summary(files: Sequence[Explained]) -> str:
    """How many files are read, by format."""
    kinds = Counter(file.format for file in files if file.format is not None)
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    return f"{told} of {len(files)} files" if kinds else f"{len(files)} files, none of a known format"


def lines(files: Sequence[Explained], root: Path) -> Iterator[str]:
    """A paragraph for each file that is read, a line for each that is not; repeated reasons are counted."""
    for file in files:
        if file.format is not None:
            yield from _read(file, root)
    unread = [file for file in files if file.format is None]
    for reason, count in Counter(file.why_not for file in unread).most_common():
        names = [_name(file.path, root) for file in unread if file.why_not == reason][:_PLACES]
        yield f"not read: {', '.join(names)}{' ...' if count > _PLACES else ''} ({count}): {reason}"
    if not any(file.format for file in files):
        yield ADVICE


def _read(file: Explained, root: Path) -> Iterator[str]:
    points = sum(file.points.values())
    steps = "" if file.first_step is None else f", steps {file.first_step:,} to {file.last_step:,}"
    run = f", run {file.run}" if file.run else ""
    yield f"{_name(file.path, root)}: {file.format}{run}, {len(file.points)} series, {points:,} points{steps}"
    told = sorted(file.points, key=lambda key: (role_of(key) is Role.OTHER, str(key)))
    if told:
        more = f" and {len(told) - _METRICS} more" if len(told) > _METRICS else ""
        yield "    " + ", ".join(_series(key, file.points[key]) for key in told[:_METRICS]) + more
    for unreadable in file.unreadable[:_PLACES]:
        yield f"    {unreadable.place}: {unreadable.reason}"
    if len(file.unreadable) > _PLACES:
        yield f"    {len(file.unreadable) - _PLACES} more places could not be read"


def _series(key: SeriesKey, points: int) -> str:
    role = role_of(key)
    meaning = "" if role is Role.OTHER else f" ({role.value.replace('_', ' ')})"
    return f"{key}{meaning} {points:,}"


def _name(path: Path, root: Path) -> str:
    return path.name if path == root else path.relative_to(root).as_posix()
