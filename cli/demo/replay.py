"""The writer of the demo: recorded runs as TensorBoard event files that grow like a training job's."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from holter.cli.demo.runs import Launch, Recorded

TICK = 0.1


class Replay:
    """One run on its way: each attempt writes a file of its own, with wall times that begin at `begin`.

    The run's own time is divided by `speed`, so that its pauses and restarts keep their place.
    """

    def __init__(self, run: Recorded, folder: Path, *, begin: float, seconds: float) -> None:
        self.run = run
        self.over = False
        self._folder = folder / run.name
        self._begin = begin
        self._pace = seconds / run.seconds
        self._rows = self._due_rows()
        self._writer: EventFileWriter | None = None
        self._next = next(self._rows)

    def _due_rows(self) -> Iterator[tuple[float, Launch, int]]:
        for launch in self.run.launches:
            for row, moment in enumerate((self._begin + launch.times * self._pace).tolist()):
                yield moment, launch, row

    def write(self, now: float) -> None:
        """Log every row that is due, and let readers see it."""
        if self.over or self._next[0] > now:
            return
        while self._next[0] <= now:
            self._log(*self._next)
            following = next(self._rows, None)
            if following is None:
                self.close()
                return
            self._next = following
        assert self._writer is not None
        self._writer.flush()

    def _log(self, moment: float, launch: Launch, row: int) -> None:
        if self._writer is None or row == 0:
            self.close()
            self.over = False
            self._writer = EventFileWriter(str(self._folder))
        step = int(launch.steps[row])
        for tag, column in launch.columns.items():
            value = Summary.Value(tag=tag, simple_value=float(column[row]))
            self._writer.add_event(Event(wall_time=moment, step=step, summary=Summary(value=[value])))

    def close(self) -> None:
        """End the file that is being written, as a process that exits does."""
        self.over = True
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def write_at_once(runs: Sequence[Recorded], folder: Path, *, seconds: float) -> None:
    """Write everything now, as if it had happened during the last `seconds`."""
    now = time.time()
    for run in runs:
        Replay(run, folder, begin=now - seconds, seconds=seconds).write(now)


def write_live(runs: Sequence[Recorded], folder: Path, *, seconds: float, stop: threading.Event) -> None:
    """Write as time goes by, until all runs are over (after about `seconds`) or `stop` is set."""
    begin = time.time()
    # some sooner, some later: not everything ends at one moment
    shares = [1.0 - 0.4 * index / max(1, len(runs) - 1) for index in range(len(runs))]
    replays = [
        Replay(run, folder, begin=begin, seconds=seconds * share)
        for run, share in zip(runs, shares, strict=True)
    ]
    while not stop.is_set() and not all(replay.over for replay in replays):
        for replay in replays:
            replay.write(time.time())
        stop.wait(TICK)
    for replay in replays:
        replay.close()
