"""Where steps begin anew: in another launch, which is an attempt, or in the next training of the same one."""

from __future__ import annotations

from pathlib import Path

import pytest

from holter.ingest.offline.read_run import OfflineRun
from tests.support.log_runs import read_log, steps_of


def epochs(count: int, line: str = "Epoch {0}, loss: {1:.3f}\n", first: int = 1) -> str:
    return "".join(line.format(n, 2 / n) for n in range(first, count + 1))


def attempts_of(run: OfflineRun, metric: str = "loss") -> list[list[int]]:
    """The attempts of the points of each series of a metric."""
    series = run.data.series.items()
    return [points.attempt.tolist() for key, points in series if key.metric == metric]


@pytest.mark.parametrize(
    "second", ["python b.py --gpu 1", "$ python3 -m pkg.train", "CUDA_VISIBLE_DEVICES=1 torchrun run/b.py -v"]
)
def test_another_command_is_one_of_another_launch(tmp_path: Path, second: str) -> None:
    first = "python a.py --gpu 0,1"
    text = "".join(f"{command}\n{epochs(4)}" for command in (first, second, second, first))
    assert attempts_of(read_log(tmp_path, text)) == [[0] * 4 + [1] * 4 + [2] * 4 + [3] * 4]


@pytest.mark.parametrize("line", ["python is ready", "Usage: python a.py", "python 3.8.1 (default)"])
def test_words_about_a_program_are_no_command(tmp_path: Path, line: str) -> None:
    run = read_log(tmp_path, f"Loading the data set\n{epochs(4)}{line}\n{epochs(4)}")
    assert run.attempts == 1
    assert {key.labels for key in run.data.series} == {(), (("training", "2"),)}


def test_a_guess_of_what_begins_anew_is_that_of_the_first_time(tmp_path: Path) -> None:
    """One line at the beginning says little of a launch, and what is printed between epochs says nothing."""
    stages = [epochs(5), epochs(8), epochs(5), "tensor(9.5)\nSaved\n" + epochs(8), epochs(5)]
    assert read_log(tmp_path, "ok, ready\n" + "".join(stages)).attempts == 5
    stages[0] += "Saved\n"
    run = read_log(tmp_path, "ok, ready\n" + "".join(stages))
    assert run.attempts == 1
    assert sorted(map(len, steps_of(run).values())) == [5, 5, 5, 8, 8]


@pytest.mark.parametrize("count", [6, 7, 8, 9, 10])
def test_a_longer_training_behind_a_short_one_is_of_the_same_launch(tmp_path: Path, count: int) -> None:
    run = read_log(tmp_path, "Loading the data set\n" + 2 * (epochs(5) + epochs(count)))
    assert run.attempts == 1
    assert sorted(map(len, steps_of(run).values())) == sorted([5, 5, count, count])


def test_a_number_that_was_skipped_in_the_first_line_counts_no_trainings(tmp_path: Path) -> None:
    parts = (1, 2, 5, 6)
    run = read_log(tmp_path, "".join(f"Reading the part {part} of all\n{epochs(4)}" for part in parts))
    assert run.attempts == 3


@pytest.mark.parametrize("evaluations", [1, 3, 20])
def test_many_evaluations_at_one_step_are_no_clock(tmp_path: Path, evaluations: int) -> None:
    evaluated = "".join(f"eval_loss: 0.{n}\nclass {n}\n\n" for n in range(1, evaluations + 1))
    rows = epochs(5, "epoch: {0}\tloss: {1:.3f}\n")
    assert attempts_of(read_log(tmp_path, 2 * (rows + evaluated) + rows)) == [[0] * 5 + [1] * 5 + [2] * 5]


