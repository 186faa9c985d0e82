"""Event files to load: one value an event, as SummaryWriter writes them, or as TensorFlow 2 does."""

from __future__ import annotations

import struct
from pathlib import Path

from google_crc32c import value as crc32c

from peers.workloads import Workload

NAME = "events.out.tfevents.1700000000.node.1.0"
SCALARS = b"\x0a\x09\x0a\x07scalars"


def write_event_file(folder: Path, workload: Workload, *, tensors: bool) -> Path:
    """A folder with one event file, and beside it how many points it holds and its last step."""
    folder.mkdir(parents=True)
    tags = [f"train/metric_{n}".encode() for n in range(workload.metrics)]
    times = workload.columns(0)[0].tolist()
    with (folder / NAME).open("wb") as file:
        file.write(_framed(b"\x09" + struct.pack("<d", times[0]) + b"\x1a\x0dbrain.Event:2"))
        for step, row in enumerate(workload.rows(0)):
            for at, value in enumerate(row.values()):
                # add_scalar takes the time at each call
                head = b"\x09" + struct.pack("<d", times[step] + 1e-6 * at) + b"\x10" + _varint(step)
                entry = _sized(0x0A, tags[at]) + _number(value, tensors=tensors)
                file.write(_framed(head + _sized(0x2A, _sized(0x0A, entry))))
    (folder / "points").write_text(str(workload.points))
    (folder / "last_step").write_text(str(workload.steps - 1))
    return folder


def _number(value: float, *, tensors: bool) -> bytes:
    if not tensors:
        return b"\x15" + struct.pack("<f", value)
    tensor = b"\x08\x01\x12\x00" + _sized(0x22, struct.pack("<f", value))
    return _sized(0x42, tensor) + _sized(0x4A, SCALARS)


def _sized(key: int, content: bytes) -> bytes:
    return bytes((key,)) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    parts = bytearray()
    while number >= 128:
        parts.append(number & 127 | 128)
        number >>= 7
    parts.append(number)
    return bytes(parts)


def _framed(data: bytes) -> bytes:
    header = struct.pack("<Q", len(data))
    return header + _masked(header) + data + _masked(data)


def _masked(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)
