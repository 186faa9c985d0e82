"""Faults that GPUs report, and ranks that part: each named, with what to do."""

from __future__ import annotations

import numpy as np
import pytest

from holter.detectors.detector import DetectorContext
from holter.detectors.health.gpu_fault import GpuFaultDetector
from holter.detectors.ranks.desync import DesyncDetector
from holter.types import Finding, Series
from tests.support.curves import run, series

N = 300


def faults(*all_series: Series) -> list[Finding]:
    return list(GpuFaultDetector().detect(run(*all_series), DetectorContext()))


class TestGpuFaults:
    def test_an_xid_is_named_with_its_gpu_and_what_it_means(self) -> None:
        code = np.where(np.arange(N) < 120, 0, 79)
        (finding,) = faults(series("xid", code, gpu=3, host="n17"))
        assert (finding.start_step, finding.severity, finding.end_step) == (120, "critical", None)
        assert "fallen off the bus" in finding.summary
        assert "host n17" in finding.advice

    def test_an_error_of_the_program_is_less_serious(self) -> None:
        (finding,) = faults(series("DCGM_FI_DEV_XID_ERRORS", np.where(np.arange(N) < 120, 0, 31)))
        assert finding.severity == "warning"

    def test_a_value_from_before_the_attempt_is_no_fault_of_it(self) -> None:
        assert faults(series("xid", np.full(N, 79)), series("ecc_errors_uncorrected", np.full(N, 4))) == []

    def test_a_rising_counter_is_one_finding_with_its_rise(self) -> None:
        count = np.searchsorted([100, 101, 200], np.arange(N), side="right")
        (finding,) = faults(series("ecc_errors_uncorrected", count, gpu=0))
        assert (finding.start_step, finding.evidence["count"]) == (100, 3)

    def test_a_restart_ends_a_fault(self) -> None:
        count = np.where(np.arange(N) < 100, 0, 1)
        attempt = (np.arange(N) >= 200).astype(int)
        (finding,) = faults(series("ecc_errors_uncorrected", count, attempt=attempt))
        assert finding.end_step == 199


def numbers(ranks: int = 8, *, seed: int = 0, skew: int = 2) -> np.ndarray:
    """Sequence numbers [rows, ranks]: forty collectives a step, asked for at slightly different moments."""
    rng = np.random.default_rng(seed)
    return 40 * np.arange(N)[:, None] + rng.integers(0, skew + 1, (N, ranks))


def desync(value: np.ndarray, **where: object) -> list[Finding]:
    each = [series("coll_sn", value[:, rank], rank=rank, **where) for rank in range(value.shape[1])]  # type: ignore[arg-type]
    return list(DesyncDetector().detect(run(*each), DetectorContext()))


class TestDesync:
    def test_ranks_that_are_read_at_different_moments_are_in_step(self) -> None:
        assert desync(numbers()) == []

    @pytest.mark.parametrize("behind", [-1, 1])
    def test_the_rank_that_differs_when_all_have_stopped_is_named(self, behind: int) -> None:
        value = numbers()
        value[200:] = value[200].max()
        value[200:, 5] += behind
        (finding,) = desync(value)
        assert finding.labels == (("rank", "5"),)
        assert (finding.start_step, finding.detected_step) == (200, 203)
        assert finding.severity == "critical"

    def test_a_rank_that_has_stopped_while_the_others_continue_is_named(self) -> None:
        value = numbers()
        value[200:, 2] = value[200, 2]
        (finding,) = desync(value)
        assert finding.labels == (("rank", "2"),)

    def test_a_pause_of_all_ranks_at_one_number_is_no_desync(self) -> None:
        value = numbers(skew=0)
        value[200:230] = value[200]
        assert desync(value) == []

    def test_stages_that_count_other_collectives_may_pause(self) -> None:
        value = numbers(skew=0) * np.where(np.arange(8) < 3, 1, 2)
        value[200:230] = value[200]
        assert desync(value) == []

    def test_a_desync_ends_when_the_ranks_continue(self) -> None:
        value = numbers()
        value[200:220] = value[200].max()
        value[200:220, 5] -= 1
        (finding,) = desync(value)
        assert (finding.end_step, finding.severity) == (220, "warning")
