"""What is fuzzed: readers of formats, whole files, collections of trackers, folders, imports of files."""

from __future__ import annotations

import functools
import gzip
import json
import logging
import random
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from holter.ingest.discovery.detect_format import detect_format
from holter.ingest.format import Format
from holter.ingest.offline.read_run import read_run
from holter.ingest.offline.suggest_pattern import suggest_format
from holter.ingest.offline.tracker_runs import build_series
from holter.ingest.open_log import open_log, uncompressed_name
from holter.ingest.telemetry.metric_allowlist import build_allowlist
from holter.ingest.telemetry.scrape import parse_page
from holter.ingest.trackers import COLLECTIONS
from holter.ingest.trackers.base import CollectionError
from holter.server.import_export.import_file import inspect_file
from tests.support.fuzzing import structures
from tests.support.fuzzing.mutations import mutate
from tests.support.fuzzing.seeds import EXPORTS, GUESSED, Seed, format_seeds, fuzzed_formats
from tests.support.log_reading import Reading

_READING = Reading()
_PIECES_EVERY = 16
"""Every so many inputs of a format are also read in pieces, which must give the same."""
_LONGEST_IN_PIECES = 10_000
_STRUCTURED = (b"\x18\0\0\0", b":W&B")


class DifferentResultError(AssertionError):
    """Reading in pieces gave other points or settings than reading at once."""


@dataclass(frozen=True)
class FuzzTarget:
    """One kind of input.

    `share` is how many inputs it gets in relation to the others. `make` makes an input from a seed, `read`
    reads it and returns how many bytes it had when uncompressed, if it was compressed; `read` may raise only
    what `refuses` names.
    """

    name: str
    seeds: Sequence[Seed]
    make: Callable[[Seed, random.Random, Sequence[bytes]], bytes]
    read: Callable[[str, bytes, int], int | None]
    share: float = 10
    refuses: tuple[type[Exception], ...] = ()


@functools.cache
def targets() -> dict[str, FuzzTarget]:
    """Every target by its name."""
    known, seeds = fuzzed_formats(), format_seeds()
    everything = [seed for name in sorted(seeds) for seed in seeds[name]]
    found = [
        FuzzTarget(f"format/{name}", seeds[name], _make_text, _FormatReader(format_))
        for name, format_ in known.items()
    ]
    found += [
        FuzzTarget("file", everything, _make_file, _read_file, 60),
        FuzzTarget("folder", everything, _make_text, _read_folder, 5),
        FuzzTarget("given by hand", [*GUESSED, *everything], _make_text, _read_given_file, 30),
        FuzzTarget("suggestion", everything, _make_text, _suggest, 10),
        FuzzTarget("scrape", seeds["prometheus"], _make_text, _scrape, 10),
        *_tracker_targets(),
        FuzzTarget("import/csv", _exports("csv"), _make_text, _inspect, 10, (ValueError,)),
        FuzzTarget("import/json", _exports("json"), _make_text, _inspect, 10, (ValueError,)),
        FuzzTarget("import/parquet", _exports("parquet"), _make_parquet, _inspect, 4, (ValueError,)),
    ]
    return {target.name: target for target in found}


def _make_text(seed: Seed, chance: random.Random, others: Sequence[bytes]) -> bytes:
    kind = chance.random()
    if seed.value is not None and kind < 0.4:
        return structures.damage_pickle(seed.value, chance)
    if kind < 0.7 and seed.content.startswith(_STRUCTURED):
        return structures.damage_records(seed.content, chance)
    if kind < 0.4 and b"{" in seed.content[:2000]:
        damaged = structures.damage_json_document(seed.content, chance)
        if damaged is not None:
            return mutate(damaged, chance, others, count=1) if kind < 0.1 else damaged
    return mutate(seed.content, chance, others)


def _make_file(seed: Seed, chance: random.Random, others: Sequence[bytes]) -> bytes:
    content = _make_text(seed, chance, others)
    return structures.damage_gzip(content, chance) if seed.name.endswith(".gz") else content


