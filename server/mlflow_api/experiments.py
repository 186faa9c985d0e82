"""Experiments, which are Holter's projects: found, listed, created."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError

from holter.server.context import ServerContext
from holter.server.database import writing
from holter.server.mlflow_api.call import EXISTS, INVALID, MISSING, Handler, MlflowCall, MlflowError
from holter.server.mlflow_api.like import like
from holter.server.models import Project
from holter.server.tracked_runs import InvalidNameError, check_project_name

DEFAULT_ID, DEFAULT_NAME = "0", "Default"
"""The experiment of clients that name none."""
_COLUMNS = (Project.id, Project.name, Project.created_at)
_NAME_FILTER = re.compile(r"(?:attribute\.)?name\s*(=|!=|LIKE|ILIKE)\s*(['\"])(.*)\2", re.IGNORECASE)
_PAGE = 1000


def get_by_name(call: MlflowCall) -> dict[str, Any]:
    """An experiment by its name."""
    name = call.required("experiment_name")
    found = _find(call.context, Project.name == name)
    if found is None:
        raise MlflowError(MISSING, f"Could not find experiment with name {name[:100]!r}")
    return {"experiment": found}


def get(call: MlflowCall) -> dict[str, Any]:
    """An experiment by its id; the default one exists always."""
    return {"experiment": experiment(call.context, call.required("experiment_id"))}


def create(call: MlflowCall) -> dict[str, Any]:
    """Create an experiment."""
    name = call.required("name")
    try:
        check_project_name(name)
    except InvalidNameError as error:
        raise MlflowError(INVALID, str(error)) from error
    if _find(call.context, Project.name == name) is not None or not _insert(call.context, name):
        raise MlflowError(EXISTS, f"Experiment {name[:100]!r} already exists")
    found = _find(call.context, Project.name == name)
    assert found is not None
    return {"experiment_id": found["experiment_id"]}


def search(call: MlflowCall) -> dict[str, Any]:
    """All experiments, or those whose name fits the filter; the newest first."""
    matches = _name_matcher(call.text("filter"))
    first = call.integer("page_token", 0) if call.text("page_token") else 0
    most = call.integer("max_results", _PAGE, least=1)
    with call.context.engine.connect() as connection:
        rows = connection.execute(select(*_COLUMNS).order_by(Project.id.desc())).all()
    found = [_as_json(row) for row in rows if matches(row.name)]
    answer: dict[str, Any] = {"experiments": found[first : first + most]}
    if len(found) > first + most:
        answer["next_page_token"] = str(first + most)
    return answer


def unchanged(call: MlflowCall) -> dict[str, Any]:
    """Tags, names and deletion of experiments are accepted and discarded."""
    return {}


def experiment(context: ServerContext, experiment_id: str) -> dict[str, Any]:
    """An experiment as JSON. Raises MlflowError if there is none with this id."""
    if experiment_id == DEFAULT_ID:
        found = _find(context, Project.name == DEFAULT_NAME)
        if found is None:
            _insert(context, DEFAULT_NAME)
            found = _find(context, Project.name == DEFAULT_NAME)
    else:
        number = int(experiment_id) if experiment_id.isdecimal() and len(experiment_id) < 10 else -1
        found = _find(context, Project.id == number)
    if found is None:
        raise MlflowError(MISSING, f"No Experiment with id={experiment_id[:40]} exists")
    return found


def _find(context: ServerContext, condition: Any) -> dict[str, Any] | None:
    with context.engine.connect() as connection:
        row = connection.execute(select(*_COLUMNS).where(condition)).one_or_none()
    return None if row is None else _as_json(row)


def _insert(context: ServerContext, name: str) -> bool:
    """Create a project; False if there is one already."""
    try:
        with writing(context.engine) as connection:
            connection.execute(insert(Project).values(name=name, created_at=context.clock()))
    except IntegrityError:
        return False
    return True


def _as_json(row: Any) -> dict[str, Any]:
    created = round(1000 * row.created_at)
    return {
        "experiment_id": str(row.id),
        "name": row.name,
        "artifact_location": f"mlflow-artifacts:/{row.id}",
        "lifecycle_stage": "active",
        "creation_time": created,
        "last_update_time": created,
        "tags": [],
    }


def _name_matcher(text: str) -> Any:
    if not text.strip():
        return lambda name: True
    match = _NAME_FILTER.fullmatch(text.strip())
    if match is None:
        raise MlflowError(INVALID, f"invalid filter {text[:100]!r}: expected name = '...', or LIKE or ILIKE")
    comparison, wanted = match[1].upper(), match[3]
    if comparison == "=":
        return lambda name: name == wanted
    if comparison == "!=":
        return lambda name: name != wanted
    return lambda name: like(name, wanted, ignore_case=comparison == "ILIKE")


HANDLERS: Mapping[tuple[str, str], Handler] = {
    ("GET", "experiments/get-by-name"): get_by_name,
    ("GET", "experiments/get"): get,
    ("POST", "experiments/create"): create,
    ("POST", "experiments/search"): search,
    ("GET", "experiments/search"): search,
    ("POST", "experiments/update"): unchanged,
    ("POST", "experiments/delete"): unchanged,
    ("POST", "experiments/restore"): unchanged,
    ("POST", "experiments/set-experiment-tag"): unchanged,
    ("POST", "experiments/delete-experiment-tag"): unchanged,
}
