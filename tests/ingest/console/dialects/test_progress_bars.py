"""Progress bars: what is before, behind and around them, and how often the same values are shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from holter.types import SeriesKey
from tests.support.log_runs import assert_steps, read_log, steps_of
from tests.support.progress_bars import bar

N = range(1, 4)


def states(description: str, behind: str = "", *, total: int = 60) -> str:
    """Three states of the bar of an epoch; `{at}` in the texts is the count."""
    counts = [total // 3, 2 * total // 3, total]
    return "".join(bar(at, total, description.format(at=at), behind.format(at=at)) for at in counts)


def record(epoch: float, loss: float) -> str:
    return f"{{'loss': {loss}, 'grad_norm': 1.5, 'learning_rate': 1e-05, 'epoch': {epoch}}}\n"


def evaluation(epoch: int) -> str:
    return f"{{'eval_loss': 1.{epoch}, 'eval_runtime': 2.5, 'epoch': {epoch}.0}}\n"


def shown_in_a_trainer(epoch: int, *, is_drawn: bool = True, is_first: bool = True) -> str:
    """An epoch of Lightning, whose loss of the validation is the same in all of them."""
    carried = "" if is_first else ", val_loss=0.500"
    end = bar(60, 60, f"Epoch {epoch}", f"v_num=1, train_loss={epoch}.4, val_loss=0.500")
    if not is_drawn:
        return f"{end}\n"
    begin = states(f"Epoch {epoch}", f"v_num=1, train_loss={epoch}.{{at}}{carried}")
    return f"{begin}\n{states('Validation DataLoader 0', total=9)}\n{end}\n"


def buffered(every: int, *, per_epoch: int = 120, epochs: int = 6) -> str:
    """A Trainer whose records are written an epoch later than its bars, which no buffer holds back."""
    text, records, before = "", "", ""
    for step in range(1, per_epoch * epochs + 1):
        text += bar(step, per_epoch * epochs)
        if step % every == 0:
            records += record(round(step / per_epoch, 2), 1 + step / 1000)
        if step % per_epoch == 0:
            text += before + "".join(bar(at, 9) for at in (0, 5, 9)) + "\n"
            before, records = records + evaluation(step // per_epoch), ""
    return text + before


CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "a value of an epoch that is the same in the next one": (
        "".join(shown_in_a_trainer(n, is_drawn=False) for n in range(3)),
        {"train_loss": [60, 120, 180], "val_loss": [60, 120, 180]},
    ),
    "the same where it is shown during the next epoch": (
        "".join(shown_in_a_trainer(n, is_first=n == 0) for n in range(3)),
        {"train_loss": [*range(20, 200, 20)], "val_loss": [60, 120, 180]},
    ),
    "phases and values in the description": (
        "".join(
            states(f"Epoch: {n}. Train.      Train_loss: {n}.{{at}} | Train_acc: 0.{{at}}.")
            + states(f"Epoch: {n}. Validation. Val_loss: {n}.5 | Val_acc: 0.4.", total=9)
            + "\n"
            for n in N
        ),
        {
            **{name: [*range(20, 200, 20)] for name in ("Train_loss", "Train_acc")},
            **{name: [60, 120, 180] for name in ("Val_loss", "Val_acc")},
        },
    ),
    "a phase behind the epoch": (
        "".join(
            states(f"Epoch {n} Training", f"loss={n}.{{at}}")
            + states(f"Epoch {n} Validation", f"loss={n}.{{at}}", total=9)
            + "\n"
            for n in N
        ),
        {"loss": [*range(20, 200, 20)], "validation/loss": [60, 120, 180]},
    ),
    "names that say that a bar is of the evaluation": (
        "".join(
            states(f"Epoch {n} train_loss: {n}.{{at}}") + states(f"Epoch {n} val_loss: {n}.5", total=9) + "\n"
            for n in N
        ),
        {"train_loss": [*range(20, 200, 20)], "val_loss": [60, 120, 180]},
    ),
    **{
        f"bars of rich, {words}": (
            "".join(
                f"{description.format(n)} {'━' * (at // 3):20} {at}/60 {times} loss: {n}.{at} acc: 0.5\n"
                for n in N
                for at in (20, 40, 60)
            ),
            {name: [*range(20, 200, 20)] for name in ("loss", "acc")},
        )
        for words, description, times in (
            ("with epochs from one", "Epoch {0}/3", "0:00:02 0:00:01"),
            ("without epochs", "Training", "0:00:02 -:--:--"),
            ("with their rate", "Epoch {0}/3", "0:00:02 • 0:00:01 • 12.30it/s"),
        )
    },
    "an epoch and its total in brackets": (
        "".join(states(f"[{n}/3] Loss_D: {n}.{{at}} Loss_G: 0.{{at}}") + "\n" for n in N),
        {name: [*range(20, 200, 20)] for name in ("Loss_D", "Loss_G")},
    ),
    "nothing but a number": (
        "".join(states(f"{n}.{{at}}") + "\n" for n in N),
        {"loss": [*range(20, 200, 20)]},
    ),
    "nothing but a number behind it": (
        "".join(states(f"Epoch {n}", f"{n}.{{at}}") + "\n" for n in N),
        {"loss": [*range(20, 200, 20)]},
    ),
    "a dictionary behind it": (
        "".join(states(f"Epoch {n}", f"{{{{'loss': '{n}.{{at}}', 'acc': '0.{{at}}'}}}}") + "\n" for n in N),
        {name: [*range(20, 200, 20)] for name in ("loss", "acc")},
    ),
    "a bar of epochs that names them": (
        "".join(bar(at, 9, f"Epoch {n} loss: 0.{n}, acc: 0.8{n}") for n in N for at in (n - 1, n)),
        {name: [1, 2, 3] for name in ("loss", "acc")},
    ),
    "a bar of epochs around those of batches that does not name what it counts": (
        bar(0, 9)
        + "".join(
            states("", f"loss={n}.{{at}}")
            + states("", f"loss={n}.{{at}}", total=6)
            + bar(n, 9, behind=f"loss=0.{n}, val_loss=0.5{n}")
            for n in N
        ),
        {
            "loss": [*range(20, 200, 20)],
            **{name: [60, 120, 180] for name in ("eval/loss", "epoch/loss", "val_loss")},
        },
    ),
    "the same where it is drawn before it is counted": (
        "".join(
            states("", f"loss={n}.{{at}}")
            + "".join(bar(at, 9, behind=f"loss=0.{n}, val_loss=0.5{n}") for at in (n - 1, n))
            for n in N
        ),
        {"loss": [*range(20, 200, 20)], **{name: [60, 120, 180] for name in ("epoch/loss", "val_loss")}},
    ),
    "a value that is measured again with the same result, next to another one": (
        "".join(bar(n, 9, behind=f"epoch={n}, test_loss=0.{n // 2}, test_acc=0.8{n}, loss=0.{n}") for n in N),
        {name: [1, 2, 3] for name in ("test_loss", "test_acc", "loss")},
    ),
    "a bar that counts through all epochs": (
        "".join(bar(1000 * n, 9000, f"Ep {10 * n} | len {n} | return {n}.5") + "\n" for n in N),
        {name: [1000, 2000, 3000] for name in ("len", "return")},
    ),
    "a bar that is drawn before it is counted": (
        "".join(bar(at, 9, behind=f"loss=0.{n}, val_loss=0.8{n}") for n in N for at in (n - 1, n)),
        {name: [1, 2, 3] for name in ("loss", "val_loss")},
    ),
    "epochs in parts": (
        "".join(bar(n, 60, f"Epoch {n / 2:.2f}, Loss: 2.{n}, LR: 0.01") for n in N),
        {name: [1, 2, 3] for name in ("Loss", "LR")},
    ),
    "lines that are glued to bars with values": (
        "".join(states(f"Epoch {n}", f"loss={n}.{{at}}") + f"Epoch {n}: val_loss 0.{n}\n" for n in N),
        {"loss": [*range(20, 200, 20)], "val_loss": [60, 120, 180]},
    ),
    "lines that are glued to bars without any": (
        "".join(bar(n, 3, unit="img") + f"Epoch {n}/3, loss 0.{n}\n" for n in N),
        {"loss": [1, 2, 3]},
    ),
    "the steps of lines between the states of bars": (
        "".join(
            bar(0, 60, f"Epoch {n}")
            + "".join(bar(at, 60, f"Epoch {n}") + f"step {at} loss {n}.{at}\n" for at in (20, 40, 60))
            for n in N
        ),
        {"loss": [*range(20, 200, 20)]},
    ),
    "a bar of signs with the values of a batch": (
        "".join(
            "".join(f"\r[Training] {at}/60 [===>...] - ETA: 9s  loss: {n}.{at} " for at in (20, 40))
            + f"\r[Training] 60/60 [======] 98.2ms/step  loss: {n}.60 \n"
            + f"\r[Evaluating] 9/9 [======] 9.5ms/stepEpoch: {n},  Val Loss: 0.{n},  Val Acc: 0.8{n}\n"
            for n in N
        ),
        {"loss": [*range(20, 200, 20)], **{name: [60, 120, 180] for name in ("Val Loss", "Val Acc")}},
    ),
    "callbacks of Keras that name the epoch as its heading does": (
        "".join(
            f"Epoch {n}/3\n60/60 - 4s - loss: 0.{n} - val_loss: 0.5{n}\n"
            f"\nEpoch {n:05d}: val_loss improved from 0.99{n} to 0.5{n}, saving model to best.h5\n"
            f"[!] epoch = {n}, val_auc = 0.8{n}\nval_f1: 0.7{n}\n"
            for n in N
        ),
        {name: [0, 1, 2] for name in ("loss", "val_loss", "best/val_loss", "val_auc", "val_f1")},
    ),
    "bars like those of Keras below the headings of another program": (
        "".join(
            f"epoch {n}/3\n60/60 [=================] - 4s 9ms/step - loss: 0.{n}\nval loss: 0.5{n}\n"
            for n in N
        ),
        {name: [1, 2, 3] for name in ("loss", "val loss")},
    ),
    "a Trainer whose bars are not drawn": (
        "\r  0% 0/500 [00:00<?, ?it/s]"
        + "".join(
            record(n / 10, n / 4) + f"\r {10 * n}% {50 * n}/500 [00:02<00:04,  9.70it/s]\n"
            for n in range(1, 6)
        ),
        {f"train/{name}": [50, 100, 150, 200, 250] for name in ("loss", "grad_norm", "learning_rate")}
        | {"epoch": [50, 100, 150, 200, 250]},
    ),
    "a Trainer with a bar at its end alone": (
        "".join(record(n / 2, n / 4) for n in range(1, 7))
        + bar(600, 600)
        + "\n"
        + "{'eval_loss': 1.5, 'eval_runtime': 2.5, 'epoch': 3.0}\n",
        {f"train/{name}": [*range(1, 7)] for name in ("loss", "grad_norm", "learning_rate")}
        | {"epoch": [*range(1, 7)], "eval/loss": [6], "eval/runtime": [6]},
    ),
    "a Trainer with bars of its evaluations alone": (
        "".join(
            "".join(record(n - 1 + part / 4, part / 8) for part in range(1, 5))
            + "".join(bar(at, 9) for at in (0, 5, 9))
            + "\n"
            + evaluation(n)
            for n in N
        ),
        {f"train/{name}": [*range(1, 13)] for name in ("loss", "grad_norm", "learning_rate")}
        | {"epoch": [*range(1, 13)], "eval/loss": [4, 8, 12], "eval/runtime": [4, 8, 12]},
    ),
    "a Trainer that evaluates before it trains": (
        bar(9, 9)
        + "\n{'eval_loss': 1.5, 'eval_runtime': 2.5}\n"
        + "".join(
            "".join(record(n - 1 + part / 4, part / 8) for part in range(1, 5))
            + bar(40 * n, 120)
            + "".join(bar(at, 9) for at in (0, 5, 9))
            + "\n"
            + evaluation(n)
            for n in N
        ),
        {f"train/{name}": [*range(10, 130, 10)] for name in ("loss", "grad_norm", "learning_rate")}
        | {"epoch": [*range(10, 130, 10)], "eval/loss": [0, 40, 80, 120], "eval/runtime": [0, 40, 80, 120]},
    ),
    **{
        f"a Trainer whose records come an epoch late, every {every} steps": (
            buffered(every),
            {f"train/{name}": [*range(every, 721, every)] for name in ("loss", "grad_norm", "learning_rate")}
            | {f"eval/{name}": [*range(120, 721, 120)] for name in ("loss", "runtime")}
            | {"epoch": sorted({*range(every, 721, every), *range(120, 721, 120)})},
        )
        for every in (50, 200)
    },
    "a Trainer without bars that evaluates more often than it logs": (
        "".join(evaluation(n) + (record(n + 0.5, 2.5) if n in (2, 4) else "") for n in range(1, 7)),
        {f"train/{name}": [2, 4] for name in ("loss", "grad_norm", "learning_rate")}
        | {f"eval/{name}": [0, 1, 2, 3, 4, 5] for name in ("loss", "runtime")}
        | {"epoch": [0, 1, 2, 3, 4, 5]},
    ),
    "dictionaries behind the bars of epochs": (
        "".join(states("") + f"{{'loss': 0.{n}, 'val_loss': 0.5{n}, 'epoch': {n}}}\n" for n in N),
        {name: [60, 120, 180] for name in ("train/loss", "train/val_loss", "epoch")},
    ),
} | {
    f"an epoch from {first} named above its bars and above its results": (
        "".join(
            f"Epoch {epoch}/9\n{states('Training', 'loss={at}.5')}\n"
            f"{states('Validation', 'loss=2.5', total=6)}\n\n  Gradient norm: 3.{epoch}\n"
            f"Epoch {epoch} Results:\n  Train Loss: {epoch}.5 | F1: 0.5{epoch}\n\n"
            for epoch in range(first, first + 3)
        ),
        {"loss": [*range(20, 181, 20)]}
        | {name: [60, 120, 180] for name in ("validation/loss", "Gradient norm", "Train Loss", "F1")},
    )
    for first in (0, 1, 4)
}


@pytest.mark.parametrize("case", CASES)
def test_bars_are_read_at_their_steps(tmp_path: Path, case: str) -> None:
    assert_steps(tmp_path, *CASES[case])


OPENING = """\
Using device: cuda, seed: {0}
Loaded 1{0}00 samples from the data set
Model with 12.{0}M parameters is ready
Writing checkpoints to the output folder
"""
TWICE = (
    "phases and values in the description",
    "a value of an epoch that is the same in the next one",
    "a bar of epochs that names them",
    "callbacks of Keras that name the epoch as its heading does",
    "a Trainer with bars of its evaluations alone",
)


@pytest.mark.parametrize("case", TWICE)
def test_another_launch_begins_anew(tmp_path: Path, case: str) -> None:
    text, expected = CASES[case]
    run = read_log(tmp_path, "".join(OPENING.format(n) + text for n in (1, 2)))
    assert run.attempts == 2
    assert steps_of(run) == {name: steps * 2 for name, steps in expected.items()}


def test_a_bar_with_a_position_per_epoch_has_new_values_at_each(tmp_path: Path) -> None:
    text = "".join(
        f"\r {n}%|#    | {n}/9 [00:09<1:15,  4.60s/it, epoch={n}, test_accuracy=9{n // 3}.5%, loss=1.{n}]"
        for n in range(1, 10)
    )
    steps = [*range(1, 10)]
    assert steps_of(read_log(tmp_path, text + "\n")) == {"test_accuracy": steps, "loss": steps}


def headed(first: int, last: int, *, heading: str = "Epoch [{}/9]") -> str:
    """Epochs whose heading is above their bar, and their mean below it."""
    return "".join(
        f"{heading.format(n)}\n{states('', 'loss={at}.5')}\nTrain Loss: {n}.5\n"
        for n in range(first, last + 1)
    )


@pytest.mark.parametrize("heading", ["Epoch [{}/9]", "Epoch {}/9"])
@pytest.mark.parametrize("between", ["", "Traceback (most recent call last):\nKeyboardInterrupt\n", "half"])
def test_headings_of_epochs_say_that_their_bars_begin_anew(
    tmp_path: Path, heading: str, between: str
) -> None:
    if between == "half":
        between = heading.format(4) + "\n" + bar(20, 60, "", "loss=20.5") + "Killed\n"
    run = read_log(tmp_path, headed(1, 3, heading=heading) + between + headed(1, 2, heading=heading))
    assert run.attempts == 2
    assert steps_of(run)["Train Loss"] == [60, 120, 180, 60, 120]
    assert steps_of(run)["loss"][-6:] == [*range(20, 121, 20)]


def test_a_launch_goes_on_at_the_epoch_that_was_broken_off(tmp_path: Path) -> None:
    opening = "Using device: cuda\nLoaded 900 samples\n"
    crash = "Traceback (most recent call last):\nKeyboardInterrupt\n"
    run = read_log(tmp_path, opening + headed(1, 3) + crash + opening + headed(3, 5))
    assert run.attempts == 2
    assert steps_of(run)["Train Loss"] == [60, 120, 180, 180, 240, 300]


@pytest.mark.parametrize("name", ["", "===== Fold {} =====\n"])
def test_bars_of_the_next_training_of_a_launch_begin_anew(tmp_path: Path, name: str) -> None:
    opening = "Using device: cuda\nLoaded 900 samples\n"
    run = read_log(tmp_path, opening + "".join(name.format(n) + headed(1, 3) for n in (1, 2)))
    assert run.attempts == 1
    assert [len(s.step) for key, s in run.data.series.items() if key.metric == "Train Loss"] == [3, 3]


def test_bars_go_on_through_rounds(tmp_path: Path) -> None:
    run = read_log(tmp_path, "".join(f"Round {n}\n{headed(1, 2)}" for n in (1, 2)))
    assert steps_of(run)["Train Loss"] == [60, 120, 180, 240]


def test_a_bar_that_loses_its_total_is_of_the_same_launch(tmp_path: Path) -> None:
    text = "".join(
        f"{bar(500, 1000, f'Epoch #{n}', f'env_step={1000 * n - 500}, loss=1.5{n}')}"
        f"\rEpoch #{n}: 1001it [00:04, 250.00it/s, env_step={1000 * n}, loss=1.2{n}]\n"
        f"Epoch #{n}: test_reward: 8{n}.5, best_reward: 82.5 in #1\n"
        for n in N
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    assert steps_of(run)["loss"] == [1000, 2000, 3000]


@pytest.mark.parametrize("is_evaluated", [True, False])
def test_the_mean_of_an_epoch_is_that_of_the_last_state_of_its_bar(
    tmp_path: Path, *, is_evaluated: bool
) -> None:
    text, carried = "", ""
    for epoch in range(4):
        text += states(f"Epoch {epoch}", f"v_num=3{carried}", total=60)
        carried = f", train_loss=1.{epoch}, val_loss=2.{epoch}" if is_evaluated else f", train_loss=1.{epoch}"
        text += "\n" + states("Validation DataLoader 0", total=9) + "\n" if is_evaluated else ""
        text += bar(60, 60, f"Epoch {epoch}", f"v_num=3{carried}") + "\n"
    run = read_log(tmp_path, text)
    steps = [60, 120, 180, 240]
    assert steps_of(run) == {name: steps for name in ("train_loss", "val_loss")[: 1 + is_evaluated]}
    (losses,) = (points for key, points in run.data.series.items() if key.metric == "train_loss")
    assert losses.value.tolist() == [1.0, 1.1, 1.2, 1.3]


def epochs(first: int, last: int, of: str, loss: float) -> str:
    """Bars that state no epoch, each with the line of its epoch below."""
    return "".join(
        f"{states('Training', 'loss=0.5{at}')}\nEpoch {n}{of} train_loss: {loss / n:.3f}\n"
        for n in range(first, last + 1)
    )


def test_a_bar_behind_the_last_of_all_epochs_is_of_another_launch(tmp_path: Path) -> None:
    run = read_log(tmp_path, epochs(1, 3, "/3", 2.0) + epochs(1, 3, "/3", 2.5))
    assert run.attempts == 2
    assert steps_of(run) == {"loss": 2 * [*range(20, 200, 20)], "train_loss": 2 * [60, 120, 180]}


@pytest.mark.parametrize(("of", "first"), [("/9", 1), ("", 1), ("/9", 3)])
def test_an_epoch_that_was_over_shows_another_launch_of_bars(tmp_path: Path, of: str, first: int) -> None:
    run = read_log(tmp_path, epochs(1, 4, of, 2.0) + epochs(first, 6, of, 2.5))
    assert run.attempts == 2
    # nothing said so while the first of its epochs was trained
    assert steps_of(run)["train_loss"] == [60, 120, 180, 240, 300, *range(60 * (first + 1), 361, 60)]


def test_epochs_of_other_trainings_and_of_slower_processes_begin_no_launch(tmp_path: Path) -> None:
    folds = "".join(f"Fold {fold}\n{epochs(1, 3, '/3', 2.0 + fold)}" for fold in (1, 2))
    run = read_log(tmp_path, folds)
    assert run.attempts == 1
    assert steps_of(run)["train_loss/fold=2"] == [60, 120, 180]
    late = epochs(1, 3, "/9", 2.0) + bar(20, 60, "Training", "loss=0.5") + "\nEpoch 2/9 train_loss: 1.1\n"
    assert read_log(tmp_path, late + bar(60, 60, "Training", "loss=0.5") + "\n").attempts == 1


def test_a_bar_of_the_shape_of_keras_may_have_names_of_words(tmp_path: Path) -> None:
    text = "".join(
        f"Epoch {n} out of 15\n\r   1/703 [>....] - train loss: 20.4"
        f"\r 703/703 [=====] - 121s - train loss: {9 - n}.5\n"
        f"acc {50 + n}.25 - f1 {40 + n}.75\n- new best score!\n"
        for n in range(1, 5)
    )
    assert_steps(tmp_path, text, {name: [1, 2, 3, 4] for name in ("train loss", "acc", "f1")})


@pytest.mark.parametrize("end", ["\r", "\n"])
def test_lightning_draws_the_next_batch_with_the_values_of_the_last_one_first(
    tmp_path: Path, end: str
) -> None:
    def drawn(epoch: int, batch: int, loss: int) -> str:
        filled = "█" * batch + " " * (9 - batch)
        position = f"Epoch {epoch}: {100 * batch // 9:3}%|{filled}| {batch}/9 [00:0{batch}<00:01,  1.00it/s"
        return f"{position}, v_num=0, train_loss={loss}.000]{end}"

    text, last = "", 0
    for epoch in range(3):
        for batch in range(1, 10):
            loss = 100 * epoch + batch
            text += drawn(epoch, batch, last) * 2 + drawn(epoch, batch, loss)
            last = loss
        text += drawn(epoch, 0, last)
    run = read_log(tmp_path, text)
    ((key, losses),) = run.data.series.items()
    assert str(key) == "train_loss"
    assert losses.step.tolist() == [*range(1, 28)]
    assert losses.value.tolist() == [100 * epoch + batch for epoch in range(3) for batch in range(1, 10)]


def test_a_launch_that_resumes_counts_its_epochs_as_the_one_before(tmp_path: Path) -> None:
    def bars(epoch: int) -> str:
        shown = (
            f"  Epoch {epoch:03} [Train]:  {5 * at}%|##   | {at}/20 [00:03<00:02,  3.5s/it"
            for at in range(1, 21)
        )
        drawn = (f"{position}, loss=1.{at}{epoch}]\r" for at, position in enumerate(shown))
        begin = f"  Epoch {epoch:03} [Train]:   0%|     | 0/20 [00:00<?, ?it/s]\r"
        return (
            begin + "".join(drawn) + f"\n{time} Epoch [{epoch:03}/30] TrainLoss=0.{epoch} ValLoss=1.{epoch}\n"
        )

    time = "2026-05-08 22:00:00 | INFO |"
    head = f"{time}   Epochs       : 30\n{time}   Batch size   : 32\n"
    run = read_log(tmp_path, head + "".join(map(bars, range(1, 7))) + head + "".join(map(bars, range(4, 9))))
    assert run.attempts == 2
    assert steps_of(run)["ValLoss"] == [*range(20, 121, 20), *range(80, 161, 20)]


def scores(last: int) -> str:
    """What a callback prints behind each epoch of 60 steps."""
    return "".join(
        f"Epoch {n}, global step {60 * n + 60}: 'val/f1' reached 0.{n + 20}00 (best 0.{n + 20}00)\n"
        for n in range(last)
    )


def test_a_bar_that_is_drawn_above_all_other_lines_is_the_last_one(tmp_path: Path) -> None:
    shown = bar(12, 60, "Epoch 4", "v_num=1a, train/loss=1.250, val/auc=0.955")
    run = read_log(tmp_path, "Reading the images\n" + shown + "\n" + scores(4))
    assert run.attempts == 1
    assert steps_of(run)["train/loss"] == [252]
    assert steps_of(run)["val/f1"] == [60, 120, 180, 240]


def test_a_bar_above_lines_of_later_steps_is_apart(tmp_path: Path) -> None:
    shown = bar(60, 60, "Epoch 1", "v_num=1a, train/loss=1.250, val/f1=0.210")
    run = read_log(tmp_path, "Reading the images\n" + shown + "\n" + scores(4))
    assert run.attempts == 1
    of_bar = {key.metric: series.step.tolist() for key, series in run.data.series.items() if key.labels}
    assert of_bar == {"train/loss": [120], "val/f1": [120]}
    assert run.data.series[SeriesKey("val/f1")].step.tolist() == [60, 120, 180, 240]


def test_bars_that_begin_in_a_later_epoch_go_on(tmp_path: Path) -> None:
    text = "".join(
        bar(at, 60, f"Epoch {epoch}", f"v_num=1a, train/loss={epoch}.{at}") + "\n"
        for epoch in (3, 4)
        for at in (20, 40, 60)
    )
    run = read_log(tmp_path, "Reading the images\n" + text)
    assert run.attempts == 1
    assert steps_of(run)["train/loss"] == [*range(200, 310, 20)]


def test_a_bar_with_nothing_but_unknown_names_and_exponents_before_it(tmp_path: Path) -> None:
    bars = "\r".join(
        f"[Solve] all:{n}.75e-01 inner:1.{n}e-03/2.{n}e-03/3.{n}e-04 rim:4.{n}e-03/5.{n}e-02:"
        f"  {10 * n}%|██   | "
        f"{n}/10 [00:0{n}<00:09,  1.50it/s]"
        for n in range(1, 10)
    )
    run = read_log(tmp_path, f"--- Phase 1: Solve ---\n  0%|     | 0/10 [00:00<?, ?it/s]\r{bars}\n")
    names = ("all", "inner", "inner 2", "inner 3", "rim", "rim 2")
    assert steps_of(run) == {name: [*range(1, 10)] for name in names}
    values = {key.metric: series.value.tolist() for key, series in run.data.series.items()}
    assert values["rim 2"] == [float(f"5.{n}e-02") for n in range(1, 10)]


@pytest.mark.parametrize("unit", ["it", "step"])
def test_a_bar_beyond_its_total_is_at_its_own_step(tmp_path: Path, unit: str) -> None:
    bars = "\n".join(bar(at, 200, "Tuning", f"loss=0.{at}, lr=0.01", unit=unit) for at in range(20, 201, 20))
    beyond = f"\nTuning: 203{unit} [00:09,  1.70{unit}/s, loss=0.1, lr=0.001]\n"
    steps = [*range(20, 201, 20), 203]
    assert steps_of(read_log(tmp_path, bars + beyond)) == {"loss": steps, "lr": steps}
