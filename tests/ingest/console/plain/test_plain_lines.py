"""Lines of any program: a position and named numbers, in any order, punctuation and case."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holter.ingest.console.plain.plain_line import parse_plain_line


def records(*lines: str) -> list[tuple[int, dict[str, float]]]:
    """Step and values of each line, read one after another."""
    state: dict[str, Any] = {}
    found = [parse_plain_line(line, state) for line in lines]
    return [(record.step, dict(record.values)) for record in found if record is not None]


@pytest.mark.parametrize(
    ("line", "step", "values"),
    [
        ("Epoch [1/60] [10/445] Loss: 4.3245", 10, {"Epoch": 1, "Loss": 4.3245}),
        ("Epoch [1/60], Iter [10/445] Loss: 4.3245", 10, {"Epoch": 1, "Loss": 4.3245}),
        ("Epoch [1/60], Step [10/445], Loss: 4.3245", 10, {"Epoch": 1, "Loss": 4.3245}),
        (
            "Training: 2026-05-21 02:45:36,101-Speed 4069.48 samples/sec   Loss 4.3109"
            "   LearningRate 0.058312   Epoch: 13   Global Step: 542940   Fp16 Grad Scale: 65536"
            "   Required: 53 hours",
            542940,
            {
                **{"Epoch": 13, "Speed": 4069.48, "Loss": 4.3109},
                **{"LearningRate": 0.058312, "Fp16 Grad Scale": 65536},
            },
        ),
        (
            "Iters: 10/20000 || Lr: 0.019992 || Task Loss: 3.2864 || KD Loss: 1.6073",
            10,
            {"Lr": 0.019992, "Task Loss": 3.2864, "KD Loss": 1.6073},
        ),
        ("Step: 10 CE Loss: 3.2 KL Loss: 1.6", 10, {"CE Loss": 3.2, "KL Loss": 1.6}),
        (
            "[Step 4/100] Loss: 5.4221 | Global Tokens/s: 1063.42",
            4,
            {"Loss": 5.4221, "Global Tokens/s": 1063.42},
        ),
        (
            "2022-01-01 10:00:00 [INFO]\t[TRAIN] epoch: 1, iter: 10/1000, loss: 1.2, lr: 0.01, "
            "batch_cost: 0.1",
            10,
            {"epoch": 1, "loss": 1.2, "lr": 0.01, "batch_cost": 0.1},
        ),
        (
            "[2024/03/09 15:15:33] ppocr INFO: epoch: [1/1200], global_step: 5, lr: 0.028000, "
            "loss: 6.714170, avg_reader_cost: 0.23760 s",
            5,
            {"epoch": 1, "lr": 0.028, "loss": 6.71417, "avg_reader_cost": 0.2376},
        ),
        ("epoch: 1 step: 100, loss is 1.9", 100, {"epoch": 1, "loss": 1.9}),
        (
            "iter: 19  total_loss: 5.1  eta: 1 day, 2:00:00  lr: 0.1",
            19,
            {"total_loss": 5.1, "lr": 0.1},
        ),
        ("loss: 2.3 | step: 1", 1, {"loss": 2.3}),
        ("INFO:tensorflow:loss = 2.2, step = 101 (1.0 sec)", 101, {"loss": 2.2}),
        (
            "INFO ot_train.py:357 step:25K smpl:26K loss:1.467 lr:1.0e-05",
            25_000,
            {"smpl": 26_000, "loss": 1.467, "lr": 1e-5},
        ),
        (
            "Epoch 1 | Train Loss: 1.0 | Acc: 0.5 | Val Loss: 1.1 | Acc: 0.4",
            1,
            {"Train Loss": 1.0, "Acc": 0.5, "Val Loss": 1.1, "Val Acc": 0.4},
        ),
        ('json_stats: {"iter": 20, "loss": 1.5, "lr": 0.01}', 20, {"loss": 1.5, "lr": 0.01}),
        (
            's: {"a":true,"b":"o","c":true,"learningRateDecay":0,"learningRate":0.1,"loss":2.5,"epoch":3}',
            3,
            {"loss": 2.5, "learningRate": 0.1},
        ),
        ("step 7 loss np.float64(2.5)", 7, {"loss": 2.5}),
    ],
)
def test_a_line_is_read_at_its_step(line: str, step: int, values: dict[str, float]) -> None:
    assert records(line) == [(step, values)]


@pytest.mark.parametrize(
    "line",
    [
        "Saved checkpoint at step 5000 in 3.2 s",
        "loading shard 3 of 10: step 3",
        "model: 6 layers, warmup steps: 100, max steps: 5000",
        "date: 2026-05-07, version: 2.5.1, eta: 1:20:30",
    ],
)
def test_a_line_without_a_position_or_a_metric_is_none(line: str) -> None:
    assert records(line) == []


def test_batches_continue_over_epochs() -> None:
    lines = [f"Epoch [{epoch}/3], Step [{step}/20], Loss: 1.0" for epoch in (1, 2, 3) for step in (10, 20)]
    assert [step for step, _ in records(*lines)] == [10, 20, 30, 40, 50, 60]


def test_the_number_of_batches_is_learnt_where_it_is_not_printed() -> None:
    lines = [f"epoch: {epoch} step: {step}, loss is 1.0" for epoch in (1, 2, 3) for step in (10, 20)]
    assert [step for step, _ in records(*lines)] == [10, 20, 30, 40, 50, 60]


def test_steps_that_count_through_epochs_stay_as_they_are() -> None:
    lines = [f"epoch: {1 + step // 30}, iter: {step}/1000, loss: 1.0" for step in range(10, 100, 10)]
    assert [step for step, _ in records(*lines)] == list(range(10, 100, 10))


def test_steps_that_seemed_to_count_through_epochs_make_no_second_attempt_once_they_start_over() -> None:
    places = ((8, 48), (15, 96), (23, 8), (30, 56))
    lines = [f"epoch {epoch} | iter {step}/136 | loss 1.0" for epoch, step in places]
    assert [step for step, _ in records(*lines)] == [48, 96, 22 * 136 + 8, 29 * 136 + 56]


def test_an_announced_epoch_belongs_to_the_steps_below_it() -> None:
    lines = ["Epoch 1/2", "batch 10 loss: 1.0", "batch 20 loss: 1.0", "Epoch 2/2", "batch 10 loss: 1.0"]
    assert [step for step, _ in records(*lines)] == [10, 20, 30]


def test_an_evaluation_has_series_of_its_own_at_the_step_of_the_training() -> None:
    found = records(
        "[Train][Epoch 1/400][Iter: 0/98]lr: 0.1, loss: 6.9",
        "[Train][Epoch 1/400][Iter: 10/98]lr: 0.1, loss: 6.8",
        "[Eval][Epoch 1][Iter: 0/25]loss: 6.7",
        "[Train][Epoch 2/400][Iter: 0/98]lr: 0.1, loss: 6.6",
    )
    assert [step for step, _ in found] == [0, 10, 10, 98]
    assert [values.get("eval/loss") for _, values in found] == [None, None, 6.7, None]
    assert "loss" not in found[2][1]


NAMES = st.sampled_from(["loss", "Loss", "train_loss", "CE Loss", "lr", "LearningRate", "grad_norm", "acc@1"])
NUMBERS = st.one_of(
    st.floats(-1e6, 1e6).map(lambda value: f"{value:.4g}"),
    st.integers(0, 10**6).map(str),
    st.sampled_from(["nan", "inf", "-inf", "1e-05", "3.2E+01"]),
)
PREFIXES = st.sampled_from(
    ["", "INFO ", "2026-05-21 02:45:36,101 ", "[2024/03/09 15:15:33] app INFO: ", "train.py:357 "]
)


@st.composite
def composed_lines(draw: st.DrawFn) -> tuple[str, int, dict[str, str]]:
    """A line with a step and named numbers, and what it holds."""
    names = draw(st.lists(NAMES, min_size=1, max_size=5, unique_by=str.lower))
    values = {name: draw(NUMBERS) for name in ["loss", *names]}
    step = draw(st.integers(0, 10**9))
    sign = draw(st.sampled_from([": ", "=", " = ", ":"]))
    between = draw(st.sampled_from([", ", " | ", "  ", "\t", " || ", "; "]))
    word = draw(st.sampled_from(["step", "Step", "iter", "Iteration", "global_step", "STEP"]))
    total = draw(st.sampled_from(["", "/2000000000"]))
    position = f"{word}{sign}{step}{total}"
    fields = [f"{name}{sign}{value}" for name, value in values.items()]
    fields.insert(draw(st.integers(0, len(fields))), position)
    return draw(PREFIXES) + between.join(fields), step, values


@given(composed_lines())
def test_every_number_of_a_composed_line_is_found_at_its_step(
    composed: tuple[str, int, dict[str, str]],
) -> None:
    line, step, values = composed
    ((found_step, found),) = records(line)
    assert found_step == step
    assert set(found) == set(values)
    for name, text in values.items():
        assert found[name] == float(text) or (math.isnan(found[name]) and text == "nan")


@given(st.text(max_size=300), st.sampled_from(["step 3 loss: ", "Epoch [1/2] [3/4] ", "{'loss': "]))
def test_any_text_is_read_without_an_error(text: str, begin: str) -> None:
    records(begin + text, text)
