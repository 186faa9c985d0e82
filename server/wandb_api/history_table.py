"""The history of a run as rows of one call of `run.log` each, as the client reads it back.

Points are stored by series. Points of an attempt with the same step, time and writer were one row, and
several values of a series at the same step and time were as many rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holter.ingest.wandb.step_metrics import COUNTER
from holter.server.context import ServerContext
from holter.server.wandb_api.operations import OperationError
from holter.server.wandb_api.timeline import read_timeline
from holter.types import Series, SeriesKey

STEP, TIME, RUNTIME = "_step", "_timestamp", "_runtime"
MAX_POINTS = 5_000_000
"""Points of one answer; clients read longer histories page by page."""
_SYSTEM = "system."
_WRITER = "writer"


@dataclass(frozen=True)
class HistoryTable:
    """Rows in the order of the client's counter.

    `step` and `time` (Unix seconds, NaN: none) have the shape [rows]; `columns` has the rows and the values
    of each metric. `start`: Unix seconds that `_runtime` counts from, NaN where unknown.
    """

    step: NDArray[np.int64]
    time: NDArray[np.float64]
    columns: Mapping[str, tuple[NDArray[np.int64], NDArray[np.float64]]]
    start: float

    def rows(self, chosen: NDArray[Any] | None = None) -> list[dict[str, Any]]:
        """The chosen rows (indices, ascending), all by default."""
        chosen = np.arange(len(self.step)) if chosen is None else chosen
        position = np.full(len(self.step), -1)
        position[chosen] = np.arange(len(chosen))
        rows: list[dict[str, Any]] = [{STEP: int(step)} for step in self.step[chosen]]
        for row, time in zip(rows, self.time[chosen].tolist(), strict=True):
            if not isnan(time):
                row[TIME] = time
                if not isnan(self.start):
                    row[RUNTIME] = time - self.start
        for name, (at, values) in self.columns.items():
            found = position[at]
            for index, value in zip(found[found >= 0].tolist(), values[found >= 0].tolist(), strict=True):
                rows[index][name] = value
        return rows

    def with_all(self, names: Iterable[str]) -> NDArray[np.int64]:
        """The indices of the rows that have all of these metrics."""
        complete = np.ones(len(self.step), bool)
        for name in names:
            if name == STEP:
                continue
            if name in (TIME, RUNTIME):
                complete &= ~np.isnan(self.time)
            else:
                has = np.zeros(len(self.step), bool)
                has[self.columns.get(name, (np.empty(0, np.int64), None))[0]] = True
                complete &= has
        return np.flatnonzero(complete)


def is_system(key: SeriesKey) -> bool:
    """Whether a series is a system metric, which clients read apart from the history."""
    return key.metric.startswith(_SYSTEM)


def name_of(key: SeriesKey) -> str:
    """The name under which a client logged a series; the writer is a property of rows."""
    return str(SeriesKey(key.metric, tuple(label for label in key.labels if label[0] != _WRITER)))


def read_history(
    context: ServerContext,
    run_id: int,
    names: Iterable[str] | None = None,
    *,
    system: bool = False,
    min_step: int | None = None,
    max_step: int | None = None,
) -> HistoryTable:
    """The rows whose counter is in [min_step, max_step), of these metrics (None: all).

    Raises OperationError for more than `MAX_POINTS` points.
    """
    wanted = None if names is None else set(names)
    summaries = [
        each
        for each in context.store.series(run_id)
        if each.key.metric != COUNTER
        and is_system(each.key) == system
        and not each.key.has_clock_steps
        and (wanted is None or name_of(each.key) in wanted)
    ]
    if min_step is None or max_step is None:
        points = sum(each.points for each in summaries)
    else:
        points = sum(min(each.points, max_step - min_step) for each in summaries)
    if points > MAX_POINTS:
        raise OperationError(
            f"the history has {points} points, more than {MAX_POINTS}: "
            "name the keys, or read it by scan_history"
        )
    keys = [each.key for each in summaries]
    counter = read_timeline(context, run_id, [SeriesKey(COUNTER)]).get(SeriesKey(COUNTER))
    if min_step is None or max_step is None:
        stored = [read_timeline(context, run_id, keys)]
    else:
        ranges = _step_ranges(counter, min_step, max_step)
        stored = [
            read_timeline(context, run_id, keys, from_step=first, to_step=last) for first, last in ranges
        ]
    starts = [each.first_time for each in context.store.attempts(run_id) if each.first_time is not None]
    series = [one for part in stored for one in part.values() if len(one)]
    table = _table(series, counter, min(starts, default=float("nan")))
    if min_step is None or max_step is None:
        return table
    return _within(table, min_step, max_step)


def last_counter(context: ServerContext, run_id: int) -> int:
    """The largest value of the client's counter, -1 for a run without history."""
    steps = [
        each.last_step
        for each in context.store.series(run_id)
        if each.key.metric != COUNTER and not is_system(each.key) and not each.key.has_clock_steps
    ]
    counter = read_timeline(context, run_id, [SeriesKey(COUNTER)]).get(SeriesKey(COUNTER))
    if counter is None or not len(counter):
        return max(steps, default=-1)
    return int(counter.value.max())


