"""A loss scale that falls and falls is a collapse; one that is halved and doubled as it should be is none."""

from __future__ import annotations

import numpy as np
import pytest

from holter.detectors.detector import DetectorContext
from holter.detectors.numerics.loss_scale import LossScaleDetector
from holter.types import Finding
from tests.support.curves import run, series


def found(scale: np.ndarray, every: int = 1, **where: object) -> list[Finding]:
    step = np.arange(len(scale)) if "step" not in where else where.pop("step")
    chosen = slice(None, None, every)
    return list(
        LossScaleDetector().detect(
            run(series("loss_scale", scale[chosen], step=np.array(step)[chosen], **where)), DetectorContext()
        )  # type: ignore[arg-type]
    )


def scaled(seed: int, n: int = 12_000, *, window: int = 1000, hysteresis: int = 1) -> np.ndarray:
    """What dynamic scaling does over gradients whose size wanders."""
    rng = np.random.default_rng(seed)
    limit = 15 + np.cumsum(rng.normal(0, 0.01, n)) + rng.normal(0, 0.7, n)
    level, good, patience = 16.0 + float(rng.integers(0, 16)), 0, hysteresis
    levels = np.empty(n)
    for step in range(n):
        levels[step] = level
        if level > limit[step]:
            good, patience = 0, patience - 1
            if patience <= 0:
                level, patience = level - 1, hysteresis
        else:
            good += 1
            if good >= window:
                level, good, patience = level + 1, 0, hysteresis
    return np.exp2(levels)


@pytest.mark.parametrize("every", [1, 10, 100])
@pytest.mark.parametrize("hysteresis", [1, 2])
def test_scaling_that_works_is_quiet(every: int, hysteresis: int) -> None:
    for seed in range(6):
        assert found(scaled(seed, window=[200, 1000, 2000][seed % 3], hysteresis=hysteresis), every) == []


def test_three_fast_halvings_are_a_collapse() -> None:
    scale = np.full(4000, 2.0**16)
    for number, step in enumerate((2000, 2030, 2060, 2090)):
        scale[step:] = 2.0 ** (15 - number)
    (finding,) = found(scale)
    assert (finding.start_step, finding.detected_step, finding.peak_step) == (2000, 2060, 2090)
    assert finding.evidence["baseline"] == 2.0**16
    assert finding.evidence["halvings"] == 4
    assert finding.severity == "warning"


@pytest.mark.parametrize("every", [10, 100, 500])
def test_a_sparse_log_shows_a_collapse_in_one_or_two_rows(every: int) -> None:
    scale = np.full(20_000, 2.0**16)
    scale[9990:] = 2.0**11
    (finding,) = found(scale, every)
    assert finding.start_step == finding.detected_step == -(-9990 // every) * every


def test_at_its_minimum_it_is_critical() -> None:
    scale = np.exp2(np.clip(16 - np.maximum(np.arange(4000) - 2000, 0) // 10, 0, 16))
    (finding,) = found(scale)
    assert finding.severity == "critical"
    assert finding.evidence["at_minimum"]
    assert "roll back" in finding.advice


def test_a_slow_fall_far_below_the_usual_scale_is_a_collapse() -> None:
    level = 16.0 - np.maximum(np.arange(30_000) - 20_000, 0) // 400
    findings = found(np.exp2(np.maximum(level, 8)))
    assert len(findings) == 1
    assert findings[0].evidence["halvings"] > 1


def test_a_collapse_ends_when_the_scale_grows_again() -> None:
    scale = np.full(6000, 2.0**16)
    scale[2000:] = 2.0**12
    scale[3500:] = 2.0**13
    (finding,) = found(scale)
    assert finding.end_step == 3500


def test_the_search_for_the_first_scale_is_no_collapse_in_any_attempt() -> None:
    search = np.exp2(np.maximum(32.0 - np.arange(1000), 15))
    whole = np.concatenate([search, search])
    assert found(whole, step=np.concatenate([np.arange(1000)] * 2), attempt=np.repeat([0, 1], 1000)) == []


def test_related_changes_are_in_the_evidence() -> None:
    scale, norm = np.full(4000, 2.0**16), np.ones(4000)
    scale[2000:] = 2.0**10
    norm[1990:2000] = 40.0
    (finding,) = LossScaleDetector().detect(
        run(series("loss_scale", scale), series("grad_norm", norm)), DetectorContext()
    )
    assert finding.evidence["gradient_norm"] == 40.0
