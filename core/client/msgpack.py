"""As much of msgpack as the bodies of a client need, in the standard library alone."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence


class Encoded(bytes):
    """What is msgpack already."""


def encode(value: object) -> bytes:
    """None, bool, int (64 bits), float, str, bytes, and sequences and mappings of these."""
    out = bytearray()
    _put(out, value)
    return bytes(out)


def _put(out: bytearray, value: object) -> None:
    if isinstance(value, Encoded):
        out += value
    elif value is None or isinstance(value, bool):
        out += b"\xc0" if value is None else b"\xc3" if value else b"\xc2"
    elif isinstance(value, int):
        out += struct.pack(">Bq", 0xD3, value)
    elif isinstance(value, float):
        out += struct.pack(">Bd", 0xCB, value)
    elif isinstance(value, str):
        text = value.encode(errors="replace")  # a lone surrogate would cost the whole body
        out += struct.pack(">BI", 0xDB, len(text)) if len(text) > 31 else bytes((0xA0 | len(text),))
        out += text
    elif isinstance(value, bytes | bytearray | memoryview):
        out += struct.pack(">BI", 0xC6, len(value))
        out += value
    elif isinstance(value, Mapping):
        out += struct.pack(">BI", 0xDF, len(value))
        for name, inner in value.items():
            _put(out, name)
            _put(out, inner)
    elif isinstance(value, Sequence):
        out += struct.pack(">BI", 0xDD, len(value))
        for inner in value:
            _put(out, inner)
    else:
        raise TypeError(f"{type(value).__name__} has no form in msgpack")
