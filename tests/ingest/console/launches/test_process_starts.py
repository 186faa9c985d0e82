"""Lines that only the start of a process prints, between the launches that a text was appended to."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of

OPENING = "Reading the images of data/train\nBuilding the network\nTraining begins\n"
STARTS = [
    "ann@node7:~/proj$ python fit.py --lr 0.2\n",
    "(env) [ann@node7 proj]$ CUDA_VISIBLE_DEVICES=1 nohup python3 -u fit.py &\n",
    "(torch) ann@node7:~/proj$ ./run.sh\n",
    "[ann@login1 ~]$ sbatch run.sh\n",
    "ann@node7 ~/proj % python3 main.py\n",
    "(base) C:\\Users\\ann\\proj>python fit.py\n",
    "PS D:\\proj> python fit.py --epochs 10\n",
    "➜  proj git:(main) ✗ python fit.py\n",
    "sh-4.2# torchrun --nproc_per_node 2 fit.py\n",
    "(env) $ ./fit.sh\n",
    "+ python -u fit.py --lr 0.2\n",
    "!python fit.py --lr 0.2\n",
    "nohup: ignoring input\n",
    "nohup: ignoring input and appending output to 'nohup.out'\n",
    "nohup: Eingabe wird ignoriert\n",
    "nohup: ignorando entrada\n",
    "nohup: 忽略输入\n",
    "=== New Training Session ===\n",
    "=== New Training Session - 2026-03-04 11:22:33 ===\n",
    "##### Starting a new run (04.03.2026 11:22) #####\n",
]
POSSIBLE_STARTS = [
    "ann@node7:~/proj$ \n",
    "ann@node7:~/proj$ ls out\n",
    "Running command: python fit.py --lr 0.2\n",
    "Using TensorFlow backend.\n",
    "2026-03-04 11:22:33.123456: I tensorflow/core/platform/cpu_feature_guard.cc:99] "
    "This TensorFlow binary is optimized to use available CPU instructions.\n",
    "I tensorflow/stream_executor/dso_loader.cc:99] successfully opened CUDA library libcuda.so.1 locally\n",
    "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default\n",
    "^C\n",
    "real    12m3.456s\nuser    11m2.345s\nsys     0m1.234s\n",
    "[1]+  Done                    python fit.py\n",
    "Terminated\n",
    ">>> Starting small.yaml at Sun Apr  5 18:11:40 UTC 2026\n",
    "Job started on node7: Thu 16 Apr 2026 05:10:35 PM AEST\n",
    "=== Running fit.py --wide (dom 5 abr 2026 18:11:40 -03) ===\n",
    "Begin: 2026年 04月 05日 星期日 18:11:40 CST\n",
    "--- Starting execution of fit_trees.py ---\n",
    "START fit.py\n",
    "Running script './tools/fit.py' ...\n",
    "[*] Executing C:\\jobs\\fit.sh\n",
]


NO_STARTS = [
    "Starting the next one at 2026-04-05 18:11:40\n",
    "Starting the next one at Sun Apr  5 18:11:40 2026\n",
    "Sun Apr  5 18:11:40 UTC 2026 Starting the next one\n",
    "The next one ended at Sun Apr  5 18:11:40 UTC 2026\n",
    "=== New best of the session ===\n",
    "Running fit.py takes three hours\n",
    "Finished execution of fit.py\n",
    "Starting execution of the fit\n",
]


def epochs(first: int, last: int) -> str:
    return "".join(f"Epoch {n}/20: loss 0.{n} acc 0.{n + 20}\n" for n in range(first, last + 1))


@pytest.mark.parametrize("start", [*STARTS, *POSSIBLE_STARTS])
def test_steps_that_begin_anew_behind_it_are_of_another_launch(tmp_path: Path, start: str) -> None:
    run = read_log(tmp_path, OPENING + epochs(1, 4) + start + epochs(1, 3) + start + epochs(1, 9))
    assert run.attempts == 3
    assert steps_of(run)["loss"] == [*range(1, 5), *range(1, 4), *range(1, 10)]


@pytest.mark.parametrize("start", POSSIBLE_STARTS)
def test_a_launch_begins_behind_a_longer_training_with_a_name(tmp_path: Path, start: str) -> None:
    named = epochs(1, 19).replace("Epoch", "Pretrain epoch")
    run = read_log(tmp_path, OPENING + epochs(1, 4) + start + named + start + epochs(1, 5))
    assert steps_of(run)["loss"] == [*range(1, 5), *range(1, 6)]
    assert run.attempts == 2


@pytest.mark.parametrize("line", NO_STARTS)
def test_times_that_programs_print_show_no_process(tmp_path: Path, line: str) -> None:
    run = read_log(tmp_path, OPENING + epochs(1, 4) + line + epochs(1, 3) + line + epochs(1, 9))
    assert run.attempts == 1


@pytest.mark.parametrize("start", STARTS)
def test_a_launch_may_go_on_there(tmp_path: Path, start: str) -> None:
    run = read_log(tmp_path, OPENING + epochs(1, 4) + start + "Ready\n" + epochs(5, 8))
    assert run.attempts == 2
    assert steps_of(run)["loss"] == [*range(1, 9)]


@pytest.mark.parametrize("start", POSSIBLE_STARTS)
def test_what_other_processes_print_as_well_shows_no_launch_that_goes_on(tmp_path: Path, start: str) -> None:
    run = read_log(tmp_path, OPENING + epochs(1, 4) + start + "Ready\n" + epochs(5, 8))
    assert run.attempts == 1


@pytest.mark.parametrize("start", STARTS)
def test_a_setting_behind_it_names_no_training_of_the_same_launch(tmp_path: Path, start: str) -> None:
    launches = (f"{start}seed: {seed}\n{epochs(1, seed)}" for seed in (1, 2, 5))
    run = read_log(tmp_path, OPENING + "seed: 0\n" + epochs(1, 1) + "".join(launches))
    assert run.attempts == 4
    assert {key.labels for key in run.data.series} == {()}


@pytest.mark.parametrize(
    "line",
    ["100% of $ 5\n", "> Loading\n", "+ 3.5 more\n", "! see ./a\n", "$loss\n", "ann@example.com: hello\n"],
)
def test_other_signs_at_the_beginning_of_a_line_show_none(tmp_path: Path, line: str) -> None:
    assert read_log(tmp_path, OPENING + epochs(1, 4) + line + epochs(1, 4)).attempts == 1


WARNING = (
    "/opt/env/lib/python3.10/site-packages/abc/io.py:13: UserWarning: The image backend is slow\n  warn(\n"
)


def test_a_warning_that_a_process_prints_once_shows_the_next_one(tmp_path: Path) -> None:
    launches = [WARNING + f"{words}\n" + epochs(1, 4) for words in ("Reading data", "Ready", "Rows: 99")]
    run = read_log(tmp_path, "".join(launches))
    assert run.attempts == 3
    assert steps_of(run)["loss"] == 3 * [1, 2, 3, 4]


@pytest.mark.parametrize("count", [1, 2])
def test_a_warning_that_workers_print_shows_none(tmp_path: Path, count: int) -> None:
    folds = 2 * "".join(f"{count * WARNING}Epoch {n}/4: loss 0.{n}\n" for n in range(1, 5))
    run = read_log(tmp_path, "Reading the data\nBuilding the network\n" + folds)
    assert run.attempts == 1
    assert {key.labels for key in run.data.series} == {(), (("training", "2"),)}
