"""MLflow's file store, `mlruns/EXPERIMENT/RUN/metrics/METRIC`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from holter.ingest.config_files.parse import YAML_ERRORS, parse_yaml
from holter.ingest.trackers import mlflow
from holter.ingest.trackers.base import LoggedSeries, RunContents, TrackerRun
from holter.types import Unreadable

_META = "meta.yaml"
_LINE = re.compile(rb"^([a-z_]{1,40}): ([^\n]{0,500})$", re.MULTILINE)
_MAX_META_BYTES = 256 * 1024
_MAX_TEXT_BYTES = 64 * 1024
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
        """The runs of each experiment, in the order in which they started."""
        if _is_run(path):
            yield _run(path, _project(_meta(path.parent), path.parent))
            return
        for folder in [path] if _is_experiment(path) else filter(_is_experiment, _folders(path)):
            meta = _meta(folder)
            deleted = meta.get("lifecycle_stage") == "deleted"
            project = _project(meta, folder)
            runs = [_run(run_folder, project, deleted) for run_folder in filter(_is_run, _folders(folder))]
            yield from sorted(runs, key=lambda run: (run.started or 0.0, run.id))


def _folders(path: Path) -> list[Path]:
    try:
        return sorted(folder for folder in path.iterdir() if folder.is_dir() and folder.name != _TRASH)
    except OSError:
        return []


def _is_experiment(path: Path) -> bool:
    meta = _meta(path)
    return "experiment_id" in meta and "name" in meta and "run_id" not in meta


def _is_run(path: Path) -> bool:
    meta = _meta(path)
    return ("run_id" in meta or "run_uuid" in meta) and "experiment_id" in meta


def _meta(folder: Path) -> Mapping[str, Any]:
    try:
        with (folder / _META).open("rb") as file:
            text = file.read(_MAX_META_BYTES)
    except OSError:
        return {}
    try:
        meta = parse_yaml(text)
    except YAML_ERRORS:  # one value is not worth its runs: the lines of plain values are enough
        return {name.decode(): _plain(value) for name, value in _LINE.findall(text)}
    return meta if isinstance(meta, dict) else {}


def _text(meta: Mapping[str, Any], *names: str) -> str:
    """The first of these values that is text or an integer; nested lists could be endless as text."""
    values = (meta.get(name) for name in names)
    return next((str(value) for value in values if isinstance(value, str | int) and value != ""), "")


def _plain(value: bytes) -> str:
    """A value as text, empty where it is a list, a mapping or a reference."""
    text = value.decode("utf-8", "replace").strip()
    return "" if text[:1] in tuple("*&[{") else text.strip("'\"")


def _project(meta: Mapping[str, Any], folder: Path) -> str:
    return _text(meta, "name") or folder.name


def _run(folder: Path, project: str, deleted: bool = False) -> TrackerRun:
    meta = _meta(folder)
    run = _text(meta, "run_id", "run_uuid") or folder.name
    status = _text(meta, "status")
    status = mlflow.STATUS.get(status, status)
    tags = _read_texts(folder / "tags")
    deleted = deleted or meta.get("lifecycle_stage") == "deleted"
    return TrackerRun(
        id=run,
        project=project,
        name=_text(meta, "run_name") or tags.get("mlflow.runName") or run,
        read=partial(_read, folder, run, status, tags),
        started=mlflow.unix_seconds(meta.get("start_time")),
        ended=mlflow.unix_seconds(meta.get("end_time")),
        is_finished=mlflow.is_finished(status),
        skip_reason=mlflow.DELETED if deleted else "",
    )


def _read(folder: Path, run: str, status: str, tags: Mapping[str, str]) -> RunContents:
    left_out: list[Unreadable] = []
    metrics = [
        series
        for file in _files(folder / "metrics")
        if (series := _metric(file, file.relative_to(folder / "metrics").as_posix(), left_out)) is not None
    ]
    params = _read_texts(folder / "params")
    return mlflow.run_contents(metrics, params, tags, run=run, status=status, left_out=left_out)


def _files(folder: Path, depth: int = _MAX_DEPTH) -> Iterator[Path]:
    """The files below a folder, also in subfolders, which slashes in a metric's name make."""
    try:
        paths = sorted(folder.iterdir())
    except OSError:
        return
    for path in paths:
        if path.is_symlink():
            continue
        if path.is_file():
            yield path
        elif depth:
            yield from _files(path, depth - 1)


def _read_texts(folder: Path) -> dict[str, str]:
    texts = {}
    for path in _files(folder):
        with path.open("rb") as file:
            texts[path.relative_to(folder).as_posix()] = file.read(_MAX_TEXT_BYTES).decode("utf-8", "replace")
    return texts


def _metric(file: Path, name: str, left_out: list[Unreadable]) -> LoggedSeries | None:
    """The series of a file with lines such as `1700000000000 0.5 3`: milliseconds, value, step.

    Older stores have no step, newer ones more fields. A last line without a line break is left out, since it
    may be incomplete.
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
            pass  # found line by line below
    return _line_by_line(name, lines, left_out)


def _line_by_line(name: str, lines: list[bytes], left_out: list[Unreadable]) -> LoggedSeries | None:
    """The series of a file's readable lines; the first unreadable line is reported, and their number."""
    readable: list[list[bytes]] = []
    first, invalid = "", 0
    for number, line in enumerate(lines, start=1):
        parts = line.split()
        try:
            if len(parts) < 2:
                raise ValueError(f"found {len(parts)} fields")
            parts = [parts[0], parts[1], parts[2] if len(parts) > 2 else b"0"]
            _logged(name, *([part] for part in parts))
            readable.append(parts)
        except (ValueError, OverflowError) as error:
            first = first or f"line {number}: expected milliseconds, a value and a step: {error}"
            invalid += 1
    if invalid:
        reason = first + (f"; {invalid} lines like it" if invalid > 1 else "")
        left_out.append(Unreadable(location=f"metric {name}", reason=reason))
    return _logged(name, *map(list, zip(*readable, strict=True))) if readable else None


def _logged(name: str, times: list[bytes], values: list[bytes], steps: list[bytes]) -> LoggedSeries:
    return mlflow.metric_series(
        name,
        np.array(list(map(int, times)), dtype=np.int64),
        np.array(list(map(float, values)), dtype=np.float64),
        np.array(list(map(int, steps)), dtype=np.int64),
    )
