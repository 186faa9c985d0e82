"""Peaks of accelerators: the table that comes with Holter, and overrides from settings."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any


class Precision(StrEnum):
    """The precision in which matrices are multiplied."""

    FP32 = "fp32"
    TF32 = "tf32"
    FP16 = "fp16"
    BF16 = "bf16"
    FP8 = "fp8"


@dataclass(frozen=True, kw_only=True)
class Accelerator:
    """One model of accelerator with its dense peaks in TFLOPS, of one device as drivers count devices.

    `card` is the number of devices of a card. `sparse`: the vendor also prints twice these figures, with
    sparsity. `source` names where the figures are published, `read` the day they were read there.
    """

    name: str
    peak: Mapping[Precision, float]
    source: str
    read: str
    card: int = 1
    sparse: bool = False


@dataclass(frozen=True, kw_only=True)
class Peak:
    """The dense peak of a device in one precision, in TFLOPS, with its source."""

    tflops: float
    device: str
    precision: Precision
    source: str
    sparse: bool = False

    def __str__(self) -> str:
        return f"{self.tflops:,.4g} TFLOPS {self.precision} dense, {self.device}"


Overrides = Mapping[str, Mapping[Precision, float]]
"""Dense TFLOPS of one device, by a part of its name and by precision: the table `[peaks]` of holter.toml."""
NO_OVERRIDES: Overrides = MappingProxyType({})


@dataclass(frozen=True)
class Peaks:
    """Look-up of peaks. `overrides` take precedence; of several that match, the longest name wins."""

    overrides: Overrides = field(default_factory=lambda: NO_OVERRIDES)

    @classmethod
    def from_settings(cls, table: Mapping[str, Mapping[Any, float]]) -> Peaks:
        """Peaks with the overrides of settings: TFLOPS by a part of a device's name and by precision."""
        return cls(
            {
                name: {Precision(precision): tflops for precision, tflops in peaks.items()}
                for name, peaks in table.items()
            }
        )

    def of(self, device: str, precision: Precision) -> Peak | None:
        """The peak of a device by its driver's name ("NVIDIA H100 80GB HBM3"); None where unknown."""
        plain = device.strip().lower()
        matches = [
            name for name in self.overrides if name.lower() in plain and precision in self.overrides[name]
        ]
        known = find_accelerator(device)
        if matches:
            name = max(matches, key=len)
            return Peak(
                tflops=self.overrides[name][precision],
                device=name,
                precision=precision,
                source="[peaks] of the settings",
                sparse=known is not None and known.sparse,
            )
        if known is None or precision not in known.peak:
            return None
        return Peak(
            tflops=known.peak[precision],
            device=known.name,
            precision=precision,
            source=f"{known.source}, read {known.read}",
            sparse=known.sparse,
        )


def find_accelerator(device: str) -> Accelerator | None:
    """The entry of the table that matches a printed name; None where none does, and for a slice (MIG)."""
    plain = device.strip().lower()
    if " mig " in plain:
        return None
    for accelerator, patterns in _table():
        if any(pattern.search(plain) for pattern in patterns):
            return accelerator
    return None


def accelerators() -> tuple[Accelerator, ...]:
    """All entries of the table."""
    return tuple(accelerator for accelerator, _ in _table())


@cache
def _table() -> tuple[tuple[Accelerator, tuple[re.Pattern[str], ...]], ...]:
    text = files("holter.flops").joinpath("accelerators.toml").read_text(encoding="utf-8")
    return tuple(_parse_entry(name, entry) for name, entry in tomllib.loads(text).items())


def _parse_entry(name: str, entry: Mapping[str, Any]) -> tuple[Accelerator, tuple[re.Pattern[str], ...]]:
    accelerator = Accelerator(
        name=name,
        peak={Precision(precision): float(tflops) for precision, tflops in entry["peak"].items()},
        source=entry["source"],
        read=f"{entry['read']}",
        card=entry.get("card", 1),
        sparse=entry.get("sparse", False),
    )
    return accelerator, tuple(re.compile(pattern) for pattern in entry["printed"])
