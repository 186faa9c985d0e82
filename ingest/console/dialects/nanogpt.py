"""nanoGPT: `iter 10: loss 3.4410, time 1970.20ms, mfu 0.19%`, `step 0: train loss 4.28, val loss 4.28`."""

from __future__ import annotations

import re

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.values import parse_number, parse_numbers

_ITER = re.compile(r"\biter (\d+): loss (\S+?)(?: \w+)?, time ([\d.]+)ms(?:, mfu (-?[\d.]+)%)?")
_EVAL = re.compile(r"\bstep (\d+): train loss (\S+?)(?: \w+)?, val loss (\S+)")
_ROW = re.compile(r"^(\d+) (train|val|hella) ([\d.]+|nan|inf)$")
_NAMES = {"train": "loss", "val": "val/loss", "hella": "eval/hellaswag"}
_UNKNOWN_MFU = -100.0
"""Printed until five iterations have been timed."""


def _iter(line: str, memory: DialectState) -> LineValues | None:
    """The loss is that of the last micro-batch, MFU a moving average against an A100's peak."""
    found = _ITER.search(line)
    if found is None:
        return None
    texts = {"loss": found[2].rstrip(","), "step_time (ms)": found[3]}
    if found[4] and parse_number(found[4]) != _UNKNOWN_MFU:
        texts["mfu(%)"] = found[4]
    return LineValues(int(found[1]), parse_numbers(texts.items()))


def _evaluation(line: str, memory: DialectState) -> LineValues | None:
    found = _EVAL.search(line)
    if found is None:
        return None
    texts = {"eval/train_loss": found[2].rstrip(","), "val/loss": found[3]}
    return LineValues(int(found[1]), parse_numbers(texts.items()))


def _row(line: str, memory: DialectState) -> LineValues | None:
    """`250 train 6.012345`: build-nanogpt's log.txt."""
    found = _ROW.match(line)
    return (
        None
        if found is None
        else LineValues(int(found[1]), parse_numbers({_NAMES[found[2]]: found[3]}.items()))
    )


DIALECT = ConsoleDialect(
    name="nanogpt",
    tell=re.compile(
        rb"(?m)\biter \d+: loss [\w.]+(?: \w+)?, time [\d.]+ms"
        rb"|^\d+ (?:train|val) \d+\.\d{4,6}\n\d+ (?:train|hella) "
    ),
    kinds=(
        LineKind(mark=re.compile(rb"iter \d+: loss "), read=_iter),
        LineKind(mark=re.compile(rb"step \d+: train loss "), read=_evaluation),
        LineKind(mark=re.compile(rb"(?m)^\d+ (?:train|val|hella) \d"), read=_row),
    ),
)
