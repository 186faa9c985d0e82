"""The points of a run that no newer attempt has superseded."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from holter.attempts.superseded import superseded_points
from holter.server.context import ServerContext
from holter.server.read_models.run_summary import spans_of
from holter.types import Series, SeriesKey


def read_timeline(
    context: ServerContext,
    run_id: int,
    keys: Collection[SeriesKey] | None = None,
    *,
    from_step: int | None = None,
    to_step: int | None = None,
) -> dict[SeriesKey, Series]:
    """The valid points of these series (None: all) within the steps, both ends included."""
    spans = spans_of(context.store.attempts(run_id))
    stored = context.store.read(run_id, keys, from_step=from_step, to_step=to_step)
    return {
        key: select(points, ~superseded_points(points.attempt, points.step, spans))
        for key, points in stored.items()
    }


def select(points: Series, chosen: NDArray[Any]) -> Series:
    """Some points of a series: by a mask or by indices."""
    return replace(
        points,
        attempt=points.attempt[chosen],
        step=points.step[chosen],
        time=points.time[chosen],
        value=points.value[chosen],
    )
