"""Collectives against the hardware, beside computing, rank against rank."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holter.bus_bandwidth import bus_bandwidth, bus_factor
from holter.cli.report.collectives import describe_collectives
from holter.detectors.communication import CollectiveComparison, compare_collectives
from holter.ingest.offline.read_run import read_run
from holter.types import ConfigKey, RunData, SeriesKey
from tests.support.curves import run, series

DATA = Path(__file__).parents[1] / "data" / "collectives"
RANKS, CALLS = 4, 200
SEQUENCE = {"steps": "sequence number", "comm": "0xaa", "collective": "AllReduce", "size": "16MiB"}


def calls(late: int | None = None, *, hosts: int = 1) -> RunData:
    """What the Inspector tells of an all-reduce of 16 MiB: each kernel waits for the last rank to arrive."""
    chance = np.random.default_rng(5)
    arrives = chance.exponential(50.0, (CALLS, RANKS))
    if late is not None:
        arrives[:, late] += 500.0
    time = 100.0 + arrives.max(axis=1, keepdims=True) - arrives
    bus = 2**24 * 1.5 / time / 1e3
    logged = []
    for rank in range(RANKS):
        labels = {**SEQUENCE, "rank": rank, "host": f"n{rank * hosts // RANKS}"}
        logged.append(series("collective_time (us)", time[:, rank], **labels))
        logged.append(series("busbw_gbs", bus[:, rank], **labels))
        logged.append(series("message_bytes", np.full(CALLS, 2.0**24), **labels))
    return run(*logged)


def with_config(data: RunData, **stated: Any) -> RunData:
    config = {ConfigKey(name.replace("__", ".")): {0: value} for name, value in stated.items()}
    return RunData(series=data.series, config=config)


def read(name: str) -> CollectiveComparison:
    return compare_collectives(read_run(DATA / name).data)


def test_the_speed_is_that_of_the_rank_that_waited_least() -> None:
    (one,) = compare_collectives(with_config(calls(late=2), gpu__name="NVIDIA H100 80GB HBM3")).speeds
    assert one.busbw == pytest.approx(2**24 * 1.5 / 100.0 / 1e3, rel=1e-3)
    assert (one.calls, one.collective, one.communicator) == (CALLS, "AllReduce", "0xaa")
    assert one.link is not None
    assert (one.link.name, one.link.gbs) == ("NVLink 4", 450.0)
    assert one.share == pytest.approx(one.busbw / 450.0)


@pytest.mark.parametrize(
    ("stated", "name", "gbs"),
    [
        ({"nccl__ib__nics": "mlx5_0:1/IB mlx5_1:1/IB", "nccl__ib__mbps": 400_000}, "2 x NDR", 100.0),
        ({"nccl__ib__nics": "hfi1_0:1/IB hfi1_1:1/IB"}, "2 x Omni-Path", 25.0),
        ({"nccl__ofi__provider": "cxi", "nccl__ofi__nics": 4}, "4 x Slingshot", 100.0),
        ({"nccl__ofi__provider": "efa"}, "EFA 3200 Gb/s", 400.0),
    ],
)
def test_between_nodes_the_speed_is_compared_with_the_network(
    stated: dict[str, Any], name: str, gbs: float
) -> None:
    (one,) = compare_collectives(
        with_config(calls(hosts=2), gpu__name="NVIDIA H100 80GB HBM3", **stated)
    ).speeds
    assert one.link is not None
    assert (one.link.name, one.link.gbs) == (name, gbs)
    assert one.link.source


def test_without_known_hardware_there_is_no_share() -> None:
    (unknown,) = compare_collectives(calls()).speeds
    (no_network,) = compare_collectives(with_config(calls(hosts=2), gpu__name="NVIDIA H100 80GB HBM3")).speeds
    assert unknown.share is no_network.share is None


def test_the_rank_that_the_others_wait_for_is_named_with_its_cost() -> None:
    (found,) = compare_collectives(calls(late=2)).waited_for
    assert (found.rank, found.host, found.communicator) == ("2", "n0", "0xaa")
    assert found.share > 0.9
    assert found.mean_wait == pytest.approx(500e-6, rel=0.2)
    assert found.waited == pytest.approx(CALLS * 500e-6, rel=0.2)


def test_ranks_that_come_last_by_chance_are_not_named() -> None:
    assert compare_collectives(calls()).waited_for == []


def test_traces_of_several_ranks_show_the_rank_that_others_wait_for(tmp_path: Path) -> None:
    for rank in range(RANKS):
        took = 100 if rank == 1 else 900
        events = [
            {
                "ph": "X",
                "cat": "kernel",
                "name": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                "ts": 1.7e15 + 2000 * call,
                "dur": took,
                "args": {
                    "Collective name": "allreduce",
                    "In msg nelems": 2**23,
                    "Out msg nelems": 2**23,
                    "dtype": "BFloat16",
                    "Group size": RANKS,
                    "Process Group Name": "0",
                    "Process Group Description": "default_pg",
                },
            }
            for call in range(20)
        ]
        devices = [{"id": one, "name": "NVIDIA A100-SXM4-80GB", "totalGlobalMem": 1} for one in range(8)]
        info = {"backend": "nccl", "rank": rank, "world_size": RANKS}
        trace = {"deviceProperties": devices, "distributedInfo": info, "traceEvents": events}
        (tmp_path / f"rank{rank}.json").write_text(json.dumps(trace))
    found = compare_collectives(read_run(tmp_path).data)
    (waited,) = found.waited_for
    assert (waited.rank, waited.calls) == ("1", 20)
    assert waited.waited == pytest.approx(20 * 800e-6)
    (speed,) = found.speeds
    assert speed.busbw == pytest.approx(2**24 * 1.5 / 100e-6 / 1e9)
    assert speed.link is not None
    assert speed.link.name == "NVLink 3"
    assert [one.rank for one in found.overlaps] == list("0123")
    assert all(one.exposed_share == 1.0 and one.hidden_share == 0.0 for one in found.overlaps)


def test_real_traces_have_a_share_of_exposed_communication() -> None:
    found = read("nccl_data.json.gz")
    (one,) = found.overlaps
    assert one.exposed_share == pytest.approx(0.2549, abs=1e-4)
    assert one.hidden_share == pytest.approx(0.1561, abs=1e-4)
    assert sum(speed.calls for speed in found.speeds) == 21
    assert {speed.link.name for speed in found.speeds if speed.link} == {"NVLink 3"}


def test_tables_of_benchmarks_are_compared_with_the_hardware_they_name() -> None:
    found = read("all_reduce_perf.out")
    largest = found.speeds[0]
    assert (largest.bytes, largest.busbw) == (8589934592.0, 49.83)
    assert largest.share == pytest.approx(49.83 / 450)


def test_the_rank_whose_calls_end_before_those_of_all_others_is_named() -> None:
    complete = calls()
    cut = {
        key: series(key.metric, one.value[:-3], **dict(key.labels)) if ("rank", "3") in key.labels else one
        for key, one in complete.series.items()
    }
    (found,) = compare_collectives(RunData(series=cut)).behind
    assert (found.rank, found.last, found.others, found.ranks) == ("3", CALLS - 4, CALLS - 1, RANKS)
    assert compare_collectives(complete).behind == []


def test_trials_of_old_benchmarks_count_by_their_median() -> None:
    (one,) = read("all-reduce-bench-ranks.txt").speeds
    assert one.ranks == 2
    assert one.busbw == pytest.approx(40.4913 / 8, rel=0.02)


def test_the_comparison_is_json_able_and_empty_without_collectives() -> None:
    json.dumps(
        compare_collectives(with_config(calls(late=2), gpu__name="NVIDIA B200")).as_json(), allow_nan=False
    )
    assert not compare_collectives(run(series("loss", [1.0, 2.0])))


@pytest.mark.parametrize(
    ("name", "ranks"), [("all_reduce_perf.out", 16), ("alltoall-2.18.log", 8), ("all-reduce-bench.txt", 4)]
)
def test_bus_bandwidth_is_what_benchmarks_print(name: str, ranks: int) -> None:
    table = read_run(DATA / name).data.series
    printed = [key for key in table if key.metric == "busbw_gbs"]
    assert printed
    for key in printed:
        plain = table[SeriesKey("algbw_gbs", key.labels)].value
        factor = bus_factor(dict(key.labels)["collective"], ranks)
        assert table[key].value == pytest.approx(plain * factor, abs=0.02)  # both are rounded


def test_bus_bandwidth_is_in_gb_a_second() -> None:
    assert bus_bandwidth("all_reduce", 536_870_912, 8476.3, 16) == pytest.approx(118.76, abs=0.01)
    assert bus_bandwidth("all_reduce", 536_870_912, 0.0, 16) == 0.0


@pytest.mark.parametrize(
    ("name", "factor"),
    [
        ("_allgather_base", 7 / 8),
        ("reduce_scatter_tensor", 7 / 8),
        ("all_to_allv", 7 / 8),
        ("Broadcast", 1.0),
    ],
)
def test_collectives_are_recognised_by_every_name(name: str, factor: float) -> None:
    assert bus_factor(name, 8) == factor
    assert bus_factor(name, 1) in (0.0, 1.0)


def test_small_calls_are_not_compared_with_a_link() -> None:
    found = read("nccl_data.json.gz").speeds
    small = [one for one in found if one.bytes < 2**20]
    assert small
    assert all(one.link is not None for one in found)
    assert {one.share for one in small} == {None}
    assert all(one.share for one in found if one not in small)
    (stated,) = [line for _, line in describe_collectives(read("nccl_data.json.gz")) if "424 B" in line]
    assert stated.endswith("too small to be compared with a link")
