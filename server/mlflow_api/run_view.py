"""Runs as MLflow's clients read them; what is costly is read when it is first needed, for all at once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, isfinite, isnan
from typing import Any

from holter.attempts.config import newest_settings
from holter.server.context import ServerContext
from holter.server.mlflow_api.launches import DELETED, END, ENDED, RUNNING, START, USER
from holter.server.run_details import NO_DETAILS, RunDetails
from holter.server.tracked_runs import TrackedRun

PARAMETER, TAG = "mlflow.param.", "mlflow.tag."
"""Prefixes of the attributes of runs that have parameters and tags."""


@dataclass
class LatestValues:
    """The newest values of the metrics of some runs, read with the first use. `run_ids`: the internal ids."""

    context: ServerContext
    run_ids: Sequence[int]

    @cached_property
    def by_run(self) -> Mapping[int, Mapping[str, float]]:
        """The newest value of each metric, by run."""
        overviews = self.context.store.overviews(self.run_ids)
        return {
            run_id: {each.key.metric: each.value for each in overview.series}
            for run_id, overview in overviews.items()
        }


@dataclass
class RunView:
    """What MLflow shows of a run. Times are in milliseconds."""

    run: TrackedRun
    details: RunDetails
    attributes: Mapping[str, str]
    context: ServerContext = field(repr=False)
    latest: LatestValues = field(repr=False)

    @cached_property
    def info(self) -> Mapping[str, Any]:
        """Name, state and times of the run."""
        run, details, attributes = self.run, self.details, self.attributes
        status = details.reported_state or ("FINISHED" if run.finished_at is not None else RUNNING)
        info = {
            "run_id": run.public_id,
            "run_uuid": run.public_id,
            "experiment_id": str(run.project_id),
            "run_name": details.display_name or run.name,
            "user_id": attributes.get(USER, ""),
            "status": status,
            "start_time": int(attributes.get(START) or round(1000 * run.created_at)),
            "artifact_uri": f"mlflow-artifacts:/{run.project_id}/{run.public_id}/artifacts",
            "lifecycle_stage": "deleted" if DELETED in attributes else "active",
        }
        if end_time := attributes.get(END):
            info["end_time"] = int(end_time)
        elif status in ENDED and run.finished_at is not None:
            info["end_time"] = round(1000 * run.finished_at)
        return info

    @cached_property
    def tags(self) -> Mapping[str, str]:
        """The tags, with the name of the run."""
        own = _named(self.attributes, TAG)
        return {"mlflow.runName": self.details.display_name or self.run.name, **own}

    @cached_property
    def parameters(self) -> Mapping[str, str]:
        """The parameters; of a run that another client logged, its settings as texts."""
        if own := _named(self.attributes, PARAMETER):
            return own
        settings = newest_settings(self.context.store.config(self.run.id))
        return {
            name: value if isinstance(value, str) else json.dumps(value) for name, value in settings.items()
        }

    def value(self, metric: str) -> float | None:
        """The newest value of a metric, None where the run does not have it."""
        return self.latest.by_run.get(self.run.id, {}).get(metric)

    def as_json(self, *, metrics: bool = True) -> dict[str, Any]:
        """The run as clients parse it; without `metrics`, what a client that only logs may read."""
        return {
            "info": dict(self.info),
            "data": {
                "metrics": self._metrics() if metrics else [],
                "params": [{"key": key, "value": value} for key, value in self.parameters.items()],
                "tags": [{"key": key, "value": value} for key, value in self.tags.items()],
            },
            "inputs": {"dataset_inputs": []},
        }

    def _metrics(self) -> list[dict[str, Any]]:
        newest = self.context.store.newest_points(self.run.id)
        columns = (newest.names.metric_list(), newest.value, newest.time, newest.step)
        by_name = {
            name: metric_json(name, float(value), float(time), int(step))
            for name, value, time, step in zip(*columns, strict=True)
        }
        return list(by_name.values())


def view_run(context: ServerContext, run: TrackedRun) -> RunView:
    """Everything that MLflow shows of a run."""
    return view_runs(context, [run])[0]


def view_runs(context: ServerContext, runs: Sequence[TrackedRun]) -> list[RunView]:
    """The same of several runs, in a constant number of queries until parameters or metrics are needed."""
    ids = [run.id for run in runs]
    details = context.run_details.details_of(ids)
    attributes = context.run_details.attributes_of(ids, "mlflow.")
    latest = LatestValues(context, ids)
    return [
        RunView(run, details.get(run.id, NO_DETAILS), attributes.get(run.id, {}), context, latest)
        for run in runs
    ]


def _named(attributes: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {
        name.removeprefix(prefix): value
        for name, value in sorted(attributes.items())
        if name.startswith(prefix)
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
