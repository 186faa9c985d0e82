"""Versions of the wandb client log to a real server while things fail; prints rows sent and rows stored.

    python benchmarks/wandb_versions.py [--versions 0.31.0 0.15.12] [--only normal refused] [--workers 4]

Each version is installed into an environment of its own below the user's cache folder. The scenarios are
those of the tests (`tests/support/wandb_faults.py`), with longer faults and the client's own settings.
"""

from __future__ import annotations

import argparse
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
sys.path.insert(0, str(REPOSITORY))

from tests.support.tracker_host import TrackerHost, tracker_host  # noqa: E402
from tests.support.wandb_faults import SCENARIOS, FaultOutcome, WandbClient, WandbTraining  # noqa: E402

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "holter" / "wandb"
VERSIONS = ("0.31.0", "0.25.1", "0.21.4", "0.18.7", "0.16.6", "0.15.12")
SINCE = {"shared": (0, 19), "resume_from": (0, 18)}
"""The first versions that can do what a scenario needs."""
_INSTALL_SECONDS = 600
# versions before 0.17 need pkg_resources, numpy 1 and protobuf 4 or older
_OLD = ("setuptools<81", "numpy<2", "protobuf<5")
Task = tuple[str, str]


def install(version: str) -> Path:
    """The Python of an environment with a version of the client."""
    python = CACHE / version / "bin" / "python"
    if not (CACHE / version / "installed").exists():
        subprocess.run([sys.executable, "-m", "venv", str(CACHE / version)], check=True)
        others = _OLD if number(version) < (0, 18) else ()
        command = [str(python), "-m", "pip", "install", "-q", f"wandb=={version}", *others]
        subprocess.run(command, check=True, timeout=_INSTALL_SECONDS)
        (CACHE / version / "installed").touch()
    return python


def number(version: str) -> tuple[int, ...]:
    """Major and minor version."""
    return tuple(map(int, version.split(".")[:2]))


def client(version: str, scenario: str) -> WandbClient:
    """A client whose run is long enough for a fault in its middle: it sends every 15 s by itself."""
    python = install(version)
    if scenario == "refused":
        return WandbClient(python=python, rows=320, pause=0.25, fault_seconds=35)
    if scenario in {"server_killed", "429", "503", "client_killed"}:
        return WandbClient(python=python, rows=320, pause=0.125, fault_seconds=10)
    return WandbClient(python=python, rows=500 if scenario == "normal" else 150)


def work(tasks: queue.SimpleQueue[Task], folder: Path, rows: list[str]) -> None:
    """Run scenarios on a server of this worker's own until none is left."""
    with tracker_host(folder / "server") as host:
        for version, scenario in _all(tasks):
            began = time.monotonic()
            run = f"{version}-{scenario}"
            try:
                outcome = SCENARIOS[scenario](
                    WandbTraining(host, client(version, scenario), folder / run, run)
                )
            except Exception as error:  # the others go on
                outcome = _failed(host, run, error)
            cells = (
                version, scenario, outcome.sent, outcome.stored, "yes" if outcome.exact else "NO",
                _attempts(outcome), outcome.exit_code, f"{time.monotonic() - began:.0f}", outcome.note,
            )  # fmt: skip
            rows.append("| " + " | ".join(map(str, cells)) + " |")
            print(rows[-1], flush=True)


def _all(tasks: queue.SimpleQueue[Task]) -> Iterator[Task]:
    while True:
        try:
            yield tasks.get_nowait()
        except queue.Empty:
            return


def _attempts(outcome: FaultOutcome) -> str:
    """How many attempts are stored, and where they begin if not with the launches."""
    count = str(len(outcome.attempts))
    return count if outcome.attempts == outcome.launches else f"{count} from {outcome.attempts}: NO"


def _failed(host: TrackerHost, run: str, error: Exception) -> FaultOutcome:
    host.proxy.heal()
    text = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    return FaultOutcome(sent=-1, stored=host.rows(run), exact=False, exit_code=-1, note=text)


def main() -> int:
    """Exit code 1 where a version lost or repeated a row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--versions", nargs="*", default=VERSIONS)
    parser.add_argument("--only", nargs="*", default=tuple(SCENARIOS), choices=tuple(SCENARIOS))
    parser.add_argument("--workers", type=int, default=4, help="scenarios at a time, each with its server")
    arguments = parser.parse_args()
    tasks: queue.SimpleQueue[Task] = queue.SimpleQueue()
    for version in arguments.versions:
        install(version)
        for scenario in arguments.only:
            if number(version) >= SINCE.get(scenario, (0, 0)):
                tasks.put((version, scenario))
    rows: list[str] = []
    print("| wandb | scenario | rows sent | rows stored | exact | attempts | exit code | seconds | notes |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        workers = [
            threading.Thread(target=work, args=(tasks, Path(folder) / str(index), rows))
            for index in range(arguments.workers)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    return 1 if any("| NO |" in row for row in rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
