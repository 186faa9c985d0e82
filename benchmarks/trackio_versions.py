"""Versions of trackio's client log to a real server while things fail; prints rows sent and rows stored.

    python benchmarks/trackio_versions.py [--versions 0.43.0 0.24.0] [--only resumed everything]

Each version is installed into an environment of its own below the user's cache folder. The scenarios are
those of the tests (`tests/support/trackio_faults.py`), with longer faults.
"""

from __future__ import annotations

import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
sys.path.insert(0, str(REPOSITORY))

from benchmarks.tracker_versions import TrackerVersions, main  # noqa: E402
from tests.support.install_trackio import VERSIONS, install  # noqa: E402
from tests.support.tracker_host import TrackerHost  # noqa: E402
from tests.support.trackio_faults import SCENARIOS, TrackioTrainings  # noqa: E402

_FAULT_SECONDS = {"refused": 35.0, "429": 10.0, "503": 10.0, "server_killed": 5.0, "refused_at_start": 5.0}


def trainings(host: TrackerHost, folder: Path, version: str, scenario: str) -> TrackioTrainings:
    """The trainings of a version in a scenario."""
    return TrackioTrainings(
        host=host,
        folder=folder,
        run=scenario,
        python=install(version),
        rows=200,
        pause=0.3 if scenario == "refused" else 0.1,
        fault_seconds=_FAULT_SECONDS.get(scenario, 5.0),
    )


MEASURED = TrackerVersions(
    tracker="trackio",
    rows="rows",
    versions=VERSIONS,
    scenarios=SCENARIOS,
    install=install,
    trainings=trainings,
)

if __name__ == "__main__":
    raise SystemExit(main(MEASURED, __doc__))
