"""Writes measured tables into a page, between `<!-- measured: NAME -->` and `<!-- end: NAME -->`."""

from __future__ import annotations

import sys
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def write_section(page: Path, name: str, text: str) -> None:
    """Replace the measured part `name` of a page. Exits with a message if the page lacks its markers."""
    first, last = f"<!-- measured: {name} -->", f"<!-- end: {name} -->"
    before, _, rest = page.read_text().partition(first)
    _, _, after = rest.partition(last)
    if not after:
        sys.exit(f"{page}: markers {first} and {last} not found")
    page.write_text(f"{before}{first}\n\n{text.strip()}\n\n{last}{after}")
