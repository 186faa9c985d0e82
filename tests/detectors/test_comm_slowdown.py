"""When collectives get slower for everyone: the fabric, not a rank."""

from __future__ import annotations

import numpy as np
import pytest

from holter.detectors.detector import DetectorContext
from holter.detectors.ranks.comm_slowdown import CommSlowdownDetector
from holter.types import RunData, Series
from tests.support.curves import run, series


def waits(seed: int, *, rows: int = 600, ranks: int = 16, transfer: np.ndarray | None = None) -> RunData:
    """Times in collectives: the transfer, and waiting for the rank that computes longest."""
    rng = np.random.default_rng(seed)
    compute = np.exp(rng.normal(0, 0.02, (rows, ranks)))
    compute[rows // 3 :, 3] *= 1.3 if transfer is None else 1.0
    wire = 0.2 * (np.ones(rows) if transfer is None else transfer)
    wait = (
        compute.max(axis=1, keepdims=True) - compute + wire[:, None] * np.exp(rng.normal(0, 0.03, (rows, 1)))
    )
    both: list[Series] = []
    for rank in range(ranks):
        both.append(series("collective_time", wait[:, rank], step=np.arange(rows) * 10, rank=rank))
    return run(*both)


def test_a_slow_fabric_is_detected_with_start_and_end() -> None:
    transfer = np.ones(600)
    transfer[300:450] = 1.8
    (finding,) = CommSlowdownDetector().detect(waits(0, transfer=transfer), DetectorContext())
    assert finding.start_step == pytest.approx(3000, abs=20)
    assert finding.end_step == pytest.approx(4500, abs=160)
    assert finding.labels == ()
    assert finding.evidence["worst"] / finding.evidence["baseline"] == pytest.approx(1.8, abs=0.1)


@pytest.mark.parametrize("seed", range(5))
def test_a_straggler_is_not_the_fabric(seed: int) -> None:
    assert list(CommSlowdownDetector().detect(waits(seed), DetectorContext())) == []