def _make_database(seed: Seed, chance: random.Random, others: Sequence[bytes]) -> bytes:
    return structures.damage_database(seed.content, chance)


def _make_parquet(seed: Seed, chance: random.Random, others: Sequence[bytes]) -> bytes:
    return structures.damage_parquet(seed.content, chance)


@dataclass(frozen=True)
class _FormatReader:
    """Reads an input as one format, whatever it contains; some inputs in pieces as well."""

    format: Format

    def __call__(self, name: str, content: bytes, index: int) -> None:
        self.format.sniff(PurePath(name), content[:65536])
        complete = _READING.read_complete(name, content, chosen=self.format)
        if index % _PIECES_EVERY or len(content) > _LONGEST_IN_PIECES:
            return
        chance = random.Random(index)
        sizes = sorted(chance.randrange(len(content) + 1) for _ in range(4))
        every = chance.choice((1, 2, 3))
        stopped = _READING.read_restarted(name, content, every=every, chosen=self.format)
        if (stopped.points, stopped.config) != (complete.points, complete.config):
            raise DifferentResultError(f"stopping after every {every} records")
        if self.format.role.is_settings:  # a document is complete at several sizes, and each one counts
            return
        grown = _READING.read_growing(name, content, [*sizes, len(content)], chosen=self.format)
        if (grown.points, grown.config) != (complete.points, complete.config):
            raise DifferentResultError(f"growing to {sizes}")


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="holter-fuzz-")


def _written(name: str, content: bytes) -> Path:
    path = Path(_folder().name) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def _read_file(name: str, content: bytes, index: int) -> int | None:
    """Detect the format of a file, and read it as that, without the guard around formats.

    Damage of a compressed file can repeat a part of it many times: the bytes in it are returned.
    """
    path = _written(f"{name}.gz" if index % 4 == 0 else name, content)
    try:
        if index % 4 == 0 and index % 16:
            path.write_bytes(structures.damage_gzip(content, random.Random(index)))
        detected = detect_format(path, fuzzed_formats())
        if detected.problem:
            raise AssertionError(detected.problem)
        if detected.format is not None:
            with open_log(path).stream as stream:
                _exhaust(detected.format.reader(uncompressed_name(path), {}).read(stream))
                return stream.tell()
        return None
    finally:
        path.unlink()


