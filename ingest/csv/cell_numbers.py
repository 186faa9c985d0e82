"""The numbers in the cells of a column, which may have per cent signs, commas of thousands and units."""

from __future__ import annotations

import re
from collections.abc import Sequence

from holter.ingest.console.text.values import parse_number

_WITH_UNIT = re.compile(
    r"\s{0,4}([-+]?\d{1,20}(?:\.\d{0,20})?(?:[eE][-+]?\d{1,3})?)"
    r"(?: {1,2}[^\W\d_]{1,12}|[^\W\d_]{1,3})(?:/[^\W\d_]{1,12}){0,2}\s{0,4}"
)
"""`1200.5 img/s`, `12ms`."""


def numbers_of_cells(cells: Sequence[str]) -> list[float | None]:
    """The number in each cell, None if it has none. A cell states by itself what it has.

    A percentage is itself, as in printed lines; so is a number with a unit, whichever that is.
    """
    return [_number(cell) for cell in cells]


def _number(cell: str) -> float | None:
    if not cell:
        return None
    try:
        return float(cell.removesuffix("%"))
    except ValueError:
        pass
    if not cell.lstrip(" +-")[:1].isdigit():  # most texts begin with a letter
        return None
    if (number := parse_number(cell)) is not None:
        return number
    with_unit = _WITH_UNIT.fullmatch(cell)
    return None if with_unit is None else float(with_unit[1])
