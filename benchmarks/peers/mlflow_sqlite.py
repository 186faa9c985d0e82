"""mlflow with a SQLite file, a thousand metrics per call of log_batch."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path
from typing import Any

from mlflow import MlflowClient
from mlflow.entities import Metric

from peers.peer import PeerBase, vacuum_sqlite
from peers.workloads import LoggedRun, Workload

_METRICS_PER_CALL = 1000


class MlflowSqlitePeer(PeerBase):
    """An mlflow tracking store in a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._client = MlflowClient(tracking_uri=self.address(folder))
        known = self._client.get_experiment_by_name("bench")
        self._experiment = known.experiment_id if known else self._client.create_experiment("bench")

    def address(self, folder: Path) -> str:
        """The URI of the store."""
        return f"sqlite:///{folder}/mlflow.db"

    def write(self, workload: Workload, runs: list[LoggedRun]) -> None:
        """Log in calls of the maximum size, also for live workloads."""
        for number, run in enumerate(runs):
            name = self._client.create_run(self._experiment, run_name=f"run-{number}").info.run_id
            times = [int(1e3 * seconds) for seconds in run.times]
            metrics = (
                Metric(metric, value, times[step], step)
                for step, row in enumerate(run.rows)
                for metric, value in row.items()
            )
            while batch := list(islice(metrics, _METRICS_PER_CALL)):
                self._client.log_batch(name, metrics=batch)
            self._client.set_terminated(name)
        os.sync()

    def readers(self, workload: Workload) -> dict[str, Any]:
        """Read histories, one metric per call: all points, or sampled by the function its pages call."""
        (run,) = self._client.search_runs([self._experiment])
        name = run.info.run_id
        store = self._client._tracking_client.store

        def sampled(metrics: list[str]) -> int:
            return sum(
                len(
                    store.get_metric_history_bulk_interval(
                        run_ids=[name], metric_key=metric, max_results=1000, start_step=None, end_step=None
                    )
                )
                for metric in metrics
            )

        names = workload.names[:20]
        expected = min(workload.steps, 900)
        return {
            "one series": (lambda: len(self._client.get_metric_history(name, names[0])), workload.steps),
            "20 series": (lambda: sampled(names), len(names) * expected),
            "long series": (lambda: sampled(names), expected),
            "last values": (lambda: len(self._client.get_run(name).data.metrics), workload.metrics),
        }

    def compact(self) -> None:
        """Vacuum the database."""
        vacuum_sqlite(self.folder / "mlflow.db")
