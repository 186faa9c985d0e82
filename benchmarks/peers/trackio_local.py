"""trackio without a server of its own: everything goes to its SQLite file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from peers.worker import bytes_below
from peers.workloads import Workload


class Peer:
    """A project in a folder."""

    def __init__(self, folder: Path) -> None:
        os.environ["TRACKIO_DIR"] = str(folder)
        import trackio  # noqa: PLC0415 - it looks at the variable when it is imported

        self._trackio, self._folder = trackio, folder

    def write(self, workload: Workload, rows: list[list[dict[str, float]]]) -> None:
        """Log row by row; `finish` returns when everything is in the file."""
        for run, held in enumerate(rows):
            self._trackio.init(
                project="bench", name=f"run-{run}", embed=False, auto_log_gpu=False, auto_log_cpu=False
            )
            for step, row in enumerate(held):
                self._trackio.log(row, step=step)
            self._trackio.finish()
        os.sync()

    def readers(self, workload: Workload) -> dict[str, Any]:
        """What its dashboard asks: a run's rows, all metrics at once, thinned or not."""
        from trackio.sqlite_storage import SQLiteStorage  # noqa: PLC0415 - see above

        def logs(points: int | None) -> int:
            return len(SQLiteStorage.get_logs("bench", "run-0", max_points=points))

        return {
            "one series": (lambda: logs(None), workload.steps),
            "20 series": (lambda: logs(1000), min(workload.steps, 300)),
        }

    def size(self) -> int:
        """The file, its log included."""
        return bytes_below(self._folder)

    def close(self) -> None:
        """Nothing is left running."""
