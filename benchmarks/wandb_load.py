"""Many rows and many clients: the newest wandb client logs to a server, whose processor time is counted.

    python benchmarks/wandb_load.py [--rows 10000] [--clients 50] [--client-rows 500]

Prints rows sent and stored, the server's processor time for a row of ten metrics, its peak memory (RSS), and
the processor time for the same rows by Holter's own protocol.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import numpy as np
import psutil

REPOSITORY = Path(__file__).parents[1]
sys.path.insert(0, str(REPOSITORY))

from holter.cli.agent.http_sink import encode_delivery  # noqa: E402
from holter.types import Batch, Column, Delivery, SeriesKey  # noqa: E402
from tests.support.tracker_host import TrackerHost, tracker_host  # noqa: E402
from tests.support.wandb_faults import METRICS, WandbClient, WandbTraining, ended  # noqa: E402

MIB = 2**20
_NATIVE_ROWS_OF_A_BATCH = 500


class Usage:
    """Processor time and peak memory of a server while something runs."""

    def __init__(self, host: TrackerHost) -> None:
        self._process = psutil.Process(host.server_process)
        self._over = threading.Event()
        self.peak = 0
        self.seconds = 0.0

    def measure(self, work: Callable[[], None]) -> None:
        """Run something, and wait until the server is idle."""
        watching = threading.Thread(target=self._watch)
        watching.start()
        before = self._cpu()
        work()
        time.sleep(3)  # compaction and analysis
        self.seconds = self._cpu() - before
        self._over.set()
        watching.join()

    def _cpu(self) -> float:
        times = self._process.cpu_times()
        return float(times.user + times.system)

    def _watch(self) -> None:
        while not self._over.wait(0.1):
            self.peak = max(self.peak, self._process.memory_info().rss)


def log_native(host: TrackerHost, run: str, rows: int) -> None:
    """The same rows by Holter's own protocol."""
    with httpx.Client(base_url=host.server_address, timeout=60) as client:
        for start in range(0, rows, _NATIVE_ROWS_OF_A_BATCH):
            steps = np.arange(start, min(rows, start + _NATIVE_ROWS_OF_A_BATCH))
            columns = [
                Column(key=SeriesKey("loss" if not n else f"metric_{n}"), values=steps + n / 16)
                for n in range(METRICS)
            ]
            batch = Batch(steps=steps, times=time.time() + steps * 0.001, columns=columns)
            delivery = Delivery(project="native", run=run, writer="w", batch_id=str(start), batch=batch)
            client.post(
                "/api/v1/ingest",
                content=encode_delivery(delivery),
                headers={"Content-Type": "application/msgpack"},
            ).raise_for_status()


def main() -> int:
    """Exit code 1 where a row was lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000, help="of one client")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--client-rows", type=int, default=500, help="of each of many clients")
    arguments = parser.parse_args()
    print("| load | rows sent | rows stored | server CPU, us a row | peak memory, MiB | seconds |")
    print("|---|---|---|---|---|---|", flush=True)
    lost = 0
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        tracker_host(Path(folder) / "server") as host,
    ):

        def clients(count: int, rows: int, name: str) -> None:
            client = WandbClient(rows=rows, pause=0)
            trainings = [
                WandbTraining(host, client, Path(folder) / f"{name}{n}", f"{name}{n}") for n in range(count)
            ]
            processes = [training.start(training.launch_of(0)) for training in trainings]
            for process in processes:
                ended(process)

        loads: list[tuple[str, list[str], int, Callable[[], None]]] = [
            ("native", ["native"], arguments.rows, lambda: log_native(host, "native", arguments.rows)),
            ("one wandb client", ["one0"], arguments.rows, lambda: clients(1, arguments.rows, "one")),
            (
                f"{arguments.clients} wandb clients",
                [f"many{n}" for n in range(arguments.clients)],
                arguments.client_rows,
                lambda: clients(arguments.clients, arguments.client_rows, "many"),
            ),
        ]
        for title, runs, rows, work in loads:
            usage, began = Usage(host), time.monotonic()
            usage.measure(work)
            sent, stored = rows * len(runs), sum(map(host.rows, runs))
            lost += sent - stored
            cells = (title, sent, stored, f"{1e6 * usage.seconds / sent:.0f}", f"{usage.peak / MIB:.0f}")
            print("| " + " | ".join(map(str, cells)) + f" | {time.monotonic() - began:.0f} |", flush=True)
    return 1 if lost else 0


if __name__ == "__main__":
    raise SystemExit(main())
