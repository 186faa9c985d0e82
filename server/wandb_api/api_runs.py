"""Runs as `wandb.Api()` reads them: their fields as documents, and as GraphQL answers."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any, TypedDict

from sqlalchemy import func, select

from holter.attempts.config import newest_settings
from holter.server.context import ServerContext
from holter.server.models import Project, RunAttributeRow, RunRecord
from holter.server.run_details import NO_DETAILS, RunDetails
from holter.server.schemas.runs import RunInfo
from holter.server.tracked_runs import TrackedRun
from holter.server.wandb_api.config import OWN, read_config
from holter.server.wandb_api.history_table import is_system, last_counter, name_of
from holter.server.wandb_api.operations import OperationError
from holter.server.wandb_api.run_bucket import config_text, generated_name, iso_time, read_summary
from holter.server.wandb_api.run_state import CONFIG_ATTRIBUTE

_STATES = {
    "finished": "finished",
    "failed": "failed",
    "stopped": "killed",
    "killed": "killed",
    "preempting": "preempting",
}
"""The states of wandb by those that clients report at the end."""


class RunDocument(TypedDict):
    """A run. `id` is the internal id, `storage_id` the one in addresses, `name` the client's."""

    id: int
    storage_id: str
    name: str
    display_name: str
    state: str
    tags: list[str]
    group: str | None
    job_type: str | None
    notes: str | None
    created_at: str | None
    heartbeat_at: str | None
    config: dict[str, Any]
    summary_metrics: dict[str, Any]


def project_id(context: ServerContext, project: str) -> int | None:
    """The number of a project, None if there is none."""
    with context.engine.connect() as connection:
        return connection.scalar(select(Project.id).where(Project.name == project))


def projects(context: ServerContext) -> list[tuple[int, str, float]]:
    """The number, name and time of creation of all projects that have runs, newest first."""
    columns = (Project.id, Project.name, Project.created_at)
    query = select(*columns).join(RunRecord).where(RunRecord.deleted_at.is_(None)).group_by(*columns)
    with context.engine.connect() as connection:
        rows = connection.execute(query.order_by(func.max(RunRecord.updated_at).desc(), Project.id)).all()
    return [(row.id, row.name, row.created_at) for row in rows]


def project_runs(context: ServerContext, project: str) -> list[RunDocument]:
    """All runs of a project."""
    infos = context.runs.runs(project=project)
    ids = _internal_ids(context, project)
    known = [info for info in infos if info["id"] in ids]
    details = context.run_details.details_of(ids.values())
    configs = _stated_configs(context, set(ids.values()))
    return [
        _document(context, ids[info["id"]], info, details.get(ids[info["id"]], NO_DETAILS), configs)
        for info in known
    ]


def one_run(context: ServerContext, run: TrackedRun) -> RunDocument:
    """One run."""
    info = context.runs.run(run.public_id)
    configs = _stated_configs(context, [run.id])
    return _document(context, run.id, info, context.run_details.details(run.id), configs)


def shown_config(context: ServerContext, run_id: int, text: str | None) -> dict[str, Any]:
    """The configuration as its client stated it, else the newest settings that logs state."""
    return read_config(text) if text else dict(newest_settings(context.store.config(run_id)))


def run_json(context: ServerContext, run: RunDocument, project: int, *, history_keys: bool) -> dict[str, Any]:
    """A run with all fields of the client's two fragments. `history_keys`: its metrics, too."""
    system = {
        name_of(each.key): each.last_value
        for each in (context.store.series(run["id"]) if history_keys else ())
        if is_system(each.key)
    }
    return {
        "id": run["storage_id"],
        "projectId": str(project),
        "name": run["name"],
        "displayName": run["display_name"],
        "state": run["state"],
        "tags": run["tags"],
        "group": run["group"],
        "jobType": run["job_type"],
        "notes": run["notes"],
        "description": run["notes"],
        "createdAt": run["created_at"],
        "heartbeatAt": run["heartbeat_at"],
        "config": config_text(run["config"]),
        "summaryMetrics": json.dumps(run["summary_metrics"]),
        "systemMetrics": json.dumps(system),
        "historyLineCount": 0,
        "historyKeys": history_keys_json(context, run["id"]) if history_keys else None,
        "sweepName": None,
        "commit": None,
        "readOnly": False,
        "user": {"name": "", "username": ""},
    }


def history_keys_json(context: ServerContext, run_id: int) -> dict[str, Any]:
    """The metrics of the history, and the largest value of the client's counter."""
    keys = {
        name_of(each.key): {"typeCounts": [{"type": "number", "count": each.points}]}
        for each in context.store.series(run_id)
        if not is_system(each.key) and not each.key.has_clock_steps
    }
    return {"lastStep": last_counter(context, run_id), "keys": keys, "sets": []}


def _document(
    context: ServerContext, run_id: int, info: RunInfo, details: RunDetails, configs: dict[int, str]
) -> RunDocument:
    summary = read_summary(details)
    if not summary:
        summary = {
            name_of(each.key): each.last_value
            for each in context.store.series(run_id)
            if not is_system(each.key) and not each.key.has_clock_steps
        }
    return {
        "id": run_id,
        "storage_id": info["id"],
        "name": info["name"],
        "display_name": details.display_name or generated_name(info["name"]),
        "state": _state(info, details),
        "tags": list(details.tags),
        "group": details.group_name,
        "job_type": details.job_type,
        "notes": details.notes,
        "created_at": iso_time(info["created_at"]),
        "heartbeat_at": iso_time(info["updated_at"]),
        "config": shown_config(context, run_id, configs.get(run_id)),
        "summary_metrics": summary,
    }


def _state(info: RunInfo, details: RunDetails) -> str:
    """The state as wandb names it: a run that has become silent without an end has crashed."""
    reported = (details.reported_state or "").lower()
    if reported in _STATES:
        return _STATES[reported]
    if info["state"] != "finished":
        return "running"
    return "crashed" if reported == "running" else "finished"


def _internal_ids(context: ServerContext, project: str) -> dict[str, int]:
    query = select(RunRecord.public_id, RunRecord.id).join(Project)
    query = query.where(Project.name == project, RunRecord.deleted_at.is_(None))
    with context.engine.connect() as connection:
        return {row.public_id: row.id for row in connection.execute(query)}


def _stated_configs(context: ServerContext, run_ids: Collection[int]) -> dict[int, str]:
    """The configurations that clients stated, as they are stored."""
    query = select(RunAttributeRow.run_id, RunAttributeRow.value)
    query = query.where(RunAttributeRow.name == CONFIG_ATTRIBUTE, RunAttributeRow.run_id.in_(sorted(run_ids)))
    with context.engine.connect() as connection:
        return {row.run_id: row.value for row in connection.execute(query)}


def check_config_change(
    context: ServerContext, run_id: int, stored: str | None, stated: dict[str, Any]
) -> bool:
    """Whether an update changes the configuration. Raises OperationError where Holter cannot change it."""
    shown = {name: value for name, value in shown_config(context, run_id, stored).items() if name != OWN}
    wanted = {name: value for name, value in stated.items() if name != OWN}
    if shown | wanted == shown:
        return False
    if not stored:
        raise OperationError("the configuration of a run that no wandb client logged cannot be changed")
    return True
