"""Lines that count batches within epochs, as trainers of computer vision print them.

`Epoch(train) [1][50/90] loss: 11.4` (MMEngine, MMDetection, XTuner), `Epoch: [0][10/5005] Loss 6.9 (6.9)`
(PyTorch's examples, DETR, Swin), `Train Epoch: 1 [640/60000 (1%)] Loss: 2.2` (open_clip, MNIST's example).
"""

from __future__ import annotations

import re

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.values import parse_number, parse_time

_POSITION = re.compile(
    r"\b(?:[Ee]poch|[Ii]ter|Train)(?: Epoch)?(?:\((?P<split>\w+)\))?\s*+(?::\s*+)?"
    r"(?:\[?(?P<epoch>\d+)(?:/\d+)?\]?\s*(?:[,-]\s*(?:Step|Iter|Batch):?\s*)?)?"
    r"[\[(]\s*(?P<batch>\d+)(?:/(?P<batches>\d+)(?:\s*\(\s*\d+%\))?)?[\])]"
)
_NUMBER = r"[-+]?(?:\d[\d,]*+(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf)"
_PAIR = re.compile(
    r"(?<![\w/])(?P<name>[A-Za-z][\w./@-]{0,120}(?: [A-Za-z][\w/@-]{0,120}){0,20}(?: \(t\))?)(?::\s*+|\s++)"
    rf"(?P<number>{_NUMBER})(?![\w:/]*:\d)"
)
_NOT_METRICS = frozenset({"eta", "day", "days"})


def _batch(line: str, state: DialectState) -> LineValues | None:
    """A step is a batch, or a sample if samples are counted; values in brackets are running means.

    An evaluation is at the last step of the training before it.
    """
    match = _POSITION.search(line)
    if match is None:
        return None
    split = match["split"] or "train"
    if split == "train":
        state["step"] = step = _step(match, state)
    elif "step" not in state:
        return None
    else:
        step = int(state["step"])
    values: dict[str, float] = {}
    for pair in _PAIR.finditer(line, match.end()):
        name = pair["name"].strip()
        value = parse_number(pair["number"])
        if value is not None and name not in _NOT_METRICS and not name.startswith("day"):
            values.setdefault(name if split == "train" else f"{split}/{name}", value)
    return LineValues(step, values, parse_time(line[: match.start()]))


def _step(position: re.Match[str], state: DialectState) -> int:
    """Batches since the first epoch, 0 or 1; if their number per epoch is unknown, since the log began."""
    batch = int(position["batch"])
    if position["epoch"] is None:
        return batch
    epoch = int(position["epoch"])
    if position["batches"] is None:
        last_epoch, last, before = state.get("told", (epoch, batch, 0))
        before += last + 1 if epoch > last_epoch else 0
        state["told"] = [epoch, batch, before]
        return int(before) + batch
    from_zero = state.setdefault("from zero", epoch == 0)
    return (epoch if from_zero else epoch - 1) * int(position["batches"]) + batch


DIALECT = ConsoleDialect(
    name="batches",
    signature=re.compile(
        rb"\b(?:[Ee]poch|[Ii]ter|Train)(?: Epoch)?(?:\(train\))?\s*(?::\s*)?"
        rb"(?:\[?\d+(?:/\d+)?\]?\s*(?:[,-]\s*(?:Step|Iter|Batch):?\s*)?)?"
        rb"[\[(]\s*\d+(?:/\d+(?:\s*\(\s*\d+%\))?)?[\])][^\n]{0,400}?[lL]oss\w*:?\s+[-\dni]"
    ),
    kinds=(
        LineKind(
            pattern=re.compile(
                rb"(?:[Ee]poch|[Ii]ter|Train)(?: Epoch)?(?:\(\w+\))?[ \t]*(?::[ \t]*)?(?:\d+[ \t]*)?\["
            ),
            parse=_batch,
        ),
    ),
)
