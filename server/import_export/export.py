"""Exports a run: a snapshot of everything as bytes that are sent while they are produced."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

from sqlalchemy import Engine

import holter
from holter.server.database import reading
from holter.server.import_export.file_formats import FORMAT, require_pyarrow
from holter.server.import_export.long_table import read_pieces
from holter.server.import_export.point_rows import SeriesPiece
from holter.server.import_export.run_metadata import export_metadata
from holter.server.import_export.text_writer import csv_bytes, json_bytes
from holter.server.store.read.snapshot import RunSnapshot
from holter.types import SeriesKey


@dataclass(frozen=True, slots=True)
class ExportedRun:
    """A snapshot of a run: its series, and the content of the file."""

    keys: list[SeriesKey]
    content: Iterator[bytes]


@contextmanager
def open_export(
    engine: Engine,
    run_id: int,
    form: str,
    *,
    only: Sequence[SeriesKey] | None = None,
    incidents: bool = True,
) -> Iterator[ExportedRun]:
    """Open a run as a file of one of `FORMATS`; `only` these of its series. Raises MissingPyarrowError.

    Memory is bounded whatever the run contains. The content must be read before the context ends.
    """
    require_pyarrow(form)
    with reading(engine) as connection:
        keys = list(RunSnapshot(connection, run_id).series(only).values())
        run = export_metadata(connection, run_id, incidents=incidents)
        run["partial"] = len(keys) < len(RunSnapshot(connection, run_id).series())
        head = {"holter_export": FORMAT, "holter": holter.__version__, "run": run}
        yield ExportedRun(keys, _content(form, head, read_pieces(connection, run_id, keys), keys))


def _content(
    form: str, head: dict[str, Any], portions: Iterable[list[SeriesPiece]], keys: Sequence[SeriesKey]
) -> Iterator[bytes]:
    if form == "parquet":
        # pyarrow is optional, and takes a quarter of a second to import
        parquet_file = import_module("holter.server.import_export.parquet_file")
        return cast(Iterator[bytes], parquet_file.parquet_bytes(head, portions, keys))
    return json_bytes(head, portions) if form == "json" else csv_bytes(head, portions)
