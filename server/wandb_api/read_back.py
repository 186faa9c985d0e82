"""What `wandb.Api()` reads: projects, runs, and their history."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any

from holter.server.tracked_runs import TrackedRun, find_run
from holter.server.wandb_api.api_runs import (
    history_keys_json,
    one_run,
    project_id,
    project_runs,
    projects,
    run_json,
)
from holter.server.wandb_api.history_table import read_history, sampled
from holter.server.wandb_api.operations import GraphqlCall, Operation, OperationError
from holter.server.wandb_api.run_bucket import iso_time
from holter.server.wandb_api.run_filters import parse_filter, sorted_runs
from holter.server.wandb_api.run_state import DEFAULT_ENTITY, DEFAULT_PROJECT

_PAGE, _MOST = 50, 1000
_SAMPLES, _MOST_SAMPLES = 500, 100_000


def list_projects(call: GraphqlCall) -> dict[str, Any]:
    """The projects, page by page."""
    call.require_read()
    entity = call.text("entity") or DEFAULT_ENTITY
    found = [_project_json(entity, *one) for one in projects(call.context)]
    first, last = _page(call)
    return {
        "models": {
            "edges": [{"node": one, "cursor": str(first + i + 1)} for i, one in enumerate(found[first:last])],
            "pageInfo": _page_info(last, len(found)),
        }
    }


def one_project(call: GraphqlCall) -> dict[str, Any]:
    """A project by its name."""
    call.require_read()
    entity, name = call.text("entity") or DEFAULT_ENTITY, call.required("name", "project")
    found = [_project_json(entity, *one) for one in projects(call.context) if one[1] == name]
    return {"project": found[0] if found else None}


def _project_json(entity: str, number: int, name: str, created_at: float) -> dict[str, Any]:
    return {
        "__typename": "Project",
        "id": str(number),
        "internalId": str(number),
        "name": name,
        "entityName": entity,
        "createdAt": iso_time(created_at),
        "isBenchmark": False,
        "readOnly": False,
        "user": None,
    }


def list_runs(call: GraphqlCall) -> dict[str, Any]:
    """The runs of a project that fit a filter, in an order, page by page."""
    call.require_read()
    project = call.text("project") or DEFAULT_PROJECT
    number = project_id(call.context, project)
    if number is None:
        return {"project": None}
    fits = parse_filter(call.text("filters"))
    runs = sorted_runs(filter(fits, project_runs(call.context, project)), call.text("order"))
    first, last = _page(call)
    with_keys = "historyKeys" in call.query
    edges = [
        {
            "node": run_json(call.context, run, number, history_keys=with_keys),
            "cursor": str(first + index + 1),
        }
        for index, run in enumerate(runs[first:last])
    ]
    return {
        "project": {
            "internalId": str(number),
            "readOnly": False,
            "runCount": len(runs),
            "runs": {"edges": edges, "pageInfo": _page_info(last, len(runs))},
        }
    }


def _page(call: GraphqlCall) -> tuple[int, int]:
    """The first item of a page, and the one after its last."""
    cursor = call.text("cursor") or "0"
    if not cursor.isdecimal() or len(cursor) > 9:
        raise OperationError(f"cursor: expected a cursor of an earlier answer, found {cursor[:40]!r}")
    return int(cursor), int(cursor) + _number(call.variables, "perPage", _PAGE, 1, _MOST)


def _page_info(last: int, count: int) -> dict[str, Any]:
    return {"__typename": "PageInfo", "endCursor": str(min(last, count)), "hasNextPage": last < count}


def _number(values: Mapping[str, Any], name: str, default: int, least: int, most: int) -> int:
    """A whole number, limited to [least, most]; the default where there is none. Raises OperationError."""
    value = values.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise OperationError(f"{name}: expected a number, found {str(value)[:40]!r}")
    return max(least, min(most, int(value)))


def _run(call: GraphqlCall) -> TrackedRun | None:
    call.require_read()
    return find_run(
        call.context, call.text("project") or DEFAULT_PROJECT, call.required("name", "run", "runName")
    )


def _answer(call: GraphqlCall, run: dict[str, Any] | None) -> dict[str, Any]:
    number = project_id(call.context, call.text("project") or DEFAULT_PROJECT)
    return {"project": None if number is None else {"internalId": str(number), "readOnly": False, "run": run}}


def describe_run(call: GraphqlCall) -> dict[str, Any]:
    """A run by its project and id; null where there is none."""
    run = _run(call)
    number = project_id(call.context, run.project) if run is not None else None
    if run is None or number is None:
        return _answer(call, None)
    return _answer(call, run_json(call.context, one_run(call.context, run), number, history_keys=True))


def history_keys(call: GraphqlCall) -> dict[str, Any]:
    """The metrics of a run's history."""
    run = _run(call)
    return _answer(call, None if run is None else {"historyKeys": history_keys_json(call.context, run.id)})


