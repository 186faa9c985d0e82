"""Launches in reports: diagnostics, the configuration by attempt, and its changes."""

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
    by_name = {setting["name"]: setting["values"] for setting in run["config"]}
    assert by_name["global_batch_size"] == [
        {"attempts": [0], "value": 256, "processes": 0, "labels": []},
        {"attempts": [1], "value": 512, "processes": 0, "labels": []},
    ]
    assert by_name["hidden_size"] == [{"attempts": [0, 1], "value": 4096, "processes": 0, "labels": []}]
    [change] = run["config_changes"]
    assert change["attempt"] == 1
    assert [(each["name"], each["before"], each["after"]) for each in change["settings"]] == [
        ("global_batch_size", 256, 512)
    ]
    assert isinstance(run["remarks"], list)


@pytest.mark.parametrize("form", ["jsonl", "text", "html"])
def test_every_format_prints_a_run_with_a_configuration(
    form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["analyze", str(LOG), "--format", form]) == 0
    printed = capsys.readouterr().out
    assert ('"remarks": [' in printed) == (form == "jsonl")
    assert ("What changed between attempts" in printed) == (form == "html")


def test_equal_values_of_many_processes_are_listed_once() -> None:
    by_name = {setting["name"]: setting["values"] for setting in list_settings(RANKED)}
    assert [(each["attempts"], each["value"], each["processes"]) for each in by_name["net"]] == [
        ([0], "IB", 20), ([1], "IB", 19), ([1], "Socket", 1),
    ]  # fmt: skip
    assert [len(each["labels"]) for each in by_name["net"]] == [8, 8, 1]
    assert [(each["attempts"], each["value"]) for each in by_name["flag"]] == [([0], True), ([1], 1)]
    assert attempts_with_config(RANKED) == [0, 1]


def test_a_setting_that_a_launch_does_not_state_is_unchanged() -> None:
    stated: dict[ConfigKey, dict[int, ConfigValue]] = {
        ConfigKey("lr"): {0: 1, 2: 1, 3: 2}, ConfigKey("wd"): {0: 1}, **RANKED,
    }  # fmt: skip
    changes = {change["attempt"]: change["settings"] for change in list_changes(stated)}
    assert sorted(changes) == [1, 3]
    assert [(each["name"], each["before"], each["after"], each["processes"]) for each in changes[1]] == [
        ("net", "IB", "Socket", 1), ("flag", True, 1, 0), ("new", None, "x", 0),
    ]  # fmt: skip
    assert [setting["name"] for setting in changes[3]] == ["lr"]


def sockets(path: Path) -> Path:
    """A log of two launches whose nodes communicate over sockets."""
    steps = "".join(f" iteration {step}/ 90 | lm loss: 2.0E+00 |\n" for step in range(10, 60, 10))
    for process in (1, 2):
        with path.open("a") as file:
            for node in range(2):
                file.write(f"n{node}:{process}:7 [0] NCCL INFO Using network Socket\n")
            file.write(steps)
    return path


@pytest.mark.parametrize("form", ["text", "html"])
def test_a_diagnostic_of_each_launch_is_printed_once_with_advice(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = sockets(tmp_path / "run.out")
    assert main(["analyze", str(log), "--format", "jsonl"]) == 0
    diagnostics = json.loads(capsys.readouterr().out)["remarks"]
    assert [(each["code"], each["attempt"]) for each in diagnostics] == [
        ("nccl-sockets", 0),
        ("nccl-sockets", 1),
    ]
    assert main(["analyze", str(log), "--format", form]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.count("TCP sockets") == 1
    assert "Diagnostics" in printed
    assert "attempts 0, 1" in printed
    assert "NCCL_IB_HCA" in printed


def test_a_launch_without_steps_is_analysed_by_its_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = sockets(tmp_path / "run.out")
    log.write_text("".join(line for line in log.read_text().splitlines(True) if "NCCL" in line))
    assert main(["analyze", str(log)]) == 0
    printed = capsys.readouterr()
    assert "no steps yet" in printed.out
    assert "TCP sockets" in printed.out
    assert printed.err == ""
