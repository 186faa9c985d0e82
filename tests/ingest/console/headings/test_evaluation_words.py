"""Every word for data of an evaluation is known wherever a log may name the data."""

from __future__ import annotations

from pathlib import Path

import pytest

from holter.roles import EVALUATION_WORDS
from tests.support.log_runs import assert_steps, read_log, steps_of

N = range(1, 5)


@pytest.mark.parametrize("word", EVALUATION_WORDS)
@pytest.mark.parametrize(
    "text",
    [
        "".join(f"Epoch {n} loss: 0.{n}\n{{word}}\nloss: 0.{n}5\n" for n in N),
        "".join(f"Epoch {n} loss: 0.{n}\n--- {{word}} ---\nloss: 0.{n}5\n" for n in N),
        "".join(f"Epoch {n} loss: 0.{n} (training)\nEpoch {n} loss: 0.{n}5 ({{word}})\n" for n in N),
        "".join(f"Train loss [{n}]: 0.{n}\n{{word}} loss [{n}]: 0.{n}5\n" for n in N),
    ],
    ids=["above", "above between signs", "behind", "in the name of a loss before its epoch"],
)
def test_every_word_for_data_of_an_evaluation_is_known_in_all_places(
    tmp_path: Path, text: str, word: str
) -> None:
    run = read_log(tmp_path, text.format(word=word))
    series = {key.metric: points.value.tolist() for key, points in run.data.series.items()}
    evaluation = {name: values for name, values in series.items() if name.startswith(word)}
    assert [*evaluation.values()] == [[0.15, 0.25, 0.35, 0.45]]
    assert [0.1, 0.2, 0.3, 0.4] in series.values()


@pytest.mark.parametrize("word", EVALUATION_WORDS)
def test_a_table_below_its_title_may_have_any_data_of_an_evaluation(tmp_path: Path, word: str) -> None:
    text = "".join(
        f"{title}:\nepoch  train  {word}\n" + "".join(f"{n}      0.{n}5   0.{n}7\n" for n in N)
        for title in ("Loss", "Accuracy")
    )
    names = {f"{title}/{data}" for title in ("Loss", "Accuracy") for data in ("train", word)}
    assert steps_of(read_log(tmp_path, text)) == {name: [*N] for name in names}


def test_the_data_of_the_training_is_of_no_evaluation_announced_above(tmp_path: Path) -> None:
    data = "--- Average {data} {name}:   0.{n}\n"
    rows = "".join(
        data.format(data=of, name=name, n="{n}")
        for of in ("train", "valid")
        for name in ("loss", "avg precision score", "auc")
    )
    text = "".join(f"[*] Epoch {n}...\n[*] Evaluating epoch {n}...\n{rows.format(n=n)}" for n in range(1, 5))
    names = steps_of(read_log(tmp_path, text))
    assert {name for name in names if "train" in name} == {
        "Average train loss",
        "Average train avg precision score",
        "Average train auc",
    }
    assert all(name.startswith("evaluating/") for name in names if "valid" in name)


def test_a_better_value_of_an_evaluation_is_no_heading_of_one(tmp_path: Path) -> None:
    text = "".join(
        f"[Epoch: 1][#steps: {n}0]\n\tTrain Loss: 1.{n} | lr: 0.00{n}\n"
        + (f"\t Val. Loss: 2.{n}\n\t\t Better Valid Loss! (at least equal)\n" if n % 2 else "")
        for n in range(1, 7)
    )
    steps = [10 * n for n in range(1, 7)]
    assert_steps(tmp_path, text, {"Train Loss": steps, "lr": steps, "Val. Loss": steps[::2]})


PHASES = (
    "Phase: {data}\nEpoch {n} loss 0.{n}\n",
    "Epoch {n}\nphase = {data}\nloss 0.{n}\n",
    "Epoch {n} phase {data}\nloss 0.{n}\n",
    "Epoch {n}\n--- mode: {data} ---\nloss 0.{n}\n",
)


@pytest.mark.parametrize("lines", PHASES)
def test_a_phase_names_the_data_of_the_values_below_it(lines: str, tmp_path: Path) -> None:
    text = "".join(lines.format(n=n, data=data) for n in range(1, 7) for data in ("train", "val"))
    steps = [*range(1, 7)]
    assert steps_of(read_log(tmp_path, text)) == {"loss": steps, "val/loss": steps}


def test_a_mode_above_the_first_epoch_is_a_setting(tmp_path: Path) -> None:
    text = "mode: val\nsplit: test\n" + "".join(f"Epoch {n}\nloss 0.{n}\n" for n in range(1, 7))
    assert steps_of(read_log(tmp_path, text)) == {"loss": [*range(1, 7)]}
