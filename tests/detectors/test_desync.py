"""Ranks that part: by calls, time-outs, dumps and reports of RAS; and what is no desync."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holter.detectors.detector import DetectorContext
from holter.detectors.incremental import IncrementalState
from holter.detectors.ranks.call_mismatch import CallMismatchDetector
from holter.detectors.ranks.hang import HangDetector
from holter.detectors.ranks.ras import RasDetector
from holter.ingest.offline.read_run import read_run
from holter.types import Finding, RunData
from tests.support.curves import until

DATA = Path(__file__).parents[1] / "data" / "collectives"
WORLD = 4
Read = Callable[..., RunData]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def written(**texts: str) -> RunData:
        for name, text in texts.items():
            (tmp_path / name).write_text(text)
        return read_run(tmp_path).data

    return written


def call(rank: int, count: int, *, what: str = "AllReduce", elements: int = 9984512, comm: str = "") -> str:
    """A line of NCCL_DEBUG_SUBSYS=COLL."""
    return (
        f"h03r3n06:{45006 + 2 * rank}:{45006 + 2 * rank} [{rank}] NCCL INFO {what}: opCount {count:x} "
        f"sendbuff 0x7f5dd32b2100 recvbuff 0x7f5dd32b2100 count {elements} datatype 7 op 0 root 0 "
        f"comm {comm or f'0x55bef020137{rank}'} [nranks={WORLD}] stream 0x55bef0208bd0\n"
    )


def init(rank: int) -> str:
    return (
        f"h03r3n06:{45006 + 2 * rank}:9 [{rank}] NCCL INFO ncclCommInitRank comm 0x55bef020137{rank} "
        f"rank {rank} nranks {WORLD} cudaDev {rank} busId 1000 commId 0xebe3cfa1fb50ebb6 - Init COMPLETE\n"
    )


def timed_out(rank: int, *, at: int = 808, enqueued: int = 811, op: str = "ALLREDUCE") -> str:
    """What PyTorch's watchdog prints of a rank that waits."""
    group = f"[PG ID 0 PG GUID 0(default_pg) Rank {rank}]"
    prefix = f"[rank{rank}]:[E626 06:24:44.906457629 ProcessGroupNCCL.cpp:629] {group}"
    return (
        f"{prefix} Watchdog caught collective operation timeout: WorkNCCL(SeqNum={at}, OpType={op}, "
        f"NumelIn=466119168, NumelOut=466119168, Timeout(ms)=600000) ran for 600060 milliseconds "
        f"before timing out.\n{prefix} Exception (either an error or timeout) detected by watchdog "
        f"at work: {at}"
        f", last enqueued NCCL work: {enqueued}, last completed NCCL work: {at - 1}.\n"
    )


def dump(
    rank: int,
    *,
    enqueued: int,
    completed: int,
    started: int | None = None,
    other: dict[int, str] | None = None,
) -> str:
    """A Flight Recorder's dump as JSON."""
    started = completed + 1 if started is None else started
    entries = [
        {
            "record_id": seq,
            "pg_id": 0,
            "process_group": ["0", "default_pg"],
            "collective_seq_id": seq,
            "p2p_seq_id": 0,
            "op_id": seq,
            "profiling_name": f"nccl:{(other or {}).get(seq, 'all_reduce')}",
            "time_created_ns": 1795194419801282202 + seq,
            "input_sizes": [[1024, 1024]],
            "input_dtypes": ["BFloat16"],
            "output_sizes": [[1024, 1024]],
            "output_dtypes": ["BFloat16"],
            "state": "completed" if seq <= completed else "started" if seq <= started else "scheduled",
            "retired": seq <= completed,
            "is_p2p": False,
        }
        for seq in range(1, enqueued + 1)
    ]
    status = {
        "last_enqueued_collective": str(enqueued),
        "last_started_collective": str(started),
        "last_completed_collective": str(completed),
    }
    config = {"0": {"name": "0", "desc": "default_pg", "ranks": str(list(range(WORLD)))}}
    return json.dumps(
        {"version": "2.10", "pg_config": config, "pg_status": {"0": status}, "entries": entries}
    )


def one(findings: Any) -> Finding:
    (found,) = findings
    assert found.summary.endswith(".")
    assert found.as_json()["kind"] == "desync"
    finding: Finding = found
    return finding