def _read_folder(name: str, content: bytes, index: int) -> None:
    """Read a folder with a good log, the input, and checkpoints."""
    folder = "May05_12-30-00_node7" if "tfevents" in name else f"checkpoint-{index % 3}"
    paths = [_written("run/metrics.csv", b"step,loss\n1,2.5\n2,2.25\n"), _written(f"run/{name}", content)]
    paths.append(_written(f"run/{folder}/{name}", content[: len(content) // 2]))
    try:
        read = read_run(Path(_folder().name) / "run", known=fuzzed_formats())
        for unreadable in read.unreadable:
            if "expected to read it as" in unreadable.reason or "expected to detect" in unreadable.reason:
                raise AssertionError(unreadable.reason)
    finally:
        for path in paths:
            path.unlink(missing_ok=True)


class _Raise(logging.Handler):
    """Raises what a format failed with, which reading by hand notes and passes over."""

    def emit(self, record: logging.LogRecord) -> None:
        """Raise the error that is logged."""
        if record.exc_info is not None and record.exc_info[1] is not None:
            raise record.exc_info[1]


@functools.cache
def _raise_failures_of_formats() -> None:
    logger = logging.getLogger("holter.ingest.offline")
    logger.addHandler(_Raise())
    logger.setLevel(logging.DEBUG)


def _read_given_file(name: str, content: bytes, index: int) -> None:
    """Read a file that is given by hand: as every format that may be guessed until one has points."""
    _raise_failures_of_formats()
    path = _written(name if index % 2 else f"{PurePath(name).stem}.log", content)
    try:
        read_run(path, known=fuzzed_formats())
    finally:
        path.unlink()


def _suggest(name: str, content: bytes, index: int) -> None:
    suggest_format(content[-65536:])


def _scrape(name: str, content: bytes, index: int) -> None:
    parse_page(content.decode("utf-8", "replace"), 1.7e9, "node1:9400", build_allowlist(()))


def _exhaust(records: Iterable[object]) -> None:
    for _ in records:
        pass


def _tracker_targets() -> list[FuzzTarget]:
    def unpacked(name: str) -> bytes:
        return gzip.decompress((EXPORTS / name).read_bytes())

    chart = (
        b'"Step","a - loss","a - loss__MIN","a - loss__MAX","b - _step"\n'
        b'"0","3.5","3.5","3.5","0"\n"10","NaN","","2","10"\n'
    )
    rows = [
        ("mlflow.db", [Seed("mlflow.db", unpacked("mlflow.db.gz"))], _make_database, 0.3),
        ("trackio", [Seed("llm.db", unpacked("trackio-llm.db.gz"))], _make_database, 1.0),
        ("neptune", _packed("neptune.tar.gz", ".parquet"), _make_parquet, 2.0),
        ("wandb-csv", [Seed("wandb_export.csv", chart)], _make_text, 10.0),
        ("mlruns", _packed("mlruns.tar.gz", ""), _make_text, 1.0),
    ]
    return [
        FuzzTarget(
            f"tracker/{name}", seeds, make, _read_mlruns if name == "mlruns" else _read_collection, share,
            (CollectionError, OSError),
        )
        for name, seeds, make, share in rows
    ]  # fmt: skip


def _packed(archive: str, suffix: str) -> list[Seed]:
    with tarfile.open(EXPORTS / archive) as packed:
        files = sorted((member for member in packed if member.isfile()), key=lambda member: member.name)
        return [
            Seed(member.name, packed.extractfile(member).read())  # type: ignore[union-attr]
            for member in files
            if member.name.endswith(suffix)
        ]


def _read_collection(name: str, content: bytes, index: int) -> None:
    path = _written(f"tracker/{PurePath(name).name}", content)
    try:
        _read_runs(path)
    finally:
        path.unlink()


@functools.cache
def _mlruns() -> Path:
    for seed in targets()["tracker/mlruns"].seeds:
        _written(f"mlflow/{seed.name}", seed.content)
    return Path(_folder().name) / "mlflow"


def _read_mlruns(name: str, content: bytes, index: int) -> None:
    path, root = _mlruns() / name, next(_mlruns().iterdir())
    good = path.read_bytes()
    path.write_bytes(content)
    try:
        _read_runs(root)
    finally:
        path.write_bytes(good)


def _read_runs(path: Path) -> None:
    """Read every run of a collection; a run that cannot be read does not stop the others."""
    for collection in COLLECTIONS:
        if collection.matches(path):
            for run in collection.runs(path):
                try:
                    build_series(run.read())
                except (CollectionError, OSError):
                    continue
            return


def _exports(suffix: str) -> list[Seed]:
    content = (EXPORTS / f"export.{suffix}").read_bytes()
    seeds = [Seed(f"export.{suffix}", content)]
    if suffix == "json":
        document = json.loads(content)
        head = {
            "identity": "mlflow:1",
            "project": "p",
            "run": "r",
            "config": [],
            "over": True,
            "ended": 1.7e9,
        }
        kept = json.dumps({"holter_export": 1, "kept": head, "series": []}).removesuffix("]}")
        lines = content.partition(b"\n")[2]
        seeds += [
            Seed("kept.json", kept.encode() + b"\n" + lines),
            Seed("formatted.json", json.dumps(document).encode()),
        ]
    return seeds


def _inspect(name: str, content: bytes, index: int) -> None:
    path = _written(f"import/{name}", content)
    try:
        inspect_file(path)
    finally:
        path.unlink()