def full_history(call: GraphqlCall) -> dict[str, Any]:
    """Samples of the history, or of the system metrics, with all metrics; each row is JSON that has NaN."""
    run = _run(call)
    if run is None:
        return _answer(call, None)
    system = "events(" in call.query.replace(" ", "")
    table = read_history(call.context, run.id, system=system)
    samples = _number(call.variables, "samples", _SAMPLES, 1, _MOST_SAMPLES)
    rows = [json.dumps(row) for row in table.rows(sampled(len(table.step), samples))]
    return _answer(call, {"events" if system else "history": rows})


def history_page(call: GraphqlCall) -> dict[str, Any]:
    """All rows whose counter is in [minStep, maxStep); each is JSON that has NaN."""
    run = _run(call)
    if run is None:
        return _answer(call, None)
    first = _number(call.variables, "minStep", 0, -(2**53), 2**53)
    last = _number(call.variables, "maxStep", 2**53, -(2**53), 2**53)
    table = read_history(call.context, run.id, min_step=first, max_step=last)
    return _answer(call, {"history": [json.dumps(row) for row in table.rows()]})


def sampled_history(call: GraphqlCall) -> dict[str, Any]:
    """Rows that have all of some metrics. NaN and infinities are texts, since these rows are not text."""
    run = _run(call)
    if run is None:
        return _answer(call, None)
    stated = call.variables.get("specs", call.variables.get("spec"))
    specs = stated if isinstance(stated, list) else [stated]
    return _answer(call, {"sampledHistory": [_sampled_rows(call, run, spec) for spec in specs[:100]]})


def _sampled_rows(call: GraphqlCall, run: TrackedRun, text: object) -> list[dict[str, Any]]:
    try:
        spec = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        spec = None
    if not isinstance(spec, dict) or not isinstance(names := spec.get("keys"), list):
        raise OperationError("spec: expected a JSON object with keys as text")
    names = list(dict.fromkeys(name for name in names if isinstance(name, str)))
    if "minStep" in spec or "maxStep" in spec:  # a page: all rows, both ends included
        first = _number(spec, "minStep", 0, -(2**53), 2**53)
        last = _number(spec, "maxStep", 2**53, -(2**53), 2**53)
        table = read_history(call.context, run.id, names, min_step=first, max_step=last + 1)
        rows = table.rows(table.with_all(names))
    else:
        table = read_history(call.context, run.id, names)
        complete = table.with_all(names)
        samples = _number(spec, "samples", _SAMPLES, 1, _MOST_SAMPLES)
        rows = table.rows(complete[sampled(len(complete), samples)])
    return [{name: _strict(row[name]) for name in names} for row in rows]


def _strict(value: float) -> float | str:
    """A number as JSON has it; NaN and infinities as the texts that wandb's server answers."""
    if isfinite(value):
        return value
    return "NaN" if value != value else ("Infinity" if value > 0 else "-Infinity")


def parquet_history(call: GraphqlCall) -> dict[str, Any]:
    """No Parquet files: clients then read the history page by page from the first live step on."""
    run = _run(call)
    if run is None:
        return _answer(call, None)
    return _answer(call, {"parquetHistory": {"parquetUrls": [], "liveData": [{"_step": 0}]}})


def list_files(call: GraphqlCall) -> dict[str, Any]:
    """No files: Holter discards them."""
    run = _run(call)
    files = {"edges": [], "pageInfo": {"endCursor": None, "hasNextPage": False}}
    return _answer(call, None if run is None else {"fileCount": 0, "files": files})


def refuse_deletion(call: GraphqlCall) -> dict[str, Any]:
    """Runs are not deleted by clients of the protocol."""
    call.require_read()
    raise OperationError(
        "Holter deletes no runs by wandb.Api: use `holter db delete PROJECT/RUN` on the server"
    )


OPERATIONS: dict[str, Operation] = {
    "GetProjects": list_projects,
    "GetProject": one_project,
    "IsProjectReadOnly": one_project,
    "Runs": list_runs,
    "Run": describe_run,
    "RunState": describe_run,
    "RunHistoryKeys": history_keys,
    "RunFullHistory": full_history,
    "RunSampledHistory": sampled_history,
    "RunParquetHistory": parquet_history,
    "HistoryPage": history_page,
    "SampledHistoryPage": sampled_history,
    "RunFiles": list_files,
    "DeleteRun": refuse_deletion,
}
