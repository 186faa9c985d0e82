"""Parquet files of neptune-exporter: `DATA_PATH/PROJECT/RUN_part_N.parquet`, a row for each value.

pyarrow is optional, so the module that uses it is imported when an export is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

from holter.ingest.trackers.base import CollectionError, TrackerRun

_MAGIC = b"PAR1"
_DEPTHS = ("*.parquet", "*/*.parquet")


class Neptune:
    """Every run of an export, of one project's folder in it, or of a single file."""

    name: ClassVar[str] = "neptune"

    def matches(self, path: Path) -> bool:
        """A Parquet file with the exporter's columns, or a folder with such files."""
        files = _files(path)
        if not files or find_spec("pyarrow") is None:
            return bool(files) and b"attribute_path" in _tail(files[0])
        return bool(import_module("holter.ingest.trackers.neptune_parquet").is_export(files[0]))

    def runs(self, path: Path) -> Iterator[TrackerRun]:
        """The runs, by project and id. Raises CollectionError without pyarrow."""
        if find_spec("pyarrow") is None:  # optional, and takes 0.25 s to load
            raise CollectionError(f"{path}: Parquet files need pyarrow: pip install 'holter[parquet]'")
        runs: Iterator[TrackerRun] = import_module("holter.ingest.trackers.neptune_parquet").runs(
            _files(path)
        )
        yield from runs


def _files(path: Path) -> list[Path]:
    """The files of an export in the order of their parts; unfinished ones end in .tmp and are left out."""
    try:
        files = [file for depth in _DEPTHS for file in path.glob(depth)] if path.is_dir() else [path]
        return sorted((file for file in files if file.is_file() and _is_parquet(file)), key=_part_order)
    except OSError:
        return []


def _part_order(file: Path) -> tuple[Path, str, int, str]:
    stem, _, part = file.stem.rpartition("part_")
    return file.parent, stem, int(part) if part.isdecimal() and len(part) < 10 else 0, file.name


def _is_parquet(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(len(_MAGIC)) == _MAGIC


def _tail(file: Path) -> bytes:
    """The end of a Parquet file, which has the names of its columns."""
    with file.open("rb") as opened:
        opened.seek(max(0, opened.seek(0, 2) - 256 * 1024))
        return opened.read()
