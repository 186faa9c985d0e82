"""NeMo: Lightning's progress bar (v1), `Training epoch 0, iteration 1/99 | lr: 3.9e-06 | …` (v2)."""

from __future__ import annotations

import re

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.text.values import parse_number, parse_numbers, parse_time

_V2 = re.compile(r"Training epoch (\d+), iteration (\d+)/(\d+) \| (.*)")
_BAR = re.compile(
    r"Epoch (\d+):.{0,200}?\| (\d+)/(\d+) \[[^,\]]{0,60}+"
    r"(?:,\s*+[\d.?]++\s*+(?:it/s|s/it))?(?:,\s*+)?([^\]]{0,4000}+)\]"
)
_NOT_METRICS = frozenset({"global_step", "v_num", "consumed_samples"})


def _v2(line: str, state: DialectState) -> LineValues | None:
    """Iterations count from 0 to the last one of the epoch; `global_step` counts through the epochs."""
    match = _V2.search(line)
    if match is None:
        return None
    texts = dict(piece.strip().partition(": ")[::2] for piece in match[4].split("|"))
    global_step = parse_number(texts.pop("global_step", ""))
    step = int(match[2]) if global_step is None else int(global_step)
    return LineValues(step, _metrics(texts), parse_time(line[: match.start()]))


def _bar(line: str, state: DialectState) -> LineValues | None:
    """Values have three digits, also the step: the counter of the bar is exact, within its epoch."""
    match = _BAR.search(line)
    if match is None:
        return None
    texts = dict(piece.strip().partition("=")[::2] for piece in match[4].split(","))
    step = int(match[1]) * int(match[3]) + int(match[2])
    if "reduced_train_loss" not in texts or state.get("bar") == step:
        return None
    state["bar"] = step
    return LineValues(step, _metrics(texts))


def _metrics(texts: dict[str, str]) -> dict[str, float]:
    return parse_numbers((name, text) for name, text in texts.items() if name not in _NOT_METRICS)


DIALECT = ConsoleDialect(
    name="nemo",
    signature=re.compile(rb"Training epoch \d+, iteration \d+/\d+ \||reduced_train_loss="),
    kinds=(
        LineKind(pattern=re.compile(rb"Training epoch \d+, iteration "), parse=_v2),
        LineKind(pattern=re.compile(rb"reduced_train_loss="), parse=_bar),
    ),
)
