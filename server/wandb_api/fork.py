"""A run that was forked from another one begins with that run's history up to the fork."""

from __future__ import annotations

from math import nan

import numpy as np

from holter.ingest.wandb.step_metrics import COUNTER
from holter.server.context import ServerContext
from holter.server.tracked_runs import TrackedRun, find_run
from holter.server.wandb_api.run_state import add_note
from holter.server.wandb_api.stream_state import StreamLaunch, StreamState
from holter.server.wandb_api.timeline import read_timeline
from holter.types import Batch, Column, Delivery, Series, SeriesKey

_POINTS_OF_A_BATCH = 100_000


def copy_history(
    context: ServerContext, run: TrackedRun, state: StreamState, parent_name: str, last_step: int
) -> None:
    """Copy the valid points of the parent up to a step of its client's counter, as attempt 0 of the run."""
    if parent_name == run.name:  # rewound: the run has its history
        return
    context.run_details.update(run.id, parent_run=parent_name[:500])
    parent = find_run(context, run.project, parent_name)
    if parent is None:
        reason = f"the run {parent_name[:100]!r} that this one was forked from is not in the project"
        add_note(context, run, "fork", reason)
        return
    limit = _training_step(context, parent, last_step)
    series = [one for one in read_timeline(context, parent.id, to_step=limit).values() if len(one)]
    for one in series:
        for start in range(0, len(one), _POINTS_OF_A_BATCH):
            stop = start + _POINTS_OF_A_BATCH
            context.store.accept(_delivery(run, parent_name, one, start, stop))
    if series:
        times = np.concatenate([one.time for one in series])
        first, last = (
            float(edge(times)) if np.any(times == times) else nan for edge in (np.nanmin, np.nanmax)
        )
        state.launches.append(StreamLaunch(0, first, last, complete=True))


def _training_step(context: ServerContext, parent: TrackedRun, last_step: int) -> int:
    """The training step of a value of the client's counter, which is a series where the two differ."""
    key = SeriesKey(COUNTER)
    counter = read_timeline(context, parent.id, [key]).get(key)
    if counter is None or not np.any(reached := counter.value <= last_step):
        return last_step
    return int(counter.step[reached].max())


def _delivery(run: TrackedRun, parent: str, series: Series, start: int, stop: int) -> Delivery:
    batch = Batch(
        steps=series.step[start:stop],
        times=series.time[start:stop],
        columns=[Column(key=series.key, values=series.value[start:stop])],
        attempt="0",
    )
    return Delivery(
        project=run.project,
        run=run.name,
        writer=f"wandb:{parent}",
        batch_id=f"fork/{parent}/{series.key}/{start}"[:5000],
        batch=batch,
    )
