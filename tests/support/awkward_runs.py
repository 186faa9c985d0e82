"""Runs that are hard to show: many ranks, datasets and layers, a spike before NaN, a run that has stalled."""

from __future__ import annotations

import time
from typing import Any

from tests.support.pages import Server, healthy, until, wave

RANKS = 64
SLOW_RANK = 37
DATASETS = 30
DAY = 86_400.0


class AwkwardRuns:
    """Ids of the runs and incidents on the server."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.ranks = self._post_ranks()
        self.datasets = self._post_datasets()
        self.broken = self._post_spike_before_nan()
        self.stalled = self._post_stalled()
        self.warm_up = self._post_slow_spike_after_warm_up()
        self.old = self._post_old()
        self.straggler = server.wait_for_incident(self.ranks, "straggler")
        self.nan = server.wait_for_incident(self.broken, "nonfinite")
        self.spike = self._first_incident(self.broken, "spike")

    def _first_incident(self, run: str, kind: str) -> int:
        """Wait for an incident whose kind begins with `kind`; its number."""
        found = until(
            lambda: [
                each
                for each in self.server.ask(f"/runs/{run}/incidents")["incidents"]
                if each["kind"].startswith(kind)
            ]
        )
        return int(found[0]["id"])

    def _post_ranks(self) -> str:
        """64 ranks on eight hosts; rank 37 computes 40 % longer from step 150 on."""
        steps = list(range(300))
        run = self.server.post("many-ranks", healthy(0, 300))
        for rank in range(RANKS):
            times = [
                1.0 + 0.01 * wave(step + rank) + (0.4 if rank == SLOW_RANK and step >= 150 else 0.0)
                for step in steps
            ]
            labels = {"rank": rank, "host": f"n{rank // 8}"}
            self.server.post("many-ranks", {"step": steps, "compute_time_s": times}, labels=labels)
        return run

    def _post_datasets(self) -> str:
        """Losses of 30 datasets, gradient norms of 30 layers, times of a step of eight ranks."""
        columns = healthy(0, 300)
        for number in range(DATASETS):
            columns[f"layers/{number}/grad_norm"] = [0.1 * number + 0.01 * wave(step) for step in range(300)]
            columns[f"loss/dataset-{number}"] = [
                2 + 0.1 * number + 0.05 * wave(step + number) for step in range(300)
            ]
        run = self.server.post("many-datasets", columns)
        for rank in range(8):
            times = [1.0 + 0.01 * wave(step + rank) for step in range(300)]
            self.server.post(
                "many-datasets", {"step": list(range(300)), "step_time_s": times}, labels={"rank": rank}
            )
        return run

    def _post_spike_before_nan(self) -> str:
        """The loss rises at step 900 and becomes NaN at step 1,200."""
        columns = healthy(ends=time.time() - 5)
        columns["loss"][900:] = [value + 3 for value in columns["loss"][900:]]
        columns["loss"][1200:] = ["NaN"] * 300
        return self.server.post("spike-before-nan", columns)

    def _post_stalled(self) -> str:
        """The loss is NaN for its last 100 steps, and nothing has arrived for 14 minutes."""
        columns = healthy(ends=time.time() - 14 * 60)
        columns["loss"][1400:] = ["NaN"] * 100
        return self.server.post("stalled-with-nan", columns)

    def _post_slow_spike_after_warm_up(self) -> str:
        """A loss that begins at 11 and has a slow spike from 2.5 to 3.1 much later."""
        columns = healthy()
        columns["loss"] = [
            2.5 + 8.5 * 0.97**step + 0.01 * wave(step) + (0.6 * 0.99 ** (step - 900) if step >= 900 else 0)
            for step in columns["step"]
        ]
        return self.server.post("slow-spike", columns)

    def _post_old(self) -> str:
        """A run of 27 days ago that ended with a NaN that nobody has looked at."""
        columns: dict[str, list[Any]] = healthy(ends=time.time() - 27 * DAY)
        columns["loss"][-40:] = ["NaN"] * 40
        return self.server.post("old-and-broken-with-a-name-that-is-longer-than-its-column", columns)
