"""Memory that grows and grows is a leak; caches, pools, warm-ups and single steps are none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from holter.detectors.detector import DetectorContext
from holter.detectors.health.memory_leak import MemoryLeakDetector
from holter.types import Finding, Series
from tests.support.curves import run, series

N = 12_000
T = np.arange(N)


def found(*all_series: Series) -> list[Finding]:
    return list(MemoryLeakDetector().detect(run(*all_series), DetectorContext()))


def noise(seed: int, kind: str) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if kind == "heavy":
        return 0.1 * np.abs(rng.standard_t(3, N))
    if kind == "sawtooth":
        return 3 * ((T % 237) / 237) + 0.1 * rng.normal(0, 1, N)
    return 0.02 * rng.normal(0, 1, N)


@pytest.mark.parametrize("kind", ["quiet", "heavy", "sawtooth"])
@pytest.mark.parametrize("every", [1, 10])
def test_a_steady_leak_is_detected_under_any_variation(kind: str, every: int) -> None:
    use = 30 + 5e-4 * np.maximum(T - 2000, 0) + noise(0, kind)
    (finding,) = found(series("gpu_memory_allocated_gb", use, step=T * every))
    assert finding.end_step is None
    assert finding.severity == "warning"
    assert 0 <= finding.start_step <= 4000 * every
    assert finding.evidence["growth_per_1000_steps"] * every == pytest.approx(0.5, rel=0.35)
    assert finding.evidence["growth_per_hour"] == pytest.approx(0.9, rel=0.35)


def test_a_small_leak_at_every_checkpoint_is_detected() -> None:
    (finding,) = found(series("host_rss_gb", 30 + 0.3 * (T // 200) + noise(1, "quiet")))
    assert "per 1,000 steps" in finding.summary


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("spread", [0.0, 0.05])
def test_memory_that_steps_up_at_each_epoch_is_a_leak(seed: int, spread: float) -> None:
    use = 30 + 1.5 * (T // 900) + spread * np.random.default_rng(seed).normal(0, 1, N)
    (finding,) = found(series("memory_allocated_gb", use))
    assert finding.detected_step < 9000
    assert finding.end_step is None


@pytest.mark.parametrize(
    "shape",
    [
        lambda rng: 20 + 5 * (1 - np.exp(-T / 700)) + 0.05 * rng.normal(0, 1, N),
        lambda rng: 20 + 5 * (1 - np.exp(-T / 3000)) + 0.02 * rng.normal(0, 1, N),
        lambda rng: 20 + np.maximum.accumulate(rng.gumbel(0, 0.5, N)),
        lambda rng: (
            20 + 1.0 * np.searchsorted(np.sort(rng.integers(0, N, 5)), T) + 0.05 * rng.normal(0, 1, N)
        ),
        lambda rng: 20 + np.repeat(5 * (1 - np.exp(-np.arange(24) / 6)), 500) + 0.02 * rng.normal(0, 1, N),
        lambda rng: 20 + 5 * ((T % 937) / 937) + 0.05 * rng.normal(0, 1, N),
        lambda rng: 20 + np.cumsum(rng.normal(0, 0.01, N)),
        lambda _: np.full(N, 40.0),
    ],
    ids=[
        "pool fills",
        "cache fills slowly",
        "peak",
        "single steps",
        "pool fills in steps",
        "sawtooth",
        "chance",
        "constant",
    ],
)
def test_memory_that_levels_off_or_returns_is_no_leak(
    shape: Callable[[np.random.Generator], np.ndarray],
) -> None:
    for seed in range(8):
        assert found(series("gpu_memory_allocated_gb", shape(np.random.default_rng(seed)))) == []


def test_the_limit_determines_when_it_is_reached_and_the_severity() -> None:
    use = 60 + 1.5e-3 * T + noise(2, "quiet")
    early, late = 5000, N
    for points, severity in ((early, "warning"), (late, "critical")):
        (finding,) = found(
            series("gpu_memory_used_gib", use[:points]),
            series("gpu_memory_total_gib", np.full(points, 79.0)),
        )
        assert finding.severity == severity
        assert finding.evidence["limit"] == 79.0
        assert finding.evidence["limit_reached_at_step"] == pytest.approx(19 / 1.5e-3, rel=0.05)


def test_shrinking_free_memory_is_a_leak() -> None:
    (finding,) = found(series("gb_free", 40 - 1e-3 * T + noise(3, "quiet")))
    assert finding.evidence["limit"] == 0.0
    assert "free memory has shrunk" in finding.summary


def test_a_restart_ends_a_leak() -> None:
    attempt = (T >= 9000).astype(int)
    use = 30 + 5e-4 * np.where(attempt, T - 9000, T) + noise(4, "quiet")
    (finding,) = found(series("memory(GiB)", use, attempt=attempt))
    assert (finding.attempt, finding.end_step) == (0, 8999)


def test_a_leak_that_stops_is_over() -> None:
    (finding,) = found(series("memory(GiB)", 30 + 1e-3 * np.minimum(T, 4000) + noise(5, "quiet")))
    assert finding.end_step is not None
    assert abs(finding.end_step - 4000) < 500


def test_many_ranks_that_leak_are_one_finding() -> None:
    use = [30 + 5e-4 * T + noise(rank, "quiet") for rank in range(6)]
    (finding,) = found(*(series("memory(GiB)", one, rank=rank) for rank, one in enumerate(use)))
    assert finding.evidence["series"] == 6


@pytest.mark.parametrize(
    ("metric", "unit", "factor"),
    [("mem_max_bytes", "GB", 1e9), ("proc.memory.rssMB", "GB", 1024), ("system.memory_percent", "%", 1.0)],
)
def test_units_are_read_from_names(metric: str, unit: str, factor: float) -> None:
    (finding,) = found(series(metric, (30 + 1e-3 * T + noise(6, "quiet")) * factor))
    assert finding.evidence["unit"] == unit
    assert finding.evidence["growth_per_1000_steps"] == pytest.approx(1.0, rel=0.1)
