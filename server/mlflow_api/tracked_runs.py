"""Runs as MLflow's clients know them: found by id, created, and shown as JSON."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import inf, isfinite, isnan
from typing import Any
from uuid import uuid4

import numpy as np
from sqlalchemy import insert, select

from holter.attempts.config import newest_settings
from holter.ingest.rows import batch_from_rows
from holter.server.context import ServerContext
from holter.server.database import writing
from holter.server.ingest_http.validate import MAX_LONG_NAME_LENGTH
from holter.server.mlflow_api.call import MISSING, MlflowError
from holter.server.mlflow_api.experiments import check_name
from holter.server.models import Project, RunAttributeRow, RunRecord
from holter.server.run_details import RunDetails
from holter.server.store.keys import storable_text
from holter.types import NO_CONFIG, Batch, Config, Delivery

PARAMETER, TAG, STATE = "mlflow.param.", "mlflow.tag.", "mlflow.state."
"""Prefixes of the attributes of runs that have parameters, tags, and the state of the protocol."""
WRITER = "mlflow"
RUNNING = "RUNNING"
ENDED = frozenset({"FINISHED", "FAILED", "KILLED"})
_OWNER, _START, _END, _USER, _DELETED, _LAUNCH = (
    STATE + name for name in ("owner", "start_time", "end_time", "user_id", "deleted", "launch")
)
_SILENT_SECONDS = 10.0
"""A run without points for so long, that is reported as running once more, is launched again."""
_NAMES_TRIED = 20


@dataclass(frozen=True, slots=True)
class MlflowRun:
    """A run in the database; `id` is the internal id, `public_id` the one that clients use."""

    id: int
    public_id: str
    name: str
    project_id: int
    project: str
    created_at: float
    finished_at: float | None


_COLUMNS = (
    RunRecord.id,
    RunRecord.public_id,
    RunRecord.name,
    RunRecord.project_id,
    Project.name.label("project"),
    RunRecord.created_at,
    RunRecord.finished_at,
)


def find_run(context: ServerContext, public_id: str) -> MlflowRun:
    """A run by the id that clients use. Raises MlflowError if there is none."""
    found = _query(context, RunRecord.public_id == public_id)
    if not found:
        raise MlflowError(MISSING, f"Run with id={public_id[:100]} not found")
    return found[0]


def runs_of_projects(context: ServerContext, project_ids: Iterable[int]) -> list[MlflowRun]:
    """All runs of some projects, the newest first."""
    return _query(context, RunRecord.project_id.in_(sorted(project_ids)))


def _query(context: ServerContext, condition: Any) -> list[MlflowRun]:
    query = select(*_COLUMNS).join(Project).where(RunRecord.deleted_at.is_(None), condition)
    with context.engine.connect() as connection:
        rows = connection.execute(query.order_by(RunRecord.created_at.desc(), RunRecord.id.desc())).all()
    return [MlflowRun(*row) for row in rows]


def create_run(context: ServerContext, project: str, name: str, *, start_time: int, user: str) -> MlflowRun:
    """A new run. Names need not be unique in MLflow: another run of the project has a number behind its name.

    Raises MlflowError for a name that cannot be stored, and the errors of the store.
    """
    name = storable_text(name)[: MAX_LONG_NAME_LENGTH - 10] or f"run-{secrets.token_hex(4)}"
    check_name(project)
    for number in range(_NAMES_TRIED):
        unique = name if not number else f"{name}-{number + 1}"
        if number == _NAMES_TRIED - 1:
            unique = f"{name}-{secrets.token_hex(4)}"
        if _query(context, (Project.name == project) & (RunRecord.name == unique)):
            continue
        receipt = context.store.accept(delivery(project, unique))
        if _own(context, receipt.run_id):
            break
    details = {"display_name": name, "reported_state": RUNNING}
    context.run_details.update(receipt.run_id, **details)
    context.run_details.set_attributes(receipt.run_id, {_START: str(start_time), _USER: user[:250]})
    return find_run(context, receipt.public_id)


def _own(context: ServerContext, run_id: int) -> bool:
    """Whether this call created the run, and not another one at the same time."""
    with writing(context.engine) as connection:
        owned = (RunAttributeRow.run_id == run_id) & (RunAttributeRow.name == _OWNER)
        if connection.scalar(select(RunAttributeRow.value).where(owned)) is not None:
            return False
        connection.execute(insert(RunAttributeRow).values(run_id=run_id, name=_OWNER, value=uuid4().hex))
    return True


def delivery(
    project: str,
    run: str,
    batch: Batch | None = None,
    *,
    config: Config = NO_CONFIG,
    attempt: str | None = None,
    finished: bool = False,
) -> Delivery:
    """A delivery of MLflow's clients, without points where there is no batch."""
    if batch is None:
        batch = replace(batch_from_rows([], config=config), attempt=attempt)
    return Delivery(
        project=project, run=run, writer=WRITER, batch_id=uuid4().hex, batch=batch, finished=finished
    )


