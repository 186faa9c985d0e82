"""When a rank is slower than its peers: which, since when, how often, and what it costs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from holter.detectors.detector import DetectorContext
from holter.detectors.ranks.straggler import StragglerDetector
from holter.types import Finding, Series
from tests.support.curves import rank_times, run, series


def found(all_series: list[Series]) -> list[Finding]:
    return list(StragglerDetector().detect(run(*all_series), DetectorContext()))


def times(seed: int = 0, *, ranks: int = 16, rows: int = 150, slow: object = ()) -> list[Series]:
    return rank_times(np.random.default_rng(seed), rows, ranks, slow=slow)  # type: ignore[arg-type]


@pytest.mark.parametrize("factor", [1.04, 1.1, 1.5])
@pytest.mark.parametrize("ranks", [4, 16, 128])
def test_a_constant_straggler_is_named_with_its_first_slow_step(factor: float, ranks: int) -> None:
    (finding,) = found(times(ranks=ranks, slow=[(3, 60, 149, factor)]))
    assert finding.labels == (("rank", "3"),)
    assert abs(finding.start_step - 60 * 20) <= 40
    assert finding.end_step is None
    assert finding.evidence["slower_by"] == pytest.approx(factor - 1, abs=0.015)
    assert finding.evidence["duty"] > 0.9


@pytest.mark.parametrize("ranks", [8, 64])
def test_a_lag_below_two_noises_is_detected_after_more_rows(ranks: int) -> None:
    rng = np.random.default_rng(1)
    times = np.exp(0.03 * (rng.gamma(4, 1, (600, ranks)) - 4) / 2)
    step = np.arange(600) * 10
    healthy = [series("compute_time", times[:, rank], step=step, rank=rank) for rank in range(ranks)]
    assert found(healthy) == []
    times[300:500, 3] *= 1.05
    late = [series("compute_time", times[:, rank], step=step, rank=rank) for rank in range(ranks)]
    (finding,) = found(late)
    assert finding.labels == (("rank", "3"),)
    assert abs(finding.start_step - 3000) <= 200
    assert finding.detected_step <= 4000
    assert finding.end_step == pytest.approx(5000, abs=300)
    assert finding.evidence["slower_by"] == pytest.approx(0.05, abs=0.015)
    assert finding.evidence["duty"] > 0.9


def test_the_others_wait_and_the_culprit_does_not() -> None:
    (finding,) = found(times(slow=[(3, 60, 149, 1.3)]))
    assert finding.evidence["own_wait"] < 0.5 * finding.evidence["others_wait"]
    assert finding.evidence["share_of_step_lost"] == pytest.approx(0.3 / 1.4, abs=0.05)


def test_the_host_is_named_where_a_label_of_any_series_of_the_rank_names_it() -> None:
    all_series = times(slow=[(3, 60, 149, 1.3)])
    all_series += [series("gpu_temp", [40.0], rank=rank, host=f"n{rank // 2}") for rank in range(16)]
    (finding,) = found(all_series)
    assert finding.evidence["hosts"] == ["n1"]
    assert "n1" in finding.advice


def test_three_bursts_are_enough_where_no_other_rank_has_any() -> None:
    (finding,) = found(times(ranks=8, slow=[(2, row, row, 1.12) for row in (60, 77, 90)]))
    assert finding.detected_step == 90 * 20


def test_an_intermittent_straggler_is_one_finding_with_its_duty() -> None:
    bursts = [(5, begin, begin + 3, 1.2) for begin in range(50, 150, 12)]
    (finding,) = found(times(slow=bursts))
    assert finding.labels == (("rank", "5"),)
    assert abs(finding.start_step - 50 * 20) <= 60
    assert finding.evidence["duty"] == pytest.approx(4 / 12, abs=0.08)


def test_bursts_of_a_row_or_two_add_up() -> None:
    bursts = [(2, begin, begin + 1, 1.12) for begin in range(50, 150, 16)]
    (finding,) = found(times(ranks=8, slow=bursts))
    assert finding.labels == (("rank", "2"),)


def test_two_stragglers_are_two_findings() -> None:
    both = found(times(slow=[(3, 40, 149, 1.2), (9, 90, 149, 1.1)]))
    assert [dict(one.labels)["rank"] for one in both] == ["3", "9"]


def test_ranks_that_fall_behind_together_are_one_finding_that_lists_them() -> None:
    (finding,) = found(times(slow=[(rank, 60, 149, 1.2) for rank in (4, 5, 6)]))
    assert sorted(finding.evidence["ranks"]) == [4, 5, 6]


def test_a_straggler_that_recovers_has_an_end() -> None:
    (finding,) = found(times(slow=[(3, 60, 90, 1.2)]))
    assert finding.end_step == pytest.approx(91 * 20, abs=40)


def test_a_rank_that_is_slow_from_the_beginning_is_compared_with_its_peers() -> None:
    (finding,) = found(times(slow=[(7, 0, 149, 1.25)]))
    assert (finding.labels, finding.start_step) == ((("rank", "7"),), 0)


@pytest.mark.parametrize("seed", range(10))
def test_all_ranks_slower_together_and_single_hiccups_are_no_straggler(seed: int) -> None:
    rng = np.random.default_rng(seed)
    slow = [(rank, 80, 149, 1.2) for rank in range(16)]
    slow += [(int(rng.integers(16)), row, row, 1.5) for row in rng.choice(150, 6, replace=False).tolist()]
    assert found(times(seed, slow=slow)) == []


def test_step_times_of_ranks_are_used_where_no_compute_times_are_logged() -> None:
    renamed = [
        series("step_time", one.value, step=one.step, **dict(one.key.labels))
        for one in times(slow=[(3, 60, 149, 1.2)])
        if one.key.metric == "compute_time"
    ]
    (finding,) = found(renamed)
    assert (finding.metric, finding.labels) == ("step_time", (("rank", "3"),))


def test_ranks_that_log_at_different_steps_are_compared_at_common_steps() -> None:
    uneven = []
    for one in times(slow=[(3, 60, 149, 1.2)]):
        kept = np.ones(len(one), dtype=bool)
        kept[int(one.key.labels[0][1]) % 7 :: 7] = False
        uneven.append(series(one.key.metric, one.value[kept], step=one.step[kept], **dict(one.key.labels)))
    (finding,) = found(uneven)
    assert finding.labels == (("rank", "3"),)


def test_waits_alone_point_at_the_rank_that_waits_least() -> None:
    rng = np.random.default_rng(0)
    waits = np.exp(rng.normal(0, 0.05, (200, 8)))
    waits[100:, 6] *= 0.4
    only = [
        series("collective_time", waits[:, rank], step=np.arange(200) * 20, rank=rank) for rank in range(8)
    ]
    (finding,) = found(only)
    assert finding.labels == (("rank", "6"),)


@pytest.mark.parametrize(
    "noise",
    [
        lambda rng, shape: 0.005 * rng.standard_t(3, shape),
        lambda rng, shape: 0.01 * rng.gamma(1.0, 1.0, shape),
        lambda rng, shape: 0.006 * rng.normal(0, 1, shape) + 0.3 * (rng.random(shape) < 0.003),
    ],
    ids=["heavy tails", "leaning to the slow side", "hiccups of all ranks"],
)
def test_false_alarms_stay_below_a_tenth_per_ten_thousand_points(noise: Callable[..., np.ndarray]) -> None:
    alarms, points = 0, 0
    for seed in range(4):
        compute = np.exp(noise(np.random.default_rng(seed), (2000, 16)))
        ranks = [series("compute_time", compute[:, rank], rank=rank) for rank in range(16)]
        alarms += len(found(ranks))
        points += compute.size
    assert alarms / points * 1e4 <= 0.1
