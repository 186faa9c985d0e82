"""Megatron-LM and its descendants: Megatron-DeepSpeed, GPT-NeoX, Megatron-Bridge."""

from __future__ import annotations

import re
from functools import lru_cache

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.dialects import arguments, megatron_times
from holter.ingest.console.text.values import parse_number, parse_time

_ITERATION = re.compile(r"\biteration\s+(\d+)\s*/\s*\d+")
_VALIDATION = re.compile(
    r"(?<![\w.-])(?P<split>[A-Za-z][\w.-]{0,40}) (?:loss|results)"
    r" (?:at (?:(?:iteration|step) (?P<step>\d{1,15})"
    r"|the end of training)(?: (?:for|on) (?P<of>[\w. -]{1,60}))?|on (?P<name>[\w. -]{1,60}))[^|\n]{0,100}\|"
)
_DATA = re.compile(r"(?:the )?(?P<split>val|valid|validation|test)(?: (?:set|data|dataset|split))?")
_VALID = frozenset({"val", "valid"})
"""Other words for the validation."""
_CHECKPOINT = re.compile(
    r"successfully (?P<verb>saved|loaded) checkpoint from .{0,1000}?\biteration\s+(?P<step>\d+)"
)


def _training(line: str, state: DialectState) -> LineValues | None:
    """` iteration 71/ 100 | consumed samples: 9088 | … | lm loss: 1.818812E+00 |`: a mean over the interval.

    A loss of NaN is not printed at all; "number of nan iterations" counts such losses.
    """
    match = _ITERATION.search(line)
    if match is None:
        return None
    state["step"] = step = int(match[1])
    return LineValues(step, _pieces(line), parse_time(line[: match.start()]))


def _validation(line: str, state: DialectState) -> LineValues | None:
    """` validation loss at iteration 1000 | lm loss value: 2.1E+00 | lm loss PPL: 8.1E+00 |`.

    Those of a data set, ` validation results on LAMBADA | avg accuracy: 0.3 |`, are at the last iteration.
    """
    match = _VALIDATION.search(line)
    if match is None:
        return None
    step, split = match["step"] or state.get("step"), match["split"]
    of = (match["of"] or match["name"] or "").strip()
    if (data := _DATA.fullmatch(of)) is not None:  # `validation loss at the end of training for test data`
        split, of = data["split"], ""
    split = "/".join(filter(None, ("validation" if split in _VALID else split, of)))
    values = {
        f"{split}/{name.removesuffix(' value')}": value
        for name, value in _pieces(line[match.end() :]).items()
    }
    return None if step is None else LineValues(int(step), values, parse_time(line[: match.start()]))


def _checkpoint(line: str, state: DialectState) -> LineValues | None:
    """`successfully saved checkpoint from iteration 12000 to …`: a step to which one can roll back."""
    match = _CHECKPOINT.search(line)
    if match is None:
        return None
    step = int(match["step"])
    return LineValues(step, {f"checkpoint {match['verb']}": float(step)}, parse_time(line[: match.start()]))


def _pieces(line: str) -> dict[str, float]:
    """`name: value` between bars; texts that are no numbers are no metrics."""
    values = {}
    for piece in line.split("|"):
        before, colon, text = piece.rpartition(":")
        if colon and (name := _name(before)):
            try:  # most texts, without the cost of a call
                value = None if "_" in text else float(text)
            except ValueError:
                value = parse_number(text) if "/" not in text else _newest(text)
            if value is not None:
                values[name] = value
    return values


def _newest(text: str) -> float | None:
    """The first of `13100.0/13240.9`, which are an iteration's value and the mean (Primus)."""
    value, _, mean = text.partition("/")
    return None if parse_number(mean) is None else parse_number(value)


@lru_cache(maxsize=4096)
def _name(text: str) -> str:
    """The metric before a colon, "" if it is a bracket with a time or a source location."""
    return "" if "[" in text else text.strip()


DIALECT = ConsoleDialect(
    name="megatron",
    # also its arguments: a launch that hangs has printed nothing else
    signature=re.compile(rb"iteration[ \t]+\d+[ \t]*/[ \t]*\d+ \|[^\n:]{0,400}:|-{12} arguments -{12}"),
    kinds=(
        LineKind(pattern=re.compile(rb"iteration[ \t]+\d+[ \t]*/[ \t]*\d+ \|"), parse=_training),
        LineKind(
            pattern=re.compile(
                rb"(?:loss|results) (?:at (?:(?:iteration|step) \d|the end of)|on [^\n|]{1,60}\|)"
            ),
            parse=_validation,
        ),
        LineKind(pattern=re.compile(rb"successfully (?:saved|loaded) checkpoint from"), parse=_checkpoint),
        *megatron_times.KINDS,
        *arguments.KINDS,
    ),
)