def update_status(context: ServerContext, run: MlflowRun, status: str, end_time: int | None) -> None:
    """Store the state that a client reports; a run that had ended and runs again is launched again."""
    details = context.run_details.details(run.id)
    if status in ENDED:
        context.run_details.update(run.id, reported_state=status, stopped_at=_stopped_at(context, details))
        context.run_details.set_attributes(run.id, {_END: str(end_time or round(1000 * context.clock()))})
        context.store.accept(delivery(run.project, run.name, finished=True))
        return
    has_ended = details.reported_state in ENDED or run.finished_at is not None
    if has_ended or _is_silent(context, run):
        context.run_details.set_attributes(run.id, {_LAUNCH: str(int(launch_of(context, run)) + 1)})
    if has_ended:
        context.run_details.remove_attributes(run.id, [_END])
        context.run_details.withdraw_stop(run.id)
    context.run_details.update(run.id, reported_state=status)


def _stopped_at(context: ServerContext, details: RunDetails) -> float | None:
    return context.clock() if details.stop_pending else details.stopped_at


def _is_silent(context: ServerContext, run: MlflowRun) -> bool:
    """Whether a run has points, but no recent ones: its process was killed, and nobody reported its end."""
    times = context.store.newest_points(run.id).time
    times = times[np.isfinite(times)]
    return bool(times.size) and float(times.max()) < context.clock() - _SILENT_SECONDS


def launch_of(context: ServerContext, run: MlflowRun) -> str:
    """The number of the current launch, which names the attempt.

    Named, since points of one launch need not arrive in the order of their steps: clients send several
    requests at once.
    """
    return context.run_details.attributes(run.id, _LAUNCH).get(_LAUNCH, "0")


def set_deleted(context: ServerContext, run: MlflowRun, deleted: bool) -> None:
    """Mark a run as deleted in MLflow's sense: its clients can restore it."""
    if deleted:
        context.run_details.set_attributes(run.id, {_DELETED: "1"})
    else:
        context.run_details.remove_attributes(run.id, [_DELETED])


@dataclass(frozen=True, slots=True)
class RunView:
    """What MLflow shows of a run. Times are in milliseconds."""

    info: Mapping[str, Any]
    parameters: Mapping[str, str]
    tags: Mapping[str, str]
    metrics: Mapping[str, Mapping[str, Any]]

    def as_json(self) -> dict[str, Any]:
        """The run as clients parse it."""
        return {
            "info": dict(self.info),
            "data": {
                "metrics": list(self.metrics.values()),
                "params": [{"key": key, "value": value} for key, value in self.parameters.items()],
                "tags": [{"key": key, "value": value} for key, value in self.tags.items()],
            },
            "inputs": {"dataset_inputs": []},
        }


def view_run(context: ServerContext, run: MlflowRun, *, metrics: bool = True) -> RunView:
    """Everything that MLflow shows of a run; without `metrics`, what a client that only logs may read."""
    details = context.run_details.details(run.id)
    attributes = context.run_details.attributes(run.id, "mlflow.")
    tags = _named(attributes, TAG)
    return RunView(
        info=_info(run, details, attributes),
        parameters=_named(attributes, PARAMETER) or _settings(context, run),
        tags={"mlflow.runName": details.display_name or run.name, **tags},
        metrics=_latest_metrics(context, run) if metrics else {},
    )


def _info(run: MlflowRun, details: RunDetails, attributes: Mapping[str, str]) -> dict[str, Any]:
    status = details.reported_state or ("FINISHED" if run.finished_at is not None else RUNNING)
    info = {
        "run_id": run.public_id,
        "run_uuid": run.public_id,
        "experiment_id": str(run.project_id),
        "run_name": details.display_name or run.name,
        "user_id": attributes.get(_USER, ""),
        "status": status,
        "start_time": int(attributes.get(_START) or round(1000 * run.created_at)),
        "artifact_uri": f"mlflow-artifacts:/{run.project_id}/{run.public_id}/artifacts",
        "lifecycle_stage": "deleted" if _DELETED in attributes else "active",
    }
    if end_time := attributes.get(_END):
        info["end_time"] = int(end_time)
    elif status in ENDED and run.finished_at is not None:
        info["end_time"] = round(1000 * run.finished_at)
    return info


def _named(attributes: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {
        name.removeprefix(prefix): value
        for name, value in sorted(attributes.items())
        if name.startswith(prefix)
    }


def _settings(context: ServerContext, run: MlflowRun) -> dict[str, str]:
    """The settings of a run that another client logged, as texts."""
    settings = newest_settings(context.store.config(run.id))
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in settings.items()}


def _latest_metrics(context: ServerContext, run: MlflowRun) -> dict[str, dict[str, Any]]:
    newest = context.store.newest_points(run.id)
    columns = (newest.names.metric_list(), newest.value, newest.time, newest.step)
    return {
        name: metric_json(name, float(value), float(time), int(step))
        for name, value, time, step in zip(*columns, strict=True)
    }


def metric_json(name: str, value: float, time: float, step: int) -> dict[str, Any]:
    """A point as clients parse it: numbers that JSON does not have are texts."""
    return {
        "key": name,
        "value": value if isfinite(value) else _nonfinite(value),
        "timestamp": 0 if isnan(time) else round(1000 * time),
        "step": step,
    }


def _nonfinite(value: float) -> str:
    return "NaN" if isnan(value) else "Infinity" if value == inf else "-Infinity"
