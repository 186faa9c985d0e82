"""Progress bars as tqdm draws them into a log."""

from __future__ import annotations


def bar(at: int, total: int, description: str = "", behind: str = "", *, unit: str = "it") -> str:
    """A state of a bar of tqdm, which draws it again from the beginning of the line."""
    drawing, share = "#" * (10 * at // total), 100 * at // total
    before = f"{description}: " if description else ""
    numbers = f", {behind}" if behind else ""
    return f"\r{before}{share:3d}%|{drawing:10}| {at}/{total} [00:02<00:04,  9.70{unit}/s{numbers}]"
