"""MLflow's file store, `mlruns/`: a folder an experiment, below it one a run, in that a file a metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import yaml

from holter.ingest.trackers import mlflow
from holter.ingest.trackers.base import RunContents, TrackerRun, LoggedSeries
from holter.types import Unreadable

_META = "meta.yaml"
_LARGEST_META = 1024 * 1024
_LONGEST_TEXT = 64 * 1024
_TRASH = ".trash"
_MAX_DEPTH = 16


class MlflowFiles:
    """Every run that is not deleted. Also a single experiment's folder, or a single run's."""

    name: ClassVar[str] = mlflow.NAME

    def matches(self, path: Path) -> bool:
        """A folder with an experiment in it, or an experiment, or a run."""
        if not path.is_dir():
            return False
        return _is_run(path) or _is_experiment(path) or any(map(_is_experiment, _folders(path)))

    def runs(self, path: Path) -> Iterator[TrackerRun]:
        """The runs of each experiment, in the order in which they began."""
        if _is_run(path):
            yield _run(path, _project(_meta(path.parent), path.parent))
            return
        for folder in [path] if _is_experiment(path) else filter(_is_experiment, _folders(path)):
            about = _meta(folder)
            deleted = about.get("lifecycle_stage") == "deleted"
            project = _project(about, folder)
            found = [_run(inside, project, deleted) for inside in filter(_is_run, _folders(folder))]
            yield from sorted(found, key=lambda run: (run.started or 0.0, run.id))


def _folders(path: Path) -> list[Path]:
    try:
        return sorted(inside for inside in path.iterdir() if inside.is_dir() and inside.name != _TRASH)
    except OSError:
        return []


def _is_experiment(path: Path) -> bool:
    about = _meta(path)
    return "experiment_id" in about and "name" in about and "run_id" not in about


def _is_run(path: Path) -> bool:
    about = _meta(path)
    return ("run_id" in about or "run_uuid" in about) and "experiment_id" in about


def _meta(folder: Path) -> Mapping[str, Any]:
    try:
        with (folder / _META).open("rb") as file:
            found = yaml.safe_load(file.read(_LARGEST_META))
    except (OSError, yaml.YAMLError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _word(about: Mapping[str, Any], *names: str) -> str:
    """The first of these that is a plain word or number; lists in lists would be endless as text."""
    found = (about.get(name) for name in names)
    return next((str(value) for value in found if isinstance(value, str | int) and value != ""), "")


def _project(about: Mapping[str, Any], folder: Path) -> str:
    return _word(about, "name") or folder.name


def _run(folder: Path, project: str, deleted: bool = False) -> TrackerRun:
    about = _meta(folder)
    run = _word(about, "run_id", "run_uuid") or folder.name
    status = _word(about, "status")
    status = mlflow.STATUS.get(status, status)
    tags = _texts(folder / "tags")
    deleted = deleted or about.get("lifecycle_stage") == "deleted"
    return TrackerRun(
        id=run,
        project=project,
        name=_word(about, "run_name") or tags.get("mlflow.runName") or run,
        read=partial(_read, folder, run, status, tags),
        started=mlflow.unix_seconds(about.get("start_time")),
        ended=mlflow.unix_seconds(about.get("end_time")),
        is_finished=mlflow.is_finished(status),
        skip_reason=mlflow.DELETED if deleted else "",
    )


def _read(folder: Path, run: str, status: str, tags: Mapping[str, str]) -> RunContents:
    left_out: list[Unreadable] = []
    metrics = [
        found
        for file in _files(folder / "metrics")
        if (found := _metric(file, file.relative_to(folder / "metrics").as_posix(), left_out)) is not None
    ]
    params = _texts(folder / "params")
    return mlflow.run_contents(metrics, params, tags, run=run, status=status, left_out=left_out)


def _files(folder: Path, depth: int = _MAX_DEPTH) -> Iterator[Path]:
    """The files below a folder: a slash in a metric's name makes one."""
    try:
        inside = sorted(folder.iterdir())
    except OSError:
        return
    for path in inside:
        if path.is_symlink():
            continue
        if path.is_file():
            yield path
        elif depth:
            yield from _files(path, depth - 1)


def _texts(folder: Path) -> dict[str, str]:
    found = {}
    for file in _files(folder):
        with file.open("rb") as opened:
            found[file.relative_to(folder).as_posix()] = opened.read(_LONGEST_TEXT).decode("utf-8", "replace")
    return found


def _metric(file: Path, name: str, left_out: list[Unreadable]) -> LoggedSeries | None:
    """`1700000000000 0.5 3` a line: milliseconds, value, step; older stores have no step, newer ones more.

    A last line without its end may still be written to, and is left for the next time.
    """
    data = file.read_bytes()
    lines = data[: data.rfind(b"\n") + 1].splitlines()
    if (len(lines) and data[-1:] != b"\n") or (data and not lines):
        left_out.append(Unreadable(location=f"metric {name}", reason="its last line is not complete yet"))
    words = b" ".join(lines).split()
    if len(words) == 3 * len(lines):
        try:
            return _logged(name, words[0::3], words[1::3], words[2::3])
        except (ValueError, OverflowError):
            pass  # which line it is
    return _line_by_line(name, lines, left_out)


def _line_by_line(name: str, lines: list[bytes], left_out: list[Unreadable]) -> LoggedSeries | None:
    """What can be read of a file in which something cannot; the first such line is told, others counted."""
    kept: list[list[bytes]] = []
    first, wrong = "", 0
    for number, line in enumerate(lines, start=1):
        parts = line.split()
        try:
            if len(parts) < 2:
                raise ValueError(f"found {len(parts)} fields")
            parts = [parts[0], parts[1], parts[2] if len(parts) > 2 else b"0"]
            _logged(name, *([part] for part in parts))
            kept.append(parts)
        except (ValueError, OverflowError) as error:
            first = first or f"line {number}: expected milliseconds, a value and a step: {error}"
            wrong += 1
    if wrong:
        reason = first + (f"; {wrong} lines like it" if wrong > 1 else "")
        left_out.append(Unreadable(location=f"metric {name}", reason=reason))
    return _logged(name, *map(list, zip(*kept, strict=True))) if kept else None


def _logged(name: str, times: list[bytes], values: list[bytes], steps: list[bytes]) -> LoggedSeries:
    return mlflow.metric_series(
        name,
        np.array(list(map(int, times)), dtype=np.int64),
        np.array(list(map(float, values)), dtype=np.float64),
        np.array(list(map(int, steps)), dtype=np.int64),
    )
