"""Formats of collectives: tables of benchmarks, profiles, NCCL's lines, and dumps."""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import re
from pathlib import Path, PurePath
from typing import Any

import pytest

from holter.ingest import formats
from holter.ingest.communication.labels import parse_size, size_class
from holter.ingest.communication.safe_pickle import UnsafePickleError, loads

DATA = Path(__file__).parents[2] / "data" / "collectives"


def read_sample(reading: Any, name: str) -> Any:
    return reading.read_complete(name, (DATA / name).read_bytes())


def test_nccl_tests_table_is_read_by_header_and_size(reading: Any) -> None:
    result = read_sample(reading, "all_reduce_perf.out")
    labels = {"collective": "all_reduce", "type": "float", "redop": "sum", "steps": "message bytes"}
    sizes = [536870912, 1073741824, 8589934592]
    assert result.values("busbw_gbs", **labels, in_place="no") == list(
        zip(sizes, [118.76, 121.92, 49.83], strict=True)
    )
    assert result.values("algbw_gbs", **labels, in_place="yes") == list(
        zip(sizes, [62.62, 65.1, 26.58], strict=True)
    )
    assert result.values("time_us", **labels, in_place="no")[-1] == (8589934592, 1e6)
    assert [step for step, _ in result.values("wrong_values", **labels, in_place="no")] == sizes[:2]
    assert result.values("avg_busbw_gbs", collective="all_reduce", steps="message bytes") == [
        (8589934592, 96.6407)
    ]


def test_old_tables_without_a_root_and_new_ones_with_more_columns_are_read_alike(reading: Any) -> None:
    old = read_sample(reading, "nccl-tests-old.txt")
    assert old.values("largest_error", type="float", redop="sum", in_place="no", steps="message bytes") == [
        (1024, 1e-07),
        (2048, 5e-07),
    ]
    new = read_sample(reading, "alltoall-2.18.log")
    labels = {"collective": "alltoall", "type": "float", "steps": "message bytes"}
    assert new.values("busbw_gbs", **labels, in_place="yes") == [(1048576, 27.94), (2097152, 44.93)]
    times = {time for points in new.points.values() for _, step, time, _ in points if step == 1048576}
    assert "nan" not in times  # its column of time stamps


def test_tables_below_the_prefixes_of_mpi_are_read(reading: Any) -> None:
    lines = (DATA / "all_reduce_perf.out").read_bytes().splitlines(keepends=True)
    prefixed = b"".join(b"[1,0]<stdout>:" + line for line in lines)
    assert (
        reading.read_complete("out.txt", prefixed).count == read_sample(reading, "all_reduce_perf.out").count
    )


def test_table_after_many_lines_of_nccl_is_read(reading: Any) -> None:
    nccl_lines = (DATA / "nccl-debug.log").read_bytes() * 20
    table = (DATA / "all_reduce_perf.out").read_bytes()
    assert len(nccl_lines) > 65536
    result = reading.read_complete("slurm-1.out", nccl_lines + table)
    labels = {"collective": "all_reduce", "type": "float", "redop": "sum", "steps": "message bytes"}
    assert len(result.values("busbw_gbs", **labels, in_place="no")) == 3
    assert any(key.metric == "nccl_op_count" for key in result.points)


def test_all_reduce_bench_of_any_version_is_read_in_gigabytes(reading: Any) -> None:
    now = read_sample(reading, "all-reduce-bench.txt")
    labels = {"collective": "all_reduce", "ranks": "4", "steps": "message bytes"}
    assert now.values("busbw_gbs", **labels) == [(32768, 1.18), (2**20, 34.5), (2**34, 482.26)]
    old = read_sample(reading, "all-reduce-bench-2024.txt")
    assert old.values("algbw_gbs", **{**labels, "ranks": "16"}) == [(4_000_000_000, 176.59)]
    ranks = read_sample(reading, "all-reduce-bench-ranks.txt")
    busbw = ranks.values("busbw_gbs", collective="all_reduce", rank="29", steps="trials")
    assert busbw == [(1, 40.4913 / 8), (2, 41.0053 / 8)]
    assert len(ranks.values("time_us", collective="all_reduce", rank="0", steps="trials")) == 1


def test_inspector_steps_are_sequence_numbers_with_gaps(reading: Any) -> None:
    result = read_sample(reading, "node7-pid1639453.log")
    labels = {
        "rank": "2",
        "comm": "0x7f8c496ae9f661",
        "collective": "AllReduce",
        "size": "16GiB",
        "host": "node7",
        "steps": "sequence number",
    }
    assert [step for step, _ in result.values("collective_time (us)", **labels)] == [
        *range(1400, 1404),
        *range(1406, 1409),
        1411,
    ]
    assert result.values("message_bytes", **labels)[0] == (1400, float(2**34))
    busbw = dict(result.values("busbw_gbs", **labels))
    assert busbw[1400] == 485.119099
    assert busbw[1407] != busbw[1407]  # "nan" as text
    assert result.values("busbw_gbs", **labels, comm_name="dp") == [(1409, 485.119099)]
    sent = {**labels, "collective": "Send", "size": "64KiB"}
    assert result.values("p2p_time (us)", **sent) == [(17, 40.0)]
    assert result.unreadable == []


