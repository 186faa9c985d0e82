"""Backups: every table in one compressed file, which restores into a database of either kind.

The file is one zstd frame with checksum, of msgpack messages, each after its length (4 bytes, big-endian): a
header, then for each table its columns and its rows in batches, at the end the counts.
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

from holter.private_files import private_opener
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
from holter.server.models import Token
from holter.server.store import StoreLockedError
from holter.server.store.file_lock import exclusive_access

FORMAT = 1
READ_BYTES = 1 << 18
_OMITTED_TABLES = frozenset({Token.__tablename__})
"""Tables whose rows are not written: who reads a backup learns nothing about credentials. Older backups have
them, and they are restored from there."""
_LENGTH = struct.Struct(">I")
_DAMAGE = (
    *(zstandard.ZstdError, msgspec.MsgspecError, EOFError, LookupError, TypeError),
    *(DataError, IntegrityError, InterfaceError, ProgrammingError),
)


class BackupError(ValueError):
    """A backup cannot be written, read, or restored."""


def back_up(engine: Engine, path: Path, *, on_progress: ProgressCallback = lambda _: None) -> int:
    """Write a snapshot of everything but access tokens; returns the number of rows.

    A server may run meanwhile.
    Raises BackupError where the file exists, or there is nothing to back up.
    """
    if path.exists():
        raise BackupError(f"{path} exists already: choose another name")
    unfinished = path.with_name(path.name + ".unfinished")
    try:
        unfinished.unlink(missing_ok=True)  # a left-over may belong to others, or be readable by them
        with reading(engine) as connection, open(unfinished, "xb", opener=private_opener) as raw:
            parameters = zstandard.ZstdCompressionParameters.from_level(3, write_checksum=1)
            compressor = zstandard.ZstdCompressor(compression_params=parameters)
            with compressor.stream_writer(raw, closefd=False) as out:
                rows = _write(connection, out, on_progress)
            raw.flush()
            os.fsync(raw.fileno())  # a file of this name is complete, also after a power failure
        unfinished.rename(path)
    except OSError as error:
        raise BackupError(f"cannot write {path}: {error.strerror}") from error
    finally:
        unfinished.unlink(missing_ok=True)
    return rows


def _write(connection: Connection, out: Any, on_progress: ProgressCallback) -> int:
    revision = database_revision(connection)
    if revision is None:
        raise BackupError("this database has no tables of Holter: nothing to back up")
    _write_message(out, {"holter_backup": FORMAT, "revision": revision})
    counts = {}
    for table in reflect_tables(connection):
        name, columns = str(table.name), [str(column.name) for column in table.columns]
        _write_message(out, {"table": name, "columns": columns})
        counts[name] = 0
        for batch in read_rows(connection, table) if name not in _OMITTED_TABLES else ():
            _write_message(out, {"rows": [list(row) for row in batch]})
            counts[name] += len(batch)
            on_progress(sum(counts.values()))
    _write_message(out, {"counts": counts})
    return sum(counts.values())


def restore(engine: Engine, path: Path, *, on_progress: ProgressCallback = lambda _: None) -> int:
    """Restore a backup into an empty database, and upgrade it; returns the number of rows.

    Restores everything or nothing. Raises BackupError where the file is incomplete, or the database is not
    empty.
    """
    try:
        with path.open("rb") as raw:
            messages = _read_messages(raw)
            header = _read_header(messages)
            if header.get("holter_backup") != FORMAT:
                raise BackupError(f"{path} is no backup written by this version or an earlier one")
            with exclusive_access(engine):
                create_empty_tables(engine, header["revision"])
                with writing(engine) as connection:
                    rows = _restore_rows(connection, messages, on_progress)
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


def _read_header(messages: Iterator[dict[str, Any]]) -> dict[str, Any]:
    """Return the first message of a backup, empty for other files."""
    try:
        return next(messages, {})
    except _DAMAGE:
        return {}


def _restore_rows(
    connection: Connection, messages: Iterator[dict[str, Any]], on_progress: ProgressCallback
) -> int:
    tables = {str(table.name): table for table in reflect_tables(connection)}
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
            on_progress(sum(counts.values()))
        else:
            expected = message["counts"]
    if counts != expected:
        raise EOFError("row counts differ")
    reset_sequences(connection, tables.values())
    return sum(counts.values())


def _write_message(out: BinaryIO, message: dict[str, Any]) -> None:
    packed = msgspec.msgpack.encode(message)
    out.write(_LENGTH.pack(len(packed)) + packed)


def _read_messages(raw: BinaryIO) -> Iterator[dict[str, Any]]:
    decompressor = zstandard.ZstdDecompressor().decompressobj()
    buffer = bytearray()
    while data := raw.read(READ_BYTES):
        buffer += decompressor.decompress(data)
        while len(buffer) >= 4 and len(buffer) >= (end := 4 + _LENGTH.unpack_from(buffer)[0]):
            yield msgspec.msgpack.decode(buffer[4:end], type=dict[str, Any])
            del buffer[:end]
    if buffer or not decompressor.eof:
        raise EOFError("the file is truncated")