def test_rows_of_another_form_long_after_the_last_ones_are_of_another_launch(tmp_path: Path) -> None:
    def at(hour: int, text: str) -> str:
        return "".join(f"2026-03-01 {hour:02}:00:01,000 - {line}\n" for line in text.splitlines())

    lines = at(8, "The set has 60 parts\n" + epochs(5, "Epoch {0}/5 | Loss: {1:.3f} | LR: 0.01\n"))
    blocks = at(9, "Version of the graph\n" + epochs(5, "Epoch {0}\nLoss: {1:.3f}\nTrain Acc: 0.{0}\n"))
    run = read_log(tmp_path, lines + blocks)
    assert run.attempts == 2
    assert attempts_of(run, "Loss") == [[0] * 5]
    assert attempts_of(run, "epoch/Loss") == attempts_of(run, "Train Acc") == [[1] * 5]


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        ("Starting Fold {0} | Test Year: 202{0}\n", "Completed Fold {0}\n"),
        ("==== Fold {0} ====\n", "Fold {0} done\n"),
        ("Training fold {0}: 700 images\n", "End of fold {0}\n"),
    ],
)
def test_the_end_of_a_fold_does_not_name_the_next_one(tmp_path: Path, begin: str, end: str) -> None:
    def fold(number: int, count: int = 4) -> str:
        return begin.format(number) + epochs(count) + (end.format(number) if count == 4 else "")

    run = read_log(tmp_path, fold(1) + fold(2, 3) + fold(1) + fold(2) + fold(3))
    found = {key.labels: points.attempt.tolist() for key, points in run.data.series.items()}
    assert found == {
        (): [0] * 4 + [1] * 4,
        (("fold", "2"),): [0] * 3 + [1] * 4,
        (("fold", "3"),): [1] * 4,
    }


@pytest.mark.parametrize("heading", ["", "Training model m{}\n"])
def test_what_is_the_only_one_counts_no_steps(tmp_path: Path, heading: str) -> None:
    row = "Finished the set 0. Progress: 1/1\nEpoch {0}/4 done. Avg loss: {1:.3f}.\n"
    text = "".join(heading.format(n) + epochs(4, row) + "saved it\n" for n in (1, 2, 3))
    run = read_log(tmp_path, "Reading the set\n" + text)
    assert run.attempts == 1
    assert [*steps_of(run).values()] == [[1, 2, 3, 4]] * 3


def test_the_only_batch_of_an_epoch_is_one_of_its_steps(tmp_path: Path) -> None:
    assert steps_of(read_log(tmp_path, epochs(4, "Epoch {0}/4\nbatch 1/1\nloss: {1:.3f}\n")))["loss"] == [
        1,
        2,
        3,
        4,
    ]


@pytest.mark.parametrize("counts", [(9, 5, 1, 1, 9), (40, 3, 1, 1, 1, 60, 80, 7, 90, 2, 50, 20)])
def test_rows_of_numbers_begin_anew_even_behind_a_single_one(tmp_path: Path, counts: tuple[int, ...]) -> None:
    rows = [f"{n}\t{0.7 / (1 + n):.5f}\t0.{n + 11}\n" for count in counts for n in range(count)]
    run = read_log(tmp_path, "".join(rows), "history.txt")
    assert run.attempts == len(counts)
    assert all(len(points.step) == sum(counts) for points in run.data.series.values())


@pytest.mark.parametrize("without_records", [0, 3])
def test_a_launch_that_broke_off_amid_its_clients_is_an_attempt(tmp_path: Path, without_records: int) -> None:
    opening = "Namespace(batch_size=8, data='x')\nName of the set : y\nUsing the device cuda:0\n"

    def launch(*clients: int) -> str:
        rounds = (
            f"------ Communication Round: {number} ------\n"
            + "".join(f"Client: [{n}] Epoch: [0] train_loss: 0.{number + 2}{n}\n" for n in range(count))
            for number, count in enumerate(clients)
        )
        return opening + "".join(rounds)

    counts = [(4,), (4, 4, 3), (2,), (4, 2)]
    run = read_log(tmp_path, without_records * opening + "".join(launch(*clients) for clients in counts))
    assert run.attempts == 4
    assert sum(len(points.step) for points in run.data.series.values()) == sum(map(sum, counts))
    assert {name for key in run.data.series for name, _ in key.labels} == {"client"}


@pytest.mark.parametrize("workers", [1, 4])
def test_warnings_of_workers_that_each_epoch_starts_show_no_launch(tmp_path: Path, workers: int) -> None:
    quoted = "/srv/app/samples.py:41: FutureWarning: the default of `mmap` changes"
    warning = f"{quoted}\n  item = torch.load(self.files[n])\n"
    batches = "".join(f"  [Train] {10 * n}/49 | Loss: 0.0{n} | Acc: 0.1{n} | 0.4s/it\n" for n in range(1, 5))
    text = "".join(
        f"{workers * warning}{batches}{workers * warning}Epoch {n:03} | Loss: 0.{n} | NDCG@10: 0.5{n}\n"
        for n in range(1, 7)
    )
    assert read_log(tmp_path, text).attempts == 1


