"""Lets torch name its CPU where a program asks for an accelerator; found by Python through PYTHONPATH.

torchtitan trains on accelerators only: its device is the one that torch reports, else CUDA. Its own code
remains as it is.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch._utils
from torch import cpu, distributed

_barrier = distributed.barrier
_PROPERTIES = SimpleNamespace(total_memory=2**34)


def _barrier_of_any_device(*arguments: Any, device_ids: object = None, **named: Any) -> Any:
    """Gloo refuses the number of a device."""
    return _barrier(*arguments, **named)


torch._utils._get_available_device_type = lambda: "cpu"
distributed.barrier = _barrier_of_any_device
cpu.get_device_name = lambda device=None: "CPU"
cpu.get_device_properties = lambda device=None: _PROPERTIES
cpu.current_device = lambda: 0
cpu.memory_stats = lambda device=None: {}
cpu.reset_peak_memory_stats = cpu.empty_cache = lambda: None
