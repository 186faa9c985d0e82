"""Finds the logs below a folder, with the format and the run of each."""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from holter.ingest.discovery.config_files import assign_config_files
from holter.ingest.discovery.detect_format import NOT_DETECTED, DetectedFormat, detect_format, uses_wall_clock
from holter.ingest.discovery.hf_checkpoints import (
    is_trainer_state,
    logical_path,
    redundant_states,
    written_at,
)
from holter.ingest.discovery.hf_launches import (
    TrainerLaunch,
    continued_launches,
    may_be_launch,
    read_launch,
)
from holter.ingest.discovery.run_layout import RunAssignment, assign_file, assign_tree, chronological_key
from holter.ingest.file_tasks import file_task
from holter.ingest.format import Format
from holter.ingest.stdout.system_text import SystemText, without_training

_log = logging.getLogger(__name__)

_MAX_DEPTH = 24
_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules", "site-packages"})
_CHECKPOINTS = "checkpoints"
"""A folder whose files are mostly parts of models, of which large jobs have thousands."""
_SKIPPED_SUFFIXES = frozenset(
    {".pt", ".pth", ".bin", ".ckpt", ".safetensors", ".npz", ".npy", ".h5", ".parquet", ".arrow", ".tar"}
    | {".zip", ".whl", ".so", ".png", ".jpg", ".jpeg", ".gif", ".mp4", ".pdf", ".py", ".ipynb", ".md"}
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """One log: its file, its format, and the run that it belongs to."""

    path: Path
    format: Format
    assignment: RunAssignment
    tailed_as: Path | None = None
    """The path in its cursor, where several files contain the same log in turn."""


@dataclass(frozen=True, slots=True)
class ScannedFile:
    """A file's size and time at the last scan, and the format that was detected then."""

    path: Path
    inode: int
    size: int
    modified: int
    detected: DetectedFormat


class LogTree:
    """A watched file or folder. Remembers which files are logs, so that each is opened once to find out.

    `is_skipped`: whether a file, by its path, is not to be opened now. A text is searched for a first record
    for `search_seconds` of processor time in one scan; `search_on` continues.
    """

    def __init__(
        self,
        root: Path,
        formats: Mapping[str, Format],
        *,
        one_run: bool = False,
        is_skipped: Callable[[str], bool] = lambda _: False,
        search_seconds: float = math.inf,
    ) -> None:
        self._search_seconds = self._search_left = search_seconds
        self.root, self._is_skipped = root, is_skipped
        self._formats = formats
        self._one_run = one_run
        # keys are strings: with thousands of files, making paths would take longer than the scan
        self._scanned: dict[str, ScannedFile] = {}
        self._launches: dict[Path, TrainerLaunch | bool] = {}
        self._sources: list[Source] = []
        self._sources_of: tuple[dict[Path, Format], dict[Path, TrainerLaunch]] = {}, {}

    def scan(self) -> list[Source]:
        """Every log that exists now, in the order in which those of a run should be read."""
        self._search_left = self._search_seconds
        found = self._find_logs()
        if self._one_run and all(format_.role.is_settings for format_ in found.values()):
            found = self._find_logs(within_checkpoints=True)
        launches = {} if self._one_run else self._find_launches(found)
        if (found, launches) != self._sources_of or any(map(is_trainer_state, found)):
            self._sources_of = dict(found), launches
            self._sources = self._assign(found, launches)
        return self._sources

    def _find_logs(self, *, within_checkpoints: bool = False) -> dict[Path, Format]:
        """The files that exist now and have a format."""
        self._scanned = {
            path: self._scan_file(path, stat)
            for path, stat in walk_files(self.root, within_checkpoints=within_checkpoints)
            if not self._is_skipped(path)
        }
        return {
            file.path: file.detected.format
            for file in self._scanned.values()
            if file.detected.format is not None
        }

    def problems(self) -> dict[Path, str]:
        """The files of the last scan whose format could not be detected since a format failed, and why."""
        return {file.path: file.detected.problem for file in self._scanned.values() if file.detected.problem}

    @property
    def is_searching(self) -> bool:
        """Whether the search in some text has been interrupted."""
        return any(file.detected.searching for file in self._scanned.values())

    def search_on(self) -> bool:
        """Continue interrupted searches, each for a while; whether a format was found."""
        is_found, self._search_left = False, self._search_seconds
        for path, file in list(self._scanned.items()):
            if file.detected.searching and not self._is_skipped(path):
                detected = self._detect(file.path, file.detected)
                self._scanned[path] = replace(file, detected=detected)
                is_found |= detected.format is not None
        return is_found

    def _assign(self, found: dict[Path, Format], launches: Mapping[Path, TrainerLaunch]) -> list[Source]:
        config_files = {path: format_ for path, format_ in found.items() if format_.role.is_settings}
        found = {path: format_ for path, format_ in found.items() if path not in config_files}
        if self.root in found and self.root.is_file():
            assignments = {self.root: assign_file(self.root)}
        else:
            for path in redundant_states(found, self.root, one_run=self._one_run):
                del found[path]
            logical = {path: logical_path(path, self.root) for path in found}
            tree = assign_tree(
                self.root,
                set(logical.values()),
                one_run=self._one_run,
                continued=continued_launches(launches),
            )
            assignments = {path: tree[logical[path]] for path in found}
        drop_redundant_text(found, assignments)
        logs = [
            Source(
                path=path,
                format=found[path],
                assignment=assignments[path],
                tailed_as=logical_path(path, self.root) if is_trainer_state(path) else None,
            )
            for path in sorted(
                found,
                key=lambda path: (
                    assignments[path].run,
                    uses_wall_clock(found[path]),
                    written_at(path),
                    chronological_key(path),
                ),
            )
        ]
        return _with_config_files(logs, config_files, self.root)

    def is_new(self, path: Path) -> bool:
        """Whether a file that was reported as changed may be a log that the last scan did not find."""
        parts = path.relative_to(self.root).parts
        if any(part.startswith(".") or not _is_searched(part) for part in parts) or is_skipped(path.name):
            return False
        if self._is_skipped(str(path)):
            return False
        try:
            file = self._scan_file(str(path), path.stat())
        except OSError:
            return False
        if file.detected.format is None:
            self._scanned[str(path)] = file
        return file.detected.format is not None

    def _find_launches(self, found: dict[Path, Format]) -> dict[Path, TrainerLaunch]:
        """The Trainer's launches by folder. Those without a first step yet are removed from `found`."""
        known: dict[Path, TrainerLaunch | bool] = {}
        for path in filter(may_be_launch, list(found)):
            launch = self._launches.get(path, True)
            if launch is True:
                launch = _read_launch(path, found[path])
            known[path] = launch
            if launch is True:  # the run that its points belong to is not known until then
                del found[path]
        self._launches = known
        in_order = sorted(known, reverse=True)  # of several files in a folder the first one decides
        return {path.parent: launch for path in in_order if isinstance(launch := known[path], TrainerLaunch)}

    def _scan_file(self, path: str, stat: os.stat_result) -> ScannedFile:
        before = self._scanned.get(path)
        file = Path(path) if before is None else before.path
        if before is not None and before.inode == stat.st_ino:
            unchanged = (before.size, before.modified) == (stat.st_size, stat.st_mtime_ns)
            is_same = unchanged and not (before.detected.failed or before.detected.searching)
            if before.detected.settled or is_same:
                return before
            resumed = before.detected
        else:
            resumed = NOT_DETECTED
        detected = self._detect(file, resumed)
        return ScannedFile(file, stat.st_ino, stat.st_size, stat.st_mtime_ns, detected)

    def _detect(self, path: Path, before: DetectedFormat) -> DetectedFormat:
        """The format of a file, by a search that takes what is left of the processor time for searches."""
        began = time.thread_time()
        detected = detect_format(path, self._formats, before=before, search_seconds=self._search_left)
        if detected.searching:
            self._search_left = max(0.0, self._search_left - (time.thread_time() - began))
        return detected


def _with_config_files(logs: list[Source], config_files: Mapping[Path, Format], root: Path) -> list[Source]:
    """The logs, with the config files of their runs inserted."""
    if not (logs and config_files):
        return logs
    ordered = [(float(index), source) for index, source in enumerate(logs)]
    log_paths = [(source.path, source.assignment) for source in logs]
    for path, (assignment, tailed_as, order) in assign_config_files(config_files, log_paths, root).items():
        source = Source(path=path, format=config_files[path], assignment=assignment, tailed_as=tailed_as)
        ordered.append((order, source))
    return [source for _, source in sorted(ordered, key=lambda item: item[0])]


def drop_redundant_text(found: dict[Path, Format], assignments: Mapping[Path, RunAssignment]) -> None:
    """Restrict text to NCCL's lines in runs that also have more exact logs of the training.

    If both were read, they would pass for two writers, and the steps of one for a restart of the other.
    """
    same = {path: format_ for path, format_ in found.items() if not format_.role.is_additional}
    exact = {assignments[path].run for path, format_ in same.items() if not format_.role.in_text}
    for path, format_ in list(found.items()):
        if (
            assignments[path].run in exact
            and format_.role.in_text
            and (path in same or isinstance(format_, SystemText))
        ):
            found[path] = without_training(format_)


def _read_launch(path: Path, format_: Format) -> TrainerLaunch | bool:
    try:
        with file_task(path, "detect"):
            return read_launch(path, format_)
    except Exception as error:  # whoever tails the file reports why
        _log.debug("%s: cannot be read as a launch", path, exc_info=error)
        return False


def walk_files(root: Path, *, within_checkpoints: bool = False) -> Iterator[tuple[str, os.stat_result]]:
    """The files below a folder that may be logs; or the file itself.

    Hidden folders (except Hydra's), links to other places in the tree, and checkpoints unless asked for are
    skipped.
    """
    if root.is_file():
        yield str(root), root.stat()
    else:
        yield from _walk(str(root), root.resolve(), _MAX_DEPTH, within_checkpoints)


def _walk(
    folder: str, root: Path, depth: int, within_checkpoints: bool
) -> Iterator[tuple[str, os.stat_result]]:
    try:
        with os.scandir(folder) as entries:
            inside = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        _log.warning("%s: cannot be listed: %s", folder, error.strerror or error)
        return
    for entry in inside:
        try:
            if entry.is_dir(follow_symlinks=False):
                if depth and (
                    _is_searched(entry.name) or (within_checkpoints and entry.name == _CHECKPOINTS)
                ):
                    yield from _walk(entry.path, root, depth - 1, within_checkpoints)
            elif _may_be_log(entry, root):
                yield entry.path, entry.stat()
        except OSError:  # deleted since it was listed
            continue


def _is_searched(folder: str) -> bool:
    is_hidden = folder.startswith(".") and folder != ".hydra"
    return not is_hidden and folder not in _SKIPPED_FOLDERS and folder != _CHECKPOINTS


def _may_be_log(entry: os.DirEntry[str], root: Path) -> bool:
    if is_skipped(entry.name) or not entry.is_file():
        return False
    if not entry.is_symlink():
        return True
    target = Path(entry.path).resolve()
    # files of the kernel look regular, but reading some of them never ends
    return not any(target.is_relative_to(folder) for folder in (root, "/proc", "/sys"))


def is_skipped(name: str) -> bool:
    """Whether a file of this name cannot be a log."""
    return name.startswith(".") or os.path.splitext(name)[1].lower() in _SKIPPED_SUFFIXES
