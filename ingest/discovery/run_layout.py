"""Assigns files to runs by their folders: run, writer, prefix of the metrics, and labels of the series."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from types import MappingProxyType

from holter.ingest.names import storable_label, storable_name
from holter.ingest.open_log import uncompressed_name
from holter.types import Batch, Column, ConfigKey, Labels, SeriesKey, labels_of

# folders that Keras and the Estimator make within one run; "test" alone is as likely the name of a run
_SPLITS = frozenset({"train", "training", "validation", "valid", "val", "eval", "evaluation"})
_SPLITS_WITHIN = _SPLITS | {"test"}
# where one run puts its outputs by their kind: no names that anyone gives a run
_OUTPUTS = frozenset(
    {"log", "logs", "stdout", "slurm_logs", "tensorboard", "tensorboard_logs", "tb", "tb_logs", "nccl_logs"}
    | {"telemetry", "structured_logs"}
)
_EVENT_FILE = re.compile(r".*tfevents\.(?P<seconds>\d{10})\.(?P<process>.+)")
_LAUNCH = re.compile(r"[A-Z][a-z]{2}\d\d_\d\d-\d\d-\d\d_.*|(version|attempt|restart)[-_]?\d+")
_RANK = re.compile(r"(?:global_)?rank[-_]?(\d+)")
_PROFILER_OUTPUT = re.compile(r"nccl-inspector-.+")  # belongs to the run of the folder above
_PLAIN_STEMS = frozenset({"metrics", "log", "logs", "train", "training", "history", "ranks"})


@dataclass(frozen=True, kw_only=True, slots=True)
class RunAssignment:
    """Which run and writer a file belongs to, and what its folders add to the names of its series."""

    run: str
    writer: str
    prefix: str = ""
    labels: Labels = ()

    def apply(self, batch: Batch) -> Batch:
        """The batch with prefix and labels added to its series, and labels to its config."""
        if not self.prefix and not self.labels:
            return batch
        columns = tuple(self._column(column) for column in batch.columns)
        config = {ConfigKey(key.name, self._merge(key.labels)): value for key, value in batch.config.items()}
        return replace(batch, columns=columns, config=config)

    def _column(self, column: Column) -> Column:
        metric, labels = column.key
        key = SeriesKey(self.prefix + metric, self._merge(labels))
        return Column(key=key, values=column.values, rows=column.rows)

    def _merge(self, labels: Labels) -> Labels:
        return labels_of({**dict(self.labels), **dict(labels)})


def assign_tree(
    root: Path,
    files: Collection[Path],
    *,
    one_run: bool = False,
    continued: Mapping[Path, Path] = MappingProxyType({}),
) -> dict[Path, RunAssignment]:
    """The assignment of every log file below a watched folder; with `one_run` all belong to one run.

    A folder with logs is a run, and everything below it belongs to it. The folders directly below the
    watched folder are runs of their own, unless they are parts of one run: Keras' `train` and `validation`,
    `logs` and `tensorboard`, or event files of one process. `continued` maps the folder of a run to that of
    the run which it continues.
    """
    by_folder: dict[Path, list[Path]] = {}
    for file in files:
        by_folder.setdefault(file.parent, []).append(file)
    assignments = {}
    for folder, inside in by_folder.items():
        run = _common_folder(by_folder) if one_run else _run_folder(root, folder, by_folder)
        prefix, labels = _prefix_and_labels(run, folder, launches=one_run)
        first = continued.get(run, run)
        name = root.resolve().name if one_run or run == root else first.relative_to(root).as_posix()
        for file in inside:
            writer = _process(file) or file.relative_to(run).as_posix()
            assignments[file] = RunAssignment(
                run=storable_name(name), writer=storable_name(writer), prefix=prefix, labels=labels
            )
    return assignments


def assign_file(file: Path) -> RunAssignment:
    """The assignment of a file watched by itself: its run is its name, or its folder's if that is generic."""
    name = uncompressed_name(file).name
    stem = PurePath(name).stem
    generic = stem.lower() in _PLAIN_STEMS or _LAUNCH.fullmatch(stem) or _process(file)
    run = file.resolve().parent.name if generic else stem
    return RunAssignment(run=storable_name(run or stem), writer=storable_name(_process(file) or file.name))


def chronological_key(file: Path) -> tuple[float, list[tuple[int, str | int]]]:
    """A sort key that puts files of a run in the order in which they were begun, as far as names show it."""
    match = _EVENT_FILE.fullmatch(file.name)
    parts = re.split(r"(\d+)", file.as_posix())
    natural: list[tuple[int, str | int]] = [
        (0, int(part)) if part.isdecimal() else (1, part) for part in parts if part
    ]
    return (float(match["seconds"]) if match else 0.0, natural)


def _run_folder(root: Path, folder: Path, by_folder: Mapping[Path, Iterable[Path]]) -> Path:
    """The folder of the run that the logs in a folder belong to."""
    if folder == root:
        return root
    parts = folder.relative_to(root).parts
    chain = [root.joinpath(*parts[: depth + 1]) for depth in range(len(parts))]
    is_within = (
        _PROFILER_OUTPUT.fullmatch(chain[0].name) is not None
        or chain[0].name.lower() in _SPLITS_WITHIN
        or (folder == chain[0] and _is_part(folder))
    )
    if root in by_folder and (is_within or _same_process(by_folder[root], by_folder[folder])):
        return root
    run = next(path for path in chain if path in by_folder)
    while run != root and (_is_part(run) or _PROFILER_OUTPUT.fullmatch(run.name)):
        run = run.parent
    return run


def _is_part(folder: Path) -> bool:
    """Whether the name of a folder is that of a part of a run: a split, or a kind of output."""
    return folder.name.lower() in _SPLITS | _OUTPUTS


def _same_process(files: Iterable[Path], others: Iterable[Path]) -> bool:
    processes = {process for file in files if (process := _process(file))}
    return any(_process(other) in processes for other in others)


def _process(file: Path) -> str | None:
    """`host.pid` of the process that wrote an event file, from its name; None for other files.

    What follows the pid counts the files of that process. TF1 and old tensorboardX write the host alone.
    """
    match = _EVENT_FILE.fullmatch(file.name)
    if match is None:
        return None
    words = match["process"].removesuffix(".v2").split(".")
    has_count = len(words) > 2 and words[-1].isdecimal() and words[-2].isdecimal()
    return ".".join(words[:-1] if has_count else words)


def _prefix_and_labels(run: Path, folder: Path, *, launches: bool) -> tuple[str, Labels]:
    """From the folders between a run and its file: `eval` is a prefix of the metrics, others are labels."""
    splits, others, labels = [], [], {}
    for part in folder.relative_to(run).parts:
        rank = _RANK.fullmatch(part)
        if part.lower() in _SPLITS_WITHIN:
            splits.append(part.lower())
        elif rank:
            labels["rank"] = str(int(rank[1]))
        elif not (launches and _LAUNCH.fullmatch(part)) and not _PROFILER_OUTPUT.fullmatch(part):
            others += [] if part.lower() in _OUTPUTS else [part]
    if others:
        labels["folder"] = storable_label("/".join(others))
    return "".join(split + "/" for split in splits), labels_of(labels)


def _common_folder(by_folder: Mapping[Path, object]) -> Path:
    """The deepest folder that contains all logs of a run."""
    common, *others = by_folder
    while not all(folder.is_relative_to(common) for folder in others):
        common = common.parent
    while _is_part(common) and len(by_folder) > 1:
        common = common.parent
    return common
