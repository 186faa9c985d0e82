"""The process group of torch.distributed, if the training has one; torch is never imported here."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any


def rank_and_size(environ: Mapping[str, str]) -> tuple[int, int] | None:
    """Rank and size of an initialised process group; None without one, or where variables state them."""
    if environ.get("WORLD_SIZE", "").isdecimal() and environ.get("RANK", "").isdecimal():
        return None
    group = _initialised()
    return None if group is None else (int(group.get_rank()), int(group.get_world_size()))


def world_size() -> int:
    """The number of processes of the initialised process group, 1 without one."""
    group = _initialised()
    return 1 if group is None else int(group.get_world_size())


def agree(number: int) -> int:
    """The number of rank 0, on every rank: a broadcast that all ranks must call at the same step."""
    group = _initialised()
    if group is None or group.get_world_size() == 1:
        return number
    torch = sys.modules["torch"]
    device = "cuda" if "nccl" in str(group.get_backend()) else "cpu"
    shared = torch.tensor([number], device=device)
    group.broadcast(shared, src=0)
    return int(shared.item())


def _initialised() -> Any:
    group = sys.modules.get("torch.distributed")
    if group is None or not group.is_available() or not group.is_initialized():
        return None
    return group