def test_the_real_desync_is_found_though_its_log_names_no_communicator(read: Read) -> None:
    lines = [call(rank, count) for rank in (0, 1, 3) for count in (0x28A, 0x28B, 0x28C, 0x28D)]
    lines += [call(2, count) for count in (0x28A, 0x28B)]
    lines += [
        call(2, 0x28C, what="AllGather", elements=59205120),
        call(2, 0x28D, what="AllGather", elements=15360),
    ]
    found = one(CallMismatchDetector().detect(read(**{"nccl.log": "".join(lines)}), DetectorContext()))
    assert found.start_step == found.detected_step == 0x28C
    assert found.evidence["ranks"] == ["h03r3n06:45010"]
    assert "AllGather of 226 MiB" in found.summary
    assert "opCount 28c" in found.summary


def test_ranks_are_grouped_by_communicator_id_over_files_and_the_furthest_behind_is_named(read: Read) -> None:
    texts = {}
    for rank in range(WORLD):
        counts = range(1, 60 if rank != 1 else 55)
        texts[f"nccl.h.{rank}.log"] = init(rank) + "".join(
            call(rank, count, elements=7 if (rank, count) == (3, 50) else 9984512) for count in counts
        )
    found = one(CallMismatchDetector().detect(read(**texts), DetectorContext()))
    assert found.start_step == 50
    assert found.evidence["ranks"] == [3]
    assert found.evidence["behind"] == 1
    assert found.evidence["hosts"] == ["h03r3n06"]


def test_calls_that_differ_within_groups_or_between_communicators_of_one_size_are_no_desync(
    read: Read,
) -> None:
    grouped = "".join(
        init(rank) + call(rank, 1) + call(rank, 1, elements=5) * (rank != 2) for rank in range(WORLD)
    )  # a log that ends within a group
    others = "".join(
        call(rank, 1, what="AllReduce" if rank < WORLD else "Broadcast", comm=f"0x7{rank}")
        for rank in range(2 * WORLD)
    )
    assert list(CallMismatchDetector().detect(read(**{"a.log": grouped}), DetectorContext())) == []
    assert list(CallMismatchDetector().detect(read(**{"a.log": others}), DetectorContext())) == []


def test_dumps_with_different_operations_at_one_sequence_number_are_a_desync(read: Read) -> None:
    dumps = {
        f"nccl_trace_rank_{rank}": dump(
            rank, enqueued=9, completed=6, other={7: "_allgather_base"} if rank == 2 else None
        )
        for rank in range(WORLD)
    }
    found = one(CallMismatchDetector().detect(read(**dumps), DetectorContext()))
    assert (found.start_step, found.evidence["ranks"]) == (7, [2])
    assert found.evidence["others_call"] == "all_reduce of 2 MiB"


def test_uneven_gathers_are_no_desync(read: Read) -> None:
    dumps = {
        f"nccl_trace_rank_{rank}": dump(rank, enqueued=9, completed=9, other={7: "all_to_all"}).replace(
            '"input_sizes": [[1024, 1024]]', f'"input_sizes": [[1024, {1024 if rank else 77}]]'
        )
        for rank in range(2)
    }
    found = list(CallMismatchDetector().detect(read(**dumps), DetectorContext()))
    assert {finding.start_step for finding in found} == {1}  # all_reduce of other sizes is one
    only = {name: text.replace("all_reduce", "all_to_all") for name, text in dumps.items()}
    assert list(CallMismatchDetector().detect(read(**only), DetectorContext())) == []


def test_a_rank_that_prints_no_time_out_is_the_suspect(read: Read) -> None:
    text = "".join(init(rank) for rank in range(WORLD)) + "".join(timed_out(rank) for rank in (0, 1, 3))
    found = one(HangDetector().detect(read(**{"slurm-1.out": text}), DetectorContext()))
    assert found.evidence["ranks"] == [2]
    assert found.evidence["waiting"] == [0, 1, 3]
    assert found.evidence["sequence"] == found.start_step == 808
    assert "rank 2: no time-out printed" in found.summary
    assert "h03r3n06" in found.advice


def test_a_rank_that_had_enqueued_less_is_the_suspect(read: Read) -> None:
    text = "".join(timed_out(rank) for rank in (0, 1, 3)) + timed_out(2, at=790, enqueued=790, op="ALLGATHER")
    found = one(HangDetector().detect(read(**{"slurm-1.out": text}), DetectorContext()))
    assert found.evidence["ranks"] == [2]
    assert "not called, the last is 790" in found.summary


