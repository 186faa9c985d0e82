"""Backups: every table in one compressed file, which restores into a database of either kind.

The file is one zstd frame with checksum, of msgpack messages, each after its length (4 bytes, big-endian):
a head, then for each table its columns and its rows in portions, at the end the counts.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import zstandard
from alembic.script.revision import ResolutionError
from alembic.util import CommandError
from sqlalchemy import Connection, Engine, MetaData, Table, func, inspect, select, text
from sqlalchemy.exc import DataError, IntegrityError, InterfaceError, ProgrammingError

from holter.server.database import reading, writing
from holter.server.migrate import upgrade

FORMAT = 1
PORTION = 200
READ_BYTES = 1 << 18
_LENGTH = struct.Struct(">I")
_VERSIONS = "alembic_version"
_DAMAGE = (
    *(zstandard.ZstdError, msgspec.MsgspecError, EOFError, LookupError, TypeError),
    *(DataError, IntegrityError, InterfaceError, ProgrammingError),
)


class BackupError(ValueError):
    """A backup cannot be written, read, or restored here."""


def back_up(engine: Engine, path: Path) -> int:
    """Write everything as of one moment; returns the number of rows. A server may run meanwhile.

    Raises BackupError where the file exists, or there is nothing to back up.
    """
    if path.exists():
        raise BackupError(f"{path} exists already: choose another name")
    unfinished = path.with_name(path.name + ".unfinished")
    try:
        with reading(engine) as connection, unfinished.open("wb") as raw:
            parameters = zstandard.ZstdCompressionParameters.from_level(3, write_checksum=1)
            with zstandard.ZstdCompressor(compression_params=parameters).stream_writer(raw) as out:
                rows = _write(connection, out)
        unfinished.rename(path)
    except OSError as error:
        raise BackupError(f"cannot write {path}: {error.strerror}") from error
    finally:
        unfinished.unlink(missing_ok=True)
    return rows


def _write(connection: Connection, out: Any) -> int:
    if not inspect(connection).has_table(_VERSIONS):
        raise BackupError("this database has no tables of Holter: nothing to back up")
    revision = connection.scalar(text(f"SELECT version_num FROM {_VERSIONS}"))
    _send(out, {"holter_backup": FORMAT, "revision": revision})
    counts = {}
    for table in _tables(connection):
        name, columns = str(table.name), [str(column.name) for column in table.columns]
        _send(out, {"table": name, "columns": columns})
        counts[name] = 0
        result = connection.execution_options(yield_per=PORTION).execute(select(table))
        for portion in result.partitions(PORTION):
            _send(out, {"rows": [list(row) for row in portion]})
            counts[name] += len(portion)
    _send(out, {"counts": counts})
    return sum(counts.values())


def restore(engine: Engine, path: Path) -> int:
    """Read a backup into a database without runs, and bring it to this version; returns the number of rows.

    All of it or nothing. Raises BackupError where the file is not whole, or the database is not empty.
    """
    try:
        with path.open("rb") as raw:
            messages = _receive(raw)
            head = next(messages, {})
            if head.get("holter_backup") != FORMAT:
                raise BackupError(f"{path} is not a backup of this version or an earlier one")
            _prepare(engine, head["revision"], path)
            with writing(engine) as connection:
                rows = _read(connection, messages)
    except OSError as error:
        raise BackupError(f"cannot read {path}: {error.strerror}") from error
    except _DAMAGE as error:
        raise BackupError(f"{path} is damaged, nothing was restored: {error}") from error
    upgrade(engine)
    return rows


def _prepare(engine: Engine, revision: str, path: Path) -> None:
    if inspect(engine).has_table(_VERSIONS):
        with reading(engine) as connection:
            tables = _tables(connection)
            filled = [t.name for t in tables if connection.scalar(select(func.count()).select_from(t))]
        if filled:
            raise BackupError(f"the database is not empty ({', '.join(filled)}): restore into a new one")
    try:
        upgrade(engine, revision)
    except (CommandError, ResolutionError) as error:
        raise BackupError(f"{path} comes from a newer Holter (tables {revision}): update first") from error


def _read(connection: Connection, messages: Iterator[dict[str, Any]]) -> int:
    tables = {str(table.name): table for table in _tables(connection)}
    counts = dict.fromkeys(tables, 0)
    expected: dict[str, int] | None = None
    name, columns = "", list[str]()
    for message in messages:
        if "table" in message:
            name, columns = message["table"], message["columns"]
        elif "rows" in message:
            rows = [dict(zip(columns, row, strict=True)) for row in message["rows"]]
            connection.execute(tables[name].insert(), rows)
            counts[name] += len(rows)
        else:
            expected = message["counts"]
    if counts != expected:
        raise EOFError("its counts do not hold")
    _continue_numbering(connection, tables.values())
    return sum(counts.values())


def _continue_numbering(connection: Connection, tables: Any) -> None:
    # rows that bring their own ids do not move PostgreSQL's counters
    if connection.dialect.name != "postgresql":
        return
    for table in tables:
        if "id" in table.columns:
            largest = select(func.coalesce(func.max(table.c.id), 0) + 1).scalar_subquery()
            sequence = func.pg_get_serial_sequence(table.name, "id")
            connection.execute(select(func.setval(sequence, largest, False)))


def _tables(connection: Connection) -> list[Table]:
    metadata = MetaData()
    metadata.reflect(connection)
    return [table for table in metadata.sorted_tables if table.name != _VERSIONS]


def _send(out: BinaryIO, message: dict[str, Any]) -> None:
    packed = msgspec.msgpack.encode(message)
    out.write(_LENGTH.pack(len(packed)) + packed)


def _receive(raw: BinaryIO) -> Iterator[dict[str, Any]]:
    unzip = zstandard.ZstdDecompressor().decompressobj()
    waiting = bytearray()
    while piece := raw.read(READ_BYTES):
        waiting += unzip.decompress(piece)
        while len(waiting) >= 4 and len(waiting) >= (end := 4 + _LENGTH.unpack_from(waiting)[0]):
            yield msgspec.msgpack.decode(waiting[4:end], type=dict[str, Any])
            del waiting[:end]
    if waiting or not unzip.eof:
        raise EOFError("it ends too early")
