"""What both of MLflow's stores, the database and the folder, have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from holter.ingest.trackers.base import SAMPLES, RunContents, LoggedSeries
from holter.ingest.trackers.base import bounded_config, parse_text_value
from holter.types import FloatArray, IntArray, SeriesKey, Unreadable

NAME = "mlflow"
STATUS = {"1": "RUNNING", "2": "SCHEDULED", "3": "FINISHED", "4": "FAILED", "5": "KILLED"}
"""As the folder spells them: numbers of mlflow.entities.RunStatus."""
DELETED = "deleted in MLflow"
_NOT_OVER = frozenset({"RUNNING", "SCHEDULED"})
_LARGEST = 1.7976931348623157e308
"""What the database has in place of infinity, since not all databases know that."""
_LAST_MOMENT = 253_402_300_800_000
"""The year 10,000, which no clock knows."""
_MACHINE = "system/"
_NOT_KEPT = (
    "mlflow.log-model.",
    "mlflow.project.",
    "mlflow.databricks.",
    "mlflow.runName",
    "mlflow.loggedArtifacts",
)


def is_finished(status: str) -> bool:
    """Whether a run of this status has come to its end; one that was killed hard stays RUNNING in MLflow."""
    return status not in _NOT_OVER


def unix_seconds(milliseconds: object) -> float | None:
    """A moment of MLflow's in Unix seconds, None for what is no moment of this era."""
    if not isinstance(milliseconds, int) or isinstance(milliseconds, bool):
        return None
    return milliseconds / 1e3 if 0 <= milliseconds < _LAST_MOMENT else None


def metric_series(name: str, times: IntArray, values: FloatArray, steps: IntArray) -> LoggedSeries:
    """A metric's points, times in milliseconds. Its own measurements of the machine count samples."""
    labels = (("steps", SAMPLES),) if name.startswith(_MACHINE) else ()
    return LoggedSeries(SeriesKey(name, labels), steps, times / 1e3, values)


def restore_infinity(values: FloatArray) -> FloatArray:
    """The values with infinity where the database has the largest number instead."""
    return np.where(np.abs(values) == _LARGEST, np.copysign(np.inf, values), values)


def run_contents(
    metrics: Iterable[LoggedSeries],
    params: Mapping[str, str],
    tags: Mapping[str, str],
    *,
    run: str,
    status: str,
    left_out: Sequence[Unreadable] = (),
) -> RunContents:
    """Everything of one run: parameters by their names, tags as `tag.…`, MLflow's own ones as `mlflow.…`."""
    settings: list[tuple[str, object]] = [("mlflow.run_id", run), ("mlflow.status", status)]
    settings += [(name, parse_text_value(text)) for name, text in params.items()]
    for name, text in tags.items():
        if text and not name.startswith(_NOT_KEPT):
            settings.append((name if name.startswith("mlflow.") else f"tag.{name}", parse_text_value(text)))
    return RunContents(logged=list(metrics), config=bounded_config(settings), left_out=tuple(left_out))
