"""`holter export`: a run as a file, exactly as it is stored."""

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

from holter.cli.commands.db import add_database_flags, on_database
from holter.cli.commands.serve import refuse
from holter.cli.report.progress import progress
from holter.server.database import reading
from holter.server.import_export import FORMATS, MissingPyarrowError, open_export
from holter.server.maintenance.find_run import RunLookupError, find_run
from holter.server.store.read.snapshot import RunSnapshot
from holter.types import SeriesKey

_BINARY = {"parquet"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which run, which of its series, in which form, where to."""
    parser.add_argument("run", metavar="RUN", help="a run's id, its name, or PROJECT/NAME")
    parser.add_argument("--format", choices=FORMATS, help="default: by the name of FILE, else csv")
    parser.add_argument("--output", type=Path, metavar="FILE", help="default: standard output")
    parser.add_argument("--metric", metavar="PATTERN", default="*", help="only these metrics, e.g. 'train/*'")
    parser.add_argument("--no-incidents", action="store_true", help="leave out what was found in it")
    add_database_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    """Every point, NaN and ghost branches included. Exit code 1: no such run, or several of that name."""
    form = arguments.format or _by_name(arguments.output)
    if form in _BINARY and arguments.output is None and sys.stdout.isatty():
        return refuse(f"{form} is nothing to look at: say where to with --output FILE")
    with on_database(arguments) as (engine, _):
        try:
            found = find_run(engine, arguments.run)
            keys = _keys(engine, found.id, arguments.metric)
            if not keys and arguments.metric != "*":
                return refuse(f"{arguments.run} has no metric like {arguments.metric!r}")
            with (
                open_export(engine, found.id, form, only=keys, incidents=not arguments.no_incidents) as one,
                progress(f"{found.project}/{found.name}", "bytes") as written,
            ):
                _write(arguments.output, one.content, written)
        except (RunLookupError, MissingPyarrowError) as error:
            return refuse(str(error))
        except BrokenPipeError:
            raise  # the reader has seen enough
        except OSError as error:
            return refuse(f"{arguments.output or 'standard output'}: {error.strerror}")
    return 0


def _by_name(output: Path | None) -> str:
    ending = "" if output is None else output.suffix.removeprefix(".")
    return ending if ending in FORMATS else "csv"


def _keys(engine: Engine, run_id: int, pattern: str) -> list[SeriesKey]:
    with reading(engine) as connection:
        keys = RunSnapshot(connection, run_id).series().values()
    return [key for key in keys if fnmatchcase(key.metric, pattern)]


def _write(output: Path | None, content: Iterable[bytes], written: Callable[[float], None]) -> None:
    with _opened(output) as out:
        size = 0
        for part in content:
            out.write(part)
            size += len(part)
            written(size)


@contextmanager
def _opened(output: Path | None) -> Iterator[BinaryIO]:
    """Where the file goes. It has its name once it is whole; what had that name before stays until then."""
    if output is None or (output.exists() and not output.is_file()):  # a pipe, a device
        with nullcontext(sys.stdout.buffer) if output is None else output.open("wb") as out:
            yield out
        return
    unfinished = output.with_name(output.name + ".unfinished")
    try:
        with unfinished.open("wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        unfinished.replace(output)
    finally:
        unfinished.unlink(missing_ok=True)
