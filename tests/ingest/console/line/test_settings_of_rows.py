"""A setting behind the label of a row, as in `Fold 9, k=20: recall = 0.4`, tells rows of a step apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of


@pytest.mark.parametrize("row", ["Fold {0}, k={1}: ", "Client {0}, tau=0.{1}: ", "[Class {0}] top={1}: "])
@pytest.mark.parametrize("above", ["Epoch {0}: train loss 0.{0}", "step {0}: train loss 0.{0}"])
def test_a_setting_behind_the_label_of_a_row_is_one_where_rows_of_a_step_differ(
    tmp_path: Path, above: str, row: str
) -> None:
    text = "".join(
        above.format(step)
        + "\n"
        + "".join(f"{row.format(n, k)}recall = 0.4, ndcg = 0.3{step}\n" for n in (1, 2) for k in (5, 10))
        for step in (1, 2, 3)
    )
    steps = steps_of(read_log(tmp_path, text))
    found = {name: at for name, at in steps.items() if name.startswith("ndcg")}
    assert len(found) == 4
    assert all(at == [1, 2, 3] for at in found.values())
    assert sum("=10" in name or "=0.10" in name for name in found) == 2
    assert not any(name.startswith(("k", "tau", "top", "k/")) for name in steps)


def test_a_value_that_differs_from_step_to_step_is_no_label_of_its_row(tmp_path: Path) -> None:
    text = "".join(
        f"step {n}: loss 0.{n}\nFold 1, k={9 - n}: recall = 0.4, ndcg = 0.3{n}\n" for n in range(1, 5)
    )
    assert {name for name in steps_of(read_log(tmp_path, text)) if name.startswith("ndcg")} == {"ndcg/fold=1"}


def test_parameters_before_a_score_are_settings(tmp_path: Path) -> None:
    text = "Best params: {'hidden': 48, 'learning_rate': 0.02, 'decay': 0.0003}, best val accuracy: 0.71\n"
    text += "".join(f"Epoch {n}, loss: 0.{n}\n" for n in range(1, 5))
    measured = {name for name in steps_of(read_log(tmp_path, text)) if "rate" in name or "decay" in name}
    assert not measured
