"""What running jobs send: points, parameters, tags. A repeated request changes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf, nan
from typing import Any

from holter.ingest.rows import LogRow, batch_from_rows
from holter.ingest.trackers.base import bounded_config, parse_text_value
from holter.ingest.trackers.mlflow import metric_key, unix_seconds
from holter.secret_patterns import is_secret
from holter.server import tracked_runs
from holter.server.context import ServerContext
from holter.server.mlflow_api.call import INVALID, Handler, MlflowCall, MlflowError
from holter.server.mlflow_api.launches import (
    TRACKER,
    RunLaunch,
    attempt_of_points,
    find_launch,
    find_run,
)
from holter.server.mlflow_api.run_view import PARAMETER, TAG
from holter.server.store.keys import storable_text
from holter.server.tracked_runs import TrackedRun, empty_delivery, tracker_delivery
from holter.types import Batch, Labels, SeriesKey

MAX_METRICS, MAX_PARAMETERS, MAX_TAGS = 1000, 100, 100
"""MLflow's own limits of a request."""
MAX_KEY, MAX_PARAMETER_VALUE, MAX_TAG_VALUE = 250, 6000, 8000
_REMOVED = "[removed: it looks like a secret]"
_NONFINITE = {"NaN": nan, "Infinity": inf, "-Infinity": -inf}
_INTEGER = re.compile(r"[-+]?[0-9]{1,19}")
_DETAILS = {"mlflow.runName": "display_name", "mlflow.note.content": "notes"}
_PARENT = "mlflow.parentRunId"


def log_metric(call: MlflowCall) -> dict[str, Any]:
    """One point of one metric."""
    launch = find_launch(call.context, call.required("run_id", "run_uuid"))
    _store_points(call.context, launch, [call.parameters])
    return {}


def log_batch(call: MlflowCall) -> dict[str, Any]:
    """Points, parameters and tags."""
    launch = find_launch(call.context, call.required("run_id", "run_uuid"))
    metrics = call.objects("metrics", MAX_METRICS)
    parameters = read_pairs(call.objects("params", MAX_PARAMETERS), MAX_PARAMETER_VALUE)
    tags = read_pairs(call.objects("tags", MAX_TAGS), MAX_TAG_VALUE)
    store_parameters(call.context, launch, parameters)
    store_tags(call.context, launch.run, tags)
    if metrics:
        _store_points(call.context, launch, metrics)
    return {}


def log_parameter(call: MlflowCall) -> dict[str, Any]:
    """One parameter, which can be logged again with the same value only."""
    launch = find_launch(call.context, call.required("run_id", "run_uuid"))
    store_parameters(call.context, launch, read_pairs([call.parameters], MAX_PARAMETER_VALUE))
    return {}


def set_tag(call: MlflowCall) -> dict[str, Any]:
    """One tag; another value replaces it."""
    run = find_run(call.context, call.required("run_id", "run_uuid"))
    store_tags(call.context, run, read_pairs([call.parameters], MAX_TAG_VALUE))
    return {}


def delete_tag(call: MlflowCall) -> dict[str, Any]:
    """Remove a tag."""
    run = find_run(call.context, call.required("run_id", "run_uuid"))
    call.context.run_details.remove_attributes(run.id, [TAG + call.required("key")])
    return {}


def discard(call: MlflowCall) -> dict[str, Any]:
    """Datasets and models are accepted, and mentioned once on the run's page."""
    run_id = call.text("run_id", "run_uuid", "source_run_id")
    if run_id:
        note_discarded(call.context, find_run(call.context, run_id))
    return {}


def note_discarded(context: ServerContext, run: TrackedRun) -> None:
    """Show on the run's page that files were not stored."""
    reason = "Holter stores no files: artifacts, models and datasets are discarded"
    tracked_runs.note_discarded(context, TRACKER, run, "artifacts", reason)


def store_parameters(context: ServerContext, launch: RunLaunch, parameters: Mapping[str, str]) -> None:
    """Store parameters, as the configuration of the launch as well. Raises MlflowError for other values."""
    if not parameters:
        return
    public = {name: _REMOVED if is_secret(name, value) else value for name, value in parameters.items()}
    run = launch.run
    known = context.run_details.attributes(run.id, PARAMETER)
    for name, value in public.items():
        before = known.get(PARAMETER + name, value)
        if before != value:
            reason = f"was logged with the value {before[:60]!r}, and cannot become {value[:60]!r}"
            raise MlflowError(INVALID, f"Changing param values is not allowed: {name[:60]!r} {reason}")
    new = {name: value for name, value in public.items() if PARAMETER + name not in known}
    if new:
        config = bounded_config((name, parse_text_value(value)) for name, value in new.items())
        stated = empty_delivery(TRACKER, run.project, run.name, config=config, attempt=launch.attempt)
        context.store.accept(stated)
        context.run_details.set_attributes(run.id, {PARAMETER + name: value for name, value in new.items()})


