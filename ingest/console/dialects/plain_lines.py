"""Lines of any program that state a step or an epoch and named numbers, in any order and punctuation.

`Epoch [1/60] [10/445] Loss: 4.3`, `Iters: 10/20000 || Lr: 0.02 || Task Loss: 3.2`, `loss = 2.36, step = 1`,
`[Eval][Epoch 1][Iter: 0/25]loss: 6.9`, `step:25K smpl:26K loss:1.467`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import isfinite
from typing import NamedTuple

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.line_shapes import Counter, LineShape, is_metric_name, shape_of, split_numbers
from holter.ingest.console.prefixes import strip_prefixes
from holter.ingest.console.step_axis import (
    evaluation_step,
    is_end_of_epoch,
    note_epoch,
    note_heading,
    training_step,
)
from holter.ingest.console.values import parse_time
from holter.ingest.step_columns import LARGEST_STEP


def parse_plain_line(line: str, state: DialectState) -> LineValues | None:
    """The named numbers of a line at its step; those of an evaluation are named after its data."""
    axis = state.setdefault("plain lines", {})  # frameworks use the state for lines of their own
    parts = split_numbers(line)
    shape, numbers = shape_of(tuple(parts[::2])), parts[1::2]
    counts = _counts(shape, numbers)
    if not shape.is_record:
        if len(shape.counters) == 1 and not shape.split:
            note_epoch(counts, axis)
        if shape.is_heading:
            note_heading(counts, axis)
        return None
    step = evaluation_step(counts, axis) if shape.split else training_step(counts, axis)
    if step is None:
        return None
    values = {}
    means = () if shape.split or not is_end_of_epoch(counts, axis) else axis.get("names", ())
    for field in shape.metrics:
        value = _value(numbers[field.index])
        if value is not None:
            name = _metric_name(field.name, shape.split)
            values[f"epoch/{name}" if name in means else name] = value * field.scale
    axis["split"] = shape.split
    if not shape.split and not means:
        axis["names"] = [*values]
    return LineValues(step, values, parse_time(line))


def parse_metrics_of_epoch(line: str, state: DialectState) -> LineValues | None:
    """The metrics of a line that counts nothing: at the step or the epoch that a line above stated.

    Without a heading above them these are the means of an epoch, or those of an evaluation.
    """
    axis = state.setdefault("plain lines", {})
    parts = split_numbers(line)
    shape, numbers = shape_of(tuple(parts[::2])), parts[1::2]
    if shape.counters:
        return None
    step = axis.get("heading")
    if step is None and "announced" in axis and "epoch" not in axis:
        step = axis["announced"][0]
    if step is None and ("announced" in axis or "epoch" in axis or shape.is_summary):
        step = axis.get("step")
    if step is None:
        return None
    split = shape.split or (axis.get("split", "") if shape.is_summary else "")
    means = () if split or "heading" in axis else axis.get("names", ())
    values = {}
    for field in shape.metrics:
        value = _value(numbers[field.index])
        if value is not None and is_metric_name(field.name):
            name = _metric_name(field.name, split)
            values[f"epoch/{name}" if name in means else name] = value * field.scale
    return LineValues(int(step), values, parse_time(line)) if values else None


def _counts(shape: LineShape, numbers: list[str]) -> dict[Counter, tuple[int, int]]:
    counts: dict[Counter, tuple[int, int]] = {}
    for field in shape.counters:
        value = _count(numbers[field.index], field.scale)
        total = _count(numbers[field.total_index], field.scale) if field.total_index >= 0 else 0
        if value is not None and field.counter not in counts:
            counts[field.counter] = (value, total or 0)
    return counts


def _count(text: str, scale: float) -> int | None:
    value = _value(text)
    if value is None or (not isfinite(value) and not text[-1].isdigit()):
        return None
    value *= scale
    if abs(value) > LARGEST_STEP:
        raise ValueError(f"expected a step or an epoch, found a larger number of {len(text)} characters")
    return int(value) if value == int(value) else None


def _value(text: str) -> float | None:
    try:
        return float(text.replace(",", ""))
    except ValueError:  # a time, a version
        return None


def _metric_name(name: str, split: str) -> str:
    return name if not split or name.lower().startswith(split[:3]) else f"{split}/{name}"


class _RecordLines:
    """Finds the lines that the grammar reads, as a pattern would."""

    def finditer(self, string: bytes, /) -> Iterator[_RecordLine]:
        """Every line with a position and a metric."""
        start, end = 0, 0
        for match in _POSITION.finditer(string):
            if match.start() >= end:  # else the same line again
                start = max(string.rfind(sign, end, match.start()) for sign in (b"\n", b"\r")) + 1 or end
                next_end = _LINE_END.search(string, match.end())
                end = len(string) if next_end is None else next_end.start()
                line = string[start : min(end, start + _LONGEST_LINE)]
                # JSON lines have a format of their own
                is_record = not line.startswith(b"{") and _is_record(line)
                if is_record:
                    yield _RecordLine(start, min(end, start + _LONGEST_LINE))
        for match in _EPOCH_BLOCK.finditer(string):
            yield _RecordLine(match.start(), match.end())

    def search(self, string: bytes, /) -> _RecordLine | None:
        """The first such line."""
        return next(self.finditer(string), None)


def _is_record(line: bytes) -> bool:
    try:
        return parse_plain_line(strip_prefixes(line).text, {}) is not None
    except ValueError:  # a step that is too large
        return False


class _RecordLine(NamedTuple):
    """A line as a match of a pattern."""

    first: int
    last: int

    def start(self) -> int:
        """The first byte of the line."""
        return self.first

    def end(self) -> int:
        """The byte after the line."""
        return self.last


_LONGEST_LINE = 16 * 1024
_LINE_END = re.compile(rb"[\r\n]")
_POSITION = re.compile(
    rb"(?im)(?:epoch|iter(?:ation)?|step|batch|update|timestep|tick|round|\bit|\bep\.?|\bup\.)s?(?:\(\w{1,12}\))?"
    rb"[\"']?[ \t]{0,8}(?:[=:#|][ \t]{0,8})?[\[({\"']{0,2}[ \t]{0,8}\d"
    rb"|\d(?:epoch|batch)(?:es)?(?::| results)|\[\d{1,9}\]\t|\d:\tlearn: |/[ \t]{0,8}\d{1,9} batches \|"
    rb"|(?:^|\] )\[\d{1,9}\] [a-z_]\w{0,60}[=: ]"
    rb"|(?:train|test|eval|val(?:id)?): {1,4}(?:\d{1,9} )?\[ {0,8}\d{1,9}/"
    rb"|\d{1,9}/\d{1,9}\] ?\[ {0,8}\d{1,9}/\d"
)
_METRIC_ALONE = re.compile(
    rb"(?i)(?:loss|acc(?:uracy)?|dice|iou|learning rate|ppl|psnr|ssim|auc|f1|bleu|perplexity|acc@1)[\"']?"
    rb"[ \t]{0,4}[:= ][ \t]{0,4}[\[(]?[-+]?\d"
)
_EPOCH = re.compile(rb"(?i)\bepoch:? ?\[?\d{1,9}")
_EPOCH_BLOCK = re.compile(
    rb"\bEpoch:? ?\[?\d{1,9}(?:/\d{1,9})?\]?:?[ \t-]{0,80}\r?\n(?:[^\n]{0,300}\n){0,4}?"
    rb"[^\n]{0,80}?(?:train|val|valid)[_ ][Ll]oss[ \t]{0,4}[:= ][ \t]{0,4}[-+]?\d"
)
LINES = LineKind(pattern=_POSITION, parse=parse_plain_line)
"""Lines with a position and named numbers, in any text."""

EPOCH_LINES = LineKind(pattern=_METRIC_ALONE, parse=parse_metrics_of_epoch)
"""Lines of metrics below the line of their epoch; beside a framework's lines they would be anybody's."""

DIALECT = ConsoleDialect(name="key-value", signature=_RecordLines(), min_matches=2, kinds=(LINES,))
OWN_TEXT = DIALECT.followed_by(ConsoleDialect(name="epochs", signature=_EPOCH, kinds=(EPOCH_LINES,)))
"""The dialect in texts that no framework prints."""
