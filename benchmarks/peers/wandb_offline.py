"""wandb in offline mode: one .wandb file per run, for which wandb has no reader."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from peers.peer import PeerBase
from peers.workloads import LoggedRun, Workload


class WandbPeer(PeerBase):
    """Offline runs of wandb in a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        os.environ |= {"WANDB_MODE": "offline", "WANDB_DIR": str(folder), "WANDB_SILENT": "true"}
        import wandb  # noqa: PLC0415 - reads the variables when imported

        self._wandb = wandb

    def write(self, workload: Workload, runs: list[LoggedRun]) -> None:
        """Log row by row; `finish` returns when the file is written."""
        settings = self._wandb.Settings(console="off", x_disable_stats=True, x_disable_meta=True, silent=True)
        for number, run in enumerate(runs):
            rows = [row | {"_timestamp": time} for row, time in zip(run.rows, run.times, strict=True)]
            wandb_run = self._wandb.init(
                project="bench", name=f"run-{number}", settings=settings, reinit=True
            )
            for step, row in enumerate(rows):
                wandb_run.log(row, step=step)
            wandb_run.finish()
        os.sync()

    def readers(self, workload: Workload) -> dict[str, Any]:
        """Return no questions: offline files cannot be queried."""
        return {}
