"""Pickles between Holter's own processes, of which only known types are created.

The process that sends them reads files of unknown origin: whatever becomes of it cannot run code in another.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

_TYPES = frozenset({"Batch", "Column", "Cursor", "Delivery", "DenseColumns", "SeriesKey", "ConfigKey"}) | {
    "Unreadable"
}
_NUMPY = frozenset({"_frombuffer", "_reconstruct", "scalar", "dtype", "ndarray"})
_OTHERS = frozenset({("builtins", "bytearray"), ("_codecs", "encode")})


class MessageError(ValueError):
    """A message has something in it that no message has."""


class KnownTypesUnpickler(pickle.Unpickler):
    """Creates arrays, and objects of the types of series and batches; nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        """The class of that name. Raises MessageError for an unknown one."""
        is_ours = module == "holter.types" and name in _TYPES
        is_array = module.split(".")[0] == "numpy" and name in _NUMPY
        if not (is_ours or is_array or (module, name) in _OTHERS):
            raise MessageError(f"{module}.{name}: not part of a message")
        return super().find_class(module, name)


def load_known_types(message: bytes) -> Any:
    """What a message contains. Raises MessageError."""
    try:
        return KnownTypesUnpickler(io.BytesIO(message)).load()
    except MessageError:
        raise
    except Exception as error:
        raise MessageError(f"{type(error).__name__}: {error}") from error
