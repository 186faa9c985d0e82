"""Epochs that headings without a number count: they are forgotten where a line states the number of one."""

from __future__ import annotations

from typing import Any

UNNUMBERED = "unnumbered epoch"
"""The epoch of the last such heading."""
FIRST = 1


def end_unnumbered(axis: dict[str, Any]) -> None:
    """A line states the number of an epoch: what headings counted is no position of the lines below."""
    if axis.pop(UNNUMBERED, None) is not None:
        axis.pop("announced", None)
