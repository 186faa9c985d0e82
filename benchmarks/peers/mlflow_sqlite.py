"""mlflow with a SQLite file, a thousand metrics per call of log_batch."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path
from typing import Any

from mlflow import MlflowClient
from mlflow.entities import Metric

from peers.worker import folder_size
from peers.workloads import Workload

_METRICS_PER_CALL = 1000


class MlflowSqlitePeer:
    """An mlflow tracking store in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._client = MlflowClient(tracking_uri=self.address(folder))
        self._experiment = self._client.create_experiment("bench")
        self._run = ""

    def address(self, folder: Path) -> str:
        """The URI of the store."""
        return f"sqlite:///{folder}/mlflow.db"

    def write(self, workload: Workload, rows: list[list[dict[str, float]]]) -> None:
        """Log in calls of the maximum size, also for live workloads."""
        for run, run_rows in enumerate(rows):
            tracking_run = self._client.create_run(self._experiment, run_name=f"run-{run}")
            self._run = tracking_run.info.run_id
            times = (1e3 * workload.columns(run)[0]).astype(int).tolist()
            metrics = (
                Metric(name, value, times[step], step)
                for step, row in enumerate(run_rows)
                for name, value in row.items()
            )
            while batch := list(islice(metrics, _METRICS_PER_CALL)):
                self._client.log_batch(self._run, metrics=batch)
            self._client.set_terminated(self._run)
        os.sync()

    def readers(self, workload: Workload) -> dict[str, Any]:
        """Read complete histories, one metric per call."""
        names = [f"train/metric_{n}" for n in range(min(20, workload.metrics))]

        def read_histories(selected: list[str]) -> int:
            return sum(len(self._client.get_metric_history(self._run, name)) for name in selected)

        return {
            "one series": (lambda: read_histories(names[:1]), workload.steps),
            "20 series": (lambda: read_histories(names), workload.steps),
            "last values": (lambda: len(self._client.get_run(self._run).data.metrics), workload.metrics),
        }

    def size(self) -> int:
        """The size of all files of the store."""
        return folder_size(self._folder)

    def close(self) -> None:
        """Do nothing: no process is running."""
