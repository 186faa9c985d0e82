"""nanoGPT: `iter 10: loss 3.4410, time 1970.20ms, mfu 0.19%`, `step 0: train loss 4.28, val loss 4.28`."""

from __future__ import annotations

import re

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.line.cached_shapes import shape_of_line
from holter.ingest.console.line.line_shapes import measured_values
from holter.ingest.console.line.line_tokens import split_numbers
from holter.ingest.console.text.values import parse_number, parse_numbers

_ITER = re.compile(r"\biter (\d+): loss (\S+?)(?: \w+)?, time ([\d.]+)ms(?:, mfu (-?[\d.]+)%)?")
_EVAL = re.compile(r"\bstep (\d+): train loss (\S+?)(?: \w+)?, val loss (\S+)")
_EVAL_OF_BOTH = re.compile(r"\b(?:iter|step) (\d+): loss\(train\) ")
"""Where the data are behind the name: `iter 5: loss(train) 2.1, loss(val) 2.2, best_loss(val) 2.2`."""
_ROW = re.compile(r"^(\d+) (train|val|hella) ([\d.]+|nan|inf)$")
_OF_BOTH = {"loss": "eval/train_loss"}
_NAMES = {"train": "loss", "val": "val/loss", "hella": "eval/hellaswag"}
_UNKNOWN_MFU = -100.0
"""The value that is printed until five iterations have been timed."""


def _iter(line: str, state: DialectState) -> LineValues | None:
    """The loss is that of the last micro-batch, MFU a moving average against an A100's peak."""
    match = _ITER.search(line)
    if match is None:
        return None
    texts = {"loss": match[2].rstrip(","), "step_time (ms)": match[3]}
    if match[4] and parse_number(match[4]) != _UNKNOWN_MFU:
        texts["mfu(%)"] = match[4]
    values = parse_numbers(texts.items())
    if line.startswith(", ", match.end()):  # `, lr 6.00e-04, grad_norm 1.26`
        values = {**_named(line, match.end()), **values}
    return LineValues(int(match[1]), values)


def _named(line: str, first: int) -> dict[str, float]:
    """The named numbers of a line from this place on; what is in brackets states more of the one before."""
    parts, ahead = split_numbers(line), len(split_numbers(line[:first])) // 2
    return {
        field.name: value
        for field, value in measured_values(shape_of_line(parts), parts[1::2])
        if field.index >= ahead and "(" not in parts[2 * field.index]
    }


def _evaluation_of_both(line: str, state: DialectState) -> LineValues | None:
    """The loss of the training's data is another one here than in the line of the same iteration."""
    match = _EVAL_OF_BOTH.search(line)
    if match is None:
        return None
    parts = split_numbers(line)
    found = {field.name: value for field, value in measured_values(shape_of_line(parts), parts[1::2])}
    return LineValues(int(match[1]), {_OF_BOTH.get(name, name): value for name, value in found.items()})


def _evaluation(line: str, state: DialectState) -> LineValues | None:
    match = _EVAL.search(line)
    if match is None:
        return None
    texts = {"eval/train_loss": match[2].rstrip(","), "val/loss": match[3]}
    return LineValues(int(match[1]), parse_numbers(texts.items()))


def _row(line: str, state: DialectState) -> LineValues | None:
    """`250 train 6.012345`: build-nanogpt's log.txt."""
    match = _ROW.match(line)
    return (
        None
        if match is None
        else LineValues(int(match[1]), parse_numbers({_NAMES[match[2]]: match[3]}.items()))
    )


DIALECT = ConsoleDialect(
    name="nanogpt",
    signature=re.compile(
        rb"(?m)\biter \d+: loss [\w.]+(?: \w+)?, time [\d.]+ms"
        rb"|^\d+ (?:train|val) \d+\.\d{4,6}\n\d+ (?:train|hella) "
    ),
    kinds=(
        LineKind(pattern=re.compile(rb"iter \d+: loss "), parse=_iter),
        LineKind(pattern=re.compile(rb"step \d+: train loss "), parse=_evaluation),
        LineKind(pattern=re.compile(rb"(?:iter|step) \d+: loss\(train\) "), parse=_evaluation_of_both),
        LineKind(pattern=re.compile(rb"(?m)^\d+ (?:train|val|hella) \d"), parse=_row),
    ),
)
