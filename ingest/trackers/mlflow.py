"""Names, times, values and settings that MLflow's database and file store have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from holter.ingest.trackers.base import SAMPLES, LoggedSeries, RunContents, bounded_config, parse_text_value
from holter.types import FloatArray, IntArray, SeriesKey, Unreadable

NAME = "mlflow"
STATUS = {"1": "RUNNING", "2": "SCHEDULED", "3": "FINISHED", "4": "FAILED", "5": "KILLED"}
"""Names of a run's status by the numbers in the file store (mlflow.entities.RunStatus)."""
DELETED = "deleted in MLflow"
_UNFINISHED = frozenset({"RUNNING", "SCHEDULED"})
_LARGEST_FLOAT = 1.7976931348623157e308
"""The number that MLflow stores in place of infinity, since not all databases support infinity."""
_MAX_MILLISECONDS = 253_402_300_800_000
"""The year 10,000; later times are invalid."""
_MACHINE = "system/"
_SKIPPED_TAGS = (
    "mlflow.log-model.",
    "mlflow.project.",
    "mlflow.databricks.",
    "mlflow.runName",
    "mlflow.loggedArtifacts",
)


def is_finished(status: str) -> bool:
    """Whether a run of this status is finished; one that was killed with SIGKILL stays RUNNING in MLflow."""
    return status not in _UNFINISHED


def unix_seconds(milliseconds: object) -> float | None:
    """A time of MLflow's in Unix seconds; None for an invalid one."""
    if not isinstance(milliseconds, int) or isinstance(milliseconds, bool):
        return None
    return milliseconds / 1e3 if 0 <= milliseconds < _MAX_MILLISECONDS else None


def metric_series(name: str, times: IntArray, values: FloatArray, steps: IntArray) -> LoggedSeries:
    """The series of a metric; `times` in milliseconds."""
    return LoggedSeries(metric_key(name), steps, times / 1e3, values)


def metric_key(name: str) -> SeriesKey:
    """The series that a metric becomes: steps of measurements of the machine are samples."""
    return SeriesKey(name, (("steps", SAMPLES),) if name.startswith(_MACHINE) else ())


def restore_infinity(values: FloatArray) -> FloatArray:
    """The values with infinity in place of the largest float, which the database has instead."""
    return np.where(np.abs(values) == _LARGEST_FLOAT, np.copysign(np.inf, values), values)


def run_contents(
    metrics: Iterable[LoggedSeries],
    params: Mapping[str, str],
    tags: Mapping[str, str],
    *,
    run: str,
    status: str,
    left_out: Sequence[Unreadable] = (),
) -> RunContents:
    """The contents of a run: parameters by their names, tags as `tag.…`, MLflow's own tags as `mlflow.…`."""
    settings: list[tuple[str, object]] = [("mlflow.run_id", run), ("mlflow.status", status)]
    settings += [(name, parse_text_value(text)) for name, text in params.items()]
    for name, text in tags.items():
        if text and not name.startswith(_SKIPPED_TAGS):
            settings.append((name if name.startswith("mlflow.") else f"tag.{name}", parse_text_value(text)))
    return RunContents(logged=list(metrics), config=bounded_config(settings), left_out=tuple(left_out))
