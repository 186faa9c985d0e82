"""Imports files into the store: exported runs and runs of other trackers, each exactly once; dry runs."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import msgspec
import numpy as np
from sqlalchemy import Connection
from sqlalchemy.exc import StatementError

from holter.server.database import unavailable_reason, writing
from holter.server.import_export.importer import ImportContext, ImportedRun, ImportProgress, open_import
from holter.server.import_export.long_table import batches_by_attempt
from holter.server.import_export.point_rows import PointRows
from holter.server.import_export.read_file import FileContent, RunMetadata, damage_as_value_error, read_file
from holter.server.import_export.run_metadata import restore_metadata
from holter.server.import_export.tracker_run import TrackerRunInfo, import_tracker_run
from holter.server.import_export.validation import validate_metadata
from holter.server.maintenance.deletion import delete_run, purge
from holter.server.store import StoreError
from holter.server.store.check import check_attempts

_PROJECT = "default"


class ImportRefusedError(ValueError):
    """A file cannot be imported; the message says why."""


def import_file(
    context: ImportContext, file: BinaryIO, name: str, *, project: str | None = None, run: str | None = None
) -> Generator[ImportProgress, None, None]:
    """Store the content of a file called `name` as a run, named by the arguments or the file.

    Yields its progress; the last one is `whole`. A file is identified by its content: a second import changes
    nothing, an interrupted one is continued, and nothing remains of an unreadable file. Raises
    ImportRefusedError where the file is unreadable, or another run has that name; SQLAlchemyError where the
    database is unavailable.
    """
    try:
        content = _digest(file)
        metadata, tracker_run, rows = context.read(file)
        with damage_as_value_error():
            metadata = None if metadata is None else validate_metadata(metadata)
        rows = _require_points(rows)
        if tracker_run is not None:
            yield from import_tracker_run(
                context, TrackerRunInfo.from_json(tracker_run), rows, project=project
            )
            return
        project = project or (_PROJECT if metadata is None else metadata["project"])
        run = run or (name.partition(".")[0] if metadata is None else metadata["name"])
        yield from _import_run(context, metadata, rows, content, (project, run))
    except ImportRefusedError as error:
        raise ImportRefusedError(f"{name}: {error}") from error
    except OSError as error:
        raise ImportRefusedError(f"{name}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        reason = "not a file of holter export or another tracker (decompress it first)"
        raise ImportRefusedError(f"{name}: {reason}") from error
    except StatementError as error:
        if unavailable_reason(error):
            raise
        reason = str(error.orig or error).strip().splitlines()[0]
        raise ImportRefusedError(f"{name}: the database cannot store its content: {reason}") from error
    except (StoreError, ValueError, OverflowError, LookupError, TypeError, msgspec.MsgspecError) as error:
        raise ImportRefusedError(f"{name} cannot be imported: {error}") from error


def _digest(file: BinaryIO) -> str:
    """Return a digest that identifies the file's content."""
    file.seek(0)
    digest = blake2b(digest_size=16)
    while part := file.read(1 << 20):
        digest.update(part)
    return digest.hexdigest()


def _require_points(rows: Iterator[PointRows]) -> Iterator[PointRows]:
    """Return the rows; raise ImportRefusedError before a run is created if there are none."""
    first = next(rows, None)
    if first is None:
        raise ImportRefusedError("it contains no points")
    return chain([first], rows)


def _import_run(
    context: ImportContext,
    metadata: RunMetadata | None,
    rows: Iterator[PointRows],
    content: str,
    names: tuple[str, str],
) -> Iterator[ImportProgress]:
    run = open_import(context, *names, content)
    if run is None:
        raise ImportRefusedError(f"a run {'/'.join(names)} exists already: give it another name with --run")
    if run.has_part("whole"):
        yield run.progress(0, whole=True, duplicate=True)
        return
    with context.exclude(run.id):
        try:
            points = yield from _store_rows(run, rows)
            run.compact()
            with writing(context.engine) as connection:
                if metadata is not None:
                    restore_metadata(connection, run.id, metadata, context.clock())
                    _check_attempts(connection, run.id)
                run.mark_complete(connection, "whole")
        except (StatementError, ValueError, LookupError, TypeError, OverflowError) as error:
            if unavailable_reason(error) is None:  # the file is at fault: it will never be complete
                delete_run(context.engine, run.id, context.clock())
                purge(context.engine)
            raise
    yield run.progress(points, whole=True)


def _check_attempts(connection: Connection, run_id: int) -> None:
    """Check the metadata against the points: another program may have removed points from the file."""
    if (problem := next(check_attempts(connection, run_id), None)) is not None:
        raise ImportRefusedError(
            f"its metadata does not match its points ({problem}): if another program has modified an export, "
            "remove `holter` from the schema's metadata"
        )


def _store_rows(run: ImportedRun, rows: Iterator[PointRows]) -> Generator[ImportProgress, None, int]:
    points = 0
    for index, (attempt, batch) in enumerate(
        part for portion in rows for part in batches_by_attempt(portion)
    ):
        receipt = run.store_batch(batch, str(index))
        if receipt.attempt != attempt and not receipt.duplicate:
            raise ImportRefusedError(f"attempt {attempt} would become attempt {receipt.attempt}")
        points += batch.points
        yield run.progress(points)
    return points


@dataclass(frozen=True, kw_only=True, slots=True)
class FileSummary:
    """The content of a file. `project` and `run` are None in a file of points only."""

    project: str | None
    run: str | None
    points: int
    series: int
    attempts: int
    incidents: int


def inspect_file(path: Path, *, read: Callable[[BinaryIO], FileContent] = read_file) -> FileSummary:
    """Read a file completely without storing anything; `read` reads it here, or in another process.

    Raises ValueError, MissingPyarrowError, OSError.
    """
    keys, attempts, points = set(), set(), 0
    with path.open("rb") as file:
        metadata, tracker_run, rows = read(file)
        with damage_as_value_error():
            metadata = None if metadata is None else validate_metadata(metadata)
        for portion in rows:
            points += len(portion.step)
            keys.update(portion.keys)
            attempts.update(np.unique(portion.attempt).tolist())
    if not points:
        raise ValueError("it contains no points")
    names = tracker_run or metadata or {}
    return FileSummary(
        project=names.get("project"),
        run=names.get("name") or names.get("run"),
        points=points,
        series=len(keys),
        attempts=len(attempts),
        incidents=len(metadata["incidents"]) if metadata else 0,
    )
