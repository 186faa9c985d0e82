"""Selects the states of Hugging Face's Trainer to read: each `checkpoint-N` repeats the run's log so far."""

from __future__ import annotations

import io
import logging
import os
import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from pathlib import Path, PurePath

from holter.ingest.file_tasks import file_task
from holter.ingest.format import Format
from holter.ingest.trainers.trainer_state import MAX_STATE_BYTES, STATE_FILE, TrainerStateReader

_log = logging.getLogger(__name__)

_CHECKPOINT = re.compile(r"checkpoint-\d+")


def is_trainer_state(path: PurePath) -> bool:
    """Whether a file is one of the Trainer's states."""
    return path.name == STATE_FILE


def logical_path(path: Path, root: Path) -> Path:
    """The path of a log; that of a state in a checkpoint is in the folder to which its run writes."""
    folder = path.parent
    in_checkpoint = (
        is_trainer_state(path) and _CHECKPOINT.fullmatch(folder.name) and folder.is_relative_to(root)
    )
    return folder.parent / path.name if in_checkpoint and folder != root else path


def redundant_states(formats: Mapping[Path, Format], root: Path, *, one_run: bool) -> set[Path]:
    """The states that need not be read, since other logs of their run, or another state, have all of it.

    States that contradict one another are branches of a run: all of them are read with `one_run`, only the
    longest while the run is tailed.
    """
    other_folders = {
        path.parent
        for path, format_ in formats.items()
        if not (is_trainer_state(path) or format_.role.has_own_steps)
    }
    states: dict[Path, list[Path]] = {}
    redundant: set[Path] = set()
    for path in filter(is_trainer_state, formats):
        folder = logical_path(path, root).parent
        if other_folders and (one_run or _are_related(folder, other_folders)):
            redundant.add(path)
        else:
            states.setdefault(folder, []).append(path)
    for paths in states.values():
        if len(paths) > 1:
            redundant |= _contained_in_others(paths, branches=one_run)
    return redundant


def written_at(path: Path) -> int:
    """When a state was written, in nanoseconds, which orders branches; 0 for every other log."""
    try:
        return path.stat().st_mtime_ns if is_trainer_state(path) else 0
    except OSError:
        return 0


def _are_related(folder: Path, others: Collection[Path]) -> bool:
    return any(folder.is_relative_to(other) or other.is_relative_to(folder) for other in others)


def _contained_in_others(paths: Collection[Path], *, branches: bool) -> set[Path]:
    """The states that others contain; of equal ones the run's own, in no checkpoint, is retained."""
    histories = {path: _history(path) for path in paths}
    by_length = sorted(
        paths,
        key=lambda path: (len(histories[path]), not _CHECKPOINT.fullmatch(path.parent.name), path),
    )
    contained: set[Path] = set()
    retained: list[str] = []
    for path in reversed(by_length):
        history = histories[path]
        if retained and (not branches or any(other.startswith(history) for other in retained)):
            contained.add(path)
        else:
            retained.append(history)
    return contained


def _history(path: Path) -> str:
    try:
        stat = path.stat()
        return _row_marks(os.fspath(path), stat.st_size, stat.st_mtime_ns)
    except OSError:
        return ""
    except Exception as error:  # whoever tails the file reports why
        _log.debug("%s: cannot be compared with other checkpoints", path, exc_info=error)
        return ""


@lru_cache(maxsize=1024)
def _row_marks(path: str, size: int, modified: int) -> str:
    """The marks of a state's rows, as it is at this size and time; "" while it is incomplete."""
    if size > MAX_STATE_BYTES:
        return ""
    reader = TrainerStateReader({})
    with file_task(Path(path), "detect"), open(path, "rb") as file:
        for _ in reader.read(io.BytesIO(file.read())):
            pass
    return str(reader.state().get("marks", ""))
