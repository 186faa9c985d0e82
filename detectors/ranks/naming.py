"""Who called what: ranks by name, and calls of collectives in the words of the logs that tell of them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from holter.detectors.positions import rows_upto
from holter.types import RunData, Series, SeriesKey

ANONYMOUS = re.compile(r"(\d{1,7}) ranks")
"""A communicator whose log tells its size but no id."""
_GROUPS = ("comm", "process_group", "rank", "process")
_TYPES = ("int8", "uint8", "int32", "uint32", "int64", "uint64", "fp16", "fp32", "fp64", "bf16", "fp8", "fp8")
"""NCCL's types in their order. Source: nccl.h, ncclDataType_t; fp8 is e4m3, then e5m2."""
_UNITS = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))
_SHOWN = 8


def rank_or_process(key: SeriesKey) -> str:
    """The rank of a series, or its process where the log tells no rank; "" where it tells neither."""
    labels = dict(key.labels)
    return labels.get("rank") or labels.get("process") or ""


def rank_as_evidence(rank: str) -> int | str:
    """A rank as evidence holds it."""
    return int(rank) if rank.isdecimal() else rank


def describe_ranks(ranks: Sequence[str]) -> str:
    """Some ranks in words: "rank 2", "ranks 1, 2 and 5", "17 ranks (1, 2, 5 ...)"."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}" if ranks[0].isdecimal() else f"process {ranks[0]}"
    if len(ranks) > _SHOWN:
        return f"{len(ranks)} ranks ({', '.join(ranks[:_SHOWN])} ...)"
    return f"ranks {', '.join(ranks[:-1])} and {ranks[-1]}"


def format_bytes(size: float) -> str:
    """Bytes as people read them: "38.1 MiB"."""
    unit, word = next(((unit, word) for unit, word in _UNITS if size >= unit), _UNITS[-1])
    return f"{size / unit:.3g} {word}"


def describe_call(run: RunData, key: SeriesKey, attempt: int, step: int) -> str:
    """The collectives that the rank of a series called at a step: "AllReduce of 38.1 MiB (fp32)".

    Several where a group of calls shares the step.
    """
    mine = [(name, value) for name, value in key.labels if name in _GROUPS]
    said = {}
    for other in sorted(run.series):
        labels = dict(other.labels)
        if other.metric == "message_bytes" and all(labels.get(name) == value for name, value in mine):
            size = value_at(run.series[other], attempt, step)
            if size is not None:
                said[labels.get("collective", "a collective")] = size
    kind = run.series.get(SeriesKey("nccl_datatype", key.labels))
    number = None if kind is None else value_at(kind, attempt, step)
    word = f" ({_TYPES[int(number)]})" if number is not None and 0 <= number < len(_TYPES) else ""
    calls = [f"{name} of {format_bytes(size)}" if size else name for name, size in said.items()]
    return (" and ".join(calls) or "another collective") + word


def value_at(series: Series, attempt: int, step: int) -> float | None:
    """The value at a place, None where there is none."""
    row = rows_upto(series, (attempt, step))
    if not row or (series.attempt[row - 1], series.step[row - 1]) != (attempt, step):
        return None
    value = float(series.value[row - 1])
    return value if np.isfinite(value) else None
