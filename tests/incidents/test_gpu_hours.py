"""GPU-hours that an incident has cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from holter.attempts.config import ConfigByAttempt
from holter.server.alerting.gpu_hours import gpu_count, gpu_hours_lost
from holter.server.alerting.incident import EventType
from holter.server.alerting.messages import compose
from holter.types import ConfigKey, ConfigValue, Kind
from tests.support.receivers import make_incident

BEGAN = 1_700_000_000.0


def lost(devices: int | None = 64, *, after: float = 3000.0, **changes: Any) -> str | None:
    result = gpu_hours_lost(make_incident(**{"kind": "divergence", **changes}), devices, BEGAN + after)
    return None if result is None else result.describe()


def test_a_run_without_progress_loses_all_its_gpus_since_the_onset() -> None:
    assert lost() == "53 so far (64 GPUs for 50 minutes)"
    assert lost(1, after=90) == "0.03 so far (1 GPU for 90 seconds)"
    assert lost(4096, after=2 * 86_400) == "196,608 so far (4,096 GPUs for 2 days)"


def test_after_the_end_no_more_are_lost() -> None:
    assert lost(state="recovered", recovered_at=BEGAN + 600) == "11 (64 GPUs for 10 minutes)"


@pytest.mark.parametrize(
    ("kind", "evidence", "expected"),
    [
        ("throughput_regression", {"lost": 0.25}, "13 so far (25% of 64 GPUs for 50 minutes)"),
        ("straggler", {"share_of_step_lost": 0.179}, "9.5 so far (17.9% of 64 GPUs for 50 minutes)"),
        ("throughput_regression", {}, None),
        ("throughput_regression", {"lost": "much"}, None),
        ("spike_fast", {}, None),
    ],
)
def test_a_slow_run_loses_a_share(kind: str, evidence: dict[str, Any], expected: str | None) -> None:
    assert lost(kind=kind, evidence=evidence) == expected


def test_without_clock_or_world_size_nothing_is_stated() -> None:
    assert lost(None) is None
    assert lost(start_time=None) is None
    assert lost(state="recovered", recovered_at=BEGAN + 9e6, opened_at=BEGAN + 9e6) is None  # old logs


class Launches:
    """What logs state about two attempts."""

    def __init__(self, config: Mapping[str, ConfigValue], environment: Mapping[str, ConfigValue]) -> None:
        self._config, self._environment = config, environment

    def config(self, run_id: int) -> ConfigByAttempt:
        return {ConfigKey(name): {1: value} for name, value in self._config.items()}

    def environment(self, run_id: int) -> ConfigByAttempt:
        return {ConfigKey(name): {0: 8, 1: value} for name, value in self._environment.items()}


def test_the_world_size_is_that_of_the_attempt() -> None:
    both = Launches({"trainer.world_size": 128}, {"world_size": 64})
    assert gpu_count(both, 7, 1) == 128
    assert gpu_count(both, 7, 0) == 8
    assert gpu_count(Launches({}, {"world_size": 64}), 7, 3) == 64
    assert gpu_count(Launches({"lr": 0.1}, {}), 7, 1) is None


def test_it_is_a_fact_of_the_message_and_after_the_confidence() -> None:
    incident = make_incident(kind=Kind.DIVERGENCE.value)
    made = compose(
        incident,
        key="1",
        reason=EventType.OPENED,
        sent_at=BEGAN + 3000,
        address="http://h",
        gpu_hours=gpu_hours_lost(incident, 64, BEGAN + 3000),
    )
    names = [name for name, _ in made.facts]
    assert dict(made.facts)["GPU-hours lost"] == "53 so far (64 GPUs for 50 minutes)"
    assert names.index("GPU-hours lost") == names.index("Confidence") + 1
