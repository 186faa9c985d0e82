"""Headers of CSV files that W&B's page exports from a chart: `RUN - METRIC`, and bounds of its buckets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

OWN_STEP = "_step"
_BETWEEN = " - "
_AXES = frozenset({"Step", "Wall Time", "Relative Time (Process)", "Relative Time (Wall)"})
_BOUNDS = {"__MIN": "min", "__MAX": "max"}


class ChartColumn(NamedTuple):
    """A column: its index, run and metric, and which bound of the buckets it is ("" for the value)."""

    column: int
    run: str
    metric: str
    bound: str


def is_chart_export(header: Sequence[str]) -> bool:
    """Whether a header is one of W&B's page."""
    return bool(parse_header(header)) and len(header) > 1


def parse_header(header: Sequence[str]) -> list[ChartColumn]:
    """The content of each column; empty if any but the first is not `RUN - METRIC`.

    Names of runs and metrics may contain " - ". All lines of a chart mostly show the same metric, so it is
    the longest common ending of all columns; if they show several metrics, it is the part after the last "
    - ".
    """
    plain = [_unbound(name) for name in header[1:]]
    if not plain or not all(_BETWEEN in name for name, _ in plain):
        return []
    own = header[0] in _AXES or any(bound or name.endswith(_BETWEEN + OWN_STEP) for name, bound in plain)
    if not own or _BETWEEN in header[0]:
        return []
    shared = _shared([name for name, _ in plain if not name.endswith(_BETWEEN + OWN_STEP)])
    columns = []
    for column, (name, bound) in enumerate(plain, start=1):
        if shared and name.endswith(shared):
            columns.append(
                ChartColumn(column, name.removesuffix(shared), shared.removeprefix(_BETWEEN), bound)
            )
        else:
            run, _, metric = name.rpartition(_BETWEEN)
            columns.append(ChartColumn(column, run, metric, bound))
    return columns


def _unbound(name: str) -> tuple[str, str]:
    for ending, bound in _BOUNDS.items():
        if name.endswith(ending):
            return name.removesuffix(ending), bound
    return name, ""


def _shared(names: Sequence[str]) -> str:
    """The longest " - METRIC" with which all names end; empty for one name, where the cut is unclear."""
    runs = list(dict.fromkeys(names))
    if len(runs) < 2:
        return ""
    parts = [name.split(_BETWEEN) for name in runs]
    common = 0
    while common < min(map(len, parts)) - 1 and len({tuple(part[-common - 1 :]) for part in parts}) == 1:
        common += 1
    return _BETWEEN + _BETWEEN.join(parts[0][-common:]) if common else ""
