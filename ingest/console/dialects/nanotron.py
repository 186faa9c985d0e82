"""nanotron: `iteration: 1 / 15 | consumed_tokens: 512 | … | lm_loss: 5.32 | lr: 0.00015 | …`."""

from __future__ import annotations

import re

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.text.values import parse_number, parse_time

_ITERATION = re.compile(r"iteration: (\d+) / \d+ \|(.*)")


def _iteration(line: str, state: DialectState) -> LineValues | None:
    """Numbers have three digits: a loss above 1 has a resolution of 0.01."""
    match = _ITERATION.search(line)
    if match is None:
        return None
    values = {}
    for piece in match[2].split("|"):
        name, _, text = piece.partition(":")
        value = parse_number(text)
        if value is not None:
            values[name.strip()] = value
    return LineValues(int(match[1]), values, parse_time(line[: match.start()]))


DIALECT = ConsoleDialect(
    name="nanotron",
    signature=re.compile(rb"iteration: \d+ / \d+ \| consumed_tokens: "),
    kinds=(LineKind(pattern=re.compile(rb"iteration: \d+ / \d+ \|"), parse=_iteration),),
)
