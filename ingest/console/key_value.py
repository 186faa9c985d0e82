"""Any line with a step and numbers by name: `step=10 loss=2.5`, `Step 10 | loss: 2.5, lr: 1e-4`."""

from __future__ import annotations

import re

from holter.ingest.console.dialect import Dialect, LineKind, Memory, Said
from holter.ingest.console.moments import moment
from holter.ingest.console.numbers import number

_NUMBER = r"[-+]?(?:\d[\d,]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[KMGTP]?|[-+]?(?:nan|NaN|inf|Infinity)"
_STEP = re.compile(r"\b(?:global_?step|steps?|iter(?:ation)?|it)\s*[=:#]?\s*(\d+)(?:\s*/\s*\d+)?\b", re.I)
_PAIR = re.compile(rf"([A-Za-z_][\w/.@-]*(?: [a-z][\w-]*)?)\s*[=:]\s*({_NUMBER})(?![\w:/])")
_NOT_METRICS = frozenset(
    {"step", "steps", "iter", "iteration", "global_step", "globalstep", "it", "rank", "pid"}
)


def _pairs(line: str, memory: Memory) -> Said | None:
    """Every `name=number` or `name: number` of a line that names its step."""
    found = _STEP.search(line)
    if found is None:
        return None
    values: dict[str, float] = {}
    for name, text in _PAIR.findall(line):
        value = number(text)
        if value is not None and name.lower() not in _NOT_METRICS:
            values.setdefault(name, value)
    return Said(int(found[1]), values, moment(line))


DIALECT = Dialect(
    name="key-value",
    tell=re.compile(
        rb"(?i)\b(?:step|iter(?:ation)?)s?\s*[=:#]?\s*\d[^\n]{0,200}?loss\w*\s*[=:]\s*[-+]?[\dni]"
    ),
    times=3,  # one such line may be anything
    kinds=(LineKind(mark=re.compile(rb"(?i)\b(?:step|iter|iteration)s?\s*[=:#]?\s*\d"), read=_pairs),),
)
