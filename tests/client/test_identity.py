"""Who logs: ranks, writers, and names of launches that never merge two launches into one."""

from __future__ import annotations

import os

import pytest

from holter.client.identity import default_run_name, detect, detect_rank, launch_name

SRUN = {"SLURM_JOB_ID": "77", "SLURM_STEP_ID": "2", "SLURM_NTASKS": "16", "SLURM_PROCID": "3"}
TORCHRUN = {"RANK": "5", "WORLD_SIZE": "8", "TORCHELASTIC_RESTART_COUNT": "1", "TORCHELASTIC_RUN_ID": "none"}


@pytest.mark.parametrize(
    ("environ", "rank"),
    [
        ({}, None),
        ({"RANK": "0", "WORLD_SIZE": "1"}, None),
        (TORCHRUN, 5),
        (SRUN, 3),
        ({"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4"}, 2),
        ({"RANK": "x", "WORLD_SIZE": "8"}, None),
        ({"RANK": "1"}, None),
    ],
)
def test_the_rank_is_what_the_launcher_says(environ: dict[str, str], rank: int | None) -> None:
    assert detect_rank(environ) == rank


def test_a_single_process_names_no_launch_the_server_decides() -> None:
    assert launch_name({}, "node1") is None
    assert launch_name({"SLURM_JOB_ID": "77", "SLURM_NTASKS": "1"}, "node1") is None


def test_all_ranks_of_a_slurm_step_share_a_name_that_no_other_step_has() -> None:
    name = launch_name(SRUN, "node1")
    assert name == launch_name({**SRUN, "SLURM_PROCID": "9"}, "node2") == "slurm-77.2.0"
    others = [{"SLURM_STEP_ID": "3"}, {"SLURM_RESTART_COUNT": "1"}, {"SLURM_JOB_ID": "78"}]
    assert len({name, *(launch_name({**SRUN, **other}, "node1") for other in others)}) == 4


def test_a_restart_by_torchrun_is_another_launch_of_the_same_torchrun() -> None:
    first = launch_name({**TORCHRUN, "TORCHELASTIC_RESTART_COUNT": "0"}, "node1")
    again = launch_name(TORCHRUN, "node1")
    assert first is not None
    assert again is not None
    assert first != again
    assert first.rpartition(".")[0] == again.rpartition(".")[0]
    assert str(os.getppid()) in first


def test_torchrun_on_several_nodes_is_named_by_its_slurm_step_or_not_at_all() -> None:
    several = {**TORCHRUN, "GROUP_WORLD_SIZE": "4"}
    assert launch_name(several, "node1") is None
    assert launch_name({**several, "SLURM_JOB_ID": "77", "SLURM_STEP_ID": "0"}, "node1") == "slurm-77.0.0.1"


def test_ones_own_word_goes_first() -> None:
    assert detect({**SRUN, "HOLTER_ATTEMPT": "pod-4"}).attempt == "pod-4"
    assert detect({**SRUN, "HOLTER_ATTEMPT": "pod-4"}, attempt="3").attempt == "3"


def test_two_processes_are_two_writers_even_with_one_host_and_pid() -> None:
    one, other = detect({}), detect({})
    assert one.writer != other.writer
    assert f"-{os.getpid()}-rank0-" in one.writer


def test_a_run_without_a_name_is_called_after_the_script_and_the_job() -> None:
    assert default_run_name({"SLURM_JOB_ID": "77"}).endswith("-77")
    assert default_run_name({"TORCHELASTIC_RUN_ID": "none"}) != default_run_name({"SLURM_JOB_ID": "77"})
