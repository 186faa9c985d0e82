"""fairseq and metaseq: `| INFO | train_inner | {"epoch": 1, "loss": "16.446", "num_updates": "2", …}`.

With hydra the lines begin `[2021-03-19 19:41:00,127][train_inner][INFO] - {`.
"""

from __future__ import annotations

import re
from math import isfinite, log

import msgspec

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.text.values import parse_numbers, parse_time

_PART = r"(?:train|train_inner|valid\w*|test)"
_BEFORE_STATS = rf"(?:\| {_PART} \| |\]\[{_PART}\]\[INFO\] - )"
_LINE = re.compile(_BEFORE_STATS + r"(\{.{0,8000}\})")
# until 2020 without the words `train_inner`, `train`, `valid`
_INNER = re.compile(r"\| epoch \d+: +\d+ / \d+ (.+)")
_SUMMED = re.compile(r"(?:\| (?P<split>train|valid\w*|test) )?\| epoch \d+ \| (?P<pieces>.+)")
_SUBSET = re.compile(r"(?:^|\| )(valid\w*|test) on '")
_PAIR = re.compile(r"(?<![\w.])([\w.]++)=([^,\s]+)")
_OVERFLOW = re.compile(r"setting loss scale to: ([\d.]+)")
_STEP = "num_updates"
_decode = msgspec.json.Decoder().decode


def _stats(line: str, state: DialectState) -> LineValues | None:
    """`--log-format json`; values of a full epoch have names of their own: `train_loss`."""
    match = _LINE.search(line)
    try:
        stats = _decode(match[1]) if match else None
    except msgspec.DecodeError:
        return None
    if match is None or not isinstance(stats, dict):
        return None
    numbers = parse_numbers((name, str(text)) for name, text in stats.items())
    return _line_values(numbers, line[: match.start()], state)


def _inner(line: str, state: DialectState) -> LineValues | None:
    """`| train_inner | epoch 001:    100 / 487 loss=4.655, ppl=25.2, …, num_updates=100, lr=5e-05`."""
    match = _INNER.search(line)
    return (
        None
        if match is None
        else _line_values(parse_numbers(_PAIR.findall(match[1])), line[: match.start()], state)
    )


def _summed(line: str, state: DialectState) -> LineValues | None:
    """`| valid | epoch 001 | valid on 'valid' subset | loss 2.001 | ppl 4 | … | num_updates 487`."""
    match = _SUMMED.search(line)
    if match is None:
        return None
    words = (piece.rpartition(" ") for piece in match["pieces"].split(" | "))
    subset = _SUBSET.search(match["pieces"])
    split = match["split"] or ("" if " valid_" in match["pieces"] else subset[1] if subset else "train")
    numbers = parse_numbers((f"{split}_{name.strip()}".lstrip("_"), text) for name, _, text in words if name)
    return _line_values(numbers, line[: match.start()], state)


def _line_values(numbers: dict[str, float], before: str, state: DialectState) -> LineValues | None:
    """The values with losses converted from bits to nats, the unit of all other frameworks."""
    step = next(
        (int(value) for name, value in numbers.items() if name.endswith(_STEP) and isfinite(value)), None
    )
    if step is None:
        step = state.get("step")
    if step is None:
        return None
    state["step"] = step
    values = {
        name: value * log(2) if name.endswith("loss") else value
        for name, value in numbers.items()
        if not name.endswith(_STEP)
    }
    return LineValues(step, values, parse_time(before))


def _overflow(line: str, state: DialectState) -> LineValues | None:
    match = _OVERFLOW.search(line)
    return (
        LineValues(int(state.get("step", 0)), {"loss_scale": float(match[1])}, parse_time(line))
        if match
        else None
    )


DIALECT = ConsoleDialect(
    name="fairseq",
    signature=re.compile(
        rb"\| (?:train_inner|train|valid) \| (?:\{\"|epoch \d)|\| epoch \d+: +\d+ / \d+ loss="
        rb"|\]\[train(?:_inner)?\]\[INFO\] - \{\"epoch\""
    ),
    kinds=(
        LineKind(pattern=re.compile(_BEFORE_STATS.encode() + rb"\{"), parse=_stats),
        LineKind(pattern=re.compile(rb"\| epoch \d+: "), parse=_inner),
        LineKind(pattern=re.compile(rb"\| epoch \d+ \| "), parse=_summed),
        LineKind(pattern=re.compile(rb"setting loss scale to: "), parse=_overflow),
    ),
)
