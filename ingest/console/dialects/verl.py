"""verl and its descendants: `step:83 - actor/pg_loss:0.001 - critic/score/mean:0.906 - …`."""

from __future__ import annotations

import re

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.text.values import parse_numbers

_STEP = re.compile(r"\bstep:(\d+) - (.+)")
_NUMPY = re.compile(r"np\.\w+\(([^()]*)\)")
_NOT_METRICS = frozenset({"training/global_step"})


def _step(line: str, state: DialectState) -> LineValues | None:
    """The metrics of a step of reinforcement learning under verl's names; step 0 is only evaluated."""
    match = _STEP.search(line)
    if match is None:
        return None
    pairs = (piece.rpartition(":")[::2] for piece in match[2].split(" - "))
    texts = {name.strip(): text.strip() for name, text in pairs if name.strip() not in _NOT_METRICS}
    return LineValues(
        int(match[1]), parse_numbers((name, _NUMPY.sub(r"\1", text)) for name, text in texts.items())
    )


DIALECT = ConsoleDialect(
    name="verl",
    signature=re.compile(rb"\bstep:\d+ - [\w@./-][\w@.-]*/[\w@./-]+:(?:np\.\w+\()?[-\d]"),
    kinds=(LineKind(pattern=re.compile(rb"step:\d+ - "), parse=_step),),
)
