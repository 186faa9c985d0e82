"""wandb in offline mode: a .wandb file a run. It ships no reader."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from peers.worker import bytes_below
from peers.workloads import Workload


class Peer:
    """Offline runs in a folder."""

    def __init__(self, folder: Path) -> None:
        os.environ |= {"WANDB_MODE": "offline", "WANDB_DIR": str(folder), "WANDB_SILENT": "true"}
        import wandb  # noqa: PLC0415 - it looks at the variables when it is imported

        self._wandb, self._folder = wandb, folder

    def write(self, workload: Workload, rows: list[list[dict[str, float]]]) -> None:
        """Log row by row; `finish` returns when the file is written."""
        settings = self._wandb.Settings(console="off", x_disable_stats=True, x_disable_meta=True, silent=True)
        for run, held in enumerate(rows):
            opened = self._wandb.init(project="bench", name=f"run-{run}", settings=settings, reinit=True)
            for step, row in enumerate(held):
                opened.log(row, step=step)
            opened.finish()
        os.sync()

    def readers(self, workload: Workload) -> dict[str, Any]:
        """None."""
        return {}

    def size(self) -> int:
        """All files of all runs."""
        return bytes_below(self._folder)

    def close(self) -> None:
        """Nothing is left running."""
