"""Calls about runs: created, updated, read, deleted, and the history of their metrics."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from holter.environment_names import PREFIX
from holter.ingest.trackers.mlflow import metric_key
from holter.server.context import ServerContext
from holter.server.live import run_event
from holter.server.mlflow_api.call import INVALID, Handler, MlflowCall, MlflowError
from holter.server.mlflow_api.experiments import DEFAULT_ID, experiment
from holter.server.mlflow_api.launches import (
    ENDED,
    RUNNING,
    TRACKER,
    create_run,
    find_run,
    set_deleted,
    update_status,
)
from holter.server.mlflow_api.logging import MAX_TAG_VALUE, MAX_TAGS, read_pairs, store_tags
from holter.server.mlflow_api.run_view import metric_json, view_run
from holter.server.tracked_runs import TrackedRun, empty_delivery
from holter.types import ConfigKey, SeriesKey

_STATUSES = ENDED | {RUNNING, "SCHEDULED"}
_GIT_COMMIT = "mlflow.source.git.commit"
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_HISTORY_PAGE = 25_000
_SAMPLED = 2500
_SAMPLED_RUNS = 100


def create(call: MlflowCall) -> dict[str, Any]:
    """Create a run in an experiment."""
    found = experiment(call.context, call.text("experiment_id") or DEFAULT_ID)
    tags = read_pairs(call.objects("tags", MAX_TAGS), MAX_TAG_VALUE)
    now = round(1000 * call.context.clock())
    run = create_run(
        call.context,
        found["name"],
        call.text("run_name") or tags.get("mlflow.runName", ""),
        start_time=call.integer("start_time", now, most=253_402_300_799_999) or now,
        user=call.text("user_id") or tags.get("mlflow.user", ""),
    )
    store_tags(call.context, run, tags)
    _store_commit(call.context, run, tags.get(_GIT_COMMIT, ""))
    call.context.live.publish(run_event(run.public_id))
    return {"run": view_run(call.context, run).as_json(metrics=False)}


def _store_commit(context: ServerContext, run: TrackedRun, commit: str) -> None:
    """The commit of the script as the first launch's environment, of which the client states no more."""
    if _COMMIT.fullmatch(commit):
        config = {ConfigKey(f"{PREFIX}git_commit"): commit}
        context.store.accept(empty_delivery(TRACKER, run.project, run.name, attempt="0", config=config))


def update(call: MlflowCall) -> dict[str, Any]:
    """Change the state or the name of a run."""
    run = find_run(call.context, call.required("run_id", "run_uuid"))
    status = call.parameters.get("status")
    if status is not None:
        if not isinstance(status, str) or status not in _STATUSES:
            raise MlflowError(INVALID, f"invalid status {str(status)[:40]!r}: expected {sorted(_STATUSES)}")
        end_time = call.integer("end_time", 0, most=253_402_300_799_999)
        update_status(call.context, run, status, end_time or None)
        call.context.analysis.request_analysis(run.id)
        call.context.live.publish(run_event(run.public_id))
    if name := call.text("run_name"):
        store_tags(call.context, run, {"mlflow.runName": name[:500]})
    return {"run_info": view_run(call.context, run).info}


def get(call: MlflowCall) -> dict[str, Any]:
    """A run; tokens that may only log see it without its metrics."""
    run = find_run(call.context, call.required("run_id", "run_uuid"))
    return {"run": view_run(call.context, run).as_json(metrics=call.may_read)}


def delete(call: MlflowCall) -> dict[str, Any]:
    """Mark a run as deleted: MLflow's searches leave it out, and Holter's pages show it on."""
    call.check_readable()
    set_deleted(call.context, find_run(call.context, call.required("run_id")), True)
    return {}


def restore(call: MlflowCall) -> dict[str, Any]:
    """Take a deletion back."""
    call.check_readable()
    set_deleted(call.context, find_run(call.context, call.required("run_id")), False)
    return {}


def history(call: MlflowCall) -> dict[str, Any]:
    """All points of a metric, in pages where the client asks for them."""
    call.check_readable()
    run = find_run(call.context, call.required("run_id", "run_uuid"))
    name = call.required("metric_key")
    points = _points(call, run.id, name)
    first = call.integer("page_token", 0) if call.text("page_token") else 0
    most = call.integer("max_results", _HISTORY_PAGE, least=1)
    answer: dict[str, Any] = {"metrics": points[first : first + most]}
    if len(points) > first + most:
        answer["next_page_token"] = str(first + most)
    return answer


def sampled_history(call: MlflowCall) -> dict[str, Any]:
    """Points of a metric of several runs, about as many as asked for, first and last among them."""
    call.check_readable()
    name = call.required("metric_key")
    most = call.integer("max_results", _SAMPLED, least=1, most=_SAMPLED)
    metrics = []
    for run_id in call.texts("run_ids")[:_SAMPLED_RUNS]:
        points = _points(call, find_run(call.context, run_id).id, name)
        rows = np.unique(np.linspace(0, len(points) - 1, min(most, len(points))).astype(int))
        metrics += [{**points[row], "run_id": run_id} for row in rows.tolist()] if points else []
    return {"metrics": metrics}


def _points(call: MlflowCall, run_id: int, name: str) -> list[dict[str, Any]]:
    keys = {metric_key(name), SeriesKey(name)}
    return [
        metric_json(name, value, time, step)
        for series in call.context.store.read(run_id, keys).values()
        for value, time, step in zip(
            series.value.tolist(), series.time.tolist(), series.step.tolist(), strict=True
        )
    ]


HANDLERS: Mapping[tuple[str, str], Handler] = {
    ("POST", "runs/create"): create,
    ("POST", "runs/update"): update,
    ("GET", "runs/get"): get,
    ("POST", "runs/delete"): delete,
    ("POST", "runs/restore"): restore,
    ("GET", "metrics/get-history"): history,
    ("GET", "metrics/get-history-bulk-interval"): sampled_history,
}
