"""Exports a run: everything as of one moment, as bytes that are written while they are made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, cast

from sqlalchemy import Engine

import holter
from holter.server.database import reading
from holter.server.import_export import text_writer
from holter.server.import_export.long_table import pieces
from holter.server.import_export.run_metadata import describe
from holter.server.store.read.snapshot import RunSnapshot
from holter.types import SeriesKey

FORMAT = 1
FORMATS = ("csv", "jsonl", "json", "parquet", "arrow")
"""What a run can be exported as, and imported from."""

TABLES = frozenset({"parquet", "arrow"})
MEDIA = {
    "csv": "text/csv",
    "jsonl": "application/jsonl",
    "json": "application/json",
    "parquet": "application/vnd.apache.parquet",
    "arrow": "application/vnd.apache.arrow.file",
}


class MissingPyarrowError(ValueError):
    """Parquet and Arrow files need a package that is not installed."""


@dataclass(frozen=True, slots=True)
class Exported:
    """One moment of a run: its series, and the file that says it all."""

    keys: list[SeriesKey]
    content: Iterator[bytes]


def need_pyarrow(form: str) -> None:
    """Raise MissingPyarrowError where a format needs pyarrow, and it is not there."""
    if form in TABLES and find_spec("pyarrow") is None:
        raise MissingPyarrowError(f"{form} files need pyarrow: pip install 'holter[parquet]'")


@contextmanager
def exported(
    engine: Engine,
    run_id: int,
    form: str,
    *,
    only: Sequence[SeriesKey] | None = None,
    incidents: bool = True,
) -> Iterator[Exported]:
    """A run as a file of one of `FORMATS`; `only` these of its series. Raises MissingPyarrowError.

    Memory stays bounded whatever the run holds. The content must be read before the context ends.
    """
    need_pyarrow(form)
    with reading(engine) as connection:
        keys = list(RunSnapshot(connection, run_id).series(only).values())
        run = describe(connection, run_id, incidents=incidents)
        run["partial"] = len(keys) < len(RunSnapshot(connection, run_id).series())
        head = {"holter_export": FORMAT, "holter": holter.__version__, "run": run}
        yield Exported(keys, _content(form, head, pieces(connection, run_id, keys), keys))


def _content(form: str, head: dict[str, Any], portions: Any, keys: Sequence[SeriesKey]) -> Iterator[bytes]:
    if form in TABLES:
        # pyarrow is optional, and takes a quarter of a second to load
        tables = import_module("holter.server.import_export.arrow")
        content = {"parquet": tables.parquet_bytes, "arrow": tables.arrow_bytes}[form]
        return cast(Iterator[bytes], content(head, portions, keys))
    written = {
        "csv": text_writer.csv_bytes,
        "jsonl": text_writer.jsonl_bytes,
        "json": text_writer.json_bytes,
    }[form]
    return written(head, portions)
