"""`trackio.alert`: an incident of its own kind."""

from __future__ import annotations

from collections.abc import Mapping
from math import nan

from holter.ingest.step_columns import LARGEST_STEP
from holter.ingest.trackers.trackio import unix_time
from holter.server.tracked_runs import RUN_LOCKS
from holter.server.trackio_api.call import TRACKER, Handler, TrackioCall
from holter.server.trackio_api.entries import run_name
from holter.server.trackio_api.launches import first_attempt, read_state, write_state
from holter.server.trackio_api.runs import open_run
from holter.server.user_alerts import open_user_alert


def bulk_alert(call: TrackioCall) -> None:
    """Open incidents in the launch of their time, at the step that the client states or the training step."""
    context = call.context
    for entry in call.entries("alerts"):
        name = run_name(entry)
        with RUN_LOCKS.locked(name.project, f"{TRACKER}:{name.id}"):
            run = open_run(context, name)
            state = read_state(context, run)
            time = unix_time(entry.get("timestamp"))
            known = bool(state.launches)
            launch = state.launch_at(
                nan if time is None else time, 0 if known else first_attempt(context, run)
            )
            if not known:
                write_state(context, run, state)
        title, text, level, step = (entry.get(key) for key in ("title", "text", "level", "step"))
        counter = step if isinstance(step, int) and 0 <= step <= LARGEST_STEP else 0
        open_user_alert(
            context,
            run.id,
            title=title if isinstance(title, str) else "",
            text=text if isinstance(text, str) else "",
            level=level if isinstance(level, str) else "",
            attempt=launch.attempt,
            step=counter if launch.step is None else launch.step,
        )


HANDLERS: Mapping[str, Handler] = {"bulk_alert": bulk_alert}
