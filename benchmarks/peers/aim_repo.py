"""aim: a repository based on RocksDB."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aim.sdk.tracker
from aim import Repo, Run
from aim.storage.context import Context

from peers.clock import SimulatedClock
from peers.peer import PeerBase
from peers.workloads import LoggedRun, Workload


class AimPeer(PeerBase):
    """An aim repository in a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._repo = Repo(str(folder), init=not (folder / ".aim").exists())

    def write(self, workload: Workload, runs: list[LoggedRun]) -> None:
        """Call `track` with the metrics of each step."""
        clock = SimulatedClock()
        aim.sdk.tracker.datetime = SimpleNamespace(datetime=clock)
        for run in runs:
            tracked = Run(
                repo=self._repo,
                experiment="bench",
                system_tracking_interval=None,
                log_system_params=False,
                capture_terminal_logs=False,
            )
            for step, row in enumerate(run.rows):
                clock.seconds = run.times[step]
                tracked.track(row, step=step)
            tracked.close()
        os.sync()

    def readers(self, workload: Workload) -> dict[str, Any]:
        """Read metrics as arrays, or their last values."""
        (name,) = self._repo.list_all_runs()
        # its read-only handle finds no metrics here
        run = Run(name, repo=self._repo, system_tracking_interval=None, capture_terminal_logs=False)
        context = Context({})

        def read_metrics(selected: list[str]) -> int:
            return sum(len(run.get_metric(name, context).values.sparse_numpy()[0]) for name in selected)

        def last_values() -> int:
            return sum(
                run.get_metric(name, context).values.last_value() is not None for name in workload.names
            )

        names = workload.names[:20]
        return {
            "one series": (lambda: read_metrics(names[:1]), workload.steps),
            "20 series": (lambda: read_metrics(names), len(names) * workload.steps),
            "long series": (lambda: read_metrics(names), workload.steps),
            "last values": (last_values, workload.metrics),
        }
