"""TensorBoard in Python: EventFileWriter, which torch's SummaryWriter uses, and EventAccumulator."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from peers.worker import folder_size
from peers.workloads import Workload


class TensorBoardPeer:
    """Event files in a folder, one per run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._loaded: EventAccumulator | None = None

    def write(self, workload: Workload, rows: list[list[dict[str, float]]]) -> None:
        """Write an event per scalar, as add_scalar does."""
        for run, run_rows in enumerate(rows):
            times = workload.columns(run)[0].tolist()
            writer = EventFileWriter(str(self._folder / f"run-{run}"))
            for step, row in enumerate(run_rows):
                for tag, value in row.items():
                    entry = Summary.Value(tag=tag, simple_value=value)
                    writer.add_event(Event(wall_time=times[step], step=step, summary=Summary(value=[entry])))
                if workload.live:
                    writer.flush()
            writer.close()
        os.sync()

    def readers(self, workload: Workload) -> dict[str, Any]:
        """Read from memory, after the complete run was loaded."""
        loaded = self._load(self._folder / "run-0")
        names = [f"train/metric_{n}" for n in range(min(20, workload.metrics))]

        def scalars(tags: list[str]) -> int:
            return sum(len(loaded.Scalars(tag)) for tag in tags)

        return {
            "one series": (lambda: scalars(names[:1]), workload.steps),
            "20 series": (lambda: scalars(names), workload.steps),
        }

    def loaders(self, path: Path) -> dict[str, Any]:
        """Load all points into memory."""

        def load() -> int:
            loaded = self._load(path)
            tags = loaded.Tags()
            return sum(len(loaded.Scalars(tag)) for tag in tags["scalars"]) + sum(
                len(loaded.Tensors(tag)) for tag in tags["tensors"]
            )

        return {"EventAccumulator": load}

    def _load(self, path: Path) -> EventAccumulator:
        accumulator = EventAccumulator(str(path), size_guidance={"scalars": 0, "tensors": 0})
        accumulator.Reload()
        return accumulator

    def size(self) -> int:
        """The size of all event files."""
        return folder_size(self._folder)

    def close(self) -> None:
        """Do nothing: no process is running."""
