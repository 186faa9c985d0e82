"""Numbers whose name is elsewhere than between signs: how far values vary, shares, more values, lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log

N = range(1, 7)

LINES = {
    # how far the values vary whose mean is before
    "Iter {n}: reward {n}.5 ± 0.{n}, span 5{n}.2 +/- 3.{n}\n": {
        "reward": [n + 0.5 for n in N],
        "reward (std)": [n / 10 for n in N],
        "span": [50.2 + n for n in N],
        "span (std)": [3 + n / 10 for n in N],
    },
    "Step {n} loss: 0.{n} +/-0.0{n} acc: 8{n}.1% (± 0.{n}%)\n": {
        "loss": [n / 10 for n in N],
        "loss (std)": [n / 100 for n in N],
        "acc": [80.1 + n for n in N],
        "acc (std)": [n / 10 for n in N],
    },
    "Iteration {n}\nEpisode length: 1{n}5.5 +/- 2{n}.1\nMean reward: 2.{n} +/- 0.5{n}\n": {
        "Episode length": [105.5 + 10 * n for n in N],
        "Episode length (std)": [20.1 + n for n in N],
        "Mean reward": [2 + n / 10 for n in N],
        "Mean reward (std)": [0.5 + n / 100 for n in N],
    },
    # the parts of complex numbers, as Python and Julia print them
    "step={n}, amp=-3.{n}+0.0{n}j, level=-0.{n}-2e-0{n}j\n": {
        "amp": [-3 - n / 10 for n in N],
        "amp (imaginary)": [n / 100 for n in N],
        "level": [-n / 10 for n in N],
        "level (imaginary)": [-2 * 10.0**-n for n in N],
    },
    "Step {n} loss: ({n}.5-0.{n}j) acc: 0.{n} - 1.{n}im\n": {
        "loss": [n + 0.5 for n in N],
        "loss (imaginary)": [-n / 10 for n in N],
        "acc": [n / 10 for n in N],
        "acc (imaginary)": [-1 - n / 10 for n in N],
    },
    # several values of a metric, in the midst of a line and without a sign
    "Epoch {n}, loss 0.{n} 1.{n} 2.{n}, acc 0.5{n} 0.6{n}\n": {
        "loss": [n / 10 for n in N],
        "loss 2": [1 + n / 10 for n in N],
        "loss 3": [2 + n / 10 for n in N],
        "acc": [0.5 + n / 100 for n in N],
        "acc 2": [0.6 + n / 100 for n in N],
    },
    # with commas, up to the next name
    "Epoch {n}, Best_a: 1{n}.5, 1{n}.6, 01.{n}, Best_b: 2{n}.5, 2{n}.6, loss: 0.{n}\n": {
        "Best_a": [10.5 + n for n in N],
        "Best_a 2": [10.6 + n for n in N],
        "Best_a 3": [1 + n / 10 for n in N],
        "Best_b": [20.5 + n for n in N],
        "Best_b 2": [20.6 + n for n in N],
        "loss": [n / 10 for n in N],
    },
    # but for numbers behind what counts, and for terms of a sum
    "Epoch: {n}, 100, loss: 0.{n} = 0.1 + 0.2, acc: 0.9{n}\n": {
        "loss": [n / 10 for n in N],
        "acc": [0.9 + n / 100 for n in N],
    },
    # what is to be reached is no value
    "[Step {n}] 平均相似度：0.{n}（目标：逐步提升至0.8+）\n[Step {n}] acc: 0.9{n} (goal: up to 0.99)\n": {
        "平均相似度": [n / 10 for n in N],
        "acc": [0.9 + n / 100 for n in N],
    },
    "Epoch {n} loss: 0.{n} (source: 1.{n}, target: 2.{n}), acc: 0.9{n} (target: >= 0.95)\n": {
        "loss": [n / 10 for n in N],
        "source": [1 + n / 10 for n in N],
        "target": [2 + n / 10 for n in N],
        "acc": [0.9 + n / 100 for n in N],
    },
    # behind a running mean, which repeats the one before it
    "Epoch {n} lr 0.01 loss 0.{n} (0.5) 2.{n} acc 0.6{n}\n": {
        "lr": [0.01 for n in N],
        "loss": [n / 10 for n in N],
        "loss 2": [2 + n / 10 for n in N],
        "acc": [0.6 + n / 100 for n in N],
    },
    # how many were so, whose share may be beyond all of them
    "step {n} | recovered 3{n}/32 (11{n}.5%) | loss 0.{n}\n": {
        "recovered": [110.5 + n for n in N],
        "loss": [n / 10 for n in N],
    },
    "epoch {n} loss: 0.{n} solved: {n}/32 (1{n}.5%)\n": {
        "loss": [n / 10 for n in N],
        "solved": [10.5 + n for n in N],
    },
    # how a metric is distributed
    "Round {n}: loss: 0.{n}, 10th percentile: 0.0{n}, 90th percentile 1.{n}, acc: 0.9\n": {
        "loss": [n / 10 for n in N],
        "loss (10th percentile)": [n / 100 for n in N],
        "loss (90th percentile)": [1 + n / 10 for n in N],
        "acc": [0.9 for n in N],
    },
    # right behind the name
    "epoch {n}: trainLoss0.{n} val_acc0.9{n}\nvalLoss1.{n}\n": {
        "trainLoss": [n / 10 for n in N],
        "val_acc": [0.9 + n / 100 for n in N],
        "valLoss": [1 + n / 10 for n in N],
    },
    # a rate right before its number, and other words before the epoch that is before it
    "A wool B felt Train Ep: {n} lr0.0{n} \t Loss Part: 1.{n} Loss Q 0.{n} Method OAK\n": {
        "lr": [n / 100 for n in N],
        "Loss Part": [1 + n / 10 for n in N],
        "Loss Q": [n / 10 for n in N],
    },
    # dictionaries whose values are lists of one number, named after the data
    "epoch {n} loss 0.{n}\navg_test_scalars {{'Q1': [0.{n}], 'loss': 1.{n}, 'EPE': [2.{n}]}}\n": {
        "loss": [n / 10 for n in N],
        "test/Q1": [n / 10 for n in N],
        "test/loss": [1 + n / 10 for n in N],
        "test/EPE": [2 + n / 10 for n in N],
    },
    # data of which neither the training nor an evaluation need be
    "epoch {n} loss 0.{n}\n\nHard target set: Average loss: 1.{n}, Accuracy: 2{n}%\n": {
        "loss": [n / 10 for n in N],
        "Hard target set/Average loss": [1 + n / 10 for n in N],
        "Hard target set/Accuracy": [20 + n for n in N],
    },
    # behind several signs
    "epoch :: {n}\ntrain loss :: 0.{n}\nacc ==> 0.9{n}\n": {
        "train loss": [n / 10 for n in N],
        "acc": [0.9 + n / 100 for n in N],
    },
    "epoch {n} >> loss >> 0.{n} acc >> 0.9{n}\n": {
        "loss": [n / 10 for n in N],
        "acc": [0.9 + n / 100 for n in N],
    },
    # below the name
    "Epoch {n}/8\nTrain loss:\n0.{n}\nVal accuracy:\n9{n}\nmse\ntensor(1.{n})\nmean error =\n  2.{n}\n": {
        "Train loss": [n / 10 for n in N],
        "Val accuracy": [90 + n for n in N],
        "mse": [1 + n / 10 for n in N],
        "mean error": [2 + n / 10 for n in N],
    },
    # letters for what is computed of a metric
    "U {n} | frames 0{n}00 | R:μσmM 0.{n} 0.0{n} 0.00 1.{n} | pL -0.{n} | ∇ 2.{n}\n": {
        "frames": [100 * n for n in N],
        "R (mean)": [n / 10 for n in N],
        "R (std)": [n / 100 for n in N],
        "R (max)": [1 + n / 10 for n in N],
        "pL": [-n / 10 for n in N],
        "∇": [2 + n / 10 for n in N],
    },
    # data in brackets
    "Epoch {n}/20: [train] 0.{n} [validation] 1.{n}\n": {
        "train": [n / 10 for n in N],
        "validation": [1 + n / 10 for n in N],
    },
    # a mean over the last ones
    "Episode {n}\nAvg learning reward last 100 episodes: 0.{n}\n": {
        "Avg learning reward": [n / 10 for n in N],
    },
    # behind other signs between what counts and its number
    "---Epoch.{n} Train loss per event: 0.{n}.\n---Epoch.{n} Val loss: 1.{n}; CRPS:2.{n}\n": {
        "Train loss per event": [n / 10 for n in N],
        "Val loss": [1 + n / 10 for n in N],
        "Val CRPS": [2 + n / 10 for n in N],
    },
    "batch i:{n}, moves:2{n}\nkl:0.{n},loss:1.{n}\n": {
        "moves": [20 + n for n in N],
        "kl": [n / 10 for n in N],
        "loss": [1 + n / 10 for n in N],
    },
    # no weights of a metric
    "Epoch {n} loss: 0.{n}\nKappa Coefficient: 1.{n}\n": {
        "loss": [n / 10 for n in N],
        "Kappa Coefficient": [1 + n / 10 for n in N],
    },
    # parts of an evaluation, which is printed before the training
    "Epoch {n}\nVal loss:   0.{n}\nl1: 1.{n} kl: 2.{n}\nTrain loss: 3.{n}\nl1: 4.{n} kl: 5.{n}\n": {
        "Val loss": [n / 10 for n in N],
        "val/l1": [1 + n / 10 for n in N],
        "val/kl": [2 + n / 10 for n in N],
        "Train loss": [3 + n / 10 for n in N],
        "l1": [4 + n / 10 for n in N],
        "kl": [5 + n / 10 for n in N],
    },
    # a mean of what is counted counts nothing
    "Episode {n}: Average steps: 12{n}, reward: 1.{n}\n": {
        "Average steps": [120 + n for n in N],
        "reward": [1 + n / 10 for n in N],
    },
    "Iteration {n}\nMean steps: 4{n}.5\nMean reward: 1.{n}\n": {
        "Mean steps": [40.5 + n for n in N],
        "Mean reward": [1 + n / 10 for n in N],
    },
}


@pytest.mark.parametrize("line", LINES)
def test_numbers_behind_a_metric_are_series_of_their_own(line: str, tmp_path: Path) -> None:
    run = read_log(tmp_path, "".join(line.format(n=n) for n in N))
    assert {key.metric: series.step.tolist() for key, series in run.data.series.items()} == {
        name: [*N] for name in LINES[line]
    }
    for key, series in run.data.series.items():
        assert series.value.tolist() == pytest.approx(LINES[line][key.metric])


def test_evaluations_without_a_training_have_lines_of_other_names(tmp_path: Path) -> None:
    text = "".join(
        f"Eval num_timesteps={n}000, episode_reward={n}.5 +/- 0.{n}\nEpisode length: 1{n}.5 +/- 2.{n}\n"
        for n in N
    )
    run = read_log(tmp_path, text)
    names = ("eval/episode_reward", "eval/episode_reward (std)", "Episode length", "Episode length (std)")
    assert {key.metric: series.step.tolist() for key, series in run.data.series.items()} == {
        name: [1000 * n for n in N] for name in names
    }


@pytest.mark.parametrize(
    "line",
    [
        "Epoch {n} loss 0.{n} [0.5=0.4 + 0.1]\n",  # terms of a sum
        "Epoch {n} loss 0.{n} 12:30:0{n}\n",  # a time
        "Epoch {n} loss 0.{n}  of all 5\n",
    ],
)
def test_other_numbers_behind_a_metric_are_none_of_its_values(line: str, tmp_path: Path) -> None:
    run = read_log(tmp_path, "".join(line.format(n=n) for n in N))
    assert [key.metric for key in run.data.series] == ["loss"]


@pytest.mark.parametrize("frame", ["{}", "------ {} ------"])
def test_means_with_how_far_they_vary_in_brackets_have_a_value_each(frame: str, tmp_path: Path) -> None:
    results = frame.format("End_Acc (0.512, nan) Forgetting (0.031, nan) Transfer (-0.204, 0.011)")
    run = read_log(tmp_path, f"step 100 loss: 1.5\nstep 200 loss: 1.25\n{results}\n")
    values = {key.metric: series.value.tolist() for key, series in run.data.series.items()}
    assert values == {
        "loss": [1.5, 1.25],
        "End_Acc": [0.512],
        "Forgetting": [0.031],
        "Transfer": [-0.204],
        "Transfer 2": [0.011],
    }
