"""Versions of trackio's client log to a real server while things fail; prints rows sent and rows stored.

    python benchmarks/trackio_versions.py [--versions 0.43.0 0.24.0] [--only resumed everything]

Each version is installed into an environment of its own below the user's cache folder. The scenarios are
those of the tests (`tests/support/trackio_faults.py`), with longer faults.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
sys.path.insert(0, str(REPOSITORY))

from tests.support.install_trackio import VERSIONS, install  # noqa: E402
from tests.support.tracker_host import tracker_host  # noqa: E402
from tests.support.trackio_faults import SCENARIOS, TrackioOutcome, TrackioTrainings  # noqa: E402

_FAULT_SECONDS = {"refused": 35.0, "429": 10.0, "503": 10.0, "server_killed": 5.0, "refused_at_start": 5.0}


def measure(version: str, scenarios: Sequence[str], folder: Path, rows: list[str]) -> None:
    """Run scenarios of one version on a server of its own."""
    with tracker_host(folder / "server") as host:
        for scenario in scenarios:
            began = time.monotonic()
            trainings = TrackioTrainings(
                host=host,
                folder=folder / scenario,
                run=scenario,
                python=install(version),
                rows=200,
                pause=0.3 if scenario == "refused" else 0.1,
                fault_seconds=_FAULT_SECONDS.get(scenario, 5.0),
            )
            try:
                outcome = SCENARIOS[scenario](trainings)
            except Exception as error:  # the others go on
                host.proxy.heal()
                text = " ".join(f"{type(error).__name__}: {error}".split())[-200:]
                outcome = TrackioOutcome(sent=-1, stored=-1, exact=False, attempts=-1, note=text)
            cells = (
                version, scenario, outcome.sent, outcome.stored, "yes" if outcome.exact else "NO",
                outcome.attempts, f"{time.monotonic() - began:.0f}", outcome.note,
            )  # fmt: skip
            rows.append("| " + " | ".join(map(str, cells)) + " |")
            print(rows[-1], flush=True)


def main() -> int:
    """Exit code 1 where a version lost or repeated a row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--versions", nargs="*", default=VERSIONS)
    parser.add_argument("--only", nargs="*", default=tuple(SCENARIOS), choices=tuple(SCENARIOS))
    arguments = parser.parse_args()
    for version in arguments.versions:
        install(version)
    rows: list[str] = []
    print("| trackio | scenario | rows sent | rows stored | exact | attempts | seconds | notes |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        workers = [
            threading.Thread(target=measure, args=(version, arguments.only, Path(folder) / version, rows))
            for version in arguments.versions
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    return 1 if any("| NO |" in row for row in rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
