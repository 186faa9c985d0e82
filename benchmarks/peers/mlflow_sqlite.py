"""mlflow with a SQLite file, a thousand metrics a call of log_batch."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path
from typing import Any

from mlflow import MlflowClient
from mlflow.entities import Metric

from peers.worker import bytes_below
from peers.workloads import Workload

_A_CALL = 1000


class Peer:
    """A tracking store in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._client = MlflowClient(tracking_uri=self.address(folder))
        self._experiment = self._client.create_experiment("bench")
        self._run = ""

    def address(self, folder: Path) -> str:
        """Where the store is."""
        return f"sqlite:///{folder}/mlflow.db"

    def write(self, workload: Workload, rows: list[list[dict[str, float]]]) -> None:
        """In calls as large as it allows; live, a flush is as many calls as it takes."""
        for run, held in enumerate(rows):
            opened = self._client.create_run(self._experiment, run_name=f"run-{run}")
            self._run = opened.info.run_id
            times = (1e3 * workload.columns(run)[0]).astype(int).tolist()
            metrics = (
                Metric(name, value, times[step], step)
                for step, row in enumerate(held)
                for name, value in row.items()
            )
            while some := list(islice(metrics, _A_CALL)):
                self._client.log_batch(self._run, metrics=some)
            self._client.set_terminated(self._run)
        os.sync()

    def readers(self, workload: Workload) -> dict[str, Any]:
        """Histories come whole, one by one."""
        names = [f"train/metric_{n}" for n in range(min(20, workload.metrics))]

        def history(wanted: list[str]) -> int:
            return sum(len(self._client.get_metric_history(self._run, name)) for name in wanted)

        return {
            "one series": (lambda: history(names[:1]), workload.steps),
            "20 series": (lambda: history(names), workload.steps),
            "last values": (lambda: len(self._client.get_run(self._run).data.metrics), workload.metrics),
        }

    def size(self) -> int:
        """All files of the store."""
        return bytes_below(self._folder)

    def close(self) -> None:
        """Nothing is left running."""
