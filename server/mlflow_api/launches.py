"""The life of a run: created, launched, ended, opened again; and which launch its points belong to.

A launch is an attempt, named by its number: points of one launch need not arrive in the order of their steps,
since clients send several requests at once.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from sqlalchemy import select

from holter.server import tracked_runs
from holter.server.context import ServerContext
from holter.server.mlflow_api.call import INVALID, MISSING, MlflowError
from holter.server.models import Project, RunAttributeRow, RunRecord
from holter.server.run_details import RunDetails
from holter.server.store.keys import storable_text
from holter.server.tracked_runs import (
    RUN_COLUMNS,
    InvalidNameError,
    TrackedRun,
    empty_delivery,
    find_run_by_public_id,
)
from holter.types import SeriesKey

TRACKER = "mlflow"
STATE = "mlflow.state."
"""Prefix of the attributes of runs that have the state of the protocol."""
START, END, USER, DELETED, LAUNCH = (
    STATE + name for name in ("start_time", "end_time", "user_id", "deleted", "launch")
)
RUNNING = "RUNNING"
ENDED = frozenset({"FINISHED", "FAILED", "KILLED"})
_SILENT_SECONDS = 10.0
"""A run without points for so long, that is reported as running once more, was opened again."""
_REOPENED = "?"
"""Behind the number of a launch: the run was opened again, and no known metric has gone on since."""


@dataclass(frozen=True, slots=True)
class RunLaunch:
    """A run and its current launch, which names the attempt; `reopened`: the next point may begin another."""

    run: TrackedRun
    attempt: str
    reopened: bool


def find_run(context: ServerContext, public_id: str) -> TrackedRun:
    """A run by the id that clients use. Raises MlflowError if there is none."""
    run = find_run_by_public_id(context, public_id)
    if run is None:
        raise MlflowError(MISSING, f"Run with id={public_id[:100]} not found")
    return run


def find_launch(context: ServerContext, public_id: str) -> RunLaunch:
    """A run and its launch, in one query. Raises MlflowError if there is no such run."""
    is_launch = (RunAttributeRow.run_id == RunRecord.id) & (RunAttributeRow.name == LAUNCH)
    query = select(*RUN_COLUMNS, RunAttributeRow.value).select_from(RunRecord).join(Project)
    query = query.outerjoin(RunAttributeRow, is_launch)
    query = query.where(RunRecord.public_id == public_id, RunRecord.deleted_at.is_(None))
    with context.engine.connect() as connection:
        row = connection.execute(query).one_or_none()
    if row is None:
        raise MlflowError(MISSING, f"Run with id={public_id[:100]} not found")
    run, launch = TrackedRun(*row[:-1]), row[-1] or "0"
    return RunLaunch(run, launch.removesuffix(_REOPENED), launch.endswith(_REOPENED))


def attempt_of_points(context: ServerContext, launch: RunLaunch, keys: Collection[SeriesKey]) -> str:
    """The attempt of points of these series.

    In a run that was opened again, the first point of a metric that the run has already begins an attempt:
    the training goes on. Metrics that are new to it, such as those of a test after the training, belong to
    the attempt before, of which they must not supersede anything.
    """
    if not launch.reopened:
        return launch.attempt
    known = {summary.key for summary in context.store.series(launch.run.id)}
    if known.isdisjoint(keys):
        return launch.attempt
    following = str(int(launch.attempt) + 1)
    context.run_details.set_attributes(launch.run.id, {LAUNCH: following})
    return following


def create_run(context: ServerContext, project: str, name: str, *, start_time: int, user: str) -> TrackedRun:
    """A new run. Names need not be unique in MLflow: another run of a name has a number behind its name.

    Raises MlflowError for a name that cannot be stored, and the errors of the store.
    """
    name = storable_text(name) or f"run-{secrets.token_hex(4)}"
    try:
        run = tracked_runs.create_run(context, TRACKER, project, name)
    except InvalidNameError as error:
        raise MlflowError(INVALID, str(error)) from error
    context.run_details.update(run.id, display_name=name[:500], reported_state=RUNNING)
    context.run_details.set_attributes(run.id, {START: str(start_time), USER: user[:250]})
    return run


def update_status(context: ServerContext, run: TrackedRun, status: str, end_time: int | None) -> None:
    """Store the state that a client reports. A run that had ended, or is silent, and runs is opened again."""
    details = context.run_details.details(run.id)
    if status in ENDED:
        context.run_details.update(run.id, reported_state=status, stopped_at=_stopped_at(context, details))
        context.run_details.set_attributes(run.id, {END: str(end_time or round(1000 * context.clock()))})
        context.store.accept(empty_delivery(TRACKER, run.project, run.name, finished=True))
        return
    has_ended = details.reported_state in ENDED or run.finished_at is not None
    if has_ended or _is_silent(context, run):
        attempt = find_launch(context, run.public_id).attempt
        context.run_details.set_attributes(run.id, {LAUNCH: attempt + _REOPENED})
    if has_ended:
        context.run_details.remove_attributes(run.id, [END])
        context.run_details.withdraw_stop(run.id)
    context.run_details.update(run.id, reported_state=status)


def _stopped_at(context: ServerContext, details: RunDetails) -> float | None:
    return context.clock() if details.stop_pending else details.stopped_at


def _is_silent(context: ServerContext, run: TrackedRun) -> bool:
    """Whether a run has points, but no recent ones: its process was killed, and nobody reported its end."""
    times = context.store.newest_points(run.id).time
    times = times[np.isfinite(times)]
    return bool(times.size) and float(times.max()) < context.clock() - _SILENT_SECONDS


def set_deleted(context: ServerContext, run: TrackedRun, deleted: bool) -> None:
    """Mark a run as deleted in MLflow's sense: its clients can restore it."""
    if deleted:
        context.run_details.set_attributes(run.id, {DELETED: "1"})
    else:
        context.run_details.remove_attributes(run.id, [DELETED])
