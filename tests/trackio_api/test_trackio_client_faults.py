"""trackio's newest client, unmodified, while servers and networks fail: every row arrives once.

`python benchmarks/trackio_versions.py` does the same with older versions, and with longer faults.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.tracker_host import TrackerHost, tracker_host
from tests.support.trackio_faults import SCENARIOS, TrackioTrainings

pytestmark = pytest.mark.slow
QUICK = ("resumed", "everything", "server_killed", "503", "answers_lost")
"""Each takes seconds; `refused` and `429` are the same to the client as 503."""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TrackerHost]:
    with tracker_host(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.mark.timeout(180)
@pytest.mark.parametrize("scenario", QUICK)
def test_every_row_arrives_exactly_once(
    scenario: str, host: TrackerHost, client_python: Path, tmp_path: Path
) -> None:
    pause = 0.0 if scenario in {"resumed", "everything"} else 0.05
    outcome = SCENARIOS[scenario](
        TrackioTrainings(host=host, folder=tmp_path, run=scenario, python=client_python, pause=pause)
    )
    assert outcome.exact, outcome
    assert outcome.attempts == (3 if scenario == "resumed" else 1), outcome
    assert "wrong" not in outcome.note
    if scenario == "503":
        assert host.proxy.refused
