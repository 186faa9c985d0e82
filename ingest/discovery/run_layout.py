"""Which folder is a run, and how a file below it stands in it: writer, prefix of its metrics, labels."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from types import MappingProxyType

from holter.ingest.names import storable_label, storable_text
from holter.ingest.open_log import uncompressed_name
from holter.types import Batch, Column, ConfigKey, Labels, SeriesKey, labels_of

# Keras' and the Estimator's folders of one run; "test" alone is as likely the name of a run
_SPLITS = frozenset({"train", "training", "validation", "valid", "val", "eval", "evaluation"})
_SPLITS_WITHIN = _SPLITS | {"test"}
# where one run puts its outputs by their kind: no name that anyone gives a run
_OUTPUTS = frozenset(
    {"log", "logs", "stdout", "slurm_logs", "tensorboard", "tensorboard_logs", "tb", "tb_logs", "nccl_logs"}
    | {"telemetry", "structured_logs"}
)
_EVENT_FILE = re.compile(r".*tfevents\.(?P<seconds>\d{10})\.(?P<process>.+)")
_LAUNCH = re.compile(r"[A-Z][a-z]{2}\d\d_\d\d-\d\d-\d\d_.*|(version|attempt|restart)[-_]?\d+")
_RANK = re.compile(r"(?:global_)?rank[-_]?(\d+)")
_BESIDE = re.compile(r"nccl-inspector-.+")  # what a job's profiler writes is the job's
_PLAIN_STEMS = frozenset({"metrics", "log", "logs", "train", "training", "history", "ranks"})


@dataclass(frozen=True, kw_only=True, slots=True)
class RunAssignment:
    """Where a file stands: its run's name, its writer within that, and what its folders say of its series."""

    run: str
    writer: str
    prefix: str = ""
    labels: Labels = ()

    def put(self, batch: Batch) -> Batch:
        """The batch with the names and labels of its series and config as its place wants them."""
        if not self.prefix and not self.labels:
            return batch
        columns = tuple(self._column(column) for column in batch.columns)
        config = {ConfigKey(key.name, self._with(key.labels)): value for key, value in batch.config.items()}
        return replace(batch, columns=columns, config=config)

    def _column(self, column: Column) -> Column:
        metric, labels = column.key
        key = SeriesKey(self.prefix + metric, self._with(labels))
        return Column(key=key, values=column.values, rows=column.rows)

    def _with(self, labels: Labels) -> Labels:
        return labels_of({**dict(self.labels), **dict(labels)})


def assign_tree(
    root: Path,
    files: Collection[Path],
    *,
    one_run: bool = False,
    continued: Mapping[Path, Path] = MappingProxyType({}),
) -> dict[Path, RunAssignment]:
    """The place of every log file of a watched folder; of a single run's folder with `one_run`.

    A folder that holds logs is a run, and what lies below it belongs to it. The watched folder itself
    keeps apart the folders below it, unless they are parts of one run: Keras' `train` and `validation`,
    `logs` and `tensorboard`, or sub-writers of the same process. `continued` maps folders to those whose
    runs go on in them.
    """
    held: dict[Path, list[Path]] = {}
    for file in files:
        held.setdefault(file.parent, []).append(file)
    places = {}
    for folder, inside in held.items():
        run = _shared(held) if one_run else _run_folder(root, folder, held)
        prefix, labels = _within(run, folder, launches=one_run)
        begun = continued.get(run, run)
        name = root.resolve().name if one_run or run == root else begun.relative_to(root).as_posix()
        for file in inside:
            writer = _process(file) or file.relative_to(run).as_posix()
            places[file] = RunAssignment(
                run=storable_text(name), writer=storable_text(writer), prefix=prefix, labels=labels
            )
    return places


def assign_file(file: Path) -> RunAssignment:
    """The place of a file that is watched by itself; a name that says nothing gives way to its folder's."""
    name = uncompressed_name(file).name
    stem = PurePath(name).stem
    plain = stem.lower() in _PLAIN_STEMS or _LAUNCH.fullmatch(stem) or _process(file)
    run = file.resolve().parent.name if plain else stem
    return RunAssignment(run=storable_text(run or stem), writer=storable_text(_process(file) or file.name))


def chronological_key(file: Path) -> tuple[float, list[tuple[int, str | int]]]:
    """A key by which files of one run sort in the order in which they were begun, as far as names tell."""
    named = _EVENT_FILE.fullmatch(file.name)
    parts = re.split(r"(\d+)", file.as_posix())
    natural: list[tuple[int, str | int]] = [
        (0, int(part)) if part.isdecimal() else (1, part) for part in parts if part
    ]
    return (float(named["seconds"]) if named else 0.0, natural)


def _run_folder(root: Path, folder: Path, held: Mapping[Path, Iterable[Path]]) -> Path:
    """The run that logs in a folder belong to."""
    if folder == root:
        return root
    parts = folder.relative_to(root).parts
    chain = [root.joinpath(*parts[: depth + 1]) for depth in range(len(parts))]
    beside = _BESIDE.fullmatch(chain[0].name) is not None
    within = beside or chain[0].name.lower() in _SPLITS_WITHIN or (folder == chain[0] and _is_part(folder))
    if root in held and (within or _same_process(held[root], held[folder])):
        return root
    run = next(path for path in chain if path in held)
    while run != root and (_is_part(run) or _BESIDE.fullmatch(run.name)):
        run = run.parent
    return run


def _is_part(folder: Path) -> bool:
    """Whether the name of a folder with logs says what of its run they are: a split, or a kind of output."""
    return folder.name.lower() in _SPLITS | _OUTPUTS


def _same_process(files: Iterable[Path], others: Iterable[Path]) -> bool:
    processes = {process for file in files if (process := _process(file))}
    return any(_process(other) in processes for other in others)


def _process(file: Path) -> str | None:
    """`host.pid` of the process that wrote an event file, as its name tells; None for other files.

    What follows the pid counts the files of that process. TF1 and old tensorboardX give the host alone.
    """
    named = _EVENT_FILE.fullmatch(file.name)
    if named is None:
        return None
    words = named["process"].removesuffix(".v2").split(".")
    counted = len(words) > 2 and words[-1].isdecimal() and words[-2].isdecimal()
    return ".".join(words[:-1] if counted else words)


def _within(run: Path, folder: Path, *, launches: bool) -> tuple[str, Labels]:
    """What the folders between a run and its file say: `eval` prefixes the metrics, others are labels."""
    splits, others, labels = [], [], {}
    for part in folder.relative_to(run).parts:
        rank = _RANK.fullmatch(part)
        if part.lower() in _SPLITS_WITHIN:
            splits.append(part.lower())
        elif rank:
            labels["rank"] = str(int(rank[1]))
        elif not (launches and _LAUNCH.fullmatch(part)) and not _BESIDE.fullmatch(part):
            others += [] if part.lower() in _OUTPUTS else [part]
    if others:
        labels["folder"] = storable_label("/".join(others))
    return "".join(split + "/" for split in splits), labels_of(labels)


def _shared(held: Mapping[Path, object]) -> Path:
    """The deepest folder that holds all logs of a run, itself or below it."""
    first, *others = held
    while not all(folder.is_relative_to(first) for folder in others):
        first = first.parent
    while _is_part(first) and len(held) > 1:
        first = first.parent
    return first
