"""Assigns config files to runs: to the run whose logs are next to it, or to the only one below its folder."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from holter.ingest.discovery.run_layout import RunAssignment, chronological_key
from holter.ingest.names import storable_name

_PART = re.compile(r"\.hydra|final|latest|checkpoint-\d+|step[-_]?\d+(?:-unsharded)?")
"""Folders in which programs put settings that belong to the folder above: checkpoints, and Hydra's own."""


class ConfigFileAssignment(NamedTuple):
    """The run of a config file; `order` is its position among the run's logs, in units of their indices."""

    assignment: RunAssignment
    tailed_as: Path
    order: float


def assign_config_files(
    config_files: Iterable[Path], logs: Sequence[tuple[Path, RunAssignment]], root: Path
) -> dict[Path, ConfigFileAssignment]:
    """The config files that belong to exactly one run; `logs` in the order in which they are read.

    Of those in the checkpoints of a run the newest is taken. Settings are read before the first log of the
    run, or after the logs of a later launch that are next to them: then they are those of that launch.
    """
    in_folder, below_folder, first = _logs_by_folder(logs, root)
    assignments = {}
    for tailed_as, path in _newest_copies(config_files, root).items():
        near = in_folder.get(tailed_as.parent) or below_folder.get(tailed_as.parent, [])
        runs = {logs[index][1].run for index in near}
        if len(runs) != 1:
            continue
        run = runs.pop()
        is_below = tailed_as.is_relative_to(root)
        name = tailed_as.relative_to(root).as_posix() if is_below else tailed_as.name
        order = first[run] - 0.5 if first[run] in near else near[-1] + 0.5
        assignment = RunAssignment(run=run, writer=storable_name(name))
        assignments[path] = ConfigFileAssignment(assignment, tailed_as, order)
    return assignments


def _logs_by_folder(
    logs: Sequence[tuple[Path, RunAssignment]], root: Path
) -> tuple[dict[Path, list[int]], dict[Path, list[int]], dict[str, int]]:
    """The logs in each folder, those below it, and the first one of each run, by their indices."""
    in_folder: dict[Path, list[int]] = {}
    below_folder: dict[Path, list[int]] = {}
    first: dict[str, int] = {}
    for index, (file, assignment) in enumerate(logs):
        first.setdefault(assignment.run, index)
        in_folder.setdefault(file.parent, []).append(index)
        for folder in file.parents:
            if folder.is_relative_to(root):
                below_folder.setdefault(folder, []).append(index)
    return in_folder, below_folder, first


def _newest_copies(config_files: Iterable[Path], root: Path) -> dict[Path, Path]:
    """The config files by the path they are tailed as: of copies that of the run itself, or the newest."""
    copies: dict[Path, list[Path]] = {}
    for path in config_files:
        copies.setdefault(_tailed_as(path, root), []).append(path)
    return {
        tailed_as: max(paths, key=lambda path: (path == tailed_as, chronological_key(path)))
        for tailed_as, paths in copies.items()
    }


def _tailed_as(path: Path, root: Path) -> Path:
    folder = path.parent
    is_part = _PART.fullmatch(folder.name) and folder != root and folder.is_relative_to(root)
    return folder.parent / path.name if is_part else path
