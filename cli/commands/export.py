"""`holter export`: writes a run to a file, exactly as it is stored."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from fnmatch import fnmatchcase
from pathlib import Path
from typing import BinaryIO

from sqlalchemy import Engine

from holter.cli.commands import fail
from holter.cli.commands.db import add_database_flags, on_database
from holter.cli.report.progress import progress
from holter.private_files import private_opener
from holter.server.database import reading
from holter.server.import_export.export import open_export
from holter.server.import_export.file_formats import FORMATS, MissingPyarrowError
from holter.server.maintenance.find_run import RunLookupError, find_run
from holter.server.store.read.snapshot import RunSnapshot
from holter.types import SeriesKey

_BINARY = {"parquet"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The run, its series, the format, and the output."""
    parser.add_argument("run", metavar="RUN", help="a run's id, its name, or PROJECT/NAME")
    parser.add_argument("--format", choices=FORMATS, help="default: by the suffix of FILE, else csv")
    parser.add_argument("--output", type=Path, metavar="FILE", help="default: standard output")
    parser.add_argument("--metric", metavar="PATTERN", default="*", help="only these metrics, e.g. 'train/*'")
    parser.add_argument("--no-incidents", action="store_true", help="leave out the incidents")
    add_database_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    """Export every point, also NaN and superseded ones. Exit code 1: no such run, or several of that name."""
    format_name = arguments.format or _format_of(arguments.output)
    if format_name in _BINARY and arguments.output is None and sys.stdout.isatty():
        return fail(f"{format_name} is binary: write it to a file with --output FILE")
    with on_database(arguments) as (engine, _):
        try:
            found = find_run(engine, arguments.run)
            keys = _keys(engine, found.id, arguments.metric)
            if not keys and arguments.metric != "*":
                return fail(f"{arguments.run} has no metric like {arguments.metric!r}")
            with (
                open_export(
                    engine, found.id, format_name, only=keys, incidents=not arguments.no_incidents
                ) as export,
                progress(f"{found.project}/{found.name}", "bytes") as on_progress,
            ):
                _write(arguments.output, export.content, on_progress)
        except (RunLookupError, MissingPyarrowError) as error:
            return fail(str(error))
        except BrokenPipeError:
            raise  # the reader has closed the pipe; handled in main
        except OSError as error:
            return fail(f"{arguments.output or 'standard output'}: {error.strerror}")
    return 0


def _format_of(output: Path | None) -> str:
    suffix = "" if output is None else output.suffix.removeprefix(".")
    return suffix if suffix in FORMATS else "csv"


def _keys(engine: Engine, run_id: int, pattern: str) -> list[SeriesKey]:
    with reading(engine) as connection:
        keys = RunSnapshot(connection, run_id).series().values()
    return [key for key in keys if fnmatchcase(key.metric, pattern)]


def _write(output: Path | None, content: Iterable[bytes], on_progress: Callable[[float], None]) -> None:
    with _open_output(output) as out:
        size = 0
        for part in content:
            out.write(part)
            size += len(part)
            on_progress(size)


@contextmanager
def _open_output(output: Path | None) -> Iterator[BinaryIO]:
    """The output to write to. A file is replaced only when the new one is complete."""
    if output is None or (output.exists() and not output.is_file()):  # a pipe, a device
        with nullcontext(sys.stdout.buffer) if output is None else output.open("wb") as out:
            yield out
        return
    unfinished = output.with_name(output.name + ".unfinished")
    try:
        unfinished.unlink(missing_ok=True)  # a left-over may belong to others, or be readable by them
        with open(unfinished, "xb", opener=private_opener) as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        unfinished.replace(output)
    finally:
        unfinished.unlink(missing_ok=True)
