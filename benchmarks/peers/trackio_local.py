"""trackio without a server: it writes to its SQLite file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from peers.clock import iso_times
from peers.peer import PeerBase, vacuum_sqlite
from peers.workloads import LoggedRun, Workload


class TrackioPeer(PeerBase):
    """A trackio project in a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        os.environ["TRACKIO_DIR"] = str(folder)
        import trackio  # noqa: PLC0415 - reads the variable when imported
        from trackio.sqlite_storage import SQLiteStorage  # noqa: PLC0415 - see above

        self._trackio, self._storage = trackio, SQLiteStorage

    def write(self, workload: Workload, runs: list[LoggedRun]) -> None:
        """Log row by row; `finish` returns when everything is in the file."""
        bulk_log = self._storage.bulk_log
        for number, run in enumerate(runs):
            times = iso_times(run.times)

            def log_with_times(*, steps: list[int], times: list[str] = times, **others: Any) -> None:
                bulk_log(**others | {"steps": steps, "timestamps": [times[step] for step in steps]})

            self._storage.bulk_log = log_with_times  # it stamps a batch with the time at which it is written
            self._trackio.init(
                project="bench", name=f"run-{number}", embed=False, auto_log_gpu=False, auto_log_cpu=False
            )
            for step, row in enumerate(run.rows):
                self._trackio.log(row, step=step)
            self._trackio.finish()
        self._storage.bulk_log = bulk_log
        os.sync()

    def readers(self, workload: Workload) -> dict[str, Any]:
        """Read one metric, all metrics downsampled as the dashboard does, or those of the last step."""
        storage = self._storage
        expected = min(workload.steps, 300)

        def rows(points: int) -> int:
            return sum(len(row) for row in storage.get_logs("bench", "run-0", max_points=points))

        def last_values() -> int:
            step = storage.get_max_step_for_run("bench", "run-0")
            return len(storage.get_snapshot("bench", "run-0", step=step))

        def one_series() -> int:
            return len(storage.get_metric_values("bench", "run-0", workload.names[0]))

        return {
            "one series": (one_series, workload.steps),
            "20 series": (lambda: rows(1000), min(20, workload.metrics) * expected),
            "long series": (lambda: rows(1000), expected),
            "last values": (last_values, workload.metrics),
        }

    def compact(self) -> None:
        """Vacuum the database."""
        vacuum_sqlite(self.folder / "bench.db")
