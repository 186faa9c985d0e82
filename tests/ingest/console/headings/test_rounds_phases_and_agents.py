"""Rounds, phases, models and agents of a training, and what comes between their steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log, steps_of

N = range(1, 4)

CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "phases that count their batches below the heading of an epoch": (
        "".join(
            f"Epoch {n}/3\n"
            + "".join(f"train {batch}/30 loss {n}.5\n" for batch in (10, 20, 30))
            + f"val 5/10 loss {n}.25\nval 10/10 loss {n}.5\n"
            for n in N
        ),
        {"loss": [*range(10, 100, 10)], "val/loss": [30, 31, 60, 61, 90, 91]},
    ),
    "batches of an epoch behind the name of a network and a sign": (
        "".join(f"unet epoch: {n} batch:{batch} loss:{n}.{batch}\n" for n in N for batch in range(4)),
        {"loss": [*range(12)], "unet epoch": [*range(12)]},
    ),
    "the same in brackets": (
        "".join(f"unet epoch: {n} [{batch}/4] loss:{n}.{batch}\n" for n in N for batch in range(1, 5)),
        {"loss": [*range(1, 13)], "unet epoch": [*range(1, 13)]},
    ),
    "an epoch to stop at with a step is a setting": (
        "stop epoch: 30, step: 5\n" + "".join(f"Epoch {n} loss: {n}.5\n" for n in N),
        {"loss": [*N]},
    ),
    "a network that is printed before each epoch": (
        "".join(
            "Net(\n  (fc1): Linear(in_features=400, out_features=120, bias=True)\n"
            "  (fc2): Linear(in_features=120, out_features=84, bias=True)\n"
            "  (0): Linear(in_features=84, out_features=10, bias=True)\n)\n"
            f"Epoch {n}, loss: {n}.5\n"
            for n in N
        ),
        {"loss": [*N]},
    ),
    "the same with signs and without epochs": (
        "".join(
            "".join(f"train: {batch}/30, loss: {n}.5, acc: 0.5\n" for batch in (10, 20, 30))
            + f"val: 10/10, loss: {n}.5\n"
            for n in N
        ),
        {"loss": [*range(10, 100, 10)], "acc": [*range(10, 100, 10)], "val/loss": [30, 60, 90]},
    ),
    "headings of batches below the heading of an evaluation": (
        "".join(
            f"==== EPOCH {n:03} ====\n"
            + "".join(f"-- batch: {batch:03} --\nloss: {n}.{batch}\n" for batch in (10, 20, 30))
            + "Validating ...\n"
            + "".join(f"-- batch: {batch:03} --\n" for batch in (10, 20))
            + f"val loss: {n}.25\n"
            for n in range(3)
        ),
        {"loss": [*range(10, 100, 10)], "val loss": [30, 60, 90]},
    ),
    "the same with losses of the batches of the evaluation": (
        "".join(
            f"Epoch {n}\n"
            + "".join(f"Step {step}\nloss: {n}.{step}\n" for step in (10, 20, 30))
            + "Evaluation:\n"
            + "".join(f"Step {step}\nloss: {n}.{step}5\n" for step in (10, 20))
            for n in N
        ),
        {"loss": [*range(10, 100, 10)]}
        | {name: [30, 60, 90] for name in ("evaluation/loss", "evaluation/loss/repeat=2")},
    ),
    "samples within epochs, in columns": (
        "epoch\tsample\tloss\n"
        + "".join(f"{n}\t{sample}\t{n}.{sample}\n" for n in N for sample in range(1, 51)),
        {"loss": [*range(1, 151)]},
    ),
    "rows of agents whose numbers are in their names": (
        "".join(
            f"Episode {n}/3 | avg_turns=1{n}.5\n"
            + "".join(f"  player_{k} avg_reward={n}.{k}  pl=-0.{n}{k}  ent=1.{n}{k}\n" for k in (0, 1))
            for n in N
        ),
        {"avg_turns": [*N]}
        | {f"player_{k}/{name}": [*N] for k in (0, 1) for name in ("avg_reward", "pl", "ent")},
    ),
    "clients with names, the first of which has its label, too": (
        "".join(
            f"Round {n}\n"
            + "".join(f"client: {site}  test_loss: 0.{n}{k}\n" for k, site in ((1, "a"), (2, "b")))
            for n in N
        ),
        {f"test_loss/client={site}": [*N] for site in "ab"},
    ),
    "two of one line are no subject of it": (
        "".join(f"Episode {n} player: red reward: {n}.5 player: blue reward: {n}.25\n" for n in N),
        {"red reward": [*N], "blue reward": [*N]},
    ),
    "shares that are no batches": (
        "".join(f"Epoch {n}\ntrain: 4{n}/50, acc 0.5{n}\n" for n in N),
        {"acc": [1, 2, 3]},
    ),
    "batches that begin anew after their total": (
        "".join(f"batch {batch}/30 loss {n}.5\n" for n in N for batch in (10, 20, 30)),
        {"loss": [*range(10, 100, 10)]},
    ),
    "trainings of a search below headings of their settings": (
        "".join(
            f"==== lr={lr} hidden_size=32 ====\n"
            + "".join(f"epoch {n} loss 0.{n}\n" for n in N)
            + "best acc 0.7\n"
            for lr in ("0.1", "0.01")
        ),
        {"loss": [*N], "best acc": [3], "loss/lr=0.01": [*N], "best acc/lr=0.01": [3]},
    ),
    "results between signs are no settings": (
        "".join(f"Epoch {n} loss 0.{n}\n=== lr=0.1 acc=0.{n} ===\n" for n in N),
        {name: [*N] for name in ("loss", "lr", "acc")},
    ),
    "a fold and its epoch before the values": (
        "".join(
            f"0{fold}/{n:03}: Val Loss: 1.{n}, Test Acc: 0.{n}\n" for fold in (1, 2) for n in range(1, 13)
        ),
        {f"{name}/fold={fold}": [*range(1, 13)] for name in ("Val Loss", "Test Acc") for fold in (1, 2)},
    ),
    "a count and a total with zeros before it": (
        "".join(f"{n:02}/012: loss: 1.{n}, acc: 0.{n}\n" for n in range(1, 13)),
        {name: [*range(1, 13)] for name in ("loss", "acc")},
    ),
    "the data at the end of a line": (
        "".join(f"Epoch {n} loss 0.5 (train)\nEpoch {n} loss 0.6 (val)\n" for n in N),
        {"loss": [1, 2, 3], "val/loss": [1, 2, 3]},
    ),
    "parts below the record of each data": (
        "".join(
            f"Train Epoch {n}, iter 5, loss {n}.5\nbox {n}.25, mask_loss 0.5\nLiver : 0.{n}\n"
            f"Val Epoch {n}, iter 1, loss {n}.75\nbox {n}.5, mask_loss 0.75\nLiver : 0.{n}5\nTime : {n}.5\n"
            for n in N
        ),
        {
            **{
                f"{data}{name}": [5, 10, 15]
                for data in ("", "val/")
                for name in ("loss", "mask_loss", "Liver")
            },
            **{name: [5, 10, 15] for name in ("box", "val/box", "Time", "Train Epoch")},
        },
    ),
    "metrics below the heading of an epoch behind the record of an evaluation": (
        "".join(f"Epoch {n}\nloss: {n}.5\nacc: 0.{n}\nTest Epoch {n}: loss {n}.75\nacc: 0.{n}5\n" for n in N),
        {name: [*N] for name in ("loss", "acc", "test/loss", "test/acc")},
    ),
    "lines of epochs whose steps have no values of their own": (
        "".join(
            f"Epoch {n}/9\n"
            + "".join(f"Train Batch {batch}/3\n" for batch in (1, 2, 3))
            + f"Epoch [{n}/9] - loss: 1.{n}\n"
            for n in N
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
    "epochs of rounds": (
        "".join(
            f"=== Round {n}/3 ===\n"
            + "".join(f"Epoch {epoch}: loss {n}.{epoch}\n" for epoch in range(4))
            + f"test acc: 0.{n}\n"
            for n in N
        ),
        {"loss": [*range(12)], "test acc": [3, 7, 11]},
    ),
    "epochs and batches of rounds in a line": (
        "".join(
            f"Round {n} epoch {epoch} [{batch}/20] loss {n}.{epoch}\n"
            for n in N
            for epoch in (1, 2)
            for batch in (10, 20)
        ),
        {name: [*range(10, 130, 10)] for name in ("loss", "Round", "epoch")},
    ),
    "epochs that go on through rounds": (
        "".join(f"Round {n}\nEpoch {2 * n}: loss 0.5\nEpoch {2 * n + 1}: loss 0.5\n" for n in N),
        {"loss": [2, 3, 4, 5, 6, 7]},
    ),
    "clients of rounds": (
        "".join(
            f"Round {n}\n"
            + "".join(f"Client {c} Epoch {epoch}: loss={n}.{c}\n" for c in (0, 1) for epoch in (0, 1))
            + f"Round {n} test accuracy: 0.{n}\n"
            for n in N
        ),
        {
            **{f"loss/client={c}": [0, 1, 2, 3, 4, 5] for c in (0, 1)},
            "test accuracy": [1, 3, 5],
        },
    ),
    "clients of rounds without names": (
        "".join(
            f"| Global Round : {n} | Local Epoch : {epoch} | [{batch}/200 ({batch}%)]\tLoss: 2.{client}\n"
            for n in (0, 1)
            for client in range(3)
            for epoch in (0, 1)
            for batch in (0, 100)
        ),
        {name: [*range(0, 2400, 100)] for name in ("Loss", "Global Round", "Local Epoch")},
    ),
    "runs in turn": (
        "".join(
            f"INFO - Run: {run} | Epoch: {n} | Train Loss: 0.5\n" for n in N for run in ("XOR All", "Moons")
        ),
        {"Train Loss/run=XOR All": [1, 2, 3], "Train Loss/run=Moons": [1, 2, 3]},
    ),
    "agents in brackets, in turn": (
        "".join(f"[{agent}] Episode {n}0 | reward: {n}.5\n" for n in N for agent in ("DQN s0", "DQN s1")),
        {"reward": [10, 20, 30], "reward/training=DQN s1": [10, 20, 30]},
    ),
    "models one after another, each in its lines": (
        "".join(f"model={model} epoch={n} loss=0.{n}\n" for model in ("cnn", "mlp") for n in N),
        {"loss": [1, 2, 3], "loss/model=mlp": [1, 2, 3]},
    ),
    "plain names of models between signs": (
        "".join(
            f"=== Training {model} ===\n" + "".join(f"epoch {n} loss 0.{n}\n" for n in N)
            for model in ("resnet", "densenet")
        ),
        {"loss": [1, 2, 3], "loss/model=densenet": [1, 2, 3]},
    ),
    "what is counted behind its total": (
        "".join(f"{n}/10 epoch G_loss : 4.{n} D_loss : 0.{n}\n" for n in N),
        {"G_loss": [1, 2, 3], "D_loss": [1, 2, 3]},
    ),
    "a step and its total before names without a sign": (
        "".join(f"{n}0/30 loss 0.{n} acc 0.5\n" for n in N),
        {"loss": [10, 20, 30], "acc": [10, 20, 30]},
    ),
    "arrows below headings of the data": (
        "".join(
            f"epoch {n}/3\n- train data:\n  - loss -> 0.{n}\n- test data:\n  - loss -> 0.3{n}\n" for n in N
        ),
        {"loss": [1, 2, 3], "test/loss": [1, 2, 3]},
    ),
    "results without signs below an episode": (
        "".join(f"Episode {n}0\nAgent SUCCESS Rate 0.0{n}\nAverage Reward 5.{n}\n" for n in N),
        {"Agent SUCCESS Rate": [10, 20, 30], "Average Reward": [10, 20, 30]},
    ),
    "epochs of bars that count from zero": (
        "".join(
            f"Epoch {n - 1}/3\n30/30 [=====] - 1s - loss: 0.{n} - acc: 0.5\n"
            f"Validation 10/10 [=====] - 1s - loss: 0.3{n} - acc: 0.5\n"
            for n in N
        ),
        {name: [0, 1, 2] for name in ("loss", "acc", "validation/loss", "validation/acc")},
    ),
    "epochs behind their batches, which state the step of all": (
        "".join(
            "".join(
                f"INFO: [{n}/9], [{batch}/30], global_step: {30 * n - 30 + batch}, loss: 0.{n}, lr:0.1\n"
                for batch in (10, 20, 30)
            )
            + f"INFO: [{n}/9], train_loss: 1.{n}, lr: 0.1\n"
            for n in N
        ),
        {
            "loss": [*range(10, 100, 10)],
            "lr": [*range(10, 100, 10)],
            "train_loss": [30, 60, 90],
            "epoch/lr": [30, 60, 90],
        },
    ),
    "bars of an epoch that begin without a metric": (
        "".join(
            "".join(
                f"\rEpoch {n} [Train]: {batch:2d}%|##| {batch}/90 [00:01<00:10, 20.66it/s{loss}]"
                for batch, loss in ((0, ""), (45, f", loss={n}.5"), (90, f", loss={n}.25"))
            )
            + f"\nEpoch {n}:\n  Train Loss: {n}.7\n"
            for n in (0, 1, 2)
        ),
        {"loss": [45, 90, 135, 180, 225, 270], "Train Loss": [90, 180, 270]},
    ),
    "a bar of values that are no numbers": (
        "".join(
            f"Epoch 0:   {n}%|  | {n}/90 [00:01<00:10, 20.66it/s, v_num=0, train_loss={value}]\n"
            for n, value in zip(N, ("2.5", "inf.0", "nan.0"), strict=True)
        ),
        {"train_loss": [1, 2, 3]},
    ),
    "rows of data with other short forms": (
        "dset      epoch    cost    cerr\n------  -------  ------  ------\n"
        + "".join(f"trn           {n}    0.4{n}    0.18\ndev           {n}    0.5    0.2\n" for n in N),
        {name: [1, 2, 3] for name in ("cost", "cerr", "dev/cost", "dev/cerr")},
    ),
    "an evaluation that counts its own steps in each epoch": (
        "".join(
            "".join(f"loss: 0.{n} (epoch: {n}, step: {step})\n" for step in (0, 50, 100))
            + "".join(f"VAL loss: 0.{n} (epoch: {n}, step: {step})\n" for step in (0, 50))
            for n in N
        ),
        {
            "loss": [0, 50, 100, 101, 151, 201, 202, 252, 302],
            "epoch": [0, 50, 100, 101, 151, 201, 202, 252, 302],
            "VAL loss": [100, 101, 201, 202, 302, 303],
            "eval/epoch": [100, 101, 201, 202, 302, 303],
        },
    ),
    "an id of an epoch": (
        "".join(
            f"Epoch {n}, batch 10/10 loss 0.{n}\nEpoch id: {n}, Type P: 0.79, Type F: 0.8{n}\n" for n in N
        ),
        {name: [10, 20, 30] for name in ("Epoch", "loss", "Type P", "Type F")},
    ),
    "a bar of more batches than there are": (
        "".join(f"Epoch {n}/3\n53/52 [=====] - 23s 441ms/step - loss: 0.{n} - val_loss: 0.4\n" for n in N),
        {"loss": [0, 1, 2], "val_loss": [0, 1, 2]},
    ),
    "evaluations beside tables of steps": (
        "".join(
            f"{'-' * 40}\n| mean 100 episode reward | 0.{n}      |\n| steps                   | {n}2243   |\n"
            f"{'-' * 40}\nEval num_timesteps={n}5000, episode_reward=-4.8{n} +/- 0.47\n"
            for n in N
        ),
        {
            "mean 100 episode reward": [12243, 22243, 32243],
            "eval/episode_reward": [15000, 25000, 35000],
            "eval/episode_reward (std)": [15000, 25000, 35000],
        },
    ),
    "a list of settings that goes on": (
        "".join(f"epoch {n} loss 0.{n}\n" for n in N) + "{'loss': {'mean': [0.462,\n   0.45,\n   0.44],\n",
        {"loss": [1, 2, 3]},
    ),
    "a table of an axis and a metric": (
        "+-------+------+\n| epoch | loss |\n+-------+------+\n"
        + "".join(f"|   {n}   | 0.{n} |\n" for n in N)
        + "+-------+------+\n",
        {"loss": [1, 2, 3]},
    ),
    "tables of names and values between lines with corners": (
        "".join(
            f"+--------+-------+\n| Metric | Value |\n+--------+-------+\n"
            f"| epoch | {n} |\n| loss | 0.{n} |\n+--------+-------+\n"
            for n in N
        ),
        {"loss": [1, 2, 3]},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_values_are_at_their_steps(tmp_path: Path, case: str) -> None:
    assert_steps(tmp_path, *CASES[case])


SINGLE = {
    "after a pause": "".join(
        f"2025-05-03 12:{minute}:24 - INFO - Epoch 1/1, Loss: 2.5\n"
        f"2025-05-03 12:{minute}:38 - INFO - Validation Loss: 0.75\n"
        for minute in (39, 42, 49)
    ),
    "with other results between": "".join(
        f"epoch: {epoch}\ntrain loss: {epoch}.5\nvalid loss: {epoch}.7\n" for epoch in (1, 1, 2, 3, 1, 2)
    ),
}


@pytest.mark.parametrize("case", SINGLE)
def test_a_launch_that_ended_after_its_first_record_is_one(tmp_path: Path, case: str) -> None:
    run = read_log(tmp_path, SINGLE[case])
    assert run.attempts == 3
    assert all(0 in series.attempt for series in run.data.series.values())
    assert run.points == SINGLE[case].count("oss:")


@pytest.mark.parametrize("count", [2, 4, 7])
def test_launches_of_one_record_need_nothing_between_them_if_later_steps_have_fewer(
    tmp_path: Path, count: int
) -> None:
    records = [f"epoch 0, iter 0, loss: {number}.5\n" for number in range(count)]
    later = "".join(f"epoch 0, iter {step}, loss: 0.4\n" for step in range(10, 60, 10))
    run = read_log(tmp_path, "".join(records) + later)
    assert run.attempts == count
    assert len(steps_of(run)["loss"]) == count + 5
    processes = "".join(line * count for line in later.splitlines(keepends=True))
    assert read_log(tmp_path, "".join(records) + processes).attempts == 1


def test_a_first_step_that_comes_again_is_of_the_launch_whose_opening_lines_do_not(tmp_path: Path) -> None:
    later = "".join(f"step {step} loss: 0.4\n" for step in range(10, 60, 10))
    text = "Using device: cuda\nLoading the data\n" + "step 0 loss: 0.5\n" * 3 + later
    assert read_log(tmp_path, text).attempts == 1


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"epoch: {n}\ntrain loss: {n}.5\nvalid loss: {n}.7\n" * 2 for n in N),
        "".join(f"epoch {n} loss 0.{n}1\nvalid loss 0.5\nepoch {n} loss 0.{n}2\n" for n in N),
        "Epoch 0 test loss: 2.5\n"
        + "".join(f"Epoch {n} test loss: 2.5\nEpoch {n} loss 1.5\n" for n in (0, 1, 2)),
    ],
    ids=["two processes", "two records of an epoch", "an evaluation before the first epoch"],
)
def test_an_epoch_that_comes_again_is_no_launch(tmp_path: Path, text: str) -> None:
    assert read_log(tmp_path, text).attempts == 1


def test_results_between_launches_belong_to_the_launch_before_them(tmp_path: Path) -> None:
    text = "".join(
        "".join(f"step {step} loss {n}.5\n" for step in (10, 20, 30)) + f"val loss {n}.5\n" for n in N
    )
    run = read_log(tmp_path, text)
    assert steps_of(run) == {"loss": [10, 20, 30] * 3, "val loss": [30, 30, 30]}
    (results,) = (points for key, points in run.data.series.items() if key.metric == "val loss")
    assert results.attempt.tolist() == [0, 1, 2]
    assert results.value.tolist() == [1.5, 2.5, 3.5]


@pytest.mark.parametrize(
    ("training", "evaluation", "data"),
    [
        ("Training\n", "Validation\n", "validation"),
        ("", "Val\n", "val"),
        ("Training...\n", "Validating...\n", "validating"),
        ("", "Evaluating\n", "evaluating"),
        ("--- training ---\n", "--- test ---\n", "test"),
    ],
)
@pytest.mark.parametrize("every", [1, 3])
def test_an_epoch_again_below_the_heading_of_an_evaluation_is_of_it(
    tmp_path: Path, training: str, evaluation: str, data: str, every: int
) -> None:
    text = "".join(
        f"{training}Epoch {n} loss = 0.{n}\n" + f"{evaluation}Epoch {n} loss = 0.{n}5\n" * (n % every == 0)
        for n in range(9)
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    assert steps_of(run) == {"loss": [*range(9)], f"{data}/loss": [*range(0, 9, every)]}


def test_rows_without_data_below_a_named_loss_are_of_its_data(tmp_path: Path) -> None:
    text = "".join(
        f"Epoch {n}, lr: 5e-05\nTrain loss: 0.{n}5\nloss: 0.{n}51 acc: 0.3{n}\n"
        f"Val loss:   0.{n}6\nloss: 0.{n}61 acc: 0.2{n}\n"
        for n in range(6)
    )
    run = read_log(tmp_path, text)
    names = {"lr", "Train loss", "Val loss", "loss", "acc", "val/loss", "val/acc"}
    assert steps_of(run) == {name: [*range(6)] for name in names}


def test_a_heading_with_the_batches_of_the_training_ends_an_evaluation(tmp_path: Path) -> None:
    text = "".join(
        f"epoch {n}\n" * (at == 20)
        + f"batch count {at}/60\ntotal loss 2.{n}{at}\nTesting...\naccuracy 0.{n}{at}\n"
        for n in range(3)
        for at in (20, 40, 60)
    )
    steps = [20, 40, 60, 80, 100, 120, 140, 160, 180]
    assert steps_of(read_log(tmp_path, text)) == {"total loss": steps, "testing/accuracy": steps}


def epoch_of_batches(n: int, mean: str = "", below: str = "Validation\n") -> str:
    """An epoch with three batches, its mean, and a line of the epoch again below a heading."""
    batches = "".join(f"Epoch {n}, batch {at}, loss = 1.{n}{at}\n" for at in (1, 2, 3))
    return f"{batches}{mean}{below}Epoch {n} loss = 0.{n}\n"


@pytest.mark.parametrize("heading", ["Validation", "Validating epoch {n}", "--- evaluation ---", "Test"])
@pytest.mark.parametrize("has_mean", [True, False])
def test_the_first_line_of_an_epoch_below_the_heading_of_an_evaluation_is_of_it(
    tmp_path: Path, heading: str, has_mean: bool
) -> None:
    text = "".join(
        epoch_of_batches(n, f"Epoch {n} loss = 0.{n}9\n" * has_mean, f"{heading.format(n=n)}\n")
        for n in range(1, 5)
    )
    found = steps_of(read_log(tmp_path, text))
    evaluated = next(name for name in found if name not in ("loss", "epoch/loss", "Epoch"))
    assert evaluated.endswith("/loss")
    assert found[evaluated] == [3, 6, 9, 12]
    assert found["loss"] == [*range(1, 13)]
    assert ("epoch/loss" in found) == has_mean


def test_the_line_of_an_epoch_behind_the_results_of_an_evaluation_has_its_means(tmp_path: Path) -> None:
    text = "".join(epoch_of_batches(n, below=f"Validation\naccuracy: 0.7{n}\n") for n in range(1, 5))
    found = steps_of(read_log(tmp_path, text))
    assert found["validation/accuracy"] == found["epoch/loss"] == [3, 6, 9, 12]
    named = "".join(f"{epoch_of_batches(n)}Val loss: 0.6{n}\n" for n in range(1, 5))
    assert steps_of(read_log(tmp_path, named))["epoch/loss"] == [6, 9, 12]


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


def test_a_plain_word_names_a_training_where_a_name_did(tmp_path: Path) -> None:
    models = ("resnet18", "vgg16", "vit", "complete")
    text = "".join(
        f"Training {model}\n"
        + "".join(
            f"[{n}/3] train_loss={2 / n:.3f} mAP=0.{n}{i}\nBest mAP=0.{n}{i}\n" for n in (1, 2, 3) if i < 3
        )
        for i, model in enumerate(models)
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    steps = steps_of(run)
    for label in ("", "/model=vgg16", "/model=vit"):
        assert steps[f"train_loss{label}"] == [1, 2, 3]
    alone = read_log(tmp_path, text.replace("resnet18", "going").replace("vgg16", "slowly"))
    assert not any(key.labels and dict(key.labels).get("model") for key in alone.data.series)


def test_a_heading_of_results_in_other_words_names_no_training(tmp_path: Path) -> None:
    epochs = "".join(f"Epoch {n}: train_loss={2 / n:.3f} val_loss={3 / n:.3f}\n" for n in range(1, 6))
    run = read_log(tmp_path, 2 * (epochs + "\n=== CNN 结果 ===\ntest_acc: 0.8911\n"))
    assert run.attempts == 2
    assert {key.labels for key in run.data.series} == {()}


@pytest.mark.parametrize(
    "counted", ["| {:5} batches | ms/batch 12.50 | loss {:5.2f}\n", "batch {} loss {:.2f}\n"]
)
@pytest.mark.parametrize(
    ("below", "is_next"),
    [("valid loss: 2.3\n", True), ("Test set: Average loss: 0.5\n", True), ("Saved the weights\n", False)],
)
def test_batches_without_an_epoch_go_on_behind_an_evaluation(
    tmp_path: Path, counted: str, below: str, *, is_next: bool
) -> None:
    opening = "Loading the data\nUsing device cuda\nThe model has 3 layers\n"
    epochs = [
        "".join(counted.format(at, 5.0 / (n + at / 20)) for at in range(20, 101, 20)) + below
        for n in range(1, 4)
    ]
    run = read_log(tmp_path, "".join(epochs))
    assert run.attempts == (1 if is_next else 3)
    assert steps_of(run)["loss"] == ([*range(20, 301, 20)] if is_next else 3 * [*range(20, 101, 20)])
    again = read_log(tmp_path, 2 * (opening + epochs[0].replace("5.", "4.")))
    assert again.attempts == 2


@pytest.mark.parametrize("crash", ["", "Traceback (most recent call last):\nKeyboardInterrupt\n"])
@pytest.mark.parametrize("word", ["STAGE", "Model"])
def test_trainings_that_lines_name_are_counted_in_each_launch_anew(
    tmp_path: Path, crash: str, word: str
) -> None:
    def part(number: int, last: int, loss: float) -> str:
        frame = "=" * 20
        rows = (
            f"Epoch {n}/4 loss: {loss / n:.4f} val_loss: {loss / n + 1:.4f}\n" for n in range(1, last + 1)
        )
        return f"{frame}\n{word} {number}\n{frame}\n{''.join(rows)}"

    first = part(1, 4, 2.0) + part(2, 2 if crash else 4, 1.0)
    run = read_log(tmp_path, first + crash + part(1, 4, 2.1) + part(2, 4, 1.1))
    assert run.attempts == 2
    labels = {key.labels for key in run.data.series}
    assert len(labels) == 2
    assert not any("training" in dict(each) for each in labels)


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


def test_the_first_step_behind_all_steps_of_a_launch_is_of_another(tmp_path: Path) -> None:
    first = "".join(f"step {n}/40 loss: 1.{n}\n" for n in range(10, 41, 10))
    second = "".join(f"step {n} loss: 0.{n}\n" for n in range(1, 5))
    assert read_log(tmp_path, first + second).attempts == 2


@pytest.mark.parametrize(
    ("first", "second", "stage"),
    [
        ("warmup step {0}/300", "train step {0}/600", "train"),
        ("Warm-up iteration {0}", "Iteration {0}", "train"),
        ("Pretrain iter {0}", "Finetune iter {0}", "Finetune"),
    ],
)
def test_steps_of_a_stage_are_counted(tmp_path: Path, first: str, second: str, stage: str) -> None:
    def rows(line: str, last: int) -> str:
        return "".join(f"{line.format(step)} loss 0.{step}\n" for step in range(100, last + 1, 100))

    run = read_log(tmp_path, "Using device: cpu\n" + rows(first, 300) + rows(second, 600))
    assert run.attempts == 1
    assert steps_of(run) == {
        "loss": [100, 200, 300],
        f"loss/stage={stage}": [*range(100, 601, 100)],
    }


@pytest.mark.parametrize("line", ["warmup step: 300", "Warm-up steps 300", "warmup steps=300, loss: mse"])
def test_a_setting_of_a_stage_counts_nothing(tmp_path: Path, line: str) -> None:
    text = "".join(f"Step {step} loss 0.{step}\n" for step in range(100, 501, 100))
    assert steps_of(read_log(tmp_path, f"{line}\n{text}")) == {"loss": [*range(100, 501, 100)]}
