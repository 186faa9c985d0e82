"""Logs recorded runs through Holter's client, as a training job without log files does."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path

import holter
from holter.cli.demo.replay import due_rows
from holter.cli.demo.runs import RecordedRun

INTERVAL_SECONDS = 0.004
STOP_SECONDS = 2.0


class ClientReplay:
    """Replays one run: each step is logged when it is due, and the client sends what has gathered.

    The server gets some batches a second, and analyses each with what it had found before. Wall times are
    those of the calls, as always with the client.
    """

    def __init__(self, run: RecordedRun, url: str, spool: Path, *, begin: float, seconds: float) -> None:
        self.over = False
        self._rows = due_rows(run, begin=begin, seconds=seconds)
        self._next = next(self._rows)
        # settings for real runs do not apply
        self._client = holter.init(
            run.project, run.name, {"demo": run.settings}, server=url, spool=spool, environ={}
        )

    def log_until(self, now: float) -> None:
        """Log every step that is due."""
        while not self.over and self._next[0] <= now:
            _, attempt, row = self._next
            metrics = {tag: float(column[row]) for tag, column in attempt.columns.items()}
            self._client.log(metrics, step=int(attempt.steps[row]))
            next_row = next(self._rows, None)
            if next_row is None:
                self.over = True
                self._client.finish()
            else:
                self._next = next_row

    def close(self) -> None:
        """Send what is left if the server takes it soon; a run that is not over stays open."""
        self._client.close(STOP_SECONDS)


def log_live(
    runs: Sequence[RecordedRun], url: str, spool: Path, *, seconds: float, stop: threading.Event
) -> None:
    """Log in real time, until all runs are over (after about `seconds`) or `stop` is set."""
    begin = time.time()
    replays = [ClientReplay(run, url, spool, begin=begin, seconds=seconds) for run in runs]
    while not stop.is_set() and not all(replay.over for replay in replays):
        for replay in replays:
            replay.log_until(time.time())
        stop.wait(INTERVAL_SECONDS)
    for replay in replays:
        replay.close()
