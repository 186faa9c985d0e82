"""Imports files into the store: exported runs, and runs that another tracker keeps, each once."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from hashlib import blake2b
from itertools import chain
from typing import BinaryIO

import msgspec
from sqlalchemy import Connection
from sqlalchemy.exc import StatementError

from holter.server.database import unavailable_reason, writing
from holter.server.import_export.importer import Arriving, Imported, Into, arrive
from holter.server.import_export.long_table import Rows, batches
from holter.server.import_export.read_file import Head, read_file
from holter.server.import_export.run_metadata import restore
from holter.server.import_export.tracker_run import Kept, take_kept
from holter.server.import_export.validation import checked
from holter.server.maintenance.deletion import delete_run, purge
from holter.server.store import StoreError
from holter.server.store.check import check_attempts

_PROJECT = "default"


class ImportRefusedError(ValueError):
    """A file cannot be imported, and why."""


def import_file(
    into: Into, file: BinaryIO, name: str, *, project: str | None = None, run: str | None = None
) -> Generator[Imported, None, None]:
    """Store what a file called `name` holds as a run, named as the file says or as it is told.

    Yields how far it has come; the last one is `whole`. A file is known by its content: a second import
    changes nothing, one that was cut short goes on, and of one that cannot be read nothing stays. Raises
    ImportRefusedError where the file cannot be read, or another run has that name; SQLAlchemyError where the
    database is away.
    """
    try:
        content = _digest(file)
        about, kept, rows = read_file(file)
        about = None if about is None else checked(about)
        rows = _begun(rows)
        if kept is not None:
            yield from take_kept(into, Kept.from_json(kept), rows, project=project)
            return
        project = project or (_PROJECT if about is None else about["project"])
        run = run or (name.partition(".")[0] if about is None else about["name"])
        yield from _take(into, about, rows, content, (project, run))
    except ImportRefusedError as error:
        raise ImportRefusedError(f"{name}: {error}") from error
    except OSError as error:
        raise ImportRefusedError(f"{name}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        reason = (
            "it is no file of holter export, nor of another tracker (packed ones are to be unpacked first)"
        )
        raise ImportRefusedError(f"{name}: {reason}") from error
    except StatementError as error:
        if unavailable_reason(error):
            raise
        said = str(error.orig or error).strip().splitlines()[0]
        raise ImportRefusedError(f"{name}: the database cannot keep what it says: {said}") from error
    except (StoreError, ValueError, OverflowError, LookupError, TypeError, msgspec.MsgspecError) as error:
        raise ImportRefusedError(f"{name} cannot be imported: {error}") from error


def _digest(file: BinaryIO) -> str:
    """What recognises a file's content."""
    file.seek(0)
    found = blake2b(digest_size=16)
    while part := file.read(1 << 20):
        found.update(part)
    return found.hexdigest()


def _begun(rows: Iterator[Rows]) -> Iterator[Rows]:
    """The same rows. What is no such file at all is found out before a run is made of it."""
    first = next(rows, None)
    if first is None:
        raise ImportRefusedError("it holds no points")
    return chain([first], rows)


def _take(
    into: Into, about: Head | None, rows: Iterator[Rows], content: str, place: tuple[str, str]
) -> Iterator[Imported]:
    home = arrive(into, *place, content)
    if home is None:
        raise ImportRefusedError(f"there is a run {'/'.join(place)} already: give it another name with --run")
    if home.had("whole"):
        yield home.so_far(0, whole=True, duplicate=True)
        return
    with into.apart(home.id):
        try:
            points = yield from _store(home, rows)
            home.compact()
            with writing(into.engine) as connection:
                if about is not None:
                    restore(connection, home.id, about, into.clock())
                    _check_attempts(connection, home.id)
                home.whole(connection, "whole")
        except (StatementError, ValueError, LookupError, TypeError, OverflowError) as error:
            if unavailable_reason(error) is None:  # it is the file's fault: it will never be whole
                delete_run(into.engine, home.id, into.clock())
                purge(into.engine)
            raise
    yield home.so_far(points, whole=True)


def _check_attempts(connection: Connection, run_id: int) -> None:
    """Other programs keep what a file says of its run when they take points out of it."""
    if (problem := next(check_attempts(connection, run_id), None)) is not None:
        raise ImportRefusedError(
            f"what it says of its attempts does not fit its points ({problem}): if another program has made "
            "it of an export, take `holter` out of its schema's metadata"
        )


def _store(home: Arriving, rows: Iterator[Rows]) -> Generator[Imported, None, int]:
    points = 0
    for index, (attempt, batch) in enumerate(part for portion in rows for part in batches(portion)):
        receipt = home.take(batch, str(index))
        if receipt.attempt != attempt and not receipt.duplicate:
            raise ImportRefusedError(f"attempt {attempt} would become attempt {receipt.attempt}")
        points += batch.points
        yield home.so_far(points)
    return points
