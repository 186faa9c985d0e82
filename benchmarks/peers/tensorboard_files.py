"""TensorBoard in Python: EventFileWriter, which torch's SummaryWriter uses, and EventAccumulator."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from peers.peer import PeerBase
from peers.workloads import LoggedRun, Workload


class TensorBoardPeer(PeerBase):
    """Event files in a folder, one per run."""

    def write(self, workload: Workload, runs: list[LoggedRun]) -> None:
        """Write an event per scalar, as add_scalar does."""
        for number, run in enumerate(runs):
            writer = EventFileWriter(str(self.folder / f"run-{number}"))
            for step, row in enumerate(run.rows):
                for tag, value in row.items():
                    entry = Summary.Value(tag=tag, simple_value=value)
                    writer.add_event(
                        Event(wall_time=run.times[step], step=step, summary=Summary(value=[entry]))
                    )
                if workload.live:
                    writer.flush()
            writer.close()
        os.sync()

    def readers(self, workload: Workload) -> dict[str, Any]:
        """Load the complete run, then read from memory."""
        loaded = self._load(self.folder / "run-0")

        def scalars(tags: list[str]) -> int:
            return sum(len(loaded.Scalars(tag)) for tag in tags)

        def last_values() -> int:
            return len([loaded.Scalars(tag)[-1].value for tag in workload.names])

        names = workload.names[:20]
        return {
            "one series": (lambda: scalars(names[:1]), workload.steps),
            "20 series": (lambda: scalars(names), len(names) * workload.steps),
            "long series": (lambda: scalars(names), workload.steps),
            "last values": (last_values, workload.metrics),
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