def store_tags(context: ServerContext, run: TrackedRun, tags: Mapping[str, str]) -> None:
    """Store tags; those with a meaning describe the run on Holter's pages, too."""
    public = {name: value for name, value in tags.items() if not is_secret(name, value)}
    if public:
        context.run_details.set_attributes(run.id, {TAG + name: value for name, value in public.items()})
    details = {field: public[tag] for tag, field in _DETAILS.items() if public.get(tag)}
    if parent := public.get(_PARENT):
        details["parent_run"] = _name_of(context, parent)
    if details.get("display_name"):
        details["display_name"] = details["display_name"][:500]
    if details:
        context.run_details.update(run.id, **details)


def _name_of(context: ServerContext, public_id: str) -> str:
    """The name of a run; the id itself where there is none, since a tag may be any text."""
    try:
        return find_run(context, public_id).name
    except MlflowError:
        return public_id[:MAX_KEY]


def _store_points(context: ServerContext, launch: RunLaunch, metrics: Sequence[Mapping[str, Any]]) -> None:
    batch = _batch(metrics)
    attempt = attempt_of_points(context, launch, {column.key for column in batch.columns})
    run = launch.run
    context.store.accept(tracker_delivery(TRACKER, run.project, run.name, replace(batch, attempt=attempt)))


def _batch(metrics: Iterable[Mapping[str, Any]]) -> Batch:
    """The points, those of the same step and time as one row. Raises MlflowError for what is no point."""
    newest: dict[tuple[int, float, Labels], dict[str, float]] = {}
    rows: list[LogRow] = []
    for metric in metrics:
        key, value, time, step = _point(metric)
        values = newest.get((step, time, key.labels))
        if values is None or key.metric in values:  # a metric can be logged several times at once
            values = newest[step, time, key.labels] = {}
            rows.append(LogRow(step, time, values, key.labels))
        values[key.metric] = value
    return batch_from_rows(rows)


def _point(metric: Mapping[str, Any]) -> tuple[SeriesKey, float, float, int]:
    """Series, value, time in Unix seconds and step of a point. Raises MlflowError."""
    name = metric.get("key")
    if not isinstance(name, str) or not 0 < len(name) <= MAX_KEY or storable_text(name) != name:
        raise MlflowError(
            INVALID, f"invalid metric name {str(name)[:60]!r}: expected 1 to {MAX_KEY} characters"
        )
    value, step = _number(metric.get("value")), _whole(metric.get("step", 0))
    if value is None or step is None:
        wrong = "value" if value is None else "step"
        raise MlflowError(
            INVALID,
            f"invalid {wrong} {str(metric.get(wrong))[:60]!r} of metric {name[:60]!r}: expected a number",
        )
    time = unix_seconds(_whole(metric.get("timestamp")))
    return metric_key(name), value, nan if time is None else time, step


def _number(value: object) -> float | None:
    """A number, also one of those that JSON does not have as text; None for anything else."""
    if isinstance(value, str):
        return _NONFINITE.get(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _whole(value: object) -> int | None:
    """A whole number of 64 bits, also as text as protobuf writes it; None for anything else."""
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**63) <= value < 2**63:
        return None
    return value


def read_pairs(items: Iterable[Mapping[str, Any]], longest: int) -> dict[str, str]:
    """Texts by name; longer ones are cut. Raises MlflowError for what is none."""
    pairs: dict[str, str] = {}
    for item in items:
        name, value = item.get("key"), item.get("value", "")
        if not isinstance(name, str) or not 0 < len(name) <= MAX_KEY or storable_text(name) != name:
            raise MlflowError(INVALID, f"invalid key {str(name)[:60]!r}: expected 1 to {MAX_KEY} characters")
        if not isinstance(value, str):
            raise MlflowError(INVALID, f"invalid value of {name[:60]!r}: expected a text")
        pairs[name] = storable_text(value)[:longest]
    return pairs


HANDLERS: Mapping[tuple[str, str], Handler] = {
    ("POST", "runs/log-metric"): log_metric,
    ("POST", "runs/log-batch"): log_batch,
    ("POST", "runs/log-parameter"): log_parameter,
    ("POST", "runs/set-tag"): set_tag,
    ("POST", "runs/delete-tag"): delete_tag,
    ("POST", "runs/log-inputs"): discard,
    ("POST", "runs/log-model"): discard,
    ("POST", "runs/outputs"): discard,
}
