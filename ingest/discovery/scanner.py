"""Finding the logs in a tree of folders, and telling what kind each of them is."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from holter.ingest.discovery.config_files import assign_config_files
from holter.ingest.discovery.detect_format import DetectedFormat, detect_format, uses_wall_clock
from holter.ingest.discovery.hf_checkpoints import (
    is_trainer_state,
    logical_path,
    redundant_states,
    written_at,
)
from holter.ingest.discovery.hf_launches import TrainerLaunch, continued_launches, may_be_launch, read_launch
from holter.ingest.discovery.run_layout import RunAssignment, assign_file, assign_tree, chronological_key
from holter.ingest.format import Format
from holter.ingest.stdout.system_text import SystemText, without_training

_log = logging.getLogger(__name__)

_DEEPEST = 24
_PASSED_FOLDERS = frozenset({"__pycache__", "node_modules", "site-packages", "checkpoints"})
_PASSED_SUFFIXES = frozenset(
    {".pt", ".pth", ".bin", ".ckpt", ".safetensors", ".npz", ".npy", ".h5", ".parquet", ".arrow", ".tar"}
    | {".zip", ".whl", ".so", ".png", ".jpg", ".jpeg", ".gif", ".mp4", ".pdf", ".py", ".ipynb", ".md"}
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """One log: its file, its format, and where it stands."""

    path: Path
    format: Format
    place: RunAssignment
    known_as: Path | None = None
    """What it is followed as, where files take turns in holding the same log."""


@dataclass(frozen=True, slots=True)
class ScannedFile:
    """A file's size and time when it was looked at, and what was found to be in it."""

    path: Path
    inode: int
    size: int
    modified: int
    found: DetectedFormat


class LogTree:
    """A watched file or folder. Remembers which files are logs, so that each is opened once to find out."""

    def __init__(self, root: Path, formats: Mapping[str, Format], *, one_run: bool = False) -> None:
        self.root = root
        self._formats = formats
        self._one_run = one_run
        self._seen: dict[
            str, ScannedFile
        ] = {}  # by strings: of thousands of files, paths cost more than looks
        self._launches: dict[Path, TrainerLaunch | bool] = {}
        self._placed: list[Source] = []
        self._placed_from: tuple[dict[Path, Format], dict[Path, TrainerLaunch]] = {}, {}

    def scan(self) -> list[Source]:
        """Every log there is now, in the order in which those of a run should be read."""
        self._seen = {path: self._look(path, stat) for path, stat in walk_files(self.root)}
        found = {
            seen.path: seen.found.format for seen in self._seen.values() if seen.found.format is not None
        }
        launches = {} if self._one_run else self._find_launches(found)
        if (found, launches) != self._placed_from or any(map(is_trainer_state, found)):
            self._placed_from = dict(found), launches
            self._placed = self._place(found, launches)
        return self._placed

    def _place(self, found: dict[Path, Format], launches: Mapping[Path, TrainerLaunch]) -> list[Source]:
        settings = {path: format_ for path, format_ in found.items() if format_.role.is_settings}
        found = {path: format_ for path, format_ in found.items() if path not in settings}
        if self.root in found and self.root.is_file():
            places = {self.root: assign_file(self.root)}
        else:
            for path in redundant_states(found, self.root, one_run=self._one_run):
                del found[path]
            homes = {path: logical_path(path, self.root) for path in found}
            tree = assign_tree(
                self.root, set(homes.values()), one_run=self._one_run, continued=continued_launches(launches)
            )
            places = {path: tree[homes[path]] for path in found}
        drop_redundant_text(found, places)
        logs = [
            Source(
                path=path,
                format=found[path],
                place=places[path],
                known_as=logical_path(path, self.root) if is_trainer_state(path) else None,
            )
            for path in sorted(
                found,
                key=lambda path: (
                    places[path].run,
                    uses_wall_clock(found[path]),
                    written_at(path),
                    chronological_key(path),
                ),
            )
        ]
        return _with_settings(logs, settings, self.root)

    def is_new(self, path: Path) -> bool:
        """Whether a file that is said to have changed may be a log that the last scan did not find."""
        parts = path.relative_to(self.root).parts
        if any(part.startswith(".") or part in _PASSED_FOLDERS for part in parts) or is_skipped(path.name):
            return False
        try:
            looked = self._look(str(path), path.stat())
        except OSError:
            return False
        if looked.found.format is None:
            self._seen[str(path)] = looked
        return looked.found.format is not None

    def _find_launches(self, found: dict[Path, Format]) -> dict[Path, TrainerLaunch]:
        """The Trainer's launches, by folder. Those whose first step is not written yet leave `found`."""
        known: dict[Path, TrainerLaunch | bool] = {}
        for path in filter(may_be_launch, list(found)):
            said = self._launches.get(path, True)
            if said is True:
                said = _launch(path, found[path])
            known[path] = said
            if said is True:  # until then nobody can tell whose points they will be
                del found[path]
        self._launches = known
        in_order = sorted(known, reverse=True)  # of several files of a folder the first one says it
        return {path.parent: said for path in in_order if isinstance(said := known[path], TrainerLaunch)}

    def _look(self, path: str, stat: os.stat_result) -> ScannedFile:
        before = self._seen.get(path)
        file = Path(path) if before is None else before.path
        if before is not None and before.inode == stat.st_ino:
            unchanged = (before.size, before.modified) == (stat.st_size, stat.st_mtime_ns)
            if before.found.settled or (unchanged and not before.found.failed):
                return before
            found = detect_format(file, self._formats, before=before.found)
        else:
            found = detect_format(file, self._formats)
        return ScannedFile(file, stat.st_ino, stat.st_size, stat.st_mtime_ns, found)


