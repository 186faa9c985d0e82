"""Parquet files that neptune-exporter wrote: `DATA_PATH/PROJECT/RUN_part_N.parquet`, a row a value."""

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
        """Its runs, by project and id. Raises CollectionError without pyarrow."""
        if find_spec("pyarrow") is None:  # optional, and takes a quarter of a second to load
            raise CollectionError(f"{path}: Parquet files need pyarrow: pip install 'holter[parquet]'")
        found: Iterator[TrackerRun] = import_module("holter.ingest.trackers.neptune_parquet").runs(_files(path))
        yield from found


def _files(path: Path) -> list[Path]:
    """The parts, in their order; what the exporter has not finished ends in .tmp and is passed over."""
    try:
        found = [file for depth in _DEPTHS for file in path.glob(depth)] if path.is_dir() else [path]
        return sorted((file for file in found if file.is_file() and _is_parquet(file)), key=_place)
    except OSError:
        return []


def _place(file: Path) -> tuple[Path, str, int, str]:
    stem, _, part = file.stem.rpartition("part_")
    return file.parent, stem, int(part) if part.isdecimal() and len(part) < 10 else 0, file.name


def _is_parquet(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(len(_MAGIC)) == _MAGIC


def _tail(file: Path) -> bytes:
    """The end of a Parquet file, where the names of its columns stand."""
    with file.open("rb") as opened:
        opened.seek(max(0, opened.seek(0, 2) - 256 * 1024))
        return opened.read()
