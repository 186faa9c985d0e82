"""Peaks of accelerators: the table that comes with Holter, and what a user says instead."""

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
    """In what the matrices are multiplied."""

    FP32 = "fp32"
    TF32 = "tf32"
    FP16 = "fp16"
    BF16 = "bf16"
    FP8 = "fp8"


@dataclass(frozen=True, kw_only=True)
class Accelerator:
    """One kind of device with its dense peaks in TFLOPS, of one device as drivers count them.

    `card`: so many devices share a card. `sparse`: its vendor also prints twice as much, with sparsity.
    `source` and `read` say where the figures stand, and when they were read.
    """

    name: str
    peak: Mapping[Precision, float]
    source: str
    read: str
    card: int = 1
    sparse: bool = False


@dataclass(frozen=True, kw_only=True)
class Peak:
    """The dense peak of a device in one precision, in TFLOPS, and who says so."""

    tflops: float
    device: str
    precision: Precision
    source: str
    sparse: bool = False

    def __str__(self) -> str:
        return f"{self.tflops:,.4g} TFLOPS {self.precision} dense, {self.device}"


Overrides = Mapping[str, Mapping[Precision, float]]
"""Dense TFLOPS of one device by a part of its name and precision: the table `[peaks]` of holter.toml."""
NO_OVERRIDES: Overrides = MappingProxyType({})


@dataclass(frozen=True)
class Peaks:
    """Every peak that is known. `overrides` have the word; of several that fit, the longest name."""

    overrides: Overrides = field(default_factory=lambda: NO_OVERRIDES)

    @classmethod
    def said(cls, table: Mapping[str, Mapping[Any, float]]) -> Peaks:
        """The table with what settings say: TFLOPS by a part of a device's name and precision."""
        return cls(
            {name: {Precision(one): tflops for one, tflops in peaks.items()} for name, peaks in table.items()}
        )

    def of(self, device: str, precision: Precision) -> Peak | None:
        """The peak of a device as its driver prints it ("NVIDIA H100 80GB HBM3"); None: not known."""
        plain = device.strip().lower()
        fitting = [
            name for name in self.overrides if name.lower() in plain and precision in self.overrides[name]
        ]
        known = accelerator(device)
        if fitting:
            name = max(fitting, key=len)
            said = self.overrides[name][precision]
            sparse = known is not None and known.sparse
            return Peak(
                tflops=said, device=name, precision=precision, source="[peaks] of the settings", sparse=sparse
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


def accelerator(device: str) -> Accelerator | None:
    """The entry of the table that a printed name fits."""
    plain = device.strip().lower()
    if " mig " in plain:  # a slice of a device
        return None
    return next((one for one, printed in _table() if any(pattern.search(plain) for pattern in printed)), None)


def accelerators() -> tuple[Accelerator, ...]:
    """The whole table."""
    return tuple(one for one, _ in _table())


@cache
def _table() -> tuple[tuple[Accelerator, tuple[re.Pattern[str], ...]], ...]:
    text = files("holter.flops").joinpath("accelerators.toml").read_text(encoding="utf-8")
    return tuple(_entry(name, said) for name, said in tomllib.loads(text).items())


def _entry(name: str, said: Mapping[str, Any]) -> tuple[Accelerator, tuple[re.Pattern[str], ...]]:
    one = Accelerator(
        name=name,
        peak={Precision(precision): float(tflops) for precision, tflops in said["peak"].items()},
        source=said["source"],
        read=f"{said['read']}",
        card=said.get("card", 1),
        sparse=said.get("sparse", False),
    )
    return one, tuple(re.compile(pattern) for pattern in said["printed"])
