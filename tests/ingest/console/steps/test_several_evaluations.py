"""Several evaluations between two lines of the training: each at the step before it, in series of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of

STEPS = [30, 60, 90, 120]
"""All steps of the training; each second one is evaluated."""
EVALUATED = [60, 120]


def text_of(evaluation: str) -> str:
    """Lines of the training, the evaluation below each second one."""
    return "".join(
        f"step: {step}, loss: 1.{step}\n" + (evaluation.replace("#", str(step)) if step in EVALUATED else "")
        for step in STEPS
    )


def results_of(path: Path, evaluation: str) -> dict[str, list[int]]:
    """The steps of all series but those of the training."""
    steps = steps_of(read_log(path, text_of(evaluation)))
    assert steps.pop("loss") == STEPS
    return steps


def test_results_below_several_headings_between_stars_are_at_the_step_above(tmp_path: Path) -> None:
    blocks = "".join(f"***** {data} results *****\n  acc = 0.#\n  f1 = 0.5#\n" for data in ("dev", "test"))
    assert results_of(tmp_path, blocks) == {
        f"{data}/{name}": EVALUATED for data in ("dev", "test") for name in ("acc", "f1")
    }


def test_the_heading_of_results_may_name_a_task_or_a_checkpoint(tmp_path: Path) -> None:
    blocks = "".join(f"***** Eval results {task} *****\n  acc = 0.#\n" for task in ("cola", "rte-2"))
    assert results_of(tmp_path, blocks) == {"eval/cola/acc": EVALUATED, "eval/rte-2/acc": EVALUATED}
    checkpoint = "***** Eval results checkpoint-45 *****\n  acc = 0.25\n"
    assert results_of(tmp_path, checkpoint)["eval/acc"] == [45]


def test_rows_of_data_sets_with_a_metric_among_other_names_are_read(tmp_path: Path) -> None:
    rows = "elm: hit 0.# f1 0.3#\noak: hit 0.1# f1 0.2#\n"
    assert results_of(tmp_path, rows) == {
        f"{data}/{name}": EVALUATED for data in ("elm", "oak") for name in ("hit", "f1")
    }


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (" validation results on ARC-e | avg accuracy: 0.5 | \n", "validation/ARC-e/avg accuracy"),
        (" valid loss at iteration 20 | lm loss: 3.1E+00 | \n", "validation/lm loss"),
        (" books-en loss at iteration 20 | lm loss value: 3.1E+00 | \n", "books-en/lm loss"),
        (" validation loss at iteration 20 on test set | lm loss value: 3E+00 | \n", "test/lm loss"),
        (" validation loss at the end of training for test data | lm loss value: 3E+00 | \n", "test/lm loss"),
    ],
)
def test_evaluations_beside_megatrons_lines_name_their_data_in_any_words(
    tmp_path: Path, line: str, name: str
) -> None:
    text = "".join(f" iteration {n:8d}/ 40 | lm loss: 5.{n}E+00 | grad norm: 1.1 |\n" for n in (10, 20))
    assert steps_of(read_log(tmp_path, text + line))[name] == [20]


@pytest.mark.parametrize(
    ("epoch", "evaluation"),
    [
        ("Epoch {0}/6\n{1}train loss: 2.{0}\n", "val loss: 2.{0}5\nval acc: 0.{0}\n"),
        ("Epoch {0}: train loss 2.{0}\nStarting epoch {2}\n{1}", "Test set: loss 0.{0}, acc 0.{0}\n"),
        ("===== Epoch {0} =====\n{1}train loss: 2.{0}\n", "Validating...\nacc: 0.{0}\n"),
    ],
)
def test_an_evaluation_below_the_heading_of_the_next_epoch_is_of_the_one_above(
    tmp_path: Path, epoch: str, evaluation: str
) -> None:
    is_behind = epoch.endswith("{1}")
    text = "".join(
        epoch.format(n, evaluation.format(n) if n > 1 or is_behind else "", n + 1) for n in range(1, 7)
    )
    steps = steps_of(read_log(tmp_path, text))
    assert steps.pop("train loss") == [*range(1, 7)]
    assert {*map(tuple, steps.values())} == {tuple(range(1, 7 if is_behind else 6))}


@pytest.mark.parametrize(
    "epoch", ["Epoch {0}\nval loss: 2.{0}\ntrain loss: 1.{0}\n", "Epoch {0}\ntrain loss: 1.{0}\n{1}"]
)
def test_evaluations_of_an_epoch_stay_at_it_where_its_training_was_printed(
    tmp_path: Path, epoch: str
) -> None:
    text = "".join(epoch.format(n, f"val loss: 2.{n}\n" * (n % 2 == 0)) for n in range(1, 7))
    expected = [*range(1, 7)] if "{1}" not in epoch else [2, 4, 6]
    assert steps_of(read_log(tmp_path, text)) == {"train loss": [*range(1, 7)], "val loss": expected}


def test_costs_of_batches_and_tests_of_cuda_convnet_are_read(tmp_path: Path) -> None:
    batches = "{0}.1... logprob:  1.{0}, 0.{0} (1.1 sec)\n{0}.2... logprob:  1.{0}5, 0.{0}5 (1.2 sec)\n"
    tests = "\n======================Test output======================\nlogprob:  2.{0}, 0.9{0} \n-----\n"
    run = read_log(tmp_path, "".join((batches + tests).format(n) for n in (1, 2, 3)))
    assert steps_of(run) == {
        **{name: [1, 2, 3, 4, 5, 6] for name in ("logprob", "logprob 2", "seconds")},
        **{name: [2, 4, 6] for name in ("test/logprob", "test/logprob 2")},
    }
