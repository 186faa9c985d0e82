"""Many clients at once: the newest trackio client logs to a server, whose memory is watched.

    python benchmarks/trackio_load.py [--clients 50] [--rows 200]

Prints rows sent and stored, the server's processor time for a row and its peak memory (RSS).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
sys.path.insert(0, str(REPOSITORY))

from benchmarks.wandb_load import MIB, Usage  # noqa: E402
from tests.support.install_trackio import VERSIONS, install  # noqa: E402
from tests.support.tracker_host import tracker_host  # noqa: E402
from tests.support.tracker_trainings import result_of  # noqa: E402
from tests.support.trackio_faults import TrackioTrainings  # noqa: E402


def main() -> int:
    """Exit code 1 where a row was lost or changed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--rows", type=int, default=200, help="of each client")
    arguments = parser.parse_args()
    python = install(VERSIONS[0])
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        tracker_host(Path(folder) / "server") as host,
    ):
        trainings = [
            TrackioTrainings(
                host=host, folder=Path(folder) / f"many{number}", run=f"many{number}", python=python,
                rows=arguments.rows, pause=0.01,
            )
            for number in range(arguments.clients)
        ]  # fmt: skip

        def work() -> None:
            processes = [training.start("steadily") for training in trainings]
            for process in processes:
                result_of(process)

        usage, began = Usage(host), time.monotonic()
        usage.measure(work)
        seconds = time.monotonic() - began
        outcomes = [training.outcome(range(arguments.rows)) for training in trainings]
        sent, stored = sum(each.sent for each in outcomes), sum(each.stored for each in outcomes)
    print("| clients | rows sent | rows stored | exact | server CPU, us a row | peak memory, MiB | seconds |")
    print("|---|---|---|---|---|---|---|")
    exact = all(each.exact for each in outcomes)
    cells = (
        arguments.clients, sent, stored, "yes" if exact else "NO", f"{1e6 * usage.seconds / sent:.0f}",
        f"{usage.peak / MIB:.0f}", f"{seconds:.0f}",
    )  # fmt: skip
    print("| " + " | ".join(map(str, cells)) + " |")
    return 0 if exact else 1


if __name__ == "__main__":
    raise SystemExit(main())
