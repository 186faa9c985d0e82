"""The identity of a batch: what the data loader states about it, else a checksum of its beginning.

At most `MAX_VALUES` numbers of 8 bytes each: less than 100 bytes a step.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

MAX_VALUES = 6
EXAMINED_VALUES = 256  # of each of the first arrays
EXAMINED_ARRAYS = 2
_STATED = {
    "shard": ("shard", "shard_id", "shard_index", "file_index"),
    "index": ("index", "indices", "idx", "sample_index", "sample_idx", "example_id", "document_id"),
}
"""Keys of a batch that state where it comes from."""


def identify(batch: Any) -> dict[str, float]:
    """The identity of a batch as metrics `batch/...`; empty where nothing on the CPU identifies it.

    `batch/shard`; `batch/first_index` and `batch/last_index`, where the batch states indices; else
    `batch/checksum`, a CRC-32 of the first values of its first two arrays. Nothing is copied from a GPU.
    """
    stated = dict(_stated(batch)) if isinstance(batch, Mapping) else {}
    if "batch/first_index" in stated:
        return stated
    checksum, examined = 0, 0
    for array in islice(_arrays(batch), EXAMINED_ARRAYS):
        if (content := _beginning(array)) is not None:
            checksum, examined = zlib.crc32(content, checksum), examined + 1
    return stated | {"batch/checksum": float(checksum)} if examined else stated


def _stated(batch: Mapping[Any, Any]) -> Iterator[tuple[str, float]]:
    for key in _STATED["shard"]:
        if (values := _numbers(batch.get(key))) is not None:
            yield "batch/shard", min(values)
            break
    for key in _STATED["index"]:
        if (values := _numbers(batch.get(key))) is not None:
            yield "batch/first_index", min(values)
            yield "batch/last_index", max(values)
            break


def _numbers(value: Any) -> list[float] | None:
    """The numbers of a batch's field, at most `EXAMINED_VALUES`; None for anything else."""
    if value is None or _on_device(value):
        return None
    if hasattr(value, "tolist"):
        value = value.tolist()
    values = value if isinstance(value, Sequence) and not isinstance(value, str | bytes) else [value]
    numbers = [float(each) for each in islice(values, EXAMINED_VALUES) if isinstance(each, int | float)]
    return numbers or None


def _arrays(batch: Any, depth: int = 0) -> Iterator[Any]:
    if hasattr(batch, "shape") and hasattr(batch, "dtype"):
        yield batch
    elif isinstance(batch, Mapping):
        for value in batch.values():
            yield from _arrays(value, depth + 1)
    elif isinstance(batch, list | tuple) and depth < 4:
        for value in islice(batch, 8):
            yield from _arrays(value, depth + 1)


def _beginning(array: Any) -> bytes | None:
    if _on_device(array):
        return None
    try:
        flat = array.reshape(-1)[:EXAMINED_VALUES]
        if hasattr(flat, "detach"):  # a tensor of torch; numpy has no bfloat16
            flat = flat.detach()
            flat = flat.numpy() if "bfloat16" not in str(flat.dtype) else flat.float().numpy()
        content: bytes = flat.tobytes()
    except Exception:  # whatever an array of another library raises
        return None
    return content


def _on_device(array: Any) -> bool:
    """Whether reading the array would copy it from a device, or wait for one."""
    device = getattr(array, "device", None)
    return device is not None and getattr(device, "type", str(device)) != "cpu"
