"""Prints the numbers of all rows in files of the wandb client, by metric; runs with that client's Python."""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

from wandb.proto.wandb_internal_pb2 import Record

HEADER, BLOCK = 7, 32768
FULL, LAST = 1, 4


def records(path: str) -> Iterator[bytes]:
    """The records of a log in blocks, as LevelDB writes it."""
    content, position, record = Path(path).read_bytes(), HEADER, b""
    while position + HEADER <= len(content):
        room = BLOCK - position % BLOCK
        if room < HEADER:
            position += room
            continue
        _, length, kind = struct.unpack("<IHB", content[position : position + HEADER])
        position += HEADER
        record += content[position : position + length]
        position += length
        if kind in (FULL, LAST):
            yield record
            record = b""


values: dict[str, list[float]] = {}
for path in sys.argv[1:]:
    for content in records(path):
        record = Record()
        record.ParseFromString(content)
        if record.WhichOneof("record_type") != "history":
            continue
        for item in record.history.item:
            name, value = item.key or "/".join(item.nested_key), json.loads(item.value_json)
            if isinstance(value, int | float) and not name.startswith("_"):
                values.setdefault(name, []).append(float(value))
print(json.dumps(values))
