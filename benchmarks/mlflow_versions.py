"""Versions of MLflow's client log to a real server while things fail; prints points sent and points stored.

    python benchmarks/mlflow_versions.py [--versions 3.17.2 2.9.2] [--only reopened others]

Each version is installed into an environment of its own below the user's cache folder. The scenarios are
those of the tests (`tests/support/mlflow_faults.py`), with longer faults.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
sys.path.insert(0, str(REPOSITORY))

from benchmarks.tracker_versions import TrackerVersions, main  # noqa: E402
from tests.support.mlflow_faults import SCENARIOS, MlflowTrainings  # noqa: E402
from tests.support.tracker_host import TrackerHost  # noqa: E402

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "holter" / "mlflow"
VERSIONS = ("3.17.2", "2.22.0", "2.9.2")
_INSTALL_SECONDS = 900
_PACKAGES = ("scikit-learn", "pandas", "psutil")
# versions before 2.10 need pkg_resources and numpy 1
_OLD = ("setuptools<81", "numpy<2", "scikit-learn<1.4", "pandas<2.2")
_FAULT_SECONDS = {"refused": 35.0, "429": 8.0, "503": 15.0}


def install(version: str) -> Path:
    """The Python of an environment with a version of the client."""
    python = CACHE / version / "bin" / "python"
    if not (CACHE / version / "installed").exists():
        subprocess.run([sys.executable, "-m", "venv", str(CACHE / version)], check=True)
        others = _OLD if tuple(map(int, version.split(".")[:2])) < (2, 10) else ()
        packages = (f"mlflow-skinny=={version}", *_PACKAGES, *others)
        command = [str(python), "-m", "pip", "install", "-q", *packages]
        subprocess.run(command, check=True, timeout=_INSTALL_SECONDS)
        (CACHE / version / "installed").touch()
    return python


def trainings(host: TrackerHost, folder: Path, version: str, scenario: str) -> MlflowTrainings:
    """The trainings of a version in a scenario."""
    return MlflowTrainings(
        host=host,
        folder=folder,
        python=install(version),
        rows=200,
        fault_seconds=_FAULT_SECONDS.get(scenario, 5.0),
        retry_after=5,
    )


MEASURED = TrackerVersions(
    tracker="mlflow",
    rows="points",
    versions=VERSIONS,
    scenarios=SCENARIOS,
    install=install,
    trainings=trainings,
)

if __name__ == "__main__":
    raise SystemExit(main(MEASURED, __doc__))