def sampled(count: int, samples: int) -> NDArray[np.int64]:
    """At most `samples` of `count` indices, evenly, with the first and the last."""
    if count <= samples:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, max(samples, 1)).round().astype(np.int64))


def _step_ranges(counter: Series | None, min_step: int, max_step: int) -> list[tuple[int, int]]:
    """The ranges of training steps, both ends included, of the rows whose counter is in [min_step, max_step).

    A row whose counter is its training step has no point in the counter's series.
    """
    same = (min_step, max_step - 1)
    if counter is None or not len(counter):
        return [same]
    within = counter.step[(counter.value >= min_step) & (counter.value < max_step)]
    if not len(within):
        return [same]
    other = (int(within.min()), int(within.max()))
    if other[0] <= same[1] + 1 and same[0] <= other[1] + 1:
        return [(min(same[0], other[0]), max(same[1], other[1]))]
    return sorted([same, other])


def _table(series: Sequence[Series], counter: Series | None, start: float) -> HistoryTable:
    if not series:
        return HistoryTable(np.empty(0, np.int64), np.empty(0), {}, start)
    writers = {name: number for number, name in enumerate(sorted({_writer(one.key) for one in series}))}
    attempt = np.concatenate([one.attempt for one in series])
    step = np.concatenate([one.step for one in series])
    time = np.nan_to_num(np.concatenate([one.time for one in series]), nan=-1.0)
    writer = np.concatenate([np.full(len(one), writers[_writer(one.key)]) for one in series])
    repeat = np.concatenate([_repeats(one) for one in series])
    order = np.lexsort((repeat, writer, time, step, attempt))
    is_new = np.ones(len(order), bool)
    columns = (attempt, step, time, writer, repeat)
    is_new[1:] = np.any([np.diff(column[order]) != 0 for column in columns], axis=0)
    first = order[is_new]
    row = np.empty(len(order), np.int64)
    row[order] = np.cumsum(is_new) - 1
    counts = _counters(counter, attempt[first], step[first], time[first])
    sorting = np.lexsort((time[first], attempt[first], counts))
    rank = np.empty(len(sorting), np.int64)
    rank[sorting] = np.arange(len(sorting))
    row = rank[row]
    times = np.where(time[first] < 0, np.nan, time[first])
    return HistoryTable(counts[sorting], times[sorting], _columns(series, row), start)


def _columns(
    series: Sequence[Series], row: NDArray[np.int64]
) -> dict[str, tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """The rows and values of each name, where several series (of several writers) may have one."""
    ends = np.cumsum([len(one) for one in series])
    parts: dict[str, list[tuple[NDArray[np.int64], NDArray[np.float64]]]] = {}
    for one, end in zip(series, ends, strict=True):
        parts.setdefault(name_of(one.key), []).append((row[end - len(one) : end], one.value))
    return {
        name: (np.concatenate([at for at, _ in found]), np.concatenate([value for _, value in found]))
        for name, found in parts.items()
    }


def _counters(
    counter: Series | None,
    attempt: NDArray[Any],
    step: NDArray[Any],
    time: NDArray[Any],
) -> NDArray[np.int64]:
    """The client's counter of each row: the training step where it has none of its own."""
    if counter is None or not len(counter):
        return np.asarray(step, np.int64)
    time_or_none = np.nan_to_num(counter.time, nan=-1.0)
    own = zip(counter.attempt.tolist(), counter.step.tolist(), time_or_none.tolist(), strict=True)
    known = dict(zip(own, counter.value.astype(np.int64).tolist(), strict=True))
    places = zip(attempt.tolist(), step.tolist(), time.tolist(), strict=True)
    return np.array([known.get(place, place[1]) for place in places], np.int64)


def _repeats(series: Series) -> NDArray[np.int64]:
    """How many points of the same attempt, step and time precede each point."""
    time = np.nan_to_num(series.time, nan=-1.0)
    same = np.zeros(len(series), bool)
    same[1:] = (np.diff(series.attempt) == 0) & (np.diff(series.step) == 0) & (np.diff(time) == 0)
    index = np.arange(len(series))
    return index - np.maximum.accumulate(np.where(same, 0, index))


def _writer(key: SeriesKey) -> str:
    return key.label(_WRITER) or ""


def _within(table: HistoryTable, min_step: int, max_step: int) -> HistoryTable:
    first, last = np.searchsorted(table.step, [min_step, max_step])
    columns = {}
    for name, (at, values) in table.columns.items():
        inside = (at >= first) & (at < last)
        if inside.any():
            columns[name] = at[inside] - first, values[inside]
    return HistoryTable(table.step[first:last], table.time[first:last], columns, table.start)
