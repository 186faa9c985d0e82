"""Descriptions of ranks and of calls of collectives for messages."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from holter.detectors.positions import rows_up_to
from holter.types import RunData, Series, SeriesKey

ANONYMOUS = re.compile(r"(\d{1,7}) ranks")
"""The label of a communicator whose log contains its size but no id."""
_GROUP_LABELS = ("comm", "process_group", "rank", "process")
_TYPES = ("int8", "uint8", "int32", "uint32", "int64", "uint64", "fp16", "fp32", "fp64", "bf16", "fp8", "fp8")
"""NCCL's types in their order. Source: nccl.h, ncclDataType_t; fp8 is e4m3, then e5m2."""
_UNITS = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))
_MAX_LISTED_RANKS = 8


def rank_or_process(key: SeriesKey) -> str:
    """The rank of a series, or its process where the log names no rank; "" where it names neither."""
    return key.rank or key.label("process") or ""


def rank_as_evidence(rank: str) -> int | str:
    """A rank as a value of the evidence: an integer where possible."""
    return int(rank) if rank.isdecimal() else rank


def describe_ranks(ranks: Sequence[str]) -> str:
    """Ranks in words: "rank 2", "ranks 1, 2 and 5", "17 ranks (1, 2, 5 ...)"."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}" if ranks[0].isdecimal() else f"process {ranks[0]}"
    if len(ranks) > _MAX_LISTED_RANKS:
        return f"{len(ranks)} ranks ({', '.join(ranks[:_MAX_LISTED_RANKS])} ...)"
    return f"ranks {', '.join(ranks[:-1])} and {ranks[-1]}"


def format_bytes(size: float) -> str:
    """A number of bytes in words: "38.1 MiB"."""
    unit, name = next(((unit, name) for unit, name in _UNITS if size >= unit), _UNITS[-1])
    return f"{size / unit:.3g} {name}"


def describe_call(run: RunData, key: SeriesKey, attempt: int, step: int) -> str:
    """The collectives that the rank of a series called at a step: "AllReduce of 38.1 MiB (fp32)".

    Several where a group of calls shares the step.
    """
    group = [(name, value) for name, value in key.labels if name in _GROUP_LABELS]
    sizes = {}
    for other in sorted(run.series):
        labels = dict(other.labels)
        if other.metric == "message_bytes" and all(labels.get(name) == value for name, value in group):
            size = value_at(run.series[other], attempt, step)
            if size is not None:
                sizes[labels.get("collective", "a collective")] = size
    kind = run.series.get(SeriesKey("nccl_datatype", key.labels))
    number = None if kind is None else value_at(kind, attempt, step)
    datatype = f" ({_TYPES[int(number)]})" if number is not None and 0 <= number < len(_TYPES) else ""
    calls = [f"{name} of {format_bytes(size)}" if size else name for name, size in sizes.items()]
    return (" and ".join(calls) or "another collective") + datatype


def value_at(series: Series, attempt: int, step: int) -> float | None:
    """The finite value at a position; None where there is none."""
    row = rows_up_to(series, (attempt, step))
    if not row or (series.attempt[row - 1], series.step[row - 1]) != (attempt, step):
        return None
    value = float(series.value[row - 1])
    return value if np.isfinite(value) else None
