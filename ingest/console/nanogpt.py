"""nanoGPT: `iter 10: loss 3.4410, time 1970.20ms, mfu 0.19%`, `step 0: train loss 4.28, val loss 4.28`."""

from __future__ import annotations

import re

from holter.ingest.console.dialect import Dialect, LineKind, Memory, Said
from holter.ingest.console.numbers import number, numbers

_ITER = re.compile(r"\biter (\d+): loss (\S+), time ([\d.]+)ms(?:, mfu (-?[\d.]+)%)?")
_EVAL = re.compile(r"\bstep (\d+): train loss (\S+), val loss (\S+)")
_UNKNOWN_MFU = -100.0
"""Printed until five iterations have been timed."""


def _iter(line: str, memory: Memory) -> Said | None:
    """The loss is that of the last micro-batch, MFU a moving average against an A100's peak."""
    found = _ITER.search(line)
    if found is None:
        return None
    texts = {"loss": found[2].rstrip(","), "step_time (ms)": found[3]}
    if found[4] and number(found[4]) != _UNKNOWN_MFU:
        texts["mfu(%)"] = found[4]
    return Said(int(found[1]), numbers(texts.items()))


def _evaluation(line: str, memory: Memory) -> Said | None:
    found = _EVAL.search(line)
    if found is None:
        return None
    texts = {"eval/train_loss": found[2].rstrip(","), "val/loss": found[3]}
    return Said(int(found[1]), numbers(texts.items()))


DIALECT = Dialect(
    name="nanogpt",
    tell=re.compile(rb"\biter \d+: loss [\w.]+, time [\d.]+ms"),
    kinds=(
        LineKind(mark=re.compile(rb"iter \d+: loss "), read=_iter),
        LineKind(mark=re.compile(rb"step \d+: train loss "), read=_evaluation),
    ),
)
