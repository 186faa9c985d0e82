"""Metrics of StyleGAN and its kin: a line of JSON between those of ticks, whose step they have.

`{"results": {"fid50k_full": 24.7}, "metric": "fid50k_full", "total_time": 98.1, ...}`
"""

from __future__ import annotations

import json
import re

from holter.ingest.console.dialect import DialectState, LineKind, LineValues
from holter.ingest.console.plain.plain_line import axis_state
from holter.ingest.console.steps.positions import position


def _metrics(line: str, state: DialectState) -> LineValues | None:
    """The results of a line, none of one that is cut off."""
    step = position(axis_state(state))
    try:
        results = json.loads(line[line.index("{") :])["results"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if step is None or not isinstance(results, dict):
        return None
    values = {
        f"eval/{name}": float(value) for name, value in results.items() if isinstance(value, int | float)
    }
    return LineValues(step, values) if values else None


STYLEGAN_METRICS = LineKind(
    pattern=re.compile(rb'(?m)^\{"results": \{"[^\n]{0,400}\}, "metric": '), parse=_metrics
)
