"""Collectives in reports: beside the findings in every format of `holter analyze`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

DATA = Path(__file__).parents[1] / "data" / "collectives"


def analyzed(form: str, *paths: Path) -> str:
    command = [sys.executable, "-m", "holter", "analyze", *map(str, paths), "--format", form]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


@pytest.mark.parametrize("form", ["text", "html"])
def test_reports_tell_speed_cost_and_set_up(form: str) -> None:
    told = " ".join(analyzed(form, DATA / "nccl_data.json.gz").split())
    assert "Collectives" in told
    assert "13 GB/s of 300 (NVLink 3), 4%" in told
    assert "computing hides 16% of them" in told
    found = " ".join(analyzed(form, DATA / "rccl-mi300x-2node.log").split())
    assert "NCCL moves data between nodes over TCP sockets" in found


def test_json_holds_the_whole_comparison_and_the_remarks() -> None:
    [told] = json.loads(analyzed("json", DATA / "all_reduce_perf.out"))
    largest = told["collectives"]["collectives"][0]
    assert (largest["collective"], largest["bytes"], largest["busbw_gbs"]) == (
        "all_reduce",
        8589934592.0,
        49.83,
    )
    assert told["collectives"]["overlap"] == told["collectives"]["waited_for"] == []
    [found] = json.loads(analyzed("json", DATA / "nccl-2.7-16nodes.log"))
    assert [one["code"] for one in found["remarks"]] == ["nccl-no-gdr"]


def test_a_desync_in_nccls_log_is_a_finding_of_the_contract() -> None:
    [line] = analyzed("jsonl", DATA / "nccl-debug.log").splitlines()
    [found] = json.loads(line)["findings"]
    assert (found["kind"], found["start_step"], found["labels"]["rank"]) == ("desync", 0x28C, 2)
    assert found["evidence"]["call"].startswith("AllGather of ")
