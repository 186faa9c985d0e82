"""Formats of SLURM's tools: node lists, states and ends of jobs, and their environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holter.detectors.launch_checks import run_launch_checks
from holter.ingest.offline.read_run import read_run
from holter.ingest.slurm.settings import MAX_NODES, expand_node_list

DATA = Path(__file__).parents[2] / "data" / "slurm"
CLOCK = {"steps": "milliseconds"}


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("n17", ["n17"]),
        ("n[1-3,7]", ["n1", "n2", "n3", "n7"]),
        ("n[08-11]", ["n08", "n09", "n10", "n11"]),
        ("a[1-2]b[0,3],login1", ["a1b0", "a1b3", "a2b0", "a2b3", "login1"]),
        ("nid[001-007:2]", ["nid001", "nid003", "nid005", "nid007"]),
        ("gpu-a[1-2]-ib", ["gpu-a1-ib", "gpu-a2-ib"]),
    ],
)
def test_node_lists_are_expanded(text: str, nodes: list[str]) -> None:
    assert expand_node_list(text) == nodes


@pytest.mark.parametrize("text", ["n[1-", "n]1[", "n[[1]]", "n[a-b]", "n[3-1]", "n 1", "", "n[1-999999999]"])
def test_invalid_node_list_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        expand_node_list(text)


def test_node_lists_are_bounded() -> None:
    assert len(expand_node_list(f"n[1-{MAX_NODES}]")) == MAX_NODES
    with pytest.raises(ValueError, match="at most"):
        expand_node_list("a[1-200]b[1-200]")


@given(st.text(alphabet="n[]-,:0123456789.", max_size=40))
def test_any_text_is_a_node_list_or_rejected(text: str) -> None:
    try:
        assert len(expand_node_list(text)) <= MAX_NODES
    except ValueError as error:
        assert "expected" in str(error)  # noqa: PT017


def read(reading: Any, name: str) -> Any:
    return reading.read_complete(name, (DATA / name).read_bytes())


def stated(result: Any) -> dict[str, Any]:
    return {str(key): value for (key, _), value in result.config.items()}


@pytest.mark.parametrize(
    ("name", "points", "settings"),
    [
        ("scontrol.txt", 3, 13),
        ("sacct.txt", 4, 12),
        ("sacct-parsable.txt", 3, 14),
        ("squeue.txt", 3, 11),
        ("squeue.json", 3, 9),
        ("train-ended.out", 8, 4),
    ],
)
def test_samples_are_read_completely(name: str, points: int, settings: int, reading: Any) -> None:
    result = read(reading, name)
    assert (result.count, len(result.config), result.unreadable) == (points, settings, [])


def test_job_fields_are_settings_and_states_are_points(reading: Any) -> None:
    result = read(reading, "scontrol.txt")
    settings = stated(result)
    assert settings["slurm.nodes{job=4711}"] == "n17,n18,n020"
    assert (settings["slurm.restart_count{job=4711}"], settings["slurm.state{job=4711}"]) == (1, "NODE_FAIL")
    assert len(result.values("slurm_state", job="4711", state="RUNNING", **CLOCK)) == 1
    assert len(result.values("job_ends", job="4711", state="NODE_FAIL", **CLOCK)) == 1
    assert not any("ana" in str(value) for value in settings.values())


def test_job_steps_are_left_out_and_states_have_full_names(reading: Any) -> None:
    assert {dict(key.labels)["job"] for key in read(reading, "sacct-parsable.txt").points} == {"4711", "4712"}
    states = {dict(key.labels)["state"] for key in read(reading, "squeue.txt").points}
    assert states == {"RUNNING", "PENDING", "COMPLETING"}
    assert stated(read(reading, "squeue.txt"))["slurm.job_name{job=4713}"] == "my job 2"


def test_environment_is_read_without_secrets(reading: Any) -> None:
    assert stated(read(reading, "train-ended.out")) == {
        "slurm.job_id": "4711",
        "slurm.nodes": "n17,n18",
        "slurm.tasks": 16,
        "slurm.restart_count": 1,
    }


def test_launch_has_the_environment_before_it_and_the_end_after_it(tmp_path: Path) -> None:
    def launch(job: int, first: int) -> str:
        lines = [f"step:{step}/900 train_loss:4.5 train_time:193ms\n" for step in range(first, first + 50)]
        reason = "CANCELLED AT 2026-05-05T12:40:00 DUE TO PREEMPTION"
        end = f"slurmstepd: error: *** JOB {job} ON n{job} {reason} ***\n"
        return f"SLURM_JOB_ID={job}\nSLURM_RESTART_COUNT={first // 30}\n" + "".join(lines) + end

    (tmp_path / "slurm.out").write_text(launch(17, 0) + launch(18, 30))
    run = read_run(tmp_path)
    assert run.attempts == 2
    settings = {str(key): dict(values) for key, values in run.data.config.items()}
    assert settings == {"slurm.job_id": {0: "17", 1: "18"}, "slurm.restart_count": {0: 0, 1: 1}}
    diagnostics = [
        diagnostic for diagnostic in run_launch_checks(run.data) if diagnostic.code == "launch-ended"
    ]
    assert [
        (diagnostic.attempt, diagnostic.evidence["job"], diagnostic.evidence["state"])
        for diagnostic in diagnostics
    ] == [
        (0, "17", "PREEMPTED"),
        (1, "18", "PREEMPTED"),
    ]


def test_ends_of_launches_are_diagnostics_with_advice(tmp_path: Path) -> None:
    lines = [f"step:{step}/900 train_loss:4.5 train_time:193ms\n" for step in range(50)]
    ended = (DATA / "train-ended.out").read_text()
    (tmp_path / "slurm.out").write_text("".join(lines) + ended.partition("HF_TOKEN")[2])
    diagnostics = run_launch_checks(read_run(tmp_path).data)
    advice = {diagnostic.summary: diagnostic.advice for diagnostic in diagnostics}
    (node,) = [text for text in advice if "NODE_FAIL on n18" in text]
    assert "--exclude=n18" in advice[node]
    (rank,) = [text for text in advice if "(rank 17) on n17 failed: signal 9" in text]
    assert "Look for the process that ended first" in advice[rank]
    assert any("TIMEOUT on n17 at 2026-05-05" in text and "(job 4711)" in text for text in advice)
    assert len(advice) == len(diagnostics) == 8
