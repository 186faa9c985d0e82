"""aim: a repository based on RocksDB."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from aim import Repo, Run
from aim.storage.context import Context

from peers.worker import folder_size
from peers.workloads import Workload


class AimPeer:
    """An aim repository in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._repo = Repo(str(folder), init=True)
        self._hash = ""

    def write(self, workload: Workload, rows: list[list[dict[str, float]]]) -> None:
        """Call `track` for each point, as the documentation shows."""
        for run_rows in rows:
            run = Run(
                repo=self._repo,
                experiment="bench",
                system_tracking_interval=None,
                log_system_params=False,
                capture_terminal_logs=False,
            )
            self._hash = run.hash
            for step, row in enumerate(run_rows):
                for name, value in row.items():
                    run.track(value, name=name, step=step)
            run.close()
        os.sync()

    def readers(self, workload: Workload) -> dict[str, Any]:
        """Read complete metrics as arrays."""
        names = [f"train/metric_{n}" for n in range(min(20, workload.metrics))]
        run = Run(self._hash, repo=self._repo, system_tracking_interval=None, capture_terminal_logs=False)

        def read_metrics(selected: list[str]) -> int:
            return sum(len(run.get_metric(name, Context({})).values.sparse_numpy()[0]) for name in selected)

        return {
            "one series": (lambda: read_metrics(names[:1]), workload.steps),
            "20 series": (lambda: read_metrics(names), workload.steps),
        }

    def size(self) -> int:
        """The size of the repository."""
        return folder_size(self._folder)

    def close(self) -> None:
        """Do nothing: no process is running."""
