"""What a line of a known kind holds."""

from __future__ import annotations

from holter.ingest.console.dialect import DialectState, LineKind, LineResult
from holter.ingest.console.plain.result_blocks import LARGEST_GAP
from holter.ingest.console.text.prefixes import CleanLine

EXPECTED = "a line as its program prints it"
"""What a line is that can be parsed."""
_LINES_IN_GAP = 3
"""Lines in the largest gap between lines of a block, each with a prefix as long as that of the last one."""


def parse_found(
    kind: LineKind, printed: bytes, start: int, line: CleanLine, state: DialectState
) -> LineResult:
    """What a line holds that begins at the byte `start`; lines of blocks find whether they are near the last.

    Raises what the kind does for a line that it cannot parse.
    """
    text = kind.parsed_text(printed, line)
    if kind.in_blocks:
        around = _LINES_IN_GAP * (len(printed) - len(line.message.encode(errors="replace")))
        state["is near"] = start - state.get("end", start) <= LARGEST_GAP + around
        state["end"] = start + len(printed)
    return kind.parse(text, state)
