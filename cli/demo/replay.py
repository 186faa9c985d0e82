"""Writes recorded runs as TensorBoard event files that grow like those of a training job."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from holter.cli.demo.runs import RecordedAttempt, RecordedRun

INTERVAL_SECONDS = 0.1
CONFIG_FILE = "hparams.yaml"  # the name that PyTorch Lightning gives it


def due_rows(
    run: RecordedRun, *, begin: float, seconds: float
) -> Iterator[tuple[float, RecordedAttempt, int]]:
    """Yield when each row is due, with its attempt and number.

    The run's duration is scaled to `seconds`, with its pauses and restarts in proportion.
    """
    scale = seconds / run.seconds
    for attempt in run.attempts:
        for row, moment in enumerate((begin + attempt.times * scale).tolist()):
            yield moment, attempt, row


class RunReplay:
    """Replays one run: each attempt writes its own file, with wall times from `begin` on.

    A config file next to them says what the run is, and that its clock is simulated.
    """

    def __init__(self, run: RecordedRun, folder: Path, *, begin: float, seconds: float) -> None:
        self.run = run
        self.over = False
        self._folder = folder / run.name
        self._rows = due_rows(run, begin=begin, seconds=seconds)
        self._writer: EventFileWriter | None = None
        self._next = next(self._rows)

    def write(self, now: float) -> None:
        """Log every row that is due, and flush the file."""
        if self.over or self._next[0] > now:
            return
        while self._next[0] <= now:
            self._log(*self._next)
            next_row = next(self._rows, None)
            if next_row is None:
                self.close()
                return
            self._next = next_row
        assert self._writer is not None
        self._writer.flush()

    def _log(self, moment: float, attempt: RecordedAttempt, row: int) -> None:
        if self._writer is None or row == 0:
            self.close()
            self.over = False
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / CONFIG_FILE).write_text(f"demo: {json.dumps(self.run.settings)}\n")
            self._writer = EventFileWriter(str(self._folder))
        step = int(attempt.steps[row])
        for tag, column in attempt.columns.items():
            value = Summary.Value(tag=tag, simple_value=float(column[row]))
            self._writer.add_event(Event(wall_time=moment, step=step, summary=Summary(value=[value])))

    def close(self) -> None:
        """Close the current file, as a process that exits does."""
        self.over = True
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def write_at_once(runs: Sequence[RecordedRun], folder: Path, *, seconds: float) -> None:
    """Write everything now, with wall times of the last `seconds`."""
    now = time.time()
    for run in runs:
        RunReplay(run, folder, begin=now - seconds, seconds=seconds).write(now)


def write_live(runs: Sequence[RecordedRun], folder: Path, *, seconds: float, stop: threading.Event) -> None:
    """Write in real time, until all runs are over (after about `seconds`) or `stop` is set."""
    begin = time.time()
    # runs of different duration, so that they do not all end at the same time
    shares = [1.0 - 0.4 * index / max(1, len(runs) - 1) for index in range(len(runs))]
    replays = [
        RunReplay(run, folder, begin=begin, seconds=seconds * share)
        for run, share in zip(runs, shares, strict=True)
    ]
    while not stop.is_set() and not all(replay.over for replay in replays):
        for replay in replays:
            replay.write(time.time())
        stop.wait(INTERVAL_SECONDS)
    for replay in replays:
        replay.close()
