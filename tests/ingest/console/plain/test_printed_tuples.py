"""Lines of tuples, as `print("loss", loss)` of Python 2 writes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of

STEPS = [*range(12)]


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("('Epoch', {n}, ': loss =', {x})", ["loss"]),
        ("('Epoch', '{n}', 'train loss', '{x}', 'val loss:', '{x}')", ["train loss", "val loss"]),
        ("('Epoch [{n}/12]', 'Loss:', {x}, ', Acc:', {x})", ["Acc", "Loss"]),
        ("('epoch', {n}, 'loss', np.float32({x}), 'acc', tensor({x}, device='cuda:0'))", ["acc", "loss"]),
        ("epoch {n}: ['loss', 'acc'] [{x}, {x}]", ["acc", "loss"]),
        ("('epoch', {n}L, 'loss', array({x}, dtype=float32))", ["loss"]),
    ],
)
def test_texts_of_a_tuple_are_the_names_of_its_numbers(line: str, names: list[str], tmp_path: Path) -> None:
    text = "".join(line.format(n=n, x=f"{3 - n / 8:.3f}") + "\n" for n in STEPS)
    run = read_log(tmp_path, text, "train.log")
    assert (run.attempts, steps_of(run)) == (1, {name: STEPS for name in names})


def test_tuples_below_the_one_of_a_batch_belong_to_it(tmp_path: Path) -> None:
    text = "".join(
        f"('epoch', {n // 4}, 'batch', {n % 4}, 'of', 4)\n"
        f"('dLossReal:', {3 - n / 8}, 'dLossFake:', {2 - n / 8})\n('gLoss:', {1 + n / 8})\n"
        for n in STEPS
    )
    run = read_log(tmp_path, text, "train.log")
    assert (run.attempts, steps_of(run)) == (1, {"dLossFake": STEPS, "dLossReal": STEPS, "gLoss": STEPS})


CURVES = [(f"{1.9 * 0.8**n:.4f}", f"{0.9 - 0.6 * 0.9**n:.4f}") for n in STEPS]


@pytest.mark.parametrize("row", ["({0}, {1})", "[{0}, {1}]", "(tensor({0}), tensor({1}))"])
@pytest.mark.parametrize("counter", ["step 0", "Epoch 3"])
def test_tuples_without_names_are_counted_where_the_counter_stands_still(
    row: str, counter: str, tmp_path: Path
) -> None:
    text = "".join(f"{row.format(*values)}\n{counter}\n" for values in CURVES)
    assert steps_of(read_log(tmp_path, text)) == {"column 1": STEPS, "column 2": STEPS}


@pytest.mark.parametrize("row", ["({0}, {1})", "{0} {1}", "{0}, {1}"])
def test_rows_without_names_below_epochs_are_at_these(row: str, tmp_path: Path) -> None:
    text = "Loading\n" + "".join(f"Epoch {n + 1}\n{row.format(*CURVES[n])}\n" for n in STEPS)
    epochs = [n + 1 for n in STEPS]
    assert steps_of(read_log(tmp_path, text)) == {"column 1": epochs, "column 2": epochs}
