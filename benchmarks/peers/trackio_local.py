"""trackio without a server: it writes to its SQLite file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from peers.worker import folder_size
from peers.workloads import Workload


class TrackioPeer:
    """A trackio project in a folder."""

    def __init__(self, folder: Path) -> None:
        os.environ["TRACKIO_DIR"] = str(folder)
        import trackio  # noqa: PLC0415 - reads the variable when imported

        self._trackio, self._folder = trackio, folder

    def write(self, workload: Workload, rows: list[list[dict[str, float]]]) -> None:
        """Log row by row; `finish` returns when everything is in the file."""
        for run, run_rows in enumerate(rows):
            self._trackio.init(
                project="bench", name=f"run-{run}", embed=False, auto_log_gpu=False, auto_log_cpu=False
            )
            for step, row in enumerate(run_rows):
                self._trackio.log(row, step=step)
            self._trackio.finish()
        os.sync()

    def readers(self, workload: Workload) -> dict[str, Any]:
        """Read as its dashboard does: all metrics of a run at once, complete or downsampled."""
        from trackio.sqlite_storage import SQLiteStorage  # noqa: PLC0415 - see above

        def read_rows(points: int | None) -> int:
            return len(SQLiteStorage.get_logs("bench", "run-0", max_points=points))

        return {
            "one series": (lambda: read_rows(None), workload.steps),
            "20 series": (lambda: read_rows(1000), min(workload.steps, 300)),
        }

    def size(self) -> int:
        """The size of the database, including its write-ahead log."""
        return folder_size(self._folder)

    def close(self) -> None:
        """Do nothing: no process is running."""
