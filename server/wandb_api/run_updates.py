"""Operations that create, describe and resume runs."""

from __future__ import annotations

from typing import Any

from holter.server.live import run_event
from holter.server.run_details import RunDetails
from holter.server.store.keys import storable_text
from holter.server.tracked_runs import (
    RUN_LOCKS,
    InvalidNameError,
    TrackedRun,
    empty_delivery,
    find_run,
    find_run_by_public_id,
    open_run,
)
from holter.server.wandb_api.api_runs import check_config_change, one_run, project_id, run_json
from holter.server.wandb_api.config import (
    branch_point,
    launch_config,
    parse_config,
    read_config,
    stored_config,
)
from holter.server.wandb_api.fork import copy_history
from holter.server.wandb_api.operations import GraphqlCall, Operation, OperationError
from holter.server.wandb_api.run_bucket import bucket_json, entity_json, generated_name, resume_bucket
from holter.server.wandb_api.run_state import (
    CONFIG_ATTRIBUTE,
    DEFAULT_PROJECT,
    TRACKER,
    add_note,
    read_state,
    write_state,
)
from holter.server.wandb_api.stream_state import StreamState

_DETAILS = {
    "displayName": ("display_name", 500),
    "display_name": ("display_name", 500),
    "notes": ("notes", 100_000),
    "groupName": ("group_name", 500),
    "jobType": ("job_type", 500),
    "summaryMetrics": ("summary", 2**20),
}
"""The fields of details by the variables that state them, with their length in characters."""
_MAX_TAGS = 1000
_LOGGING_VARIABLES = ("host", "program", "repo", "commit", "jobProgram")


def upsert_run(call: GraphqlCall) -> dict[str, Any]:
    """Create a run or change what describes it; variables that are null change nothing.

    A client that logs names the run, and states its id besides where it resumes one; `wandb.Api()` states
    the id alone.
    """
    if (identity := call.text("id")) and not call.text("name"):
        return _update_by_id(call, identity)
    run, is_new = _named_run(call)
    with RUN_LOCKS.locked(run.project, run.name):
        state, attributes = read_state(call.context, run)
        details = call.context.run_details.details(run.id)
        changes = _changes(call, details, run)
        if state.resume_asked:
            state.resume_asked, state.resuming = False, True
            changes |= {"reported_state": "running", "exit_code": None}
            call.context.run_details.withdraw_stop(run.id)
        elif is_new or details.reported_state is None:
            changes["reported_state"] = "running"
        call.context.run_details.update(run.id, **changes)
        state.updates += 1
        _store_config(call, run, state, attributes.get(CONFIG_ATTRIBUTE, ""))
    return {"upsertBucket": bucket_json(call.context, run, call.text("entity"), inserted=is_new)}


def _update_by_id(call: GraphqlCall, identity: str) -> dict[str, Any]:
    call.require_read()
    run = find_run_by_public_id(call.context, identity)
    if run is None:
        raise OperationError(f"there is no run {identity[:100]}")
    with RUN_LOCKS.locked(run.project, run.name):
        state, attributes = read_state(call.context, run)
        text = attributes.get(CONFIG_ATTRIBUTE, "")
        values = parse_config(call.text("config"))
        is_changed = check_config_change(call.context, run.id, text, values)
        changes = _changes(call, call.context.run_details.details(run.id), run)
        call.context.run_details.update(run.id, **changes)
        if is_changed:
            _store_config(call, run, state, text)
    call.context.live.publish(run_event(run.public_id))
    bucket = bucket_json(call.context, run, call.text("entity"))
    number = project_id(call.context, run.project)
    if number is not None:
        described = run_json(call.context, one_run(call.context, run), number, history_keys=False)
        bucket["bucket"] |= described
    return {"upsertBucket": bucket}


def _named_run(call: GraphqlCall) -> tuple[TrackedRun, bool]:
    """The run that an update names by project and name, and whether it is new."""
    name = call.text("name")
    project = call.text("project", "modelName") or DEFAULT_PROJECT
    if not name:
        raise OperationError("name: expected the id of a run")
    found = find_run(call.context, project, name)
    try:
        return found or open_run(call.context, TRACKER, project, name), found is None
    except InvalidNameError as error:
        raise OperationError(str(error)) from error


def _changes(call: GraphqlCall, details: RunDetails, run: TrackedRun) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    for variable, (field, limit) in _DETAILS.items():
        if (text := call.text(variable)) is not None:
            if field == "summary" and len(text) > limit:
                continue
            changes[field] = storable_text(text)[:limit]
    if not changes.get("display_name") and not details.display_name:
        changes["display_name"] = generated_name(run.name)
    elif not changes.get("display_name", "-"):
        del changes["display_name"]
    if isinstance(tags := call.variables.get("tags"), list):
        texts = [storable_text(tag)[:500] for tag in tags if isinstance(tag, str)]
        changes["tags"] = tuple(dict.fromkeys(texts))[:_MAX_TAGS]
    return changes


def _store_config(call: GraphqlCall, run: TrackedRun, state: StreamState, before: str) -> None:
    """Store the configuration; of a run without rows it is shown at once, later with the rows."""
    values = parse_config(call.text("config"))
    if (point := branch_point(values)) is not None and not state.launches:
        copy_history(call.context, run, state, *point)
    text = stored_config(read_config(before) | values) if values else before
    if text is None:
        add_note(call.context, run, "config", "the configuration is larger than 1 MiB and was not stored")
        text = before
    changed = {CONFIG_ATTRIBUTE: text} if text != before else {}
    write_state(call.context, run, state, changed)
    if changed and not state.launches and (config := launch_config(values)):
        call.context.store.accept(empty_delivery(TRACKER, run.project, run.name, attempt=0, config=config))


def resume_status(call: GraphqlCall) -> dict[str, Any]:
    """Whether a run exists and where it continues."""
    project = call.text("project") or DEFAULT_PROJECT
    entity = entity_json(call.text("entity"))
    run = find_run(call.context, project, call.required("name"))
    model: dict[str, Any] = {"id": project, "name": project, "entity": entity, "bucket": None}
    if run is not None:
        model["bucket"] = _continued(call, run)
    return {"model": model}


def rewind_run(call: GraphqlCall) -> dict[str, Any]:
    """Continue a run from one of its steps: the next launch is a new attempt, and nothing is deleted."""
    run = find_run(call.context, call.text("project") or DEFAULT_PROJECT, call.required("runName"))
    if run is None:
        return {"rewindRun": None}
    bucket = _continued(call, run)
    bucket["project"] = {
        "id": run.project,
        "name": run.project,
        "entity": entity_json(call.text("entity")),
        "internalId": run.project,
    }
    return {"rewindRun": {"rewoundRun": bucket}}


def _continued(call: GraphqlCall, run: TrackedRun) -> dict[str, Any]:
    """The end of a run, after which the client that asked is expected to begin a new launch."""
    with RUN_LOCKS.locked(run.project, run.name):
        state, attributes = read_state(call.context, run)
        state.resume_asked = True
        write_state(call.context, run, state)
    return resume_bucket(run, call.context.run_details.details(run.id), state, attributes)


OPERATIONS: dict[str, Operation] = {
    "UpsertBucket": upsert_run,
    "RunResumeStatus": resume_status,
    "RewindRun": rewind_run,
}