def _with_settings(logs: list[Source], settings: Mapping[Path, Format], root: Path) -> list[Source]:
    """The logs with the settings files that are of their runs in between."""
    if not (logs and settings):
        return logs
    ordered = [(float(at), source) for at, source in enumerate(logs)]
    for path, one in assign_config_files(
        settings, [(source.path, source.place) for source in logs], root
    ).items():
        source = Source(path=path, format=settings[path], place=one.place, known_as=one.known_as)
        ordered.append((one.at, source))
    return [source for _, source in sorted(ordered, key=lambda placed: placed[0])]


def drop_redundant_text(found: dict[Path, Format], places: Mapping[Path, RunAssignment]) -> None:
    """Read of texts only what NCCL says there where runs have other logs as well: those say the rest exactly.

    Read side by side, the two would pass for two writers, whose steps are then taken for restarts.
    """
    same = {path: format_ for path, format_ in found.items() if not format_.role.is_additional}
    exact = {places[path].run for path, format_ in same.items() if not format_.role.in_text}
    for path, format_ in list(found.items()):
        if (
            places[path].run in exact
            and format_.role.in_text
            and (path in same or isinstance(format_, SystemText))
        ):
            found[path] = without_training(format_)


def _launch(path: Path, format_: Format) -> TrainerLaunch | bool:
    try:
        return read_launch(path, format_)
    except OSError:  # whoever follows the file will say why
        return False


def walk_files(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    """The files in which a log may be, below a folder; or the file itself.

    Hidden folders (but Hydra's), checkpoints, and what links elsewhere inside the tree are passed over.
    """
    if root.is_file():
        yield str(root), root.stat()
    else:
        yield from _walk(str(root), root.resolve(), _DEEPEST)


def _walk(folder: str, root: Path, depth: int) -> Iterator[tuple[str, os.stat_result]]:
    try:
        with os.scandir(folder) as entries:
            inside = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        _log.warning("%s: cannot be listed: %s", folder, error.strerror or error)
        return
    for entry in inside:
        try:
            if entry.is_dir(follow_symlinks=False):
                if depth and _is_looked_into(entry.name):
                    yield from _walk(entry.path, root, depth - 1)
            elif _may_be_log(entry, root):
                yield entry.path, entry.stat()
        except OSError:  # gone between listing and looking
            continue


def _is_looked_into(folder: str) -> bool:
    return (not folder.startswith(".") or folder == ".hydra") and folder not in _PASSED_FOLDERS


def _may_be_log(entry: os.DirEntry[str], root: Path) -> bool:
    if is_skipped(entry.name) or not entry.is_file():
        return False
    return not (entry.is_symlink() and Path(entry.path).resolve().is_relative_to(root))


def is_skipped(name: str) -> bool:
    """Whether no log can be in a file of this name."""
    return name.startswith(".") or os.path.splitext(name)[1].lower() in _PASSED_SUFFIXES
