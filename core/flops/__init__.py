"""FLOPs, TFLOPS, MFU and HFU: named formulas, model shapes, peaks of accelerators (docs/throughput.md)."""

from holter.flops.formulas import FORMULAS, Formula, Recomputation
from holter.flops.peaks import Peak, Peaks, Precision
from holter.flops.shape import Experts, LatentAttention, ModelShape
from holter.flops.throughput import RunThroughput, run_throughput

__all__ = [
    "FORMULAS",
    "Experts",
    "Formula",
    "LatentAttention",
    "ModelShape",
    "Peak",
    "Peaks",
    "Precision",
    "Recomputation",
    "RunThroughput",
    "run_throughput",
]
