"""A run as GraphQL answers describe it, where a run is called a bucket and a project a model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import blake2b
from math import isfinite, nan
from typing import Any

from holter.server.context import ServerContext
from holter.server.run_details import RunDetails
from holter.server.tracked_runs import TrackedRun
from holter.server.wandb_api.config import read_config
from holter.server.wandb_api.run_state import CONFIG_ATTRIBUTE, DEFAULT_ENTITY
from holter.server.wandb_api.stream_state import StreamState

_WORDS = (
    ("amber", "brisk", "calm", "clear", "deep", "early", "fair", "firm"),
    ("bay", "brook", "cliff", "dune", "glade", "hill", "lake", "shore"),
)


def generated_name(run: str) -> str:
    """A display name for a run that has none; the same for the same run."""
    number = int.from_bytes(blake2b(run.encode(), digest_size=4).digest())
    adjectives, nouns = _WORDS
    return f"{adjectives[number % 8]}-{nouns[number // 8 % 8]}-{number // 64 % 1000}"


def entity_json(entity: str | None) -> dict[str, Any]:
    """An entity; Holter has one, whose name is what the client calls it."""
    name = entity or DEFAULT_ENTITY
    return {"id": name, "name": name}


def project_json(project: str, entity: str | None) -> dict[str, Any]:
    """A project."""
    return {
        "id": project,
        "name": project,
        "entity": entity_json(entity),
        "entityName": entity or DEFAULT_ENTITY,
    }


def config_text(values: Mapping[str, Any]) -> str:
    """A configuration in the form of the protocol: `{"name": {"value": ...}}`."""
    return json.dumps({name: {"desc": None, "value": value} for name, value in values.items()})


def resume_bucket(
    run: TrackedRun, details: RunDetails, state: StreamState, attributes: Mapping[str, str]
) -> dict[str, Any]:
    """What a client needs to continue a run: its last row and the number of lines of each file."""
    stream = state.streams.get("") or next(iter(state.streams.values()), None)
    history = 0 if stream is None else max(0, stream.history)
    events = 0 if stream is None else max(0, stream.events)
    values = read_config(attributes.get(CONFIG_ATTRIBUTE))
    tail = {"_step": -1, "_runtime": 0.0} | _finite_tail(state)
    summary = {**read_summary(details), **tail}
    return {
        "id": run.public_id,
        "name": run.name,
        "displayName": details.display_name,
        "historyLineCount": history,
        "eventsLineCount": events,
        "logLineCount": 0 if stream is None else stream.output,
        "historyTail": json.dumps([json.dumps(tail)] if history else []),
        "eventsTail": json.dumps([json.dumps({"_runtime": tail["_runtime"]})] if events else []),
        "summaryMetrics": json.dumps(summary),
        "config": config_text(values),
        "tags": list(details.tags),
        "notes": details.notes,
        "wandbConfig": json.dumps({"t": 1}),
    }


def read_summary(details: RunDetails) -> dict[str, Any]:
    """The summary of a run; NaN and infinities are numbers of Python."""
    try:
        summary = json.loads(details.summary) if details.summary else {}
    except (ValueError, RecursionError):
        return {}
    return summary if isinstance(summary, dict) else {}


def _finite_tail(state: StreamState) -> dict[str, Any]:
    names = ("_step", "_runtime", "_timestamp")
    tail: dict[str, Any] = {name: state.tail[name] for name in names if isfinite(state.tail.get(name, nan))}
    return tail | ({"_step": int(tail["_step"])} if "_step" in tail else {})


def iso_time(seconds: float | None) -> str | None:
    """Unix seconds in ISO 8601."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def bucket_json(
    context: ServerContext, run: TrackedRun, entity: str | None, *, inserted: bool = False
) -> dict[str, Any]:
    """The answer to an update of a run.

    The number of lines is always 0: a client that sends a file again begins at its first line.
    """
    details = context.run_details.details(run.id)
    return {
        "bucket": {
            "id": run.public_id,
            "name": run.name,
            "displayName": details.display_name or generated_name(run.name),
            "description": details.notes,
            "notes": details.notes,
            "tags": list(details.tags),
            "config": None,
            "sweepName": None,
            "historyLineCount": 0,
            "project": project_json(run.project, entity),
        },
        "inserted": inserted,
    }
