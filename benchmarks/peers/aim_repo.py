"""aim: a repository on RocksDB."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from aim import Repo, Run
from aim.storage.context import Context

from peers.worker import bytes_below
from peers.workloads import Workload


class Peer:
    """A repository in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._repo = Repo(str(folder), init=True)
        self._hash = ""

    def write(self, workload: Workload, rows: list[list[dict[str, float]]]) -> None:
        """A call of track for each point, as its documentation shows."""
        for held in rows:
            run = Run(
                repo=self._repo,
                experiment="bench",
                system_tracking_interval=None,
                log_system_params=False,
                capture_terminal_logs=False,
            )
            self._hash = run.hash
            for step, row in enumerate(held):
                for name, value in row.items():
                    run.track(value, name=name, step=step)
            run.close()
        os.sync()

    def readers(self, workload: Workload) -> dict[str, Any]:
        """Whole metrics as arrays."""
        names = [f"train/metric_{n}" for n in range(min(20, workload.metrics))]
        run = Run(self._hash, repo=self._repo, system_tracking_interval=None, capture_terminal_logs=False)

        def whole(wanted: list[str]) -> int:
            return sum(len(run.get_metric(name, Context({})).values.sparse_numpy()[0]) for name in wanted)

        return {
            "one series": (lambda: whole(names[:1]), workload.steps),
            "20 series": (lambda: whole(names), workload.steps),
        }

    def size(self) -> int:
        """The whole repository."""
        return bytes_below(self._folder)

    def close(self) -> None:
        """Nothing is left running."""
