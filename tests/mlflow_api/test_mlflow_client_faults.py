"""MLflow's newest client, unmodified, while servers and networks fail: every point arrives once.

`python benchmarks/mlflow_versions.py` does the same with older versions, and with longer faults.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.mlflow_faults import SCENARIOS, MlflowTrainings
from tests.support.requirements import needs_package
from tests.support.tracker_host import TrackerHost, tracker_host

pytestmark = [pytest.mark.slow, needs_package("mlflow")]

SOON = {"MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1"}
"""The client tries again sooner than by itself."""
QUICK = [name for name in SCENARIOS if name not in {"refused", "server_killed", "autologged"}]
"""Without what takes long or is tested elsewhere, and without scikit-learn."""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TrackerHost]:
    with tracker_host(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.mark.timeout(180)
@pytest.mark.parametrize("scenario", QUICK)
def test_every_point_arrives_exactly_once(scenario: str, host: TrackerHost, tmp_path: Path) -> None:
    failed_before = host.proxy.refused
    pause = 0.0 if scenario in {"reopened", "others"} else 0.05
    outcome = SCENARIOS[scenario](MlflowTrainings(host=host, folder=tmp_path, pause=pause, environment=SOON))
    assert outcome.exact, outcome
    assert outcome.attempts == (2 if scenario == "reopened" else 1), outcome
    assert "wrong" not in outcome.note
    if scenario in ("429", "503"):
        assert host.proxy.refused > failed_before
    if scenario == "reopened":
        assert outcome.note == "test metrics: 1"
