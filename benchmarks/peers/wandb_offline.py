"""wandb in offline mode: one .wandb file per run, for which wandb has no reader."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from peers.worker import folder_size
from peers.workloads import Workload


class WandbPeer:
    """Offline runs of wandb in a folder."""

    def __init__(self, folder: Path) -> None:
        os.environ |= {"WANDB_MODE": "offline", "WANDB_DIR": str(folder), "WANDB_SILENT": "true"}
        import wandb  # noqa: PLC0415 - reads the variables when imported

        self._wandb, self._folder = wandb, folder

    def write(self, workload: Workload, rows: list[list[dict[str, float]]]) -> None:
        """Log row by row; `finish` returns when the file is written."""
        settings = self._wandb.Settings(console="off", x_disable_stats=True, x_disable_meta=True, silent=True)
        for run, run_rows in enumerate(rows):
            wandb_run = self._wandb.init(project="bench", name=f"run-{run}", settings=settings, reinit=True)
            for step, row in enumerate(run_rows):
                wandb_run.log(row, step=step)
            wandb_run.finish()
        os.sync()

    def readers(self, workload: Workload) -> dict[str, Any]:
        """Return no queries: offline files cannot be queried."""
        return {}

    def size(self) -> int:
        """The size of all files of all runs."""
        return folder_size(self._folder)

    def close(self) -> None:
        """Do nothing: no process is running."""
