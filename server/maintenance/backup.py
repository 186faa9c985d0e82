"""Backups: every table in one compressed file, which restores into a database of either kind.

The file is one zstd frame with checksum, of msgpack messages, each after its length (4 bytes, big-endian):
a head, then for each table its columns and its rows in portions, at the end the counts.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import zstandard
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DataError, IntegrityError, InterfaceError, ProgrammingError

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
from holter.server.store import StoreLockedError
from holter.server.store.file_lock import exclusive_access

FORMAT = 1
READ_BYTES = 1 << 18
_LENGTH = struct.Struct(">I")
_DAMAGE = (
    *(zstandard.ZstdError, msgspec.MsgspecError, EOFError, LookupError, TypeError),
    *(DataError, IntegrityError, InterfaceError, ProgrammingError),
)


class BackupError(ValueError):
    """A backup cannot be written, read, or restored here."""


def back_up(engine: Engine, path: Path, *, told: Told = lambda _: None) -> int:
    """Write everything as of one moment; returns the number of rows. A server may run meanwhile.

    Raises BackupError where the file exists, or there is nothing to back up.
    """
    if path.exists():
        raise BackupError(f"{path} exists already: choose another name")
    unfinished = path.with_name(path.name + ".unfinished")
    try:
        with reading(engine) as connection, unfinished.open("wb") as raw:
            parameters = zstandard.ZstdCompressionParameters.from_level(3, write_checksum=1)
            packing = zstandard.ZstdCompressor(compression_params=parameters)
            with packing.stream_writer(raw, closefd=False) as out:
                rows = _write(connection, out, told)
            raw.flush()
            os.fsync(raw.fileno())  # a file of this name is whole, also after a power failure
        unfinished.rename(path)
    except OSError as error:
        raise BackupError(f"cannot write {path}: {error.strerror}") from error
    finally:
        unfinished.unlink(missing_ok=True)
    return rows


def _write(connection: Connection, out: Any, told: Told) -> int:
    revision = revision_of(connection)
    if revision is None:
        raise BackupError("this database has no tables of Holter: nothing to back up")
    _send(out, {"holter_backup": FORMAT, "revision": revision})
    counts = {}
    for table in tables_of(connection):
        name, columns = str(table.name), [str(column.name) for column in table.columns]
        _send(out, {"table": name, "columns": columns})
        counts[name] = 0
        for portion in rows_of(connection, table):
            _send(out, {"rows": [list(row) for row in portion]})
            counts[name] += len(portion)
            told(sum(counts.values()))
    _send(out, {"counts": counts})
    return sum(counts.values())


def restore(engine: Engine, path: Path, *, told: Told = lambda _: None) -> int:
    """Read a backup into a database without runs, and bring it to this version; returns the number of rows.

    All of it or nothing. Raises BackupError where the file is not whole, or the database is not empty.
    """
    try:
        with path.open("rb") as raw:
            messages = _receive(raw)
            head = _head(messages)
            if head.get("holter_backup") != FORMAT:
                raise BackupError(f"{path} is no backup that this version or an earlier one has written")
            with exclusive_access(engine):
                make_empty(engine, head["revision"])
                with writing(engine) as connection:
                    rows = _read(connection, messages, told)
    except StoreLockedError as error:
        raise BackupError(str(error)) from error
    except NotEmptyError as error:
        raise BackupError(f"{error}: restore into a new one") from error
    except NewerTablesError as error:
        raise BackupError(f"{path} comes from a {error}") from error
    except OSError as error:
        raise BackupError(f"cannot read {path}: {error.strerror}") from error
    except _DAMAGE as error:
        raise BackupError(f"{path} is damaged, nothing was restored: {error}") from error
    upgrade(engine)
    return rows


def _head(messages: Iterator[dict[str, Any]]) -> dict[str, Any]:
    """What a backup begins with; nothing where it is none."""
    try:
        return next(messages, {})
    except _DAMAGE:
        return {}


def _read(connection: Connection, messages: Iterator[dict[str, Any]], told: Told) -> int:
    tables = {str(table.name): table for table in tables_of(connection)}
    counts = dict.fromkeys(tables, 0)
    expected: dict[str, int] | None = None
    name, columns = "", list[str]()
    for message in messages:
        if "table" in message:
            name, columns = message["table"], message["columns"]
        elif "rows" in message:
            rows = [dict(zip(columns, row, strict=True)) for row in message["rows"]]
            insert_rows(connection, tables[name], rows)
            counts[name] += len(rows)
            told(sum(counts.values()))
        else:
            expected = message["counts"]
    if counts != expected:
        raise EOFError("its counts do not hold")
    continue_numbering(connection, tables.values())
    return sum(counts.values())


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
