"""Reports of NCCL's RAS on a running job, as text and as JSON: operation counts, missing ranks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holter.ingest import formats
from holter.ingest.offline.read_run import read_run
from holter.types import ConfigKey

DATA = Path(__file__).parents[2] / "data" / "collectives"
STEPS = {"steps": "RAS reports"}


def read_sample(reading: Any, name: str) -> Any:
    return reading.read_complete(name, (DATA / name).read_bytes())


def test_text_report_has_the_ranks_with_other_counts(reading: Any) -> None:
    result = read_sample(reading, "ncclras-verbose.txt")
    comm = {"comm": "0x27a079b828ff1a75", "collective": "AllReduce", **STEPS}
    assert result.values("nccl_most_op_count", **comm) == [(2, 6650.0), (3, 6650.0)]
    host = {"host": "172.16.64.210"}
    assert result.values("nccl_op_count", **comm, **host, rank="2") == [(2, 6649.0), (3, 6649.0)]
    assert result.values("nccl_op_count", **comm, **host, rank="3") == [(2, 0.0), (3, 0.0)]
    mismatched = result.values("nccl_communicators", status="RUNNING", errors="MISMATCH", **STEPS)
    assert mismatched == [(2, 1.0), (3, 1.0)]
    assert result.unreadable == []


def test_unresponsive_processes_differ_from_dead_ones(reading: Any) -> None:
    result = read_sample(reading, "ncclras-verbose.txt")
    process = {"process": "172.16.64.213:3487984", "host": "172.16.64.213"}
    assert result.values("nccl_missing", **process, gpu="5", **STEPS) == [(4, 1.0), (5, 1.0), (5, 2.0)]
    rank = {"comm": "0x27a079b828ff1a75", "rank": "21", "host": "172.16.64.213"}
    assert result.values("nccl_missing", **rank, **STEPS) == [(4, 1.0), (5, 1.0)]
    dead = result.values("nccl_peer_events", event="PEER_DEAD", steps="RAS events", **process)
    assert dead == [(1, 1.0)]


def test_reports_of_nccl_2_24_count_all_collectives_together_and_list_ranks_by_ranges(reading: Any) -> None:
    result = read_sample(reading, "ncclras-2.24.txt")
    comm = {"comm": "0xcf264af53edbe986", **STEPS}
    missing = {key for key in result.points if key.metric == "nccl_missing"}
    assert {dict(key.labels)["rank"] for key in missing} == {"1", "2", "3", "21"}
    assert result.values("nccl_most_op_count", **comm) == [(1, 6650.0)]
    assert result.values("nccl_op_count", **comm, rank="7", host="172.16.64.210") == [(1, 6649.0)]


def test_json_reports_have_the_count_of_each_rank(reading: Any) -> None:
    result = read_sample(reading, "ncclras.json")
    comm = {"comm": "0xae94423cfbb2ef4a", **STEPS}
    counts = {
        rank: [
            value
            for _, value in result.values("nccl_op_count", **comm, **host, rank=rank, collective="AllReduce")
        ]
        for rank, host in zip("0123", [{"host": f"172.16.64.{245 + n // 2}"} for n in range(4)], strict=True)
    }
    assert counts == {
        "0": [120, 220, 220, 220, 220],
        "1": [120, 220, 220, 220, 220],
        "2": [119, 219, 219, 219],
        "3": [120, 220, 220, 220, 220],
    }
    assert result.values("nccl_missing", **comm, rank="2", host="172.16.64.246") == [(5, 1.0)]
    assert result.values("nccl_rank_error", **comm, rank="1", host="172.16.64.245") == [(5, 6.0)]
    times = [float(time) for points in result.points.values() for _, _, time, _ in points]
    assert all(time > 1.7e9 for time in times)
    # an operation that no rank has called yields nothing
    assert not [key for key in result.points if dict(key.labels).get("collective") == "ReduceScatter"]


@pytest.mark.parametrize(("name", "version"), [("ncclras-verbose.txt", "2.28.9"), ("ncclras.json", "2.29.1")])
def test_reports_state_the_version(name: str, version: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes((DATA / name).read_bytes())
    assert read_run(tmp_path).data.config == {ConfigKey("nccl.version"): {0: version}}


def test_broken_report_does_not_affect_the_others(reading: Any) -> None:
    content = (DATA / "ncclras.json").read_bytes()
    second = content.index(b"\n{") + 1
    broken = content[: second // 2] + b"\n" + content[second:]
    result = reading.read_complete("ncclras.json", broken)
    complete = read_sample(reading, "ncclras.json")
    assert len(result.unreadable) == 1
    assert result.values("nccl_ras_communicators", **STEPS) == [(step, 1.0) for step in range(1, 5)]
    assert complete.values("nccl_ras_communicators", **STEPS) == [(step, 1.0) for step in range(1, 6)]


def test_compact_objects_one_a_line_are_read(reading: Any) -> None:
    content = (DATA / "ncclras.json").read_text()
    objects = content.replace("\n}\n{", "\n}\0{").split("\0")
    compact = "".join(json.dumps(json.loads(document)) + "\n" for document in objects)
    chosen = formats()["nccl-ras-json"]
    assert reading.read_complete("ras.jsonl", compact.encode(), chosen=chosen) == read_sample(
        reading, "ncclras.json"
    )
