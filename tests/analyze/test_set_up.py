"""What analyze says of how a run is set up: remarks, the config by attempt, and what changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holter.attempts.config_diff import attempts_with_config, list_changes, list_settings
from holter.cli.main import main
from holter.types import ConfigKey, ConfigValue

LOG = Path(__file__).parents[1] / "data/console/megatron-restarted.out"
RANKED: dict[ConfigKey, dict[int, ConfigValue]] = {
    ConfigKey("net", (("rank", str(rank)),)): {0: "IB", 1: "Socket" if rank == 3 else "IB"}
    for rank in range(20)
} | {ConfigKey("flag"): {0: True, 1: 1}, ConfigKey("new"): {1: "x"}}


def test_the_json_document_has_the_config_and_what_changed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", str(LOG), "--format", "json"]) == 0
    [run] = json.loads(capsys.readouterr().out)
    by_name = {one["name"]: one["values"] for one in run["config"]}
    assert by_name["global_batch_size"] == [
        {"attempts": [0], "value": 256, "processes": 0, "labels": []},
        {"attempts": [1], "value": 512, "processes": 0, "labels": []},
    ]
    assert by_name["hidden_size"] == [{"attempts": [0, 1], "value": 4096, "processes": 0, "labels": []}]
    [change] = run["config_changes"]
    assert change["attempt"] == 1
    assert [(one["name"], one["before"], one["after"]) for one in change["settings"]] == [
        ("global_batch_size", 256, 512)
    ]
    assert isinstance(run["remarks"], list)


@pytest.mark.parametrize("form", ["jsonl", "text", "html"])
def test_every_form_prints_with_a_config(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", str(LOG), "--format", form]) == 0
    printed = capsys.readouterr().out
    assert ('"remarks": [' in printed) == (form == "jsonl")
    assert ("What changed between attempts" in printed) == (form == "html")


def test_values_of_many_processes_are_told_once() -> None:
    by_name = {one["name"]: one["values"] for one in list_settings(RANKED)}
    assert [(one["attempts"], one["value"], one["processes"]) for one in by_name["net"]] == [
        ([0], "IB", 20), ([1], "IB", 19), ([1], "Socket", 1),
    ]  # fmt: skip
    assert [len(one["labels"]) for one in by_name["net"]] == [8, 8, 1]
    assert [(one["attempts"], one["value"]) for one in by_name["flag"]] == [([0], True), ([1], 1)]
    assert attempts_with_config(RANKED) == [0, 1]


def test_what_a_launch_does_not_state_did_not_change() -> None:
    stated: dict[ConfigKey, dict[int, ConfigValue]] = {
        ConfigKey("lr"): {0: 1, 2: 1, 3: 2}, ConfigKey("wd"): {0: 1}, **RANKED,
    }  # fmt: skip
    told = {one["attempt"]: one["settings"] for one in list_changes(stated)}
    assert sorted(told) == [1, 3]
    assert [(one["name"], one["before"], one["after"], one["processes"]) for one in told[1]] == [
        ("net", "IB", "Socket", 1), ("flag", True, 1, 0), ("new", None, "x", 0),
    ]  # fmt: skip
    assert [one["name"] for one in told[3]] == ["lr"]


def sockets(path: Path) -> Path:
    """A log of two launches whose nodes talk over sockets."""
    steps = "".join(f" iteration {step}/ 90 | lm loss: 2.0E+00 |\n" for step in range(10, 60, 10))
    for process in (1, 2):
        with path.open("a") as file:
            for node in range(2):
                file.write(f"n{node}:{process}:7 [0] NCCL INFO Using network Socket\n")
            file.write(steps)
    return path


@pytest.mark.parametrize("form", ["text", "html"])
def test_a_remark_on_each_launch_is_told_once_with_advice(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = sockets(tmp_path / "run.out")
    assert main(["analyze", str(log), "--format", "jsonl"]) == 0
    told = json.loads(capsys.readouterr().out)["remarks"]
    assert [(one["code"], one["attempt"]) for one in told] == [("nccl-sockets", 0), ("nccl-sockets", 1)]
    assert main(["analyze", str(log), "--format", form]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.count("TCP sockets") == 1
    assert "Set-up" in printed
    assert "attempts 0, 1" in printed
    assert "NCCL_IB_HCA" in printed


def test_a_launch_without_a_step_yet_is_analysed_by_what_it_says_of_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = sockets(tmp_path / "run.out")
    log.write_text("".join(line for line in log.read_text().splitlines(True) if "NCCL" in line))
    assert main(["analyze", str(log)]) == 0
    printed = capsys.readouterr()
    assert "no steps yet" in printed.out
    assert "TCP sockets" in printed.out
    assert printed.err == ""
