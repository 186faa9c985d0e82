"""FLOPs, TFLOPS, MFU and HFU: named formulas, models' shapes, peaks of accelerators (docs/throughput.md)."""

from holter.flops.formulas import FORMULAS, Formula, Recomputed
from holter.flops.peaks import Peak, Peaks, Precision
from holter.flops.shape import Experts, LatentAttention, ModelShape
from holter.flops.throughput import Throughput, throughput_of

__all__ = [
    "FORMULAS",
    "Experts",
    "Formula",
    "LatentAttention",
    "ModelShape",
    "Peak",
    "Peaks",
    "Precision",
    "Recomputed",
    "Throughput",
    "throughput_of",
]
