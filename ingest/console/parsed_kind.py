"""What a line of a known kind holds."""

from __future__ import annotations

from collections.abc import Mapping

from holter.ingest.console.dialect import DialectState, LineKind, LineResult
from holter.ingest.console.line.class_rows import with_class
from holter.ingest.console.plain.result_blocks import LARGEST_GAP
from holter.ingest.console.text.prefixes import CleanLine

EXPECTED = "a line as its program prints it"
"""What a line is that can be parsed."""
_LINES_IN_GAP = 3
"""Lines in the largest gap between lines of a block, each with a prefix as long as that of the last one."""


def parse_found(
    kind: LineKind,
    kinds: Mapping[LineKind, int],
    printed: bytes,
    start: int,
    line: CleanLine,
    state: DialectState,
) -> LineResult:
    """What a line holds that begins at the byte `start`; lines of blocks find whether they are near the last.

    `kinds`: those of the dialect, in their order, with their numbers. Raises what the kind does for a line
    that it cannot parse.
    """
    text = kind.parsed_text(printed, line)
    # lines with a position, which begin launches, are no rows of classes, and may be read in columns
    if kind.any_program and kind.begin_launch is None and kind in kinds:
        text, number = with_class(text, kinds[kind], start, len(printed), state)
        if number != kinds[kind]:
            kind = next((each for each, of_each in kinds.items() if of_each == number), kind)
    if kind.in_blocks:
        around = _LINES_IN_GAP * (len(printed) - len(line.message.encode(errors="replace")))
        state["is near"] = start - state.get("end", start) <= LARGEST_GAP + around
        state["end"] = start + len(printed)
    return kind.parse(text, state)