def test_ranks_that_call_different_collectives_at_one_op_count_differ_in_their_call(reading: Any) -> None:
    result = read_sample(reading, "nccl-debug.log")
    comm = {"comm": "0xebe3cfa1fb50ebb6", "steps": "opCount"}
    hosts = {"0": "n1", "1": "n1", "2": "n2", "3": "n2"}
    calls = {
        rank: dict(result.values("nccl_call", **comm, rank=rank, host=host)) for rank, host in hosts.items()
    }
    assert len({calls[rank][0x28A] for rank in calls}) == 1
    assert {rank for rank in calls if calls[rank][0x28C] != calls["0"][0x28C]} == {"2"}
    gathered = result.values("nccl_bytes", **comm, rank="2", host="n2", collective="AllGather")
    assert gathered == [(0x28C, 59205120.0)]
    reduced = result.values("nccl_bytes", **comm, rank="0", host="n1", collective="AllReduce")
    assert reduced[-1] == (0x28C, 3 * 9984512 * 4.0)
    # a line joined to another's prefix belongs to the process named last
    assert result.values("nccl_op_count", **comm, rank="2", host="n2")[-1] == (0x28D, float(0x28D))


def test_warnings_and_lost_peers_are_counted_by_rank(reading: Any) -> None:
    result = read_sample(reading, "nccl-debug.log")
    assert result.values("nccl_warnings", rank="3", host="n2", steps="warnings") == [(1, 1.0)]
    lost = {"rank": "3", "host": "n2", "peer": "10.216.210.236", "status": "12", "steps": "errors"}
    assert result.values("nccl_network_errors", **lost) == [(1, 1.0)]
    assert result.values("nccl_network_errors", rank="0", host="n1", status="12", steps="errors") == [
        (1, 1.0)
    ]
    assert result.values("nccl_init_seconds", rank="3", host="n2", steps="communicators") == [(1, 1.34)]


def test_time_outs_have_the_progress_of_each_rank(reading: Any) -> None:
    result = read_sample(reading, "watchdog.out")
    steps = {"steps": "sequence number"}
    assert result.values("nccl_timeouts", rank="0", collective="ALLREDUCE", **steps) == [(1580, 1.0)]
    assert result.values("collective_waited (ms)", rank="1", collective="ALLREDUCE", **steps) == [
        (469508, 1804406.0)
    ]
    assert result.values("last_enqueued_collective", rank="0", process_group="1", **steps) == [(1580, 1582.0)]
    group = {"process_group": "0(default_pg)", **steps}
    assert result.values("last_completed_collective", rank="2", **group) == [(808, -1.0)]
    assert result.values("last_started_collective", rank="2", **group) == [(808, 808.0)]
    assert result.values("last_enqueued_collective", rank="3", **group) == [(808, 811.0)]
    assert (
        result.values("last_completed_collective", rank="3", **group) == []
    )  # the printed number was never set


def test_flight_recorder_dump_is_the_same_as_json_and_pickle(reading: Any) -> None:
    dump = json.loads((DATA / "fr_gloo_rank1.json").read_bytes())
    as_json = read_sample(reading, "fr_gloo_rank1.json")
    as_pickle = reading.read_complete("nccl_trace_rank_1", pickle.dumps(dump, protocol=2))
    assert as_pickle == as_json
    group = {"process_group": "0(default_pg)", "rank": "1", "steps": "sequence number"}
    assert as_json.values("collective_state", **group) == [(1, 2.0), (2, 2.0), (3, 2.0), (4, 0.0)]
    assert as_json.values("last_enqueued_collective", **group) == [(5, 5.0)]
    assert as_json.values("last_completed_collective", **group) == [(5, 3.0)]
    sizes = as_json.values("message_bytes", collective="all_reduce", **group)
    assert sizes == [(1, 4096.0), (2, 4096.0), (3, 4096.0)]


def test_dumps_have_durations_if_timing_was_enabled(reading: Any) -> None:
    result = read_sample(reading, "nccl_trace_rank_3")
    group = {"process_group": "1(dp)", "rank": "3", "steps": "sequence number"}
    times = result.values("collective_time (us)", collective="all_gather", **group)
    assert times == [(1, 1250.0), (2, 1250.0), (3, 1250.0)]


