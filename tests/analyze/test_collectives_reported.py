"""Collectives in every report format of `holter analyze`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from holter.cli.main import main

pytestmark = pytest.mark.slow

DATA = Path(__file__).parents[1] / "data" / "collectives"


Analyzed = Callable[[str, Path], str]


@pytest.fixture
def analyzed(capsys: pytest.CaptureFixture[str]) -> Analyzed:
    """The report of a path in a format."""

    def report(form: str, path: Path) -> str:
        assert main(["analyze", str(path), "--format", form]) == 0
        return capsys.readouterr().out

    return report


@pytest.mark.parametrize("form", ["text", "html"])
def test_reports_have_bandwidth_cost_and_diagnostics(form: str, analyzed: Analyzed) -> None:
    report = " ".join(analyzed(form, DATA / "nccl_data.json.gz").split())
    assert "Communication" in report
    assert "13 GB/s of 300 (NVLink 3), 4%" in report
    assert "16% of the collectives overlap with computation" in report
    checks = " ".join(analyzed(form, DATA / "rccl-mi300x-2node.log").split())
    assert "NCCL moves data between nodes over TCP sockets" in checks


def test_json_has_the_complete_comparison_and_the_diagnostics(analyzed: Analyzed) -> None:
    [report] = json.loads(analyzed("json", DATA / "all_reduce_perf.out"))
    largest = report["collectives"]["collectives"][0]
    assert (largest["collective"], largest["bytes"], largest["busbw_gbs"]) == (
        "all_reduce",
        8589934592.0,
        49.83,
    )
    assert report["collectives"]["overlap"] == report["collectives"]["waited_for"] == []
    [launch] = json.loads(analyzed("json", DATA / "nccl-2.7-16nodes.log"))
    assert [diagnostic["code"] for diagnostic in launch["remarks"]] == ["nccl-no-gdr"]


def test_a_desync_in_a_log_of_nccl_is_a_finding(analyzed: Analyzed) -> None:
    [line] = analyzed("jsonl", DATA / "nccl-debug.log").splitlines()
    [finding] = json.loads(line)["findings"]
    assert (finding["kind"], finding["start_step"], finding["labels"]["rank"]) == ("desync", 0x28C, 2)
    assert finding["evidence"]["call"].startswith("AllGather of ")
