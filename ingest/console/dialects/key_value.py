"""Any line with a step and numbers by name: `step=10 loss=2.5`, `Step 10 | loss: 2.5, lr: 1e-4`."""

from __future__ import annotations

import re
from functools import lru_cache

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.values import parse_number, parse_time

_NUMBER = (
    r"[-+]?(?:\d++(?:,\d{3}(?!\d))*+(?:\.\d*+)?+|\.\d++)(?:[eE][-+]?\d++)?+(?:[kKMGTP](?![A-Za-z]))?"
    r"|[-+]?(?:nan|NaN|inf|Infinity)"
)
_STEP = re.compile(
    r"(?<![\w-])(?:global_?step|step|steps(?==)|iter(?:ation)?|it)\s*+(?:[=:#]\s*+)?(\d+)(?:\s*/\s*(\d+))?\b",
    re.I,
)
_EPOCH = re.compile(r"\bepochs?\s*+(?:[=:#]\s*+)?\[?(\d+)\b", re.I)
_NAME = r"(?<![\w/.@-])(?:[A-Z][a-z]+ )?[A-Za-z_][\w/.@-]*(?: [a-z][\w-]*)?(?: ?\([A-Za-z/]{1,24}\))?"
# a unit may follow; dates, versions, durations and counts such as 3/10 are no numbers
_PAIR = re.compile(rf"({_NAME})\s*[=:]\s*({_NUMBER})(?![-.:/]?\d)[A-Za-z%]{{0,5}}+(?![\w:])")
# `loss 0.69 | lr 1e-5`: names and numbers without a sign between, in lines with such a loss
_SPACED_LOSS = re.compile(rf"loss\s+(?:{_NUMBER})\b", re.I)
_SPACED = re.compile(
    rf"(?<![\w/.@-])([A-Za-z_][\w/]*(?: [A-Za-z][\w/]*)?)\s+({_NUMBER})"
    r"(?=\s?(?:ms|s|sec|%|[KMG]i?B)?(?:[\s,|;(]|$))"
)
_NOT_METRICS = frozenset(
    {"step", "steps", "iter", "iteration", "global_step", "globalstep", "it", "rank", "pid"}
)
# settings (`warm-up steps: 100`), words of a text, locations in source files
_NO_NAME = re.compile(r"(?:step|iteration)s?$|step-by-step|\.(?:py|cc|cpp|cu|rs|go)$", re.I)


def _pairs(line: str, state: DialectState) -> LineValues | None:
    """Every `name=number` or `name: number` of a line with a step.

    Steps that start over with each epoch continue from the last step of the epoch before.
    """
    match = _STEP.search(line)
    if match is None:
        return None
    step, epoch = int(match[1]), _EPOCH.search(line)
    if epoch is not None:
        step += _before(int(epoch[1]), step, int(match[2] or 0), state)
    return LineValues(step, named_numbers(line), parse_time(line))


def _before(epoch: int, step: int, steps: int, state: DialectState) -> int:
    """The number of steps in earlier epochs, if steps start over with each epoch."""
    last_epoch, last_step, before = state.get("told", (epoch, 0, 0))
    if epoch < last_epoch:
        before = 0
    elif epoch > last_epoch and step < last_step:
        before += steps or last_step
    state["told"] = [epoch, step, before]
    return int(before)


def named_numbers(line: str) -> dict[str, float]:
    """The numbers in a line, by the names before them."""
    pairs = _PAIR.findall(line)
    if _SPACED_LOSS.search(line):
        pairs += _SPACED.findall(line)
    values: dict[str, float] = {}
    for name, text in pairs:
        value = parse_number(text)
        if value is not None and _is_metric(name):
            values.setdefault(name, value)
    return values


@lru_cache(maxsize=4096)  # the same few names in every line
def _is_metric(name: str) -> bool:
    return name.lower() not in _NOT_METRICS and _NO_NAME.search(name) is None


DIALECT = ConsoleDialect(
    name="key-value",
    signature=re.compile(
        rb"(?i)\b(?:step|iter(?:ation)?)s?\s*(?:[=:#]\s*)?\d[^\n]{0,200}?loss\w*(?:\s*[=:]\s*|\s+)[-+]?(?:\d|nan|inf)"
    ),
    min_matches=3,  # a single such line may be anything
    kinds=(
        LineKind(pattern=re.compile(rb"(?i)\b(?:step|iter|iteration)s?\s*(?:[=:#]\s*)?\d"), parse=_pairs),
    ),
)
