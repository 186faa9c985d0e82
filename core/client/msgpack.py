"""A minimal msgpack encoder for request bodies, without dependencies."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence


class Encoded(bytes):
    """Bytes that are already encoded as msgpack."""


def encode(value: object) -> bytes:
    """Encode None, bool, int (64 bits), float, str, bytes, and sequences and mappings of these.

    Raises TypeError for other types.
    """
    parts: list[bytes] = []  # joined at the end: buffers of values are large, and copied once
    _put(parts.append, value)
    return b"".join(parts)


def _put(put: Callable[[bytes], None], value: object) -> None:
    if isinstance(value, Encoded):
        put(value)
    elif value is None or isinstance(value, bool):
        put(b"\xc0" if value is None else b"\xc3" if value else b"\xc2")
    elif isinstance(value, int):
        put(struct.pack(">Bq", 0xD3, value))
    elif isinstance(value, float):
        put(struct.pack(">Bd", 0xCB, value))
    elif isinstance(value, str):
        text = value.encode(errors="replace")  # a lone surrogate would cost the whole body
        put(struct.pack(">BI", 0xDB, len(text)) if len(text) > 31 else bytes((0xA0 | len(text),)))
        put(text)
    elif isinstance(value, bytes | bytearray | memoryview):
        put(struct.pack(">BI", 0xC6, len(value)))
        put(bytes(value))
    elif isinstance(value, Mapping):
        put(struct.pack(">BI", 0xDF, len(value)))
        for name, inner in value.items():
            _put(put, name)
            _put(put, inner)
    elif isinstance(value, Sequence):
        put(struct.pack(">BI", 0xDD, len(value)))
        for inner in value:
            _put(put, inner)
    else:
        raise TypeError(f"{type(value).__name__} cannot be encoded as msgpack")
