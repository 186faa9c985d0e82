"""Moves everything into another database, of either kind, and proves that it has arrived."""

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
    Told,
    continue_numbering,
    insert_rows,
    make_empty,
    revision_of,
    rows_of,
    tables_of,
)
from holter.server.migrate import upgrade
from holter.server.models import RunRecord
from holter.server.store import Store, StoreLockedError
from holter.server.store.file_lock import exclusive_access


class MoveError(ValueError):
    """Nothing was moved, and why."""


@dataclass(slots=True)
class Sum:
    """What a table holds: how many rows, and a checksum of them in any order."""

    rows: int = 0
    checksum: int = 0

    def add(self, row: tuple[object, ...]) -> None:
        """Take in a row."""
        digest = blake2b(msgspec.msgpack.encode(row), digest_size=16).digest()
        self.checksum = (self.checksum + int.from_bytes(digest, "big")) % 2**128
        self.rows += 1


def move(source: Engine, target: Engine, *, told: Told = lambda _: None) -> dict[str, int]:
    """Copy every table into an empty database in one transaction; the number of rows by table.

    The source is read as of one moment and stays as it is. Rows, checksums of all rows, and everything
    that `holter db check` proves are compared on both sides. Raises MoveError: then nothing was moved.
    """
    with ExitStack() as held:
        try:
            held.enter_context(exclusive_access(source))
            held.enter_context(exclusive_access(target))
            with reading(source) as origin:
                revision = revision_of(origin)
                if revision is None:
                    raise MoveError("this database has no tables of Holter: nothing to move")
                make_empty(target, revision)
                before = _progress(origin)
                with writing(target) as there:
                    sums = _copy(origin, there, told)
                    _compare(sums, there, told)
                    with reading(source) as now:
                        if _progress(now) != before:
                            raise MoveError(
                                "somebody has written here meanwhile: stop the servers, and move again"
                            )
        except StoreLockedError as error:
            raise MoveError(str(error)) from error
        except NotEmptyError as error:
            raise MoveError(f"{error}: move into a new one") from error
        except NewerTablesError as error:
            raise MoveError(f"this database comes from a {error}") from error
        upgrade(target, sole=True)
        if problems := Store(target).check():
            raise MoveError("it has arrived as it was, and it was damaged: " + "; ".join(problems[:5]))
    return {name: held.rows for name, held in sums.items()}


def _copy(origin: Connection, there: Connection, told: Told) -> dict[str, Sum]:
    targets = {str(table.name): table for table in tables_of(there)}
    sums = {}
    for table in tables_of(origin):
        name = str(table.name)
        sums[name] = Sum()
        for portion in rows_of(origin, table):
            for row in portion:
                sums[name].add(tuple(row))
            insert_rows(there, targets[name], (row._asdict() for row in portion))
            told(sum(one.rows for one in sums.values()))
    continue_numbering(there, targets.values())
    return sums


def _compare(sums: dict[str, Sum], there: Connection, told: Told) -> None:
    found: dict[str, Sum] = {}
    for table in tables_of(there):
        found[str(table.name)] = _sum(there, table)
        told(sum(one.rows for one in (*sums.values(), *found.values())))  # each is seen twice
    wrong = [name for name in found if found[name] != sums.get(name)]
    if wrong:
        raise MoveError(f"what arrived is not what was sent: {', '.join(wrong)}")


def _sum(connection: Connection, table: Table) -> Sum:
    held = Sum()
    for portion in rows_of(connection, table):
        for row in portion:
            held.add(tuple(row))
    return held


def _progress(connection: Connection) -> tuple[object, ...]:
    """What changes with every batch that comes in."""
    query = select(func.count(), func.sum(RunRecord.revision), func.max(RunRecord.updated_at))
    return tuple(connection.execute(query.select_from(RunRecord)).one())
