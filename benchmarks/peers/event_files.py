"""Builds event files to load: one value per event, as SummaryWriter or TensorFlow 2 writes them."""

from __future__ import annotations

import struct
from pathlib import Path

from google_crc32c import value as crc32c

from peers.workloads import Workload

NAME = "events.out.tfevents.1700000000.node.1.0"
SCALARS = b"\x0a\x09\x0a\x07scalars"


def write_event_file(folder: Path, workload: Workload, *, tensors: bool) -> Path:
    """Write a folder with an event file, and files with its number of points and its last step."""
    folder.mkdir(parents=True)
    tags = [name.encode() for name in workload.names]
    run = workload.logged_run(0)
    with (folder / NAME).open("wb") as file:
        file.write(encode_beginning(run.times[0]))
        for step, row in enumerate(run.rows):
            for index, value in enumerate(row.values()):
                # add_scalar reads the clock at each call
                time = run.times[step] + 1e-6 * index
                file.write(encode_event(time, step, tags[index], value, tensors=tensors))
    (folder / "points").write_text(str(workload.points))
    (folder / "last_step").write_text(str(workload.steps - 1))
    return folder


def encode_beginning(time: float) -> bytes:
    """The first record of a file."""
    return _encode_record(b"\x09" + struct.pack("<d", time) + b"\x1a\x0dbrain.Event:2")


def encode_event(time: float, step: int, tag: bytes, value: float, *, tensors: bool) -> bytes:
    """The record of one value."""
    head = b"\x09" + struct.pack("<d", time) + b"\x10" + _varint(step)
    entry = _length_delimited(0x0A, tag) + _value(value, tensors=tensors)
    return _encode_record(head + _length_delimited(0x2A, _length_delimited(0x0A, entry)))


def _value(value: float, *, tensors: bool) -> bytes:
    if not tensors:
        return b"\x15" + struct.pack("<f", value)
    tensor = b"\x08\x01\x12\x00" + _length_delimited(0x22, struct.pack("<f", value))
    return _length_delimited(0x42, tensor) + _length_delimited(0x4A, SCALARS)


def _length_delimited(key: int, content: bytes) -> bytes:
    return bytes((key,)) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    parts = bytearray()
    while number >= 128:
        parts.append(number & 127 | 128)
        number >>= 7
    parts.append(number)
    return bytes(parts)


def _encode_record(data: bytes) -> bytes:
    header = struct.pack("<Q", len(data))
    return header + _masked(header) + data + _masked(data)


def _masked(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)