def test_launches_of_one_epoch_of_ultralytics(tmp_path: Path) -> None:
    def launch(count: int) -> str:
        opening = f"Model summary: 20 layers\nImage sizes 640 train, 640 val\nTraining for {count} epochs\n"
        return opening + "".join(
            "      Epoch    GPU_mem   box_loss\n"
            f"\r        {n}/{count}      2.4G      1.{n}: 100%|####| 9/9 [00:01<00:00,  9.5it/s]"
            f"\r        {n}/{count}      2.4G      1.{n}: 100%|####| 9/9 [00:01<00:00,  9.5it/s]\n"
            "                 Class     Images  Instances      Box(P          R\n"
            f"                   all        128        929      0.{n}      0.7\n"
            for n in range(1, count + 1)
        )

    run = read_log(tmp_path, launch(1) + launch(1) + launch(3))
    assert run.attempts == 3
    assert steps_of(run)["train/box_loss"] == steps_of(run)["val/P"] == [1, 1, 1, 2, 3]


def test_rates_among_the_settings_of_a_later_launch_are_at_its_first_record(tmp_path: Path) -> None:
    opening = "Device: cuda\nReading data of a.csv\nConfig:\nmodel = Net()\nlr = 0.01\nBuilding the network\n"
    lines = "".join(f"Epoch {n}/6 lr: 0.01 loss: 0.{n}\n" for n in range(1, 7))
    run = read_log(tmp_path, 3 * (opening + lines))
    assert run.attempts == 3
    assert steps_of(run)["loss"] == [*range(1, 7)] * 3


def test_words_that_are_values_of_the_first_line_may_be_others_in_the_next_launch(tmp_path: Path) -> None:
    settings = [("sgd", 0.1), ("sgd", 0.5), ("adam", 0.1), ("adam", 0.5)]
    launches = (f"lr: {rate}, optimizer: {name}\n{epochs(3)}Saved\n" for name, rate in settings)
    run = read_log(tmp_path, "".join(launches))
    assert run.attempts == 4
    assert {key.labels for key in run.data.series} == {()}


@pytest.mark.parametrize(
    "line", ["{0}/90 loss: 0.{0}\n", "[{0}/90] loss: 0.{0}\n", "Iter {0}/90 loss: 0.{0}\n"]
)
@pytest.mark.parametrize("behind", ["", "Validation loss: 0.5{0}\n"])
def test_steps_begin_anew_with_each_epoch_of_a_launch_with_an_opening_line(
    tmp_path: Path, line: str, behind: str
) -> None:
    opening = "Using the device cuda\nReading the images\n"
    one = "".join("".join(line.format(n) for n in range(10, 91, 10)) + behind.format(e) for e in range(3))
    run = read_log(tmp_path, opening + one)
    assert run.attempts == 1
    assert steps_of(run)["loss"] == [*range(10, 271, 10)]
    run = read_log(tmp_path, opening + one + opening + one)
    assert run.attempts == 2
    assert steps_of(run)["loss"] == [*range(10, 271, 10)] * 2


_OPENING = "Loading the vocabulary of birch\nModel config: 3 layers of 64\n"


