"""Steps that begin anew with each epoch or are not stated: they are counted through the training."""

from __future__ import annotations

from pathlib import Path

import pytest

from holter.ingest.offline.explain import explain_files
from holter.ingest.offline.read_run import read_run
from tests.support.log_runs import assert_steps, read_log, steps_of

N = range(1, 5)
OPENING = (
    "Namespace(lr=0.1, batch_size=64)\nLoading data from disk ...\nBuilding the model\nUsing device cuda\n"
)
KERAS = "100/100 [==============================] - 2s 12ms/step - loss: 1.2 - val_loss: 1.3\n"
BATCHES = range(1, 7)

CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "epochs that are said to be over behind their steps": (
        "Loading the data\nBuilding the model\nStart training\n"
        + "".join(
            "".join(f"iter {k}/100: loss=2.{e}{k}\n" for k in (25, 50, 75)) + f"epoch {e} finished\n"
            for e in range(4)
        ),
        {"loss": [100 * e + k for e in range(4) for k in (25, 50, 75)]},
    ),
    "iterations of stages, in brackets with a colon, of which the second has more": (
        "Running the program\nsize (4, 4)\n"
        + "".join(f"[0 : {k:6}] loss G : 2.{k} loss D : 1.5\n" for k in range(100, 500, 100))
        + "size (8, 8)\nChanging alpha to 1.000\n"
        + "".join(f"[1 : {k:6}] loss G : 3.{k} loss D : 2.5\n" for k in range(100, 900, 100))
        + "size (16, 16)\nChanging alpha to 1.000\n"
        + "".join(f"[2 : {k:6}] loss G : 4.{k} loss D : 3.5\n" for k in range(100, 300, 100)),
        {name: [*range(100, 1500, 100)] for name in ("loss G", "loss D", "epoch")},
    ),
    "parts of an epoch behind steps": (
        "".join(
            f"Step {n}0/60, Loss: 2.{n}\n"
            + (f"Epoch {n / 4:.2f} done - Train Loss: 3.{n}\n" if n % 2 else "")
            for n in range(1, 7)
        ),
        {"Loss": [10, 20, 30, 40, 50, 60], "Train Loss": [10, 30, 50], "epoch": [10, 30, 50]},
    ),
    "epochs within announced steps": (
        "".join(
            f"D-Step {d}\n" + "".join(f"Epoch {e}, train loss: 0.{d}{e}\n" for e in range(3))
            for d in range(6)
        ),
        {"train loss": [*range(18)]},
    ),
    "a share behind the total of samples": (
        "".join(
            f"Epoch: {n}\n"
            + "".join(f"[{at:5d}/60000 ({at // 600:3d}%)]  Loss: 0.{n}303\n" for at in range(0, 60000, 20000))
            + f"Average test loss: 0.{n}  Accuracy: 9{n}00/10000 (9{n}.00%)\n"
            for n in range(6)
        ),
        {
            "Loss": [*range(0, 360000, 20000)],
            **{name: [*range(59999, 360000, 60000)] for name in ("Average test loss", "test Accuracy")},
        },
    ),
    "batches behind the last line of an epoch, and the line of the epoch": (
        "".join(
            f"Epoch {n}/4, Batch 8/18, Train Loss: 0.{n}5\nEpoch {n}/4, Batch 16/18, Train Loss: 0.{n}\n"
            f"Epoch {n}/4, Val Loss: 0.{n}2, Val F1: 0.8{n}\n"
            for n in range(1, 5)
        ),
        {
            **{name: [8, 16, 26, 34, 44, 52, 62, 70] for name in ("Train Loss", "Epoch")},
            **{name: [18, 36, 54, 72] for name in ("Val Loss", "Val F1")},
        },
    ),
    "the same of evaluations that count nothing below an announced epoch": (
        "".join(
            f"Epoch {n}/9\n"
            + "".join(f"Epoch: [{n}][{at}/118] Loss 1.{n}\n" for at in (0, 50, 100))
            + f"Start to evaluate...\n{{'ACC': 0.{n}1, 'NMI': 0.{n}2}}\nBest acc: 0.{n}1\n"
            for n in range(4)
        ),
        {
            **{name: [118 * n + at for n in range(4) for at in (0, 50, 100)] for name in ("Loss", "Epoch")},
            **{f"evaluate/{name}": [117, 235, 353, 471] for name in ("ACC", "NMI", "Best acc")},
        },
    ),
    "the same of an evaluation within the epoch": (
        "".join(
            f"Epoch {n}/3, Batch {at}/18, Train Loss: 0.{n}{at}\n"
            + (f"Epoch {n}/3, Val Loss: 0.{n}{at}\n" if at == 8 else "")
            for n in range(1, 4)
            for at in (4, 8, 12, 16)
        ),
        {
            **{name: [4, 8, 12, 16, 22, 26, 30, 34, 40, 44, 48, 52] for name in ("Train Loss", "Epoch")},
            "Val Loss": [8, 26, 44],
        },
    ),
    "an epoch that goes on through announced steps": (
        "".join(f"Step {n}00\nEpoch 0, loss: 0.{n}\n" for n in range(1, 7)),
        {"loss": [100, 200, 300, 400, 500, 600]},
    ),
    "a program that trains an epoch at a time": (
        "".join(f"Iteration {n}\nEpoch 1/1\n{KERAS}" for n in N),
        {name: [0, 1, 2, 3] for name in ("loss", "val_loss")},
    ),
    "the lines of epochs behind steps that begin anew": (
        "".join(
            "".join(f"Iter: {step:03d}, Train Loss: 0.8{n}, Train MAPE: 0.0123\n" for step in (0, 50, 100))
            + f"Epoch: 00{n}, Inference Time: 1.2 s\nEpoch: 00{n}, Train Loss: 3.1{n}, Valid Loss: 3.0{n}\n"
            for n in (1, 2)
        ),
        {
            "Train Loss": [0, 50, 100, 101, 151, 201],
            "Train MAPE": [0, 50, 100, 101, 151, 201],
            "epoch/Train Loss": [100, 201],
            "Valid Loss": [100, 201],
        },
    ),
    "steps that begin anew with each episode": (
        "".join(f"Episode {n}\n" + "".join(f"step {step} reward 0.8{n}\n" for step in (0, 10)) for n in N),
        {"reward": [0, 10, 11, 21, 22, 32, 33, 43]},
    ),
    "several lines of an epoch that name it alone, where the program opens once": (
        OPENING + "".join(f"Epoch {n} loss {n}.{line}\n" for n in N for line in range(10)),
        {"loss": [*range(1, 41)]},
    ),
    "epochs of other lengths, each step of which is printed": (
        "".join(
            f"Ep: {epoch}, steps: {step}, D loss: 0.2\n"
            for epoch, steps in enumerate((3, 3, 6, 3, 3))
            for step in range(1, steps + 1)
        ),
        {"Ep": [*range(1, 19)], "D loss": [*range(1, 19)]},
    ),
    "epochs of which other batches are printed last": (
        "".join(f"(epoch: {n}, iters: {1000 - 50 * n}, time: 0.2) G_GAN: 0.8 D: 0.{n}\n" for n in N),
        {name: [950, 1850, 2750, 3650] for name in ("epoch", "time", "G_GAN", "D")},
    ),
    "batches from 0 without a total": (
        "".join(
            "".join(f"Train Batch {batch:04} || Loss: 0.4{batch}\n" for batch in range(3))
            + f"Epoch {n:03} || Loss: 0.5 | Test Dice: 0.{n}\n"
            for n in N
        ),
        {"Loss": [*range(12)], "epoch/Loss": [2, 5, 8, 11], "Test Dice": [2, 5, 8, 11]},
    ),
    "a log that begins in a later epoch": (
        "".join(f"Epoch: [{n}]  [{batch:2}/48]  loss: 0.3{n} (0.4)\n" for n in (2, 3) for batch in (0, 47)),
        {name: [96, 143, 144, 191] for name in ("Epoch", "loss")},
    ),
    "steps that begin anew with lines of epochs between": (
        "".join(
            f"    step   20/41  loss 0.5{n}\n    step   40/41  loss 0.4{n}\n"
            f"[Tuned] Epoch {n}/9 -- train: 0.5  val: 0.6  ppl: 1.9\n"
            for n in range(1, 4)
        ),
        {"loss": [20, 40, 61, 81, 102, 122], **{name: [40, 81, 122] for name in ("train", "val", "ppl")}},
    ),
    "batches above the heading that closes their epoch": (
        "".join(
            "".join(f"batch {b}: loss = 2.{n}{b}\n" for b in BATCHES) + f"======= Epoch {n} =======\n"
            for n in range(1, 6)
        ),
        {"loss": [*range(1, 31)]},
    ),
    "batches from 0 above the heading that closes their epoch": (
        "".join(
            "".join(f"batch {b}: loss = 2.{n}{b}\n" for b in range(6)) + f"======= Epoch {n} =======\n"
            for n in range(1, 6)
        ),
        {"loss": [*range(30)]},
    ),
    "batches that begin anew after their total": (
        "".join(f"batch {batch}/30 loss {n}.5\n" for n in range(1, 4) for batch in (10, 20, 30)),
        {"loss": [*range(10, 100, 10)]},
    ),
    "lines of epochs whose steps have no values of their own": (
        "".join(
            f"Epoch {n}/9\n"
            + "".join(f"Train Batch {batch}/3\n" for batch in (1, 2, 3))
            + f"Epoch [{n}/9] - loss: 1.{n}\n"
            for n in range(1, 4)
        ),
        {"loss": [3, 6, 9]},
    ),
    "one epoch of each announced step": (
        "".join(f"G-Step {n}\nEpoch 0, train loss: 1.{n}\neval loss: 3.{n}\n" for n in range(4)),
        {"train loss": [0, 1, 2, 3], "eval loss": [0, 1, 2, 3]},
    ),
    "means of batches behind a line of the first epoch": (
        "Epoch 1 loss 0.5\n"
        + "".join(
            "".join(f"Epoch {n} [{batch}/20] loss 0.{n}\n" for batch in (10, 20)) + f"Epoch {n} loss 0.5\n"
            for n in (2, 3)
        ),
        {"loss": [1, 10, 20, 30, 40], "Epoch": [10, 20, 30, 40], "epoch/loss": [20, 40]},
    ),
    "epochs behind their batches, which state the step of all": (
        "".join(
            "".join(
                f"INFO: [{n}/9], [{batch}/30], global_step: {30 * n - 30 + batch}, loss: 0.{n}, lr:0.1\n"
                for batch in (10, 20, 30)
            )
            + f"INFO: [{n}/9], train_loss: 1.{n}, lr: 0.1\n"
            for n in range(1, 4)
        ),
        {
            "loss": [*range(10, 100, 10)],
            "lr": [*range(10, 100, 10)],
            "train_loss": [30, 60, 90],
            "epoch/lr": [30, 60, 90],
        },
    ),
    "counts that begin anew with each epoch": (
        "".join(
            f"INFO:root:train epoch: {n}\n"
            + "".join(f"INFO:root:count: {count}, loss:2.5: \n" for count in (0, 50, 100))
            for n in (0, 1)
        ),
        {"loss": [0, 50, 100, 101, 151, 201]},
    ),
    "epochs behind the last batch": (
        "".join(f"Epoch: 0  Batch: {batch} Loss: 0.5\n" for batch in (0, 100))
        + "".join(f"====> Epoch: {n} Average training loss:    2.{n}\n" for n in (0, 1, 2)),
        {"Loss": [0, 100], "Epoch": [0, 100], "Average training loss": [100, 101, 102]},
    ),
    "losses of batches below the only heading of an epoch": (
        "".join(f"epoch {n}\n" + "".join(f"average loss: 1.{b}\n" for b in range(5)) for n in (1, 2)),
        {"average loss": [*range(1, 11)]},
    ),
    "parts of epochs": (
        "".join(
            f"[TRAIN] epoch {n / 4:.2f}, train_loss 2.{n}\n"
            + f"[EVAL] epoch 1, eval_loss 0.{n}\n" * (n % 4 == 0)
            for n in range(1, 9)
        ),
        {"train_loss": [*range(1, 9)], "epoch": [*range(1, 9)], "eval_loss": [4, 8]},
    ),
    "losses of batches without a number above the line of their epoch": (
        "".join(
            "".join(f"DEBUG: Batch Loss: {n}.{at}5\n" for at in range(10))
            + f"Epoch {n + 1} finished. Average Loss: {n}.5\n{'-' * 40}\n"
            for n in range(3)
        ),
        {"Batch Loss": [*range(1, 31)], "Average Loss": [10, 20, 30]},
    ),
    "as many losses without a number as the step below them": (
        "".join(
            "".join(f"g_loss:{n}.5, d_loss:-{n}.{at}, atom:4{at}.5\n" for at in range(5))
            + f"Elapsed [0:00:0{n}], Iteration [{5 * n + 5}/500], D/loss_real: -1.5\n"
            for n in range(2)
        ),
        {
            **{name: [*range(1, 11)] for name in ("g_loss", "d_loss", "atom")},
            "D/loss_real": [5, 10],
        },
    ),
    "a name before the steps of an epoch that begin anew with each": (
        "".join(
            f"==== Epoch {n}/3 ====\n"
            + "".join(f"Average reward after {at}00 timesteps: {n}.{at}\n" for at in range(1, 5))
            for n in (1, 2, 3)
        ),
        {"Average reward": [100 * at for at in range(1, 13)]},
    ),
    "losses of batches in sentences below their epoch": (
        "".join(
            f"Epoch: {n}\n" + "".join(f"train loss is: {9 - n}.{at}5\n" for at in (1, 2, 3)) for n in range(4)
        ),
        {"train loss": [*range(12)]},
    ),
    "losses of batches below an epoch": (
        "".join(
            f"Epoch {n}/2\n"
            + "".join(f"Average Training loss: 0.{batch}\n" for batch in range(50))
            + "Average Eval loss: 0.5\n"
            for n in (1, 2)
        ),
        {"Average Training loss": [*range(1, 101)], "Average Eval loss": [50, 100]},
    ),
    "steps that are rarer than epochs": (
        "".join(
            f"Training epoch: {n}\n" + "\tIter 0 Done. | loss: 0.5\n" * (n == 0) + "\tmean_loss: 0.4\n"
            for n in range(4)
        ),
        {"loss": [0], "mean_loss": [0, 1, 2, 3]},
    ),
    "epochs without steps behind stray steps": (
        "Step 7: loss 0.9\nStep 8: loss 0.9\n"
        + "".join(f"Epoch {n}: train_loss 0.5\n" for n in range(1, 12)),
        {"loss": [7, 8], "train_loss": [*range(8, 19)]},
    ),
    "losses of batches that name their epoch alone": (
        "".join(f"Epoch {epoch} Loss 0.5\n" for epoch in (1, 2) for _ in range(40)),
        {"Loss": [*range(1, 81)]},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_steps_go_on_through_the_epochs(tmp_path: Path, case: str) -> None:
    assert_steps(tmp_path, *CASES[case])


def passes(number: int, between: str = "", *, before: str = "", last: int = 600) -> str:
    """Passes through the data that state no epoch, of lines with a share of it."""
    lines = [
        [f"[{at:5}/600 ({at // 6:3}%)]\tLoss: 0.{n}{at}\n" for at in range(0, last + 1, 100)]
        for n in range(number)
    ]
    return "".join(f"{before}{''.join(rows)}{between}" for rows in lines)


@pytest.mark.parametrize("between", ["", "Test set: Average loss: 0.31, Accuracy: 81/100 (81%)\n"])
@pytest.mark.parametrize("last", [500, 600])
def test_passes_through_the_data_are_epochs(tmp_path: Path, between: str, last: int) -> None:
    run = read_log(tmp_path, passes(4, between, last=last))
    assert run.attempts == 1
    steps = steps_of(run)["Loss"]
    assert len(steps) == 4 * (last // 100 + 1)
    assert steps == sorted(steps)


@pytest.mark.parametrize("opening", ["Using device: cuda\n", "Loading data from disk\nModel has 5 parts\n"])
def test_passes_below_opening_lines_are_launches(tmp_path: Path, opening: str) -> None:
    assert read_log(tmp_path, passes(3, before=opening)).attempts == 3
    assert read_log(tmp_path, 2 * (opening + passes(3))).attempts == 2


def test_a_pass_that_does_not_reach_the_end_is_of_a_launch(tmp_path: Path) -> None:
    assert read_log(tmp_path, passes(3, last=300)).attempts == 3


def test_steps_that_begin_anew_right_behind_their_total_are_of_the_same_launch(tmp_path: Path) -> None:
    rows = "".join(f"step {at}/600 loss: 0.{at}\n" for at in range(0, 601, 100))
    run = read_log(tmp_path, 3 * rows)
    assert run.attempts == 1
    assert steps_of(run)["loss"] == sorted({*steps_of(run)["loss"]})
    short = "".join(f"step {at}/600 loss: 0.{at}\n" for at in range(0, 301, 100))
    assert read_log(tmp_path, short + rows).attempts == 2


@pytest.mark.parametrize("more", ["", " | gnorm=1.4 | tokens=0.5M"])
def test_a_step_behind_its_batches_is_no_launch(tmp_path: Path, more: str) -> None:
    text = "".join(
        "".join(f"  batch {batch}/4 loss=3.{n}{batch}\n" for batch in (1, 2, 3, 4))
        + f"step {n} | loss=3.{n}{more} | lr=1e-4\n"
        for n in range(1, 9)
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    found = steps_of(run)
    assert found["loss"] == [*range(1, 33)]
    assert found["epoch/loss"] == found["lr"] == [*range(4, 33, 4)]


def losses(n: int, number: int = 11) -> str:
    return "".join(f"loss:  {1 / (n + k / 20):.4f}\n" for k in range(number))


def test_losses_above_the_line_of_their_epoch_are_steps_where_its_results_are_below(tmp_path: Path) -> None:
    text = "".join(f"{losses(n)}Epoch:  {n}\nAccuracy on test data:  6{n}.5\n" for n in range(1, 6))
    expected = {"loss": [*range(1, 56)], "Accuracy on test data": [11, 22, 33, 44, 55]}
    assert_steps(tmp_path, text, expected)


def test_losses_above_the_first_epoch_are_none_of_it_where_others_are_below(tmp_path: Path) -> None:
    epochs = (f"Epoch: {n}\ntrain_loss: 0.{n}\nval_loss: 0.{n}2\n" for n in range(1, 5))
    assert_steps(
        tmp_path, losses(1, 20) + "".join(epochs), {"train_loss": [1, 2, 3, 4], "val_loss": [1, 2, 3, 4]}
    )


def test_losses_below_the_line_of_their_epoch_are_its_own(tmp_path: Path) -> None:
    text = "".join(f"Epoch: {n}\n{losses(n)}Accuracy: 6{n}.5\n" for n in range(1, 5))
    assert_steps(tmp_path, text, {"loss": [*range(1, 45)], "Accuracy": [11, 22, 33, 44]})


@pytest.mark.parametrize("count", ["[Batch:  {0}] ", "Step {0} ", "Iter {0}: "])
def test_steps_without_a_total_begin_anew_behind_a_line_of_an_epoch(tmp_path: Path, count: str) -> None:
    text = "".join(
        f"{count.format(1000)}loss: 2.{n}\n{count.format(2000)}loss: 1.{n}\n"
        f"Epoch {n} [BEST] valid_loss = 0.{n}\nTraining loss: 0.4, Valid loss: 0.5\n"
        for n in range(1, 10)
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    assert steps_of(run)["loss"] == [*range(1000, 18001, 1000)]
    assert steps_of(run)["valid_loss"] == steps_of(run)["Training loss"] == [*range(2000, 18001, 2000)]


def test_lines_of_an_epoch_from_several_processes_stay_at_the_epoch(tmp_path: Path) -> None:
    file = tmp_path / "train.log"
    file.write_text("".join(f"Epoch {epoch} Loss 0.5\n" for epoch in (1, 2, 3) for _ in range(8)))
    run = read_run(file)
    assert {key.metric: series.step.tolist() for key, series in run.data.series.items()} == {
        "Loss": [1, 2, 3]
    }


def test_that_lines_are_counted_is_said_to_be_a_guess(tmp_path: Path) -> None:
    file = tmp_path / "train.log"
    file.write_text(CASES["losses of batches that name their epoch alone"][0])
    (report,) = explain_files(file)
    assert report.lines is not None
    assert any("guess" in axis for axis in report.lines.axes)


@pytest.mark.parametrize(
    ("line", "first", "length"),
    [
        ("Epoch[{e}] Batch [{b}] loss={e}.{b}\n", 5 * 60, 60),
        ("Epoch {e} step {b}, loss {e}.{b}\n", 5 * 60, 60),
        ("Epoch: [{e}][{b}/90] loss {e}.{b}\n", 4 * 90, 90),
    ],
)
def test_the_first_launch_that_begins_in_a_later_epoch_is_at_its_steps(
    tmp_path: Path, line: str, first: int, length: int
) -> None:
    text = "".join(
        line.format(e=e, b=b) + f"val loss: 3.{b}\n" * (b == 60) for e in range(5, 8) for b in (20, 40, 60)
    )
    steps = [first + length * e + b for e in range(3) for b in (20, 40, 60)]
    found = steps_of(read_log(tmp_path, text))
    assert (found["loss"], found["val loss"]) == (steps, steps[2::3])


def test_steps_that_count_through_all_epochs_stay_where_a_text_begins_in_a_later_one(tmp_path: Path) -> None:
    text = "".join(f"Epoch[{n // 3}] Batch [{20 * n}] loss={n}.5\n" for n in range(15, 30))
    assert steps_of(read_log(tmp_path, text))["loss"] == [20 * n for n in range(15, 30)]


def test_a_text_of_nothing_but_a_part_of_a_later_epoch_is_at_the_printed_steps(tmp_path: Path) -> None:
    text = "".join(f"Epoch[5] Batch [{20 * n}] loss={n}.5\n" for n in range(1, 9))
    assert steps_of(read_log(tmp_path, text))["loss"] == [20 * n for n in range(1, 9)]


def test_settings_above_the_first_record_change_nothing_of_a_text_that_begins_in_a_later_epoch(
    tmp_path: Path,
) -> None:
    text = "".join(f"Epoch {e} step {b}, loss {e}.{b}\n" for e in (5, 6) for b in (20, 40))
    run = read_log(tmp_path, f"{OPENING}lr: 0.1\n{text}")
    assert steps_of(run)["loss"] == [220, 240, 260, 280]


@pytest.mark.parametrize("between", ["Plot stored\n", "New record with a return of 36.0\n"])
def test_a_progress_counts_what_is_named_behind_its_total(tmp_path: Path, between: str) -> None:
    text = "".join(
        f"Episode {n}/40 | Return: {n % 7}.5 | Entropy: 1.{n:02}\n"
        + between * (n in (3, 14, 19, 29))
        + f"Progress: {n}/40 episodes | Mean Return: 2.{n}\n" * (n % 10 == 0)
        for n in range(1, 41)
    )
    steps = steps_of(read_log(tmp_path, text))
    assert steps["Return"] == steps["Entropy"] == [*range(1, 41)]
    assert steps["Mean Return"] == [10, 20, 30, 40]


@pytest.mark.parametrize("amount", ["up to 40 epochs on cuda", "up to 40 epochs.", "40 epochs"])
def test_the_most_epochs_of_a_training_are_no_epoch_of_it(tmp_path: Path, amount: str) -> None:
    opening = (
        f"2025-03-01 10:0%d:24 [INFO] Training for {amount}\n2025-03-01 10:0%d:25 [INFO] Epoch 1 starting\n"
    )
    ended = "2025-03-01 10:0%d:27 [INFO] Epoch 1 finished in 1.52s\n"
    text = "".join(opening.replace("%d", str(n)) + ended.replace("%d", str(n)) for n in (1, 2, 3))
    text += opening.replace("%d", "5") + "".join(
        f"2025-03-01 10:0{epoch}:30 [DEBUG] Epoch {epoch}, batch {n}/90 loss=0.{n}, lr=0.00080\n"
        for epoch in (1, 2)
        for n in range(10, 91, 10)
    )
    assert steps_of(read_log(tmp_path, text))["loss"] == [*range(10, 181, 10)]