def test_trace_has_nccl_kernels_by_bytes(reading: Any) -> None:
    content = gzip.decompress((DATA / "nccl_data.json.gz").read_bytes())
    result = reading.read_complete("nccl_data.json", content)
    reduced = {"collective": "allreduce", "process_group": "0(default_pg)", "rank": "0", "ranks": "2"}
    calls = result.values("calls", **reduced, steps="message bytes")
    events = json.loads(content)["traceEvents"]
    kernels = [event for event in events if event.get("cat") == "kernel" and event["name"].startswith("nccl")]
    assert sum(count for _, count in calls) == 15
    assert len(kernels) == 15 + 6
    largest = [kernel for kernel in kernels if kernel["args"]["In msg nelems"] == 6637568]
    mean = sum(kernel["dur"] for kernel in largest) / len(largest)
    time = dict(result.values("time_us", **reduced, steps="message bytes"))[4 * 6637568]
    speed = dict(result.values("busbw_gbs", **reduced, steps="message bytes"))[4 * 6637568]
    assert time == pytest.approx(mean)
    assert speed == pytest.approx(4 * 6637568 / (mean * 1e-6) / 1e9)  # of two ranks each sends it once
    trace = {"rank": "0", "steps": "whole trace"}
    ((_, communication),) = result.values("communication_us", **trace)
    assert communication == pytest.approx(sum(kernel["dur"] for kernel in kernels))


def test_overlap_of_compute_and_collectives(reading: Any) -> None:
    spans = [("a", 0, 10), ("b", 5, 10), ("ncclDevKernel_AllGather_RING_LL(int)", 12, 10), ("c", 30, 1)]
    events = [{"ph": "X", "cat": "kernel", "name": n, "ts": 1e15 + t, "dur": d} for n, t, d in spans]
    trace = {"distributedInfo": {"backend": "nccl", "rank": 3}, "traceEvents": [{"ph": "M"}, *events]}
    result = reading.read_complete("trace.json", json.dumps(trace).encode())
    of = {"rank": "3", "steps": "whole trace"}
    assert result.values("communication_us", **of) == [(0, 10.0)]
    assert result.values("compute_us", **of) == [(0, 16.0)]
    assert result.values("exposed_communication_us", **of) == [(0, 7.0)]
    assert result.values("calls", collective="AllGather", **of) == [(0, 1.0)]


@pytest.mark.slow
def test_event_without_end_is_not_read_into_memory(reading: Any) -> None:
    content = b'{"traceEvents": [{"name": "' + b"x" * (8 * 2**20) + b'"}]}'
    stream = io.BytesIO(content)
    reader = formats()["kineto"].reader(PurePath("trace.json"), {})
    assert list(reader.read(stream)) == []
    assert stream.tell() == 0


class HarmfulPickle:
    """A value whose pickle calls a function when it is loaded."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.mkdir, ("/tmp/holter-was-here",)


@pytest.mark.parametrize("protocol", range(2, 6))
def test_pickle_with_a_call_is_rejected_without_calling(protocol: int, reading: Any) -> None:
    content = pickle.dumps(
        {"pg_config": {}, "pg_status": {}, "entries": [HarmfulPickle()]}, protocol=protocol
    )
    result = reading.read_complete("nccl_trace_rank_0", content)
    assert result.count == 0
    assert "nothing is imported or called" in result.unreadable[0][1]
    assert not Path("/tmp/holter-was-here").exists()


@pytest.mark.parametrize("protocol", range(2, 6))
def test_plain_values_are_loaded_unchanged(protocol: int) -> None:
    sample_bytes = (
        b"b" if protocol > 2 else "b"
    )  # Python 2 had no bytes: the pickle names a function that makes some
    values_in = (
        "a",
        sample_bytes,
        1,
        -(2**70),
        2.5,
        None,
        True,
        False,
        (),
        (1,),
        [1, [2]],
        {"x": (1, 2, 3), 3: {}},
    )
    value = {"values": list(values_in), "again": [values_in, values_in]}
    assert loads(pickle.dumps(value, protocol=protocol)) == value


def test_pickle_of_other_values_is_rejected() -> None:
    for value in ({1}, Path("x"), bytearray(b"x"), complex(1)):
        with pytest.raises(UnsafePickleError):
            loads(pickle.dumps(value))


def test_sizes_are_parsed_and_classified_by_powers_of_two() -> None:
    assert [size_class(size) for size in (0, 1, 1023, 1024, 20_000_000, 2**34)] == [
        "0B",
        "1B",
        "512B",
        "1KiB",
        "16MiB",
        "16GiB",
    ]
    assert [parse_size(text) for text in ("32KiB", "16GiB", "1B", "4K")] == [32768, 2**34, 1, None]


def test_rows_that_lines_of_nccl_tear_apart_are_joined(reading: Any) -> None:
    table = (DATA / "all_reduce_perf.out").read_bytes()
    info = b"node1:1234:1300 [3] NCCL INFO Channel 00/0 : 3[3] -> 4[4] via P2P/CUMEM\n"
    torn = re.sub(
        rb"(?m)^( +\d+ +\d+ +float.*?sum +-1)(.*?)(\S+) *$", rb"\1" + info + rb"\2" + info + rb"\3", table
    )
    assert torn.count(info) == 6
    labels = {"collective": "all_reduce", "type": "float", "redop": "sum", "steps": "message bytes"}
    found, expected = (reading.read_complete("out.txt", text) for text in (torn, table))
    for in_place in ("no", "yes"):
        for metric in ("time_us", "busbw_gbs", "wrong_values"):
            assert found.values(metric, **labels, in_place=in_place) == expected.values(
                metric, **labels, in_place=in_place
            )
