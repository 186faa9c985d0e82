"""The pages of the documentation and the fenced blocks in them."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    page for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")] if page.name != "CHANGELOG.md"
)  # the change log also names what is gone
FENCE = re.compile(
    r"(?:^ *<!-- not run: (?P<reason>[^\n]+) -->\n+)?^ *```(?P<language>\w*)\n(?P<text>.*?)^ *```",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language ("" = none named), its text without indentation, and its place.

    `reason` is that of a comment `<!-- not run: REASON -->` before the block, None without one.
    """

    language: str
    text: str
    line: int
    reason: str | None


def blocks_of(page: Path, *languages: str) -> list[Block]:
    """The blocks of a page in one of the languages, in order."""
    text = page.read_text()
    return [
        Block(
            language=found["language"],
            text=textwrap.dedent(found["text"]),
            line=text.count("\n", 0, found.start("text")) + 1,
            reason=found["reason"],
        )
        for found in FENCE.finditer(text)
        if found["language"] in languages
    ]
