"""Which of the Trainer's states are read: each `checkpoint-N` has all that its run had logged by then."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from pathlib import Path, PurePath

from holter.ingest.format import Format
from holter.ingest.trainers.trainer_state import MAX_STATE_BYTES, STATE_FILE, TrainerStateReader

_CHECKPOINT = re.compile(r"checkpoint-\d+")


def is_trainer_state(path: PurePath) -> bool:
    """Whether a file is one of the Trainer's states."""
    return path.name == STATE_FILE


def logical_path(path: Path, root: Path) -> Path:
    """Where a log stands; for a state in a checkpoint that is the folder which its run writes to."""
    folder = path.parent
    kept = is_trainer_state(path) and _CHECKPOINT.fullmatch(folder.name) and folder.is_relative_to(root)
    return folder.parent / path.name if kept and folder != root else path


def redundant_states(found: Mapping[Path, Format], root: Path, *, one_run: bool) -> set[Path]:
    """Those of the states that need not be read: other logs of their run, or another state, say it all.

    Of several branches of a run, states that contradict one another, all are read if it is looked at as a
    whole; while it is followed, the one that tells most.
    """
    others = {
        path.parent
        for path, format_ in found.items()
        if not (is_trainer_state(path) or format_.role.has_own_steps)
    }
    states: dict[Path, list[Path]] = {}
    dropped: set[Path] = set()
    for path in filter(is_trainer_state, found):
        folder = logical_path(path, root).parent
        if others and (one_run or _are_related(folder, others)):
            dropped.add(path)
        else:
            states.setdefault(folder, []).append(path)
    for paths in states.values():
        if len(paths) > 1:
            dropped |= _said_by_others(paths, branches=one_run)
    return dropped


def written_at(path: Path) -> int:
    """When a state was written, which orders branches; 0 for every other log."""
    try:
        return path.stat().st_mtime_ns if is_trainer_state(path) else 0
    except OSError:
        return 0


def _are_related(folder: Path, others: Collection[Path]) -> bool:
    return any(folder.is_relative_to(other) or other.is_relative_to(folder) for other in others)


def _said_by_others(paths: Collection[Path], *, branches: bool) -> set[Path]:
    """The run's own state, in no checkpoint, goes before an equal one."""
    histories = {path: _history(path) for path in paths}
    order = sorted(
        paths, key=lambda one: (len(histories[one]), not _CHECKPOINT.fullmatch(one.parent.name), one)
    )
    found: set[Path] = set()
    kept: list[str] = []
    for path in reversed(order):
        marks = histories[path]
        if kept and (not branches or any(other.startswith(marks) for other in kept)):
            found.add(path)
        else:
            kept.append(marks)
    return found


def _history(path: Path) -> str:
    try:
        stat = path.stat()
        return _marks(os.fspath(path), stat.st_size, stat.st_mtime_ns)
    except OSError:
        return ""


@lru_cache(maxsize=1024)
def _marks(path: str, size: int, modified: int) -> str:
    """A mark for each row of a state, as it is at this size and time; "" while it is not whole."""
    if size > MAX_STATE_BYTES:
        return ""
    reader = TrainerStateReader({})
    with open(path, "rb") as file:
        for _ in reader.read(io.BytesIO(file.read())):
            pass
    return str(reader.state().get("marks", ""))
