"""Runs by the ids that clients give them, and what clients ask before they log: which runs there are."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Select, select

from holter.ingest.wandb.step_metrics import COUNTER
from holter.server import tracked_runs
from holter.server.context import ServerContext
from holter.server.live import run_event
from holter.server.models import Project, RunAttributeRow, RunRecord
from holter.server.store.keys import storable_text
from holter.server.tracked_runs import RUN_COLUMNS, InvalidNameError, TrackedRun
from holter.server.trackio_api.call import TRACKER, Handler, TrackioCall, TrackioError
from holter.server.trackio_api.entries import RunName
from holter.terminal_text import UNSAFE
from holter.types import SeriesKey

RUN_ID, RUN_NAME = "trackio.id", "trackio.name"
"""Attributes of a run: its id, and its name, of which a project may have several runs."""
_DISCARDED = (
    "Holter stores numbers: images, tables, traces, histograms, artifacts and other files are discarded"
)
_MOST_RUNS = 10_000


def find_run(context: ServerContext, name: RunName) -> TrackedRun | None:
    """The run with this id in the project, None if there is none."""
    query = _runs_of(name.project).where(RunAttributeRow.value == name.id)
    with context.engine.connect() as connection:
        # by its name first, which finds it without a search among all runs of the project
        for by_name in (query.where(RunRecord.name == name.name), query):
            if row := connection.execute(by_name.order_by(RunRecord.id.desc()).limit(1)).one_or_none():
                return TrackedRun(*row)
    return None


def _runs_of(project: str) -> Select[*tuple[Any, ...]]:
    """The runs that trackio's clients have logged to a project, with the attribute of their id."""
    has_id = (RunAttributeRow.run_id == RunRecord.id) & (RunAttributeRow.name == RUN_ID)
    query = select(*RUN_COLUMNS).select_from(RunRecord).join(Project).join(RunAttributeRow, has_id)
    return query.where(Project.name == project, RunRecord.deleted_at.is_(None))


def open_run(context: ServerContext, name: RunName) -> TrackedRun:
    """The run with this id, created where it is new. Raises TrackioError, and the errors of the store."""
    found = find_run(context, name)
    if found is not None:
        return found
    clean = UNSAFE.sub("", storable_text(name.name)).strip() or "run"
    try:
        run = tracked_runs.create_run(context, TRACKER, name.project, clean)
    except InvalidNameError as error:
        raise TrackioError(str(error)) from error
    context.run_details.set_attributes(run.id, {RUN_ID: name.id, RUN_NAME: name.name})
    context.run_details.update(run.id, display_name=clean[:500])
    context.live.publish(run_event(run.public_id))
    return run


def note_discarded(context: ServerContext, run: TrackedRun) -> None:
    """Show on the run's page, once, that something was no number."""
    tracked_runs.note_discarded(context, TRACKER, run, "files", _DISCARDED)


def runs_for_project(call: TrackioCall) -> list[dict[str, Any]]:
    """Id, name and time of each run that trackio's clients logged to a project, the newest first."""
    query = _runs_of(call.required("project")).add_columns(RunAttributeRow.value)
    query = query.order_by(RunRecord.created_at.desc(), RunRecord.id.desc()).limit(_MOST_RUNS)
    with call.context.engine.connect() as connection:
        found = [(TrackedRun(*row[:-1]), row[-1]) for row in connection.execute(query)]
    names = call.context.run_details.attributes_of([run.id for run, _ in found], RUN_NAME)
    return [
        {
            "id": run_id,
            "name": names.get(run.id, {}).get(RUN_NAME, run.name),
            "created_at": datetime.fromtimestamp(run.created_at, UTC).isoformat(),
        }
        for run, run_id in found
    ]


def run_summary(call: TrackioCall) -> dict[str, Any]:
    """How far a run is by the client's counter, so that a resumed one counts on. Its metrics for readers."""
    project, run_id = call.required("project"), call.text("run_id")
    name = call.text("run") or run_id
    run = find_run(call.context, RunName(project, name, run_id or name))
    series = [] if run is None else call.context.store.series(run.id)
    own = [each for each in series if each.key.step_unit is None]
    return {
        "project": project,
        "run": name,
        "run_id": run_id or None,
        "num_logs": max((each.logged for each in own), default=0),
        "metrics": sorted({each.key.metric for each in own}) if call.may_read else [],
        "config": None,
        "last_step": None if run is None or not own else _last_counter(call.context, run),
    }


def _last_counter(context: ServerContext, run: TrackedRun) -> int:
    """The highest counter of a run: a metric where another one is the training step, else the step."""
    counter = SeriesKey(COUNTER)
    if (stored := context.store.read(run.id, [counter]).get(counter)) is not None and len(stored):
        return int(stored.value.max())
    return max(attempt.last_step for attempt in context.store.attempts(run.id))


HANDLERS: Mapping[str, Handler] = {
    "get_runs_for_project": runs_for_project,
    "get_run_summary": run_summary,
}
