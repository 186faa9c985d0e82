"""Damages the inside of structured files, and corrects lengths and checksums so that readers get there."""

from __future__ import annotations

import gzip
import json
import pickle
import random
import sqlite3
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from io import BytesIO
from typing import Any

import pyarrow as pa
from google_crc32c import value as crc32c
from pyarrow import parquet

from holter.ingest.wandb.leveldb import BLOCK, MAGIC, walk_records
from tests.support.fuzzing.mutations import ODD_TEXTS, mutate

_ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, float("nan"), float("inf"), -float("inf"), 2**31, 2**63 - 1, 2**63,
    -(2**63), 2**64, 10**400, 1e308, -1e-320, "", "nan", "x" * 3000, "\ud800", "\x00", "é", "2024-99-99",
    [], {}, [[]], {"": None}, [None], {"a": {"b": {"c": 1}}}, [1, "2", 3.0, None, []],
    "1e400", "9" * 30, b"bytes", (1, 2),
)  # fmt: skip
_ODD_VARINTS = (0, 1, 2**7, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1)
_ODD_FLOATS = (b"\xff" * 8, b"\0" * 8, b"\0\0\0\0\0\0\xf0\x7f", b"\0\0\x80\x7f" * 2)
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def masked_crc(data: bytes) -> int:
    """The checksum that TFRecord files have."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def tf_records(content: bytes) -> list[bytes]:
    """The data of the records of an intact event file."""
    records, position = [], 0
    while position + 12 <= len(content):
        (length,) = struct.unpack_from("<Q", content, position)
        records.append(content[position + 12 : position + 12 + length])
        position += 16 + length
    return records


def tf_file(records: Sequence[bytes]) -> bytes:
    """An event file with these records and correct checksums."""
    parts = []
    for data in records:
        length = struct.pack("<Q", len(data))
        parts += [length, struct.pack("<I", masked_crc(length)), data, struct.pack("<I", masked_crc(data))]
    return b"".join(parts)


def wandb_file(records: Sequence[bytes]) -> bytes:
    """A W&B file with these records and correct checksums."""
    content = bytearray(MAGIC)
    for data in records:
        is_first = True
        while True:
            left = BLOCK - len(content) % BLOCK
            if left < 7:
                content += bytes(left)
                continue
            piece, data = data[: left - 7], data[left - 7 :]
            kind = (1 if not data else 2) if is_first else (4 if not data else 3)
            content += struct.pack("<IHB", zlib.crc32(bytes([kind]) + piece), len(piece), kind) + piece
            is_first = False
            if not data:
                break
    return bytes(content)


def damage_records(content: bytes, chance: random.Random) -> bytes:
    """An event file or a W&B file with damage within its records; checksums are correct."""
    is_wandb = content.startswith(MAGIC)
    records = (
        [frame.payload for frame in walk_records(content[len(MAGIC) :], len(MAGIC)).frames]
        if is_wandb
        else tf_records(content)
    )
    if not records:
        return content
    for _ in range(chance.choice((1, 2, 5))):
        index = chance.randrange(len(records))
        kind = chance.randrange(8)
        if kind == 0:
            records.insert(chance.randrange(len(records)), records[index])
        elif kind == 1:
            records[index] = mutate(records[index], chance, records, count=1)
        else:
            records[index] = damage_message(records[index], chance)
    return wandb_file(records) if is_wandb else tf_file(records)


def damage_message(data: bytes, chance: random.Random, depth: int = 0) -> bytes:
    """A protobuf message with one field changed, doubled or removed; lengths around it are correct."""
    fields = _fields(data)
    if not fields:
        return mutate(data, chance, [data], count=1)
    index = chance.randrange(len(fields))
    number, wire, value = fields[index]
    kind = chance.randrange(10)
    if kind == 0:
        fields.insert(index, fields[index])
    elif kind == 1:
        del fields[index]
    elif kind == 2:
        fields[index] = (chance.choice((1, 2, 3, 4, 7, 8, 9, 16, 2**29 - 1)), wire, value)
    elif wire == _BYTES and depth < 8 and kind < 9 and _fields(value):
        fields[index] = (number, wire, damage_message(value, chance, depth + 1))
    elif wire == _VARINT:
        fields[index] = (number, wire, _varint(chance.choice(_ODD_VARINTS)))
    elif wire == _BYTES:
        fields[index] = (number, wire, mutate(value, chance, [data], count=1))
    else:
        odd = chance.choice(
            (b"\xff" * 8, b"\0" * 8, b"\0\0\0\0\0\0\xf0\x7f", b"\0\0\x80\x7f" * 2, chance.randbytes(8))
        )
        fields[index] = (number, wire, odd[: 8 if wire == _FIXED64 else 4])
    return b"".join(
        _varint(number << 3 | wire) + (_varint(len(value)) if wire == _BYTES else b"") + value
        for number, wire, value in fields
    )


def _fields(data: bytes) -> list[tuple[int, int, bytes]]:
    """The fields of a protobuf message: number, wire type, encoded value; empty for what is none."""
    fields, position = [], 0
    with suppress(IndexError, ValueError):
        while position < len(data):
            tag, position = _read_varint(data, position)
            wire = tag & 7
            start = position
            if wire == _VARINT:
                _, position = _read_varint(data, position)
            elif wire == _BYTES:
                length, start = _read_varint(data, position)
                position = start + length
            else:
                position += {_FIXED64: 8, _FIXED32: 4}.get(wire, len(data))
            if position > len(data) or not tag >> 3:
                return []
            fields.append((tag >> 3, wire, data[start:position]))
        return fields
    return []


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        value |= (byte & 127) << shift
        position, shift = position + 1, shift + 7
        if byte < 128:
            return value, position
        if shift > 63:
            raise ValueError("no varint")


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    return bytes([*encoded, value])


def damage_json(value: Any, chance: random.Random) -> Any:
    """A JSON value in which one to three parts are replaced, removed, doubled or nested."""
    for _ in range(chance.choice((1, 1, 2, 3))):
        value = _damage_value(value, chance)
    return value


def _damage_value(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict) and value and chance.random() < 0.92:
        changed = dict(value)
        key = chance.choice(list(changed))
        if (kind := chance.randrange(10)) == 0:
            del changed[key]
        elif kind == 1:
            changed[chance.choice(ODD_TEXTS).decode()] = changed.pop(key)
        else:
            changed[key] = _damage_value(changed[key], chance)
        return changed
    if isinstance(value, list) and value and chance.random() < 0.92:
        changed_list = list(value)
        index = chance.randrange(len(changed_list))
        if (kind := chance.randrange(10)) == 0:
            del changed_list[index]
        elif kind == 1:
            changed_list.insert(index, changed_list[index])
        else:
            changed_list[index] = _damage_value(changed_list[index], chance)
        return changed_list
    for _ in range(0 if chance.random() < 0.95 else chance.choice((5, 100, 400))):
        value = [value] if chance.random() < 0.5 else {"a": value}
    return value if chance.random() < 0.1 else chance.choice(_ODD_VALUES)


def as_json(value: Any) -> bytes:
    """A value as JSON, as far as it can be: other values as their text."""
    with suppress(ValueError, RecursionError):
        return json.dumps(value, default=repr).encode("utf-8", "surrogatepass")
    return b"{}"


def damage_json_document(content: bytes, chance: random.Random) -> bytes | None:
    """A JSON document, or one line of JSON lines, with damage to its values; None if it is no JSON."""
    with suppress(ValueError, RecursionError):
        return as_json(damage_json(json.loads(content), chance))
    lines = content.split(b"\n")
    places = [index for index, line in enumerate(lines) if line.startswith(b"{")]
    for index in chance.sample(places, min(len(places), 2)):
        with suppress(ValueError, RecursionError):
            lines[index] = as_json(damage_json(json.loads(lines[index]), chance))
    return b"\n".join(lines) if places else None


def damage_pickle(value: Any, chance: random.Random) -> bytes:
    """A pickle of a value with damage to its parts, sometimes also to its bytes."""
    with suppress(RecursionError):
        content = pickle.dumps(damage_json(value, chance), protocol=chance.choice((0, 1, 2, 3, 4, 5)))
        return mutate(content, chance, [content], count=1) if chance.random() < 0.4 else content
    return b"."


def damage_gzip(content: bytes, chance: random.Random) -> bytes:
    """A gzip file, damaged or not, of one or several members."""
    packed = gzip.compress(content, compresslevel=chance.choice((0, 1, 9)), mtime=0)
    kind = chance.randrange(7)
    if kind == 0:
        return packed[: chance.randrange(len(packed))]
    if kind == 1:
        return mutate(packed, chance, [packed], count=1)
    if kind == 2:
        return packed + packed
    if kind == 3:
        return packed + bytes(50) + packed
    if kind == 4:
        return packed + chance.randbytes(20)
    if kind == 5:
        return gzip.compress(packed, mtime=0)
    return packed


def damage_database(content: bytes, chance: random.Random) -> bytes:
    """A SQLite database with odd values, rows and tables, sometimes also with damaged pages."""
    if chance.random() < 0.7:
        with closing(sqlite3.connect(":memory:")) as database, suppress(sqlite3.Error):
            database.deserialize(content)
            for _ in range(chance.choice((1, 2, 4))):
                with suppress(sqlite3.Error, OverflowError, UnicodeEncodeError):
                    _change_rows(database, chance)
            database.commit()
            content = database.serialize()
    if chance.random() < 0.4:
        changed = bytearray(content)
        for _ in range(chance.choice((1, 3, 20)) if changed else 0):
            changed[chance.randrange(min(len(changed), chance.choice((100, 4096, 2**30))))] = (
                chance.randrange(256)
            )
        content = bytes(changed)
    return content[: chance.randrange(len(content) + 1)] if chance.random() < 0.05 else content


def _change_rows(database: sqlite3.Connection, chance: random.Random) -> None:
    tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    table = chance.choice(tables)
    columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
    column = chance.choice(columns)
    kind = chance.randrange(12)
    if kind == 0:
        database.execute(f"DELETE FROM {table} WHERE abs(random()) % 2 = 0")
    elif kind == 1:
        database.execute(f"ALTER TABLE {table} RENAME COLUMN {column} TO {chance.choice(columns)}_2")
    elif kind == 2:
        database.execute(f"DROP TABLE {table}")
    elif kind == 3:
        database.execute(f"CREATE TABLE odd{chance.randrange(9)} AS SELECT * FROM {table}")
    else:
        rows = [row for (row,) in database.execute(f"SELECT rowid FROM {table} LIMIT 100")]
        chosen = rows if kind == 4 else chance.sample(rows, min(len(rows), 2))
        odd = chance.choice(_ODD_VALUES)
        value = odd if isinstance(odd, str | bytes | int | float | None) else json.dumps(odd)
        if isinstance(text := value, str) and chance.random() < 0.3:
            value = text.encode("utf-8", "surrogatepass")
        database.executemany(
            f"UPDATE {table} SET {column} = ? WHERE rowid = ?", [(value, row) for row in chosen]
        )


def damage_parquet(content: bytes, chance: random.Random) -> bytes:
    """A Parquet file with odd values, types and columns, or with damaged bytes."""
    if chance.random() < 0.5:
        return mutate(content, chance, [content], count=1)
    table = parquet.read_table(BytesIO(content))
    for _ in range(chance.choice((1, 2))):
        table = _change_column(table, chance)
    output = BytesIO()
    with suppress(pa.ArrowException):
        parquet.write_table(table, output, compression=chance.choice(("none", "snappy", "zstd", "gzip")))
    return output.getvalue()


def _change_column(table: pa.Table, chance: random.Random) -> pa.Table:
    index = chance.randrange(table.num_columns)
    name, column = table.column_names[index], table.column(index)
    kind = chance.randrange(6)
    with suppress(pa.ArrowException, TypeError, ValueError, OverflowError):
        if kind == 0:
            return table.remove_column(index)
        if kind == 1:
            return table.append_column(name, column)
        if kind == 2:
            return table.set_column(index, name, column.cast(pa.string()))
        if kind == 3:
            return table.slice(chance.randrange(table.num_rows + 1), chance.randrange(3))
        values = column.to_pylist()
        for place in _places(len(values), chance):
            values[place] = chance.choice(_ODD_VALUES)
        return table.set_column(index, name, pa.array(values, type=column.type if kind == 4 else None))
    return table


def _places(length: int, chance: random.Random) -> Iterator[int]:
    for _ in range(chance.choice((1, 3)) if length else 0):
        yield chance.randrange(length)