@pytest.mark.parametrize("ranks", [1, 4])
@pytest.mark.parametrize("launches_without_records", [0, 1, 2])
def test_an_earlier_epoch_below_the_opening_lines_is_of_another_launch_at_any_step(
    tmp_path: Path, ranks: int, launches_without_records: int
) -> None:
    opening = _OPENING + "=BEGIN TRAINING=\n" * ranks
    first = [(epoch, step, 60) for epoch in range(3) for step in (19, 39, 59)]
    second = [(0, step, 9000) for step in (299, 599, 899)]
    text = opening * launches_without_records + "".join(
        opening
        + "".join(
            f"Epoch [{epoch}/9], Step [{step}/{total}], Loss: {4 + 0.1 * rank:.4f}\n"
            for epoch, step, total in rows
            for rank in range(ranks)
        )
        for rows in (first, second)
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 2
    assert steps_of(run)["Loss"] == [*range(19, 180, 20), 299, 599, 899]
    assert run.points == 2 * ranks * 12


def test_a_training_that_is_named_goes_on_at_any_epoch(tmp_path: Path) -> None:
    text = _OPENING * 2 + "".join(
        f"{_OPENING}===== fold: {fold} =====\n"
        + "".join(f"Epoch [{epoch}/3], Step [{300 * fold + epoch}], Loss: 2.5\n" for epoch in (1, 2, 3))
        for fold in (1, 2, 3)
    )
    assert read_log(tmp_path, text).attempts == 1


@pytest.mark.parametrize(("batches", "last"), [(45, 33), (33, 45), (28, 22)])
def test_trainings_of_other_lengths_count_their_own_steps(tmp_path: Path, batches: int, last: int) -> None:
    """Lines come every ten batches; that of an epoch is at its last one, sooner behind the line above."""
    lengths = (batches, batches, last)
    text = "".join(
        f"Reading {length * 8} images\n"
        + "".join(
            "".join(f"iters: {batch}, epoch: {epoch} | loss: 0.{batch}\n" for batch in range(10, length, 10))
            + f"Epoch: {epoch}, Steps: {length} | vali loss: 0.5 test loss: 0.6\n"
            for epoch in range(1, 4)
        )
        for length in lengths
    )
    run = read_log(tmp_path, "device cuda, one process\n" + text)
    ends = [series.step.tolist() for key, series in run.data.series.items() if key.metric == "vali loss"]
    assert sorted(ends) == sorted([epoch * length for epoch in range(1, 4)] for length in lengths)


@pytest.mark.parametrize(
    "heading",
    [
        "Experiment {0}: lr={1}, batch_size=64, hidden=128\n",
        "Experiment {0}: lr={1} num_epochs=20 width=128\n",
    ],
)
def test_a_first_line_of_settings_that_counts_heads_trainings(tmp_path: Path, heading: str) -> None:
    text = "".join(heading.format(number, 0.3 / 10**number) + epochs(5) for number in (1, 2, 3))
    run = read_log(tmp_path, text)
    assert (run.attempts, steps_of(run)) == (
        1,
        {name: [*range(1, 6)] for name in ("loss", "loss/training=2", "loss/training=3")},
    )


def test_a_first_line_of_settings_that_counts_nothing_shows_launches(tmp_path: Path) -> None:
    text = "".join(f"lr={lr}, batch_size=64, hidden=128\n" + epochs(5) for lr in (0.3, 0.03))
    assert read_log(tmp_path, text).attempts == 2


@pytest.mark.parametrize(
    "line", ["Start training with (card(0))", "gpu-0: begin training anew", "Training starts now"]
)
def test_the_same_first_step_below_a_line_that_says_that_training_starts_is_of_a_launch(
    tmp_path: Path, line: str
) -> None:
    long = "Epoch 3 comes next\n" + "".join(f"Epoch 3, step {n}, loss 1.{n}\n" for n in range(20, 100, 20))
    short = f"{line}\nEpoch 0, step 20, loss 2.5\n"
    run = read_log(tmp_path, long + 2 * short + short.replace("2.5", "2.6"))
    assert attempts_of(run) == [[0] * 4 + [1, 2, 3]]


def test_the_same_first_step_again_without_such_a_line_is_of_one_launch(tmp_path: Path) -> None:
    run = read_log(tmp_path, "step 20, loss 2.5\nSaved a picture\nstep 20, loss 2.6\nSaved another\n")
    assert run.attempts == 1


def test_two_trainings_of_one_epoch_each_in_a_launch_are_both_labelled(tmp_path: Path) -> None:
    text = "".join(f"Starting training with {n} layers on cpu\nEpoch 1 loss=0.{n}\n" for n in (1, 2, 3))
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    assert steps_of(run) == {key: [1] for key in ("loss", "loss/training=2", "loss/training=3")}


def parts_of_a_launch(heading: str, epoch: str, count: int = 4) -> str:
    """A launch that counts its parts, each with epochs of its own, and has a last one without a number."""
    below = "".join(epoch.format(n, 2 / n) for n in range(1, 4))
    parts = "".join(f"{heading.format(part, count)}\nRemoving filters ..\n{below}" for part in range(count))
    return f"{parts}A bit more of the same\n{below}"


@pytest.mark.parametrize(
    "heading", ["Ranking filters.. Iteration: {0} / {1}", "=== Pruning cycle {0}/{1} ==="]
)
@pytest.mark.parametrize("epoch", ["Epoch: {0}\nloss: {1:.3f}\n", "Epoch: {0}  loss: {1:.3f}\n"])
def test_epochs_that_begin_anew_below_a_count_that_continues_are_of_one_launch(
    tmp_path: Path, heading: str, epoch: str
) -> None:
    launch = parts_of_a_launch(heading, epoch)
    run = read_log(tmp_path, launch)
    assert run.attempts == 1
    assert [points.step.tolist() for points in run.data.series.values()] == [[1, 2, 3]] * 5
    assert read_log(tmp_path, 2 * launch).attempts == 2, "the count itself begins anew"


def test_a_count_of_how_far_epochs_are_shows_no_launch_to_be_the_same(tmp_path: Path) -> None:
    line = "Epoch {0}, loss: {1:.3f}\n"
    parts = [
        epochs(3 * n + 3, line, 3 * n + 1) + f"Wrote the checkpoint {n}/4 to the disk\n" for n in range(4)
    ]
    run = read_log(tmp_path, "".join(parts[:3]) + "".join(parts))
    assert attempts_of(run) == [[0] * 9 + [1] * 12]


SET_UP = "Run of the forecast\nLoading the prices from a.npz ...\nModel with 3 layers, hidden size: 64\n"


@pytest.mark.parametrize("first", ["Epoch #{0}: loss={1:.3f}\n", "Epoch {0}/30: loss={1:.3f}\n"])
@pytest.mark.parametrize("distance", [1, 2, 5])
def test_epochs_with_a_total_that_was_passed_are_of_the_next_training(
    tmp_path: Path, first: str, distance: int
) -> None:
    below = "".join(f"Epoch {n}/20: loss={1 / n:.3f}\n" for n in range(distance, 21, distance))
    launch = f"{SET_UP}{epochs(30, first)}Loaded the best\n====\nTraining the head\n====\n{below}"
    run = read_log(tmp_path, launch)
    assert run.attempts == 1
    assert [points.step.tolist() for points in run.data.series.values()] == [
        [*range(1, 31)],
        [*range(distance, 21, distance)],
    ]
    assert read_log(tmp_path, 2 * launch).attempts == 2


def test_epochs_of_a_shorter_launch_are_of_no_next_training(tmp_path: Path) -> None:
    longer = epochs(30, "Epoch {0}/30: loss={1:.3f}\n")
    shorter = epochs(20, "Epoch {0}/20: loss={1:.3f}\n", 5)
    run = read_log(tmp_path, f"{SET_UP}{longer}{SET_UP}{shorter}")
    assert attempts_of(run) == [[0] * 30 + [1] * 16]


def test_epochs_behind_one_that_was_loaded_again_are_no_next_training(tmp_path: Path) -> None:
    line = "Epoch {0}/30: loss={1:.3f}\n"
    run = read_log(
        tmp_path, f"{SET_UP}{epochs(20, line)}Loss is nan, back to epoch 9\n{epochs(30, line, 10)}"
    )
    assert attempts_of(run) == [[0] * 20 + [1] * 21]


BOOSTERS = [
    "[{0}]\ttrain-mae:3.{0}\tholdout-mae:4.{0}\n",
    "[{0}]\ttraining's l1: 3.{0}\tvalid_0's l1: 4.{0}\n",
    "{0}:\tlearn: 3.{0}\ttest: 4.{0}\ttotal: 1.5s\tremaining: 2s\n",
    "[09:30:01] [{0}]\ttrain-mae:3.{0}\tholdout-mae:4.{0}\n",
]


@pytest.mark.parametrize("rounds", BOOSTERS)
@pytest.mark.parametrize("opening", ["", "Reading the table of rents\n"])
@pytest.mark.parametrize("between", ["", "Stopping early\n\n"])
def test_boosters_that_are_trained_in_turn_are_of_one_launch(
    tmp_path: Path, rounds: str, opening: str, between: str
) -> None:
    training = "".join(map(rounds.format, range(1, 9)))
    found = read_log(tmp_path, opening + between.join([training] * 3))
    assert found.attempts == 1
    names = {name.partition("/")[0] for name in steps_of(found)}
    assert steps_of(found) == {
        f"{name}{label}": [*range(1, 9)] for name in names for label in ("", "/training=2", "/training=3")
    }


@pytest.mark.parametrize("rounds", BOOSTERS)
def test_boosters_below_the_same_opening_are_launches(tmp_path: Path, rounds: str) -> None:
    launch = "Reading the table of rents\n" + "".join(map(rounds.format, range(1, 9)))
    assert read_log(tmp_path, launch * 2).attempts == 2
    assert read_log(tmp_path, "$ python fit.py\n".join([launch] * 2)).attempts == 2


@pytest.mark.parametrize("row", ["[{0}] loss: 3.{0}\n", "Epoch[0] Batch [{0}]\tSpeed: 30.{0}\tmae=3.{0}\n"])
def test_a_text_that_begins_with_a_record_of_no_booster_has_launches(tmp_path: Path, row: str) -> None:
    launch = "".join(map(row.format, range(1, 9)))
    assert read_log(tmp_path, launch * 2).attempts == 2
