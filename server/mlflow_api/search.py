"""Searches for runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holter.server.mlflow_api.call import Handler, MlflowCall
from holter.server.mlflow_api.experiments import experiment
from holter.server.mlflow_api.filters import parse_filter, sort_runs
from holter.server.mlflow_api.run_view import view_runs
from holter.server.tracked_runs import runs_of_projects

_PAGE = 1000
_MOST = 50_000


def search(call: MlflowCall) -> dict[str, Any]:
    """The runs of some experiments that fit a filter, in an order, page by page."""
    call.check_readable()
    context = call.context
    conditions = parse_filter(call.text("filter"))
    view = call.text("run_view_type") or "ACTIVE_ONLY"
    first = call.integer("page_token", 0) if call.text("page_token") else 0
    most = call.integer("max_results", _PAGE, least=1, most=_MOST)
    projects = [int(experiment(context, each)["experiment_id"]) for each in call.texts("experiment_ids")]
    stages = {"ACTIVE_ONLY": {"active"}, "DELETED_ONLY": {"deleted"}}.get(view, {"active", "deleted"})
    found = [
        run
        for run in view_runs(context, runs_of_projects(context, projects))
        if run.info["lifecycle_stage"] in stages and all(holds(run) for holds in conditions)
    ]
    page = sort_runs(found, call.texts("order_by"))[first : first + most]
    answer: dict[str, Any] = {"runs": [run.as_json() for run in page]}
    if len(found) > first + most:
        answer["next_page_token"] = str(first + most)
    return answer


HANDLERS: Mapping[tuple[str, str], Handler] = {("POST", "runs/search"): search}
