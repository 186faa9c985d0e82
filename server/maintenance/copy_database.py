"""Copies everything into another database, of either kind, and verifies the copy."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import blake2b

import msgspec
from sqlalchemy import Connection, Engine, Table, func, select

from holter.server.database import reading, writing
from holter.server.maintenance.table_dump import (
    NewerTablesError,
    NotEmptyError,
    ProgressCallback,
    create_empty_tables,
    database_revision,
    insert_rows,
    read_rows,
    reflect_tables,
    reset_sequences,
)
from holter.server.migrate import upgrade
from holter.server.models import RunRecord
from holter.server.store import Store, StoreLockedError
from holter.server.store.file_lock import exclusive_access


class CopyError(ValueError):
    """Nothing was copied; the message says why."""


@dataclass(slots=True)
class TableChecksum:
    """Number of rows of a table, and an order-independent checksum."""

    rows: int = 0
    checksum: int = 0

    def add(self, row: tuple[object, ...]) -> None:
        """Include a row."""
        digest = blake2b(msgspec.msgpack.encode(row), digest_size=16).digest()
        self.checksum = (self.checksum + int.from_bytes(digest, "big")) % 2**128
        self.rows += 1


def copy_database(
    source: Engine, target: Engine, *, on_progress: ProgressCallback = lambda _: None
) -> dict[str, int]:
    """Copy every table into an empty database in one transaction; returns the number of rows by table.

    The source is read as one snapshot and is not changed. Row counts, checksums and everything that `holter
    db check` verifies are compared on both sides. Raises CopyError; the target is unchanged then.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(exclusive_access(source))
            stack.enter_context(exclusive_access(target))
            with reading(source) as origin:
                revision = database_revision(origin)
                if revision is None:
                    raise CopyError("this database has no tables of Holter: nothing to move")
                create_empty_tables(target, revision)
                progress_before = _write_progress(origin)
                with writing(target) as target_connection:
                    checksums = _copy(origin, target_connection, on_progress)
                    _compare(checksums, target_connection, on_progress)
                    with reading(source) as later_connection:
                        if _write_progress(later_connection) != progress_before:
                            raise CopyError("points were written meanwhile: stop the servers, and move again")
        except StoreLockedError as error:
            raise CopyError(str(error)) from error
        except NotEmptyError as error:
            raise CopyError(f"{error}: move into a new one") from error
        except NewerTablesError as error:
            raise CopyError(f"this database comes from a {error}") from error
        upgrade(target, exclusive=True)
        if problems := Store(target).check():
            raise CopyError("the copy is exact, but the source was damaged: " + "; ".join(problems[:5]))
    return {table_name: stack.rows for table_name, stack in checksums.items()}


def _copy(origin: Connection, target: Connection, on_progress: ProgressCallback) -> dict[str, TableChecksum]:
    targets = {str(table.name): table for table in reflect_tables(target)}
    checksums = {}
    for table in reflect_tables(origin):
        name = str(table.name)
        checksums[name] = TableChecksum()
        for batch in read_rows(origin, table):
            for row in batch:
                checksums[name].add(tuple(row))
            insert_rows(target, targets[name], (row._asdict() for row in batch))
            on_progress(sum(checksum.rows for checksum in checksums.values()))
    reset_sequences(target, targets.values())
    return checksums


def _compare(expected: dict[str, TableChecksum], target: Connection, on_progress: ProgressCallback) -> None:
    actual: dict[str, TableChecksum] = {}
    for table in reflect_tables(target):
        actual[str(table.name)] = _table_checksum(target, table)
        # every row is read on both sides
        on_progress(sum(one.rows for one in (*expected.values(), *actual.values())))
    differing = [name for name in actual if actual[name] != expected.get(name)]
    if differing:
        raise CopyError(f"the copy differs from the source:  {', '.join(differing)}")


def _table_checksum(connection: Connection, table: Table) -> TableChecksum:
    checksum = TableChecksum()
    for batch in read_rows(connection, table):
        for row in batch:
            checksum.add(tuple(row))
    return checksum


def _write_progress(connection: Connection) -> tuple[object, ...]:
    """Return values that change with every accepted batch."""
    query = select(func.count(), func.sum(RunRecord.revision), func.max(RunRecord.updated_at))
    return tuple(connection.execute(query.select_from(RunRecord)).one())
