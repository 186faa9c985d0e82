"""Bare numbers below or behind the number of an epoch, `Epoch 3` above `0.41`, as a table of the epochs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from holter.ingest.metric_names import is_metric_name
from holter.ingest.offline.bare_rows import bare_numbers
from holter.ingest.offline.counted_lines import Cells, is_number
from holter.ingest.offline.numbered_tables import LEAST_ROWS, UNNAMED

_MOST_BELOW_EPOCH = 4
_MOST_OTHERS = 0.1
"""Of the lines of a text of epochs with numbers below them that are others."""
_EPOCH = re.compile(r"(?i)(?:\[ info: |\W{0,10})epoch\W{0,4}(\d{1,9})(?: ?/ ?\d{1,9})?\W{0,10}")
_EPOCH_VALUE = re.compile(
    r"(?i)\W{0,10}epoch\W{0,4}(\d{1,9})[\s:;,=|>-]{1,10}([-+]?[\d.]{1,40}(?:e[-+]?\d{1,4})?)"
)


def values_below_epochs(lines: Sequence[str], name: str) -> Cells:
    """Bare numbers below or behind epochs, as many of each: at this epoch; nothing for other texts."""
    texts = [line.strip() for line in lines if line.strip()]
    epochs: list[tuple[str, list[str]]] = []
    others = 0
    for text in texts:
        if (heading := _EPOCH.fullmatch(text)) is not None:
            epochs.append((heading[1], []))
        elif (row := _EPOCH_VALUE.fullmatch(text)) is not None and is_number(row[2]):
            epochs.append((row[1], [row[2]]))
        elif epochs and (is_number(text) or bare_numbers(text)):
            epochs[-1][1].extend(bare_numbers(text) or [text])
        else:
            others += 1  # what the program prints before it begins and when it ends
    if others > _MOST_OTHERS * len(texts):
        return []
    width = len(epochs[0][1]) if epochs else 0
    is_last_open = bool(epochs) and len(epochs[-1][1]) < width
    if len({epoch for epoch, _ in epochs}) < LEAST_ROWS or not 0 < width <= _MOST_BELOW_EPOCH:
        return []
    if any(len(numbers) != width for _, numbers in epochs[: len(epochs) - is_last_open]):
        return []
    names = [name, *(f"{name}_{number}" for number in range(2, width + 1))]
    if width > 1 and not is_metric_name(name):
        names = [f"{UNNAMED}{number}" for number in range(1, width + 1)]
    rows = ([epoch, *numbers, *[""] * (width - len(numbers))] for epoch, numbers in epochs)
    return [["step", *names], *rows]
