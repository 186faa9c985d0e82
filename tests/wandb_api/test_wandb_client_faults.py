"""The newest wandb client, unmodified, while servers, networks and clients fail: every row arrives once.

`python benchmarks/wandb_versions.py` does the same with older versions, and with longer faults.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.requirements import needs_package
from tests.support.tracker_host import TrackerHost, tracker_host
from tests.support.wandb_faults import QUICK, SCENARIOS, WandbClient, WandbTraining

pytestmark = [pytest.mark.slow, needs_package("wandb")]


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TrackerHost]:
    with tracker_host(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.mark.timeout(240)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_row_arrives_exactly_once(scenario: str, host: TrackerHost, tmp_path: Path) -> None:
    is_long = scenario in {"server_killed", "refused", "429", "503", "client_killed", "stopped"}
    client = WandbClient(
        environment=QUICK, one_process=True, rows=150 if is_long else 60, pause=0.02 if is_long else 0.005
    )
    failed_before = host.proxy.refused
    outcome = SCENARIOS[scenario](WandbTraining(host, client, tmp_path, scenario))
    assert outcome.exact, outcome
    assert (outcome.sent, outcome.exit_code) == (outcome.stored, 0), outcome
    assert outcome.attempts == outcome.launches, outcome
    if scenario in ("429", "503"):
        assert host.proxy.refused > failed_before
    if scenario == "five_resumes":
        assert outcome.note == "incidents: none"
    if scenario == "stopped":
        assert outcome.note.endswith("stopped by ana: diverged")
