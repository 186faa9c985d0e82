"""What rocm-smi and amd-smi call what they measure, in CSV and JSON."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from holter.ingest.telemetry import gpu_metrics as q

_NAMES = (
    (r"gpu use \(%\)|(usage/)?gfx_activity|gfx|gfx_util", q.UTIL),
    (r"gpu memory read/write activity \(%\)|(usage/)?umc_activity|mem_util", q.MEMORY_UTIL),
    (r"(average|current socket) graphics package power \(w\)|(power/)?socket_power|power_usage", q.POWER),
    (r"temperature \(sensor junction\) \(c\)|(temperature/)?hotspot|hotspot_temperature", q.TEMPERATURE),
    (r"temperature \(sensor edge\) \(c\)|(temperature/)?edge", "gpu_edge_temperature (C)"),
    (r"temperature \(sensor memory\) \(c\)|temperature/mem|mem|memory_temperature", q.MEMORY_TEMPERATURE),
    (r"sclk clock speed:?|clock/gfx_0/clk|gfx_0_clk|gfx_clk", q.SM_CLOCK),
    (r"mclk clock speed:?|clock/mem_0/clk|mem_0_clk|mem_clk|mem_clock", q.MEMORY_CLOCK),
    (r"vram total used memory \(b\)|(mem_usage/)?used_vram|vram_used", q.MEMORY_USED),
    (r"vram total memory \(b\)|(mem_usage/)?total_vram|vram_total", q.MEMORY_TOTAL),
    (r"gpu memory allocated \(vram%\)|gpu memory use \(%\)", "gpu_memory_used (%)"),
    (r"(ecc/)?(total_)?correctable_count|single_bit_ecc", q.ECC_CORRECTED),
    (r"(ecc/)?(total_)?uncorrectable_count|double_bit_ecc", q.ECC_UNCORRECTED),
)
_COMPILED = tuple((re.compile(pattern), name) for pattern, name in _NAMES)
_ABOUT = re.compile(
    r"gpu|device|xcp|timestamp|card (series|model|vendor|sku)|device (name|id|rev)|subsystem id"
    r"|guid|unique id|serial.*"
    r"|pci.*bus.*|bdf|uuid|gfx version|node id|.*(min|max)_clk|.*clk_locked|.*deep_sleep"
    r"|.*clk clock level:?"
)
_MEGABYTES = 2.0**20


class Measured(NamedTuple):
    """A value by our names."""

    metric: str
    value: float


def measured(name: str, cell: str, unit: str = "") -> Measured | None:
    """What a field says; None where it measures nothing, or says that it has no value."""
    metric = _metric(name)
    said = q.quantity(cell.strip("()")) if metric is not None else None
    if metric is None or said is None:
        return None
    in_bytes = metric in (q.MEMORY_USED, q.MEMORY_TOTAL) and name.lower().endswith("(b)")
    return Measured(metric, said.value / _MEGABYTES if in_bytes or unit == "B" else said.value)


@lru_cache(maxsize=4096)
def _metric(name: str) -> str | None:
    plain = name.strip().lower()
    if _ABOUT.fullmatch(plain):
        return None
    return next((ours for pattern, ours in _COMPILED if pattern.fullmatch(plain)), name.strip())


def gpu_of(cell: str) -> str | None:
    """The number of a device: "card3" is 3."""
    plain = cell.strip().lower().removeprefix("card").removeprefix("gpu")
    return plain if plain.isdecimal() and plain.isascii() and len(plain) < 6 else None
