"""Texts that a person gives which print values again: lists that grow, and a history at the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of

EPOCHS = [*range(1, 8)]
LOSSES = [3 - epoch / 8 for epoch in EPOCHS]
RECORDS = [{"loss": loss, "acc": loss / 4} for loss in LOSSES]


def values(text: str, tmp_path: Path, name: str = "train.log") -> dict[str, dict[int, float]]:
    run = read_log(tmp_path, text, name)
    assert run.attempts == 1
    return {
        key.metric: dict(zip(series.step.tolist(), series.value.tolist(), strict=True))
        for key, series in run.data.series.items()
    }


AT_EPOCHS = dict(zip(EPOCHS, LOSSES, strict=True))
COUNTED = dict(enumerate(LOSSES))


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("Epoch {n} losses: {list}", "losses"),
        ("Epoch {n}/7 - train_loss = {list}", "train_loss"),
        ("epoch {n}\n{list}", "loss"),
    ],
)
def test_what_is_new_in_a_list_is_of_its_epoch(line: str, name: str, tmp_path: Path) -> None:
    text = "".join(line.format(n=n, list=LOSSES[:n]) + "\n" for n in EPOCHS)
    assert values(text, tmp_path, "loss.log") == {name: AT_EPOCHS}


def test_lists_that_grow_without_an_epoch_are_counted(tmp_path: Path) -> None:
    text = "".join(f"{{'loss': {LOSSES[:n]}, 'val_loss': {LOSSES[:n]}}}\n" for n in EPOCHS)
    assert values(text, tmp_path) == {"loss": COUNTED, "val_loss": COUNTED}


def test_lists_of_several_losses_do_not_grow(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n} losses: {[loss, 2 * loss]}\n" for n, loss in AT_EPOCHS.items())
    doubled = {n: 2 * loss for n, loss in AT_EPOCHS.items()}
    assert values(text, tmp_path) == {"losses": AT_EPOCHS, "losses 2": doubled}


@pytest.mark.parametrize(
    "history",
    [
        str(RECORDS),
        f"history = {RECORDS}",
        str(dict(enumerate(RECORDS))),
        f"History: {{'loss': {LOSSES}, 'acc': {[loss / 4 for loss in LOSSES]}}}",
    ],
    ids=["list", "named list", "object with counts", "object of lists"],
)
@pytest.mark.parametrize("above", ["model built\nstarting\n", "Epoch 1/7\nEpoch 2/7\n"])
def test_a_history_at_the_end_is_read(history: str, above: str, tmp_path: Path) -> None:
    quarters = {n: loss / 4 for n, loss in COUNTED.items()}
    assert values(f"{above}{history}\ndone\n", tmp_path) == {"loss": COUNTED, "acc": quarters}


def test_a_history_below_its_epochs_is_not_read_again(tmp_path: Path) -> None:
    lines = "".join(f"Epoch {n}/7 loss: {loss} acc: {loss / 4}\n" for n, loss in AT_EPOCHS.items())
    assert steps_of(read_log(tmp_path, f"{lines}{RECORDS}\n", "train.log")) == {"loss": EPOCHS, "acc": EPOCHS}


@pytest.mark.parametrize("before", ["", "epoch {n} "])
def test_objects_of_python_have_the_step_of_their_line_or_their_place(before: str, tmp_path: Path) -> None:
    text = "".join(
        before.format(n=10 * n) + str({"train": {"loss": loss}, "val": {"loss": loss}}) + "\n"
        for n, loss in AT_EPOCHS.items()
    )
    steps = [10 * n for n in EPOCHS] if before else [*range(7)]
    assert steps_of(read_log(tmp_path, text, "train.log")) == {"train/loss": steps, "val/loss": steps}