def test_where_all_ranks_wait_none_is_a_suspect(read: Read) -> None:
    text = "".join(init(rank) + timed_out(rank) for rank in range(WORLD))
    found = one(HangDetector().detect(read(**{"slurm-1.out": text}), DetectorContext()))
    assert found.evidence["ranks"] == []
    alone = one(HangDetector().detect(read(**{"slurm-1.out": timed_out(0)}), DetectorContext()))
    assert alone.evidence["ranks"] == []
    assert "Rank 0 waits for 10 min in collective 808 (ALLREDUCE)" in alone.summary


def test_dumps_name_the_rank_that_did_not_call_the_collective(read: Read) -> None:
    dumps = {
        f"nccl_trace_rank_{rank}": dump(rank, enqueued=6 if rank == 1 else 9, completed=6)
        for rank in range(WORLD)
    }
    found = one(HangDetector().detect(read(**dumps), DetectorContext()))
    assert found.evidence["ranks"] == [1]
    assert found.evidence["sequence"] == 7
    assert "all_reduce of 2 MiB" in found.summary
    idle = {
        f"nccl_trace_rank_{rank}": dump(rank, enqueued=9, completed=6, started=6 if rank == 3 else 7)
        for rank in range(WORLD)
    }
    assert one(HangDetector().detect(read(**idle), DetectorContext())).evidence["ranks"] == [3]


def test_dumps_of_a_run_that_continues_name_no_suspect(read: Read) -> None:
    chance = random.Random(3)
    dumps = {
        f"nccl_trace_rank_{rank}": dump(rank, enqueued=12, completed=9 + chance.randrange(2))
        for rank in range(WORLD)
    }
    assert list(HangDetector().detect(read(**dumps), DetectorContext())) == []
    real = {name: (DATA / name).read_text() for name in ("fr_gloo_rank0.json", "fr_gloo_rank1.json")}
    assert list(HangDetector().detect(read(**real), DetectorContext())) == []


def test_reports_without_progress_name_the_ranks_behind(read: Read) -> None:
    as_json = one(
        RasDetector().detect(read(**{"ras.json": (DATA / "ncclras.json").read_text()}), DetectorContext())
    )
    assert as_json.evidence["ranks"] == [2]
    assert (as_json.start_step, as_json.detected_step, as_json.end_step) == (2, 3, None)
    text = read(**{"ras.json": "", "ras.txt": (DATA / "ncclras-verbose.txt").read_text()})
    stuck, gone = RasDetector().detect(text, DetectorContext())
    assert stuck.evidence["ranks"] == [2, 3]
    assert gone.evidence["ranks"] == [21]
    assert "172.16.64.213" in gone.advice


def test_a_mismatch_while_counts_grow_is_no_desync(read: Read) -> None:
    report = (DATA / "ncclras.json").read_text().split("\n}\n")[0] + "\n}\n"
    growing = "".join(
        report.replace('"AllReduce": 120', f'"AllReduce": {100 * number}').replace(
            '"AllReduce": 119', f'"AllReduce": {100 * number - 1}'
        )
        for number in range(2, 8)
    )
    assert list(RasDetector().detect(read(**{"ras.json": growing}), DetectorContext())) == []


@pytest.mark.parametrize(
    "detector", [CallMismatchDetector(), HangDetector(), RasDetector()], ids=lambda one: one.name
)
def test_findings_on_a_prefix_are_among_those_on_the_complete_run(detector: Any, read: Read) -> None:
    texts = {
        "nccl.log": "".join(init(rank) for rank in range(WORLD))
        + "".join(
            call(rank, count, elements=7 if (rank, count) == (3, 50) else 9984512)
            for count in range(1, 60)
            for rank in range(WORLD)
        ),
        "ras.json": (DATA / "ncclras.json").read_text(),
        "slurm-1.out": "".join(timed_out(rank) for rank in (0, 1, 3)),
    }
    whole = read(**texts)
    detected = {
        (one.metric, one.labels, one.start_step, one.detected_step)
        for one in detector.detect(whole, DetectorContext())
    }
    assert detected
    memory = IncrementalState()
    for step in (1, 2, 3, 49, 50, 51, 60, 807, 808, 812):
        part = until(whole, 0, step)
        heard = {
            (one.metric, one.labels, one.start_step, one.detected_step)
            for one in detector.detect(part, DetectorContext())
        }
        assert heard == {one for one in detected if one[3] <= step}
        if detector.name == "different_calls":
            again = detector.detect(part, DetectorContext(state=memory))
            assert {(one.metric, one.labels, one.start_step, one.detected_step) for one in again} == heard
