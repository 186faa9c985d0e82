"""Of which run a settings file is: that whose logs stand beside it, or the only one below its folder."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from holter.ingest.discovery.run_layout import RunAssignment, chronological_key
from holter.ingest.names import storable_text

_PART = re.compile(r"\.hydra|final|latest|checkpoint-\d+|step[-_]?\d+(?:-unsharded)?")
"""Folders in which programs put settings that are of the folder above: checkpoints, and Hydra's own."""


class ConfigFileAssignment(NamedTuple):
    """Where settings belong: `at` orders them among the run's logs, by the index of those."""

    place: RunAssignment
    known_as: Path
    at: float


def assign_config_files(
    settings: Iterable[Path], logs: Sequence[tuple[Path, RunAssignment]], root: Path
) -> dict[Path, ConfigFileAssignment]:
    """The settings files that are of one run alone; `logs` in the order in which they are read.

    Of those in a run's checkpoints the newest is taken. Settings are read before the run's first logs, or
    behind those of a later launch that stand beside them: then they are of that launch.
    """
    beside, below, first = _folders(logs, root)
    found = {}
    for known_as, path in _newest(settings, root).items():
        near = beside.get(known_as.parent) or below.get(known_as.parent, [])
        runs = {logs[at][1].run for at in near}
        if len(runs) != 1:
            continue
        run = runs.pop()
        name = known_as.relative_to(root).as_posix() if known_as.is_relative_to(root) else known_as.name
        at = first[run] - 0.5 if first[run] in near else near[-1] + 0.5
        found[path] = ConfigFileAssignment(RunAssignment(run=run, writer=storable_text(name)), known_as, at)
    return found


def _folders(
    logs: Sequence[tuple[Path, RunAssignment]], root: Path
) -> tuple[dict[Path, list[int]], dict[Path, list[int]], dict[str, int]]:
    """The logs in each folder, those below it, and the first one of each run, by their indices."""
    beside: dict[Path, list[int]] = {}
    below: dict[Path, list[int]] = {}
    first: dict[str, int] = {}
    for at, (file, place) in enumerate(logs):
        first.setdefault(place.run, at)
        beside.setdefault(file.parent, []).append(at)
        for folder in file.parents:
            if folder.is_relative_to(root):
                below.setdefault(folder, []).append(at)
    return beside, below, first


def _newest(settings: Iterable[Path], root: Path) -> dict[Path, Path]:
    """The settings files by what they are known as: of copies that of the run itself, or the newest."""
    copies: dict[Path, list[Path]] = {}
    for path in settings:
        copies.setdefault(_home(path, root), []).append(path)
    return {
        home: max(paths, key=lambda path: (path == home, chronological_key(path)))
        for home, paths in copies.items()
    }


def _home(path: Path, root: Path) -> Path:
    folder = path.parent
    is_part = _PART.fullmatch(folder.name) and folder != root and folder.is_relative_to(root)
    return folder.parent / path.name if is_part else path
