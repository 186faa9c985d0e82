"""Numbers and names in brackets before an epoch: which of several each line is of, or a step."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of

FORMS = [
    "[{code}][Epoch 0{n}/12] Loss:{loss} #moves:3{n}\n",
    "[{code}] [Episode {n}] Loss:{loss} #moves:3{n}\n",
    "[{code}] Epoch {n}/12 Loss:{loss} #moves:3{n}\n",
]


def _in_turn(form: str, codes: list[str], epochs: int = 4) -> str:
    rows = ((n, codes[(place + n) % len(codes)]) for n in range(1, epochs + 1) for place in range(len(codes)))
    return "".join(form.format(code=code, n=n, loss=f"{9 - n}.{code[-3:]}") for n, code in rows)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "codes",
    [["004170", "017230", "093050"], ["093050", "004170"], [f"0{n}{7 * n % 10}37" for n in range(9, 0, -1)]],
)
def test_each_code_with_zeros_ahead_has_a_series(codes: list[str], form: str, tmp_path: Path) -> None:
    run = read_log(tmp_path, _in_turn(form, codes))
    first = codes[1 % len(codes)]
    labels = ["" if code == first else f"/training={code}" for code in codes]
    assert run.attempts == 1
    assert steps_of(run) == {f"{name}{label}": [1, 2, 3, 4] for name in ("Loss", "moves") for label in labels}


STEPS = [
    [f"{100 * n:06}" for n in range(1, 13)],
    [f"{n:06}" for n in range(1, 13)],
    [f"{50 * n - 1:05}" for n in range(1, 13)],
    [f"{10000 + 100 * n:06}" for n in range(1, 13)],
    ["12345"] * 12,
    ["12345"] * 6 + ["23518"] * 6,
    ["3"] * 6 + ["1"] * 6,
]


@pytest.mark.parametrize("numbers", STEPS)
def test_numbers_that_may_count_before_an_epoch_are_no_label(numbers: list[str], tmp_path: Path) -> None:
    text = "".join(f"[{number}][Epoch {n}/12] Loss:0.{n}5\n" for n, number in enumerate(numbers, 1))
    assert steps_of(read_log(tmp_path, text)) == {"Loss": [*range(1, 13)]}


def test_settings_of_a_code_are_no_values_at_a_step(tmp_path: Path) -> None:
    codes = ["004170", "017230", "093050"]
    text = "".join(f"[{code}] algo:dqn net:mlp lr:0.01 gamma:0.9 units:[1,8]\n" for code in codes)
    text += _in_turn(FORMS[0], codes)
    text += "".join(f"[{code}] Time used:12.5 Max value:11,000 #wins:3\n" for code in codes)
    steps = steps_of(read_log(tmp_path, text))
    assert {name.partition("/")[0] for name in steps} == {"Loss", "moves"}
    assert all(each == [1, 2, 3, 4] for each in steps.values())


@pytest.mark.parametrize(
    "line", ["[{name}][Epoch {n}/9] loss: 0.{n}\n", "[{name}] [Episode {n}] loss: 0.{n}\n"]
)
def test_names_in_brackets_next_to_those_of_an_epoch_are_labels(line: str, tmp_path: Path) -> None:
    text = "".join(line.format(name=name, n=n) for n in range(1, 5) for name in ("oak", "elm-7"))
    assert steps_of(read_log(tmp_path, text)) == {
        "loss": [1, 2, 3, 4],
        "loss/training=elm-7": [1, 2, 3, 4],
    }


@pytest.mark.parametrize("data", ["dev", "Validation", "Test"])
def test_data_in_brackets_next_to_those_of_an_epoch_name_no_training(data: str, tmp_path: Path) -> None:
    text = "".join(
        f"[oak][Epoch {n}/9] loss: 0.{n}\n[{data}][Epoch {n}/9] loss: 0.{n}5\n" for n in range(1, 5)
    )
    steps = steps_of(read_log(tmp_path, text))
    assert steps == {"loss": [1, 2, 3, 4], f"{data.lower()}/loss": [1, 2, 3, 4]}


def test_the_name_of_a_metric_in_brackets_names_no_training(tmp_path: Path) -> None:
    text = "".join(
        f"[Accuracy][Epoch {n}/9] top: 0.{n}\n[Loss][Epoch {n}/9] sum: 2.{n}\n" for n in range(1, 5)
    )
    steps = steps_of(read_log(tmp_path, text))
    assert not any("training" in name for name in steps)


def test_how_many_of_all_there_were_is_no_batch(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n} #moves: {10 * n}/90 loss: 0.{n}\n" for n in range(1, 5))
    assert steps_of(read_log(tmp_path, text))["loss"] == [1, 2, 3, 4]


def test_a_line_may_begin_with_how_much_of_its_epoch_is_done(tmp_path: Path) -> None:
    shares = [(epoch, share) for epoch in range(1, 4) for share in range(25, 101, 25)]
    text = "".join(f"[{share:3}%] Epoch {epoch}, Loss: {epoch}.{share}\n" for epoch, share in shares)
    steps = steps_of(read_log(tmp_path, text))["Loss"]
    assert steps == sorted({*steps})
    assert len(steps) == len(shares)
