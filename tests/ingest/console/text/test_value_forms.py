"""Forms of values: numbers in calls, behind arrows and odd brackets, and with names in brackets."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log

N = range(8)

LINES: dict[str, tuple[str, list[str]]] = {
    "a tensor with the operation that computed it": (
        "step {n} loss: tensor(1.{n}5, grad_fn=<MeanBackward0>) acc: tensor(0.{n}, device='cuda:1')\n",
        ["loss", "acc"],
    ),
    "a tensor behind an arrow": (
        "step {n} loss => tensor(1.{n}5, device='cuda:0', grad_fn=<NllLossBackward0>), acc -> 0.{n}\n",
        ["loss", "acc"],
    ),
    "arrays of JAX in a dictionary": (
        "Epoch {n}: {{'mse': DeviceArray(1.{n}5, dtype=float32), 'f1': Array(0.{n}, dtype=float32)}}\n",
        ["mse", "f1"],
    ),
    "a type of another library, whose storage it states": (
        "step {n}: loss mx.scalar(1.{n}5, dtype=float16), f1: lib.core.Value(0.{n}, device=gpu)\n",
        ["loss", "f1"],
    ),
    "a variable of TensorFlow": (
        "Epoch {n}, Loss: <tf.Tensor: shape=(), dtype=float32, numpy=1.{n}5>, "
        "acc: tf.Tensor(0.{n}, shape=(), dtype=float32)\n",
        ["Loss", "acc"],
    ),
    "a second name in brackets, and its value": (
        "Step {n}: Critic Accuracy (Loss): 1.{n}5 (0.{n})\n",
        ["Critic Accuracy", "Critic Loss"],
    ),
    "other data in brackets": ("Epoch {n}: train (val) loss: 1.{n}5 (0.{n})\n", ["train loss", "val loss"]),
    "several of one kind below a name": (
        "Episode {n}/90: reward: 3.5 ; (Q Loss: [Agent 0: 1.{n}5, Agent 1: 0.{n}]; V(s): [Agent 0: inf, "
        "Agent 1: inf])\n",
        ["Q Loss/Agent 0", "Q Loss/Agent 1"],
    ),
    "several of one kind without a name": (
        "Step {n}: client 0: 1.{n}5 | client 1: 0.{n} | loss: 0.5\n",
        ["client 0", "client 1"],
    ),
    "a time of day with its half behind the epoch": (
        "Epoch {n} @ 10:1{n} PM : 1.{n}5 C.E. Loss, 0.{n}% Accuracy\n",
        ["C.E. Loss", "Accuracy"],
    ),
    "a time of day in small letters": (
        "Epoch {n} at 9:1{n}:31 a.m. loss 1.{n}5 acc 0.{n}\n",
        ["loss", "acc"],
    ),
    "a time of day with a letter right behind it": (
        "Epoch {n} 9:10:3{n}PM: loss 1.{n}5, acc 0.{n}\n",
        ["loss", "acc"],
    ),
    "a date in words": ("epoch {n} | March {n}, 2021 | loss 1.{n}5 acc 0.{n}\n", ["loss", "acc"]),
    "brackets that nothing opens": (
        "Epoch: [{n}] Loss: ][1.{n}5] Accuracy: )(0.{n})%\n",
        ["Loss", "Accuracy"],
    ),
}


@pytest.mark.parametrize("form", LINES)
def test_values_are_read_in_the_form(form: str, tmp_path: Path) -> None:
    line, names = LINES[form]
    run = read_log(tmp_path, "".join(line.format(n=n) for n in N))
    found = {
        key.metric: (series.step.tolist(), series.value.tolist()) for key, series in run.data.series.items()
    }
    assert not found.keys() & {"PM", "AM", "March"}
    for name, value in zip(names, ("1.{n}5", "0.{n}"), strict=True):
        assert found[name] == ([*N], [float(value.format(n=n)) for n in N])


def test_tensors_alone_behind_arrows_are_counted(tmp_path: Path) -> None:
    run = read_log(tmp_path, "".join(f"loss -> tensor(1.{n}5, grad_fn=<AddBackward0>)\n" for n in N))
    (series,) = run.data.series.values()
    assert series.value.tolist() == [float(f"1.{n}5") for n in N]


def test_an_array_in_a_dictionary_of_the_last_evaluation(tmp_path: Path) -> None:
    records = "".join(f"step {n}: loss {n}.5\n" for n in N)
    run = read_log(tmp_path, records + "[Eval end]: {'mse': DeviceArray(0.25, dtype=float32)}\n")
    values = {key.metric: series.value.tolist() for key, series in run.data.series.items()}
    assert values["eval/mse"] == [0.25]


def test_a_mean_during_an_epoch_in_brackets(tmp_path: Path) -> None:
    text = "".join(
        "".join(f"[TRAIN] Epoch: [{n}] [{at}/30] Loss: [{n}.{at}]\n" for at in (0, 10, 20))
        + f"[TRAIN] Average loss during [{n}] epoch: [{n}.75]\n"
        for n in (1, 2, 3)
    )
    run = read_log(tmp_path, text)
    values = {key.metric: series.value.tolist() for key, series in run.data.series.items()}
    assert values["Average loss"] == [1.75, 2.75, 3.75]


def test_a_kind_of_loss_in_brackets_names_no_other_number(tmp_path: Path) -> None:
    run = read_log(tmp_path, "".join(f"step {n}, loss (MSE): {n}.5 (0.4)\n" for n in N))
    assert [key.metric for key in run.data.series] == ["loss (MSE)"]
