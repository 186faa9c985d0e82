"""What a trace of PyTorch's profiler says before its events: whose it is, when it began, on what hardware."""

from __future__ import annotations

import re
from typing import NamedTuple

from holter.types import Config, ConfigKey, ConfigValue

_INFO = rb'"distributedInfo":\s*\{[^{}]{0,2000}?'
_RANK = re.compile(_INFO + rb'"rank":\s*(\d{1,7})')
_WORLD = re.compile(_INFO + rb'"world_size":\s*(\d{1,7})')
_DEVICE = re.compile(rb'"id":\s*\d{1,4},\s*"name":\s*"([^"\\]{1,100})",\s*"totalGlobalMem"')
_BASE = re.compile(rb'"baseTimeNanoseconds":\s*(\d{1,19})')


class Head(NamedTuple):
    """A trace's rank, None where it tells none; what its times count from, in nanoseconds; its hardware."""

    rank: str | None
    base: float
    config: Config


def head_of(head: bytes) -> Head:
    """What the first bytes of a trace say."""
    rank, base = _RANK.search(head), _BASE.search(head)
    return Head(
        rank=rank[1].decode() if rank else None,
        base=float(base[1]) if base else 0.0,
        config=_hardware(head),
    )


def _hardware(head: bytes) -> Config:
    """The GPU; and that the job is on one node, where it has no more ranks than the process sees GPUs."""
    names, world = _DEVICE.findall(head), _WORLD.search(head)
    found: dict[ConfigKey, ConfigValue] = {}
    if names:
        found[ConfigKey("gpu.name")] = names[0].decode("utf-8", "replace")
        if world is not None and int(world[1]) <= len(names):
            found[ConfigKey("nccl.nodes")] = 1
    return found
