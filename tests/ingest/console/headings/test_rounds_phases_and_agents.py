"""Trainings of one launch in turn: rounds, clients, folds, tasks, stages and models."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log, steps_of

N = range(1, 4)
_SERVER = "2021-01-01 10:00:00.123 | INFO     | server:train_subset_of_clients:41 - "
_LOGURU = "2021-01-01 10:00:00.123 | INFO     | __main__:train:139 - "
_BATCHES = "".join(f"\r {at * 25}%|██  | {at}/4 [00:00<00:02,  9.70it/s]" for at in range(1, 5)) + "\n"

CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "the history of the training of each client, and its evaluation": (
        "".join(
            f"Round {n} Results\n"
            + "".join(
                f"client{c}:\nTraining History (Final Epoch):\n- accuracy: 0.{c}{n}\n- loss: 1.{c}{n}\n\n"
                f"Evaluation Metrics:\n- loss: 2.{c}{n}\n\n"
                for c in (1, 2)
            )
            for n in range(1, 6)
        ),
        {
            name: [*range(1, 6)]
            for name in (
                "accuracy",
                "loss",
                "evaluation/loss",
                "accuracy/client=2",
                "loss/client=2",
                "evaluation/loss/client=2",
            )
        },
    ),
    "tasks in turn with their classes, each of which ends as a step": (
        "".join(
            f"TRAINING TASK-{t}\tCLASSES: [1{t} 3{t} 5{t}]\n"
            + "".join(f"Epoch: {n}/5\tloss: 2.{t}{n}\tacc: 0.{t}{n}\n" for n in range(1, 6))
            + f"FINISH STEP {t + 1}\nTEST ACC: 0.5{t}\n"
            for t in range(3)
        ),
        {
            name: steps
            for task in ("", "/task=1", "/task=2")
            for name, steps in (
                (f"loss{task}", [*range(1, 6)]),
                (f"acc{task}", [*range(1, 6)]),
                (f"TEST ACC{task}", [5]),
            )
        },
    ),
    "clients with names, the first of which has its label, too": (
        "".join(
            f"Round {n}\n"
            + "".join(f"client: {site}  test_loss: 0.{n}{k}\n" for k, site in ((1, "a"), (2, "b")))
            for n in N
        ),
        {f"test_loss/client={site}": [*N] for site in "ab"},
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
    "a fold and its epoch before the values": (
        "".join(
            f"0{fold}/{n:03}: Val Loss: 1.{n}, Test Acc: 0.{n}\n" for fold in (1, 2) for n in range(1, 13)
        ),
        {f"{name}/fold={fold}": [*range(1, 13)] for name in ("Val Loss", "Test Acc") for fold in (1, 2)},
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
    "clients with their numbers in words, above the line of their round": (
        "".join(
            "".join(
                f"Client{c} Train => Local Epoch: 0   Acc: 0.{n}{c}  Loss: 1.{n}{c}\n"
                f"Client{c} Test =>                  Loss: 1.{c}{n}  Acc: 0.{c}{n}\n"
                for c in clients
            )
            + f"------ SERVER ------\nTrain: Round {n}, Avg Loss 0.{n}\nTest: Round {n}, Avg Loss 0.{n + 1}\n"
            for n, clients in enumerate(((3, 1, 2), (2, 3, 1), (1, 2, 3)))
        ),
        {
            **{
                f"{name}/client={c}": [0, 1, 2]
                for c in (1, 2, 3)
                for name in ("Acc", "Loss", "test/Acc", "test/Loss")
            },
            **{name: [0, 1, 2] for name in ("Avg Loss", "test/Avg Loss")},
        },
    ),
    **{
        f"clients with their numbers in words that count several epochs, {where}": (
            "".join(
                heading.format(n)
                + "".join(
                    f"[client_{c}] Epoch {epoch} | loss: 0.{n}{c}{epoch}\n"
                    for c in (4, 7)
                    for epoch in (0, 1)
                )
                for n in N
            ),
            {f"loss/client={c}": [*range(2 * len(N))] for c in (4, 7)},
        )
        for where, heading in {"below their round": "-- Round {0} --\n", "without a round": ""}.items()
    },
    "clients in brackets before any word, below the data of others": (
        "".join(f"Client {c} | samples={c}500 | labels=[3, 7]\n" for c in (0, 1))
        + "".join(
            f"Round {n}/3\n"
            + "".join(
                f"[client_{c}] pred={c} | actual=4\n"
                f"[client_{c}] trained with noise | loss: 0.{n}{c} | time: 1.{n}s\n"
                for c in (0, 1)
            )
            for n in (1, 2, 3)
        ),
        {f"{name}/client={c}": [1, 2, 3] for c in (0, 1) for name in ("loss", "time")},
    ),
    "members of a round behind what a launcher prints of them": (
        "".join(
            f"== ROUND {n} / 4 ==\n"
            + "".join(
                f" > Starting node0{c}... node0{c} submitted round {n - 1}: local MAE 0.{c}{n}, rows {c}\n"
                for c in (2, 1)
            )
            for n in N
        ),
        {f"local MAE/client=node0{c}": [*N] for c in (1, 2)},
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
    "clients in turn": (
        "".join(
            f"{_SERVER}Training epoch #{n} on client #{client}\n"
            + "".join(f"{_LOGURU}[{n},   {batch}] loss: 0.5\n" for batch in (0, 100))
            for n in (1, 2)
            for client in (5, 3)
        ),
        {
            **{f"loss{client}": [0, 100, 101, 201] for client in ("", "/client=3")},
            **{f"epoch{client}": [0, 100, 101, 201] for client in ("", "/client=3")},
        },
    ),
    "stages of an epoch in brackets": (
        "".join(
            f"** Epoch:[{n}/6][{stage} stage]\n{_BATCHES}Time 0.412 \nLoss {n}.5{at} Prec@1 1.{n}\n"
            for n in range(6)
            for at, stage in enumerate(("training", "validation"))
        ),
        {name: [*range(6)] for name in ("Loss", "Prec@1", "validation/Loss", "validation/Prec@1")},
    ),
    "cycles of several epochs": (
        "".join(
            f"{'=' * 40}\nCYCLE {cycle}/3\n{'=' * 40}\n"
            + "".join(f"  Epoch {n + 1}/6 - loss: {n}.{cycle}, value_loss: 1.{n}\n" for n in range(6))
            for cycle in (1, 2, 3)
        ),
        {"loss": [*range(1, 19)], "value_loss": [*range(1, 19)]},
    ),
    "trainings with the files of their settings": (
        "".join(
            f"Training with {name}.yaml\n" + "".join(f"[{n}/6] train_loss={9 - n}.1\n" for n in range(1, 7))
            for name in ("small", "large")
        ),
        {"train_loss": [*range(1, 7)], "train_loss/training=large.yaml": [*range(1, 7)]},
    ),
    "trainings for several amounts of something": (
        "".join(
            f"Starting training for hidden units: {size}-----------\n"
            + "".join(f"Epoch {n}: loss {9 - n}.1\n" for n in range(1, 7))
            for size in (10, 20)
        ),
        {"loss": [*range(1, 7)], "loss/training=hidden units: 20": [*range(1, 7)]},
    ),
    "trainings below headings in Chinese, and rounds that are none": (
        "".join(
            f"----- 训练 beta = 0.{n} -----\n"
            + "".join(f"===== 第 {each} 轮 =====\nbatch 1 loss: 0.{each}\n" for each in (1, 2, 3))
            for n in (1, 2)
        ),
        {"loss": [1, 2, 3], "loss/training=训练 beta = 0.2": [1, 2, 3]},
    ),
    "the step of a stage in brackets before an epoch and its batch": (
        "".join(
            f"[9-3 / step {stage}] Epoch {epoch}, Itrs {batch}/40, Loss={9 - epoch}.{batch}\n"
            for stage, epoch in ((1, 0), (1, 1), (1, 2))
            for batch in range(0, 40, 10)
        ),
        {name: [*range(0, 120, 10)] for name in ("Loss", "Epoch")},
    ),
    "runs of one script": (
        "".join(f"Run: 0{run}, Epoch: 0{n}, Loss: 1.5, Test: 69.1%\n" for run in (1, 2) for n in N),
        {f"{name}/run={run}": [1, 2, 3] for name in ("Loss", "Test") for run in (1, 2)},
    ),
    "folds in lines of epochs": (
        "".join(f"Fold {fold}, Epoch {n}: train_loss 0.5 val_auc 0.{n}\n" for fold in (1, 2) for n in N),
        {f"{name}/fold={fold}": [1, 2, 3] for name in ("train_loss", "val_auc") for fold in (1, 2)},
    ),
    "clients below a round": (
        "".join(
            f"------ Round {n} ------\nClient 0: loss 0.{n}\nClient 1: loss 0.5\nGlobal accuracy: 0.{n}\n"
            for n in N
        ),
        {name: [1, 2, 3] for name in ("loss/client=0", "loss/client=1", "Global accuracy")},
    ),
    "tasks in turn": (
        "".join(f"Task: {task} Epoch: {n} loss 0.5\n" for task in (1, 2) for n in N),
        {"loss/task=1": [1, 2, 3], "loss/task=2": [1, 2, 3]},
    ),
    "stages in turn": (
        "".join(
            f"Stage {stage}: fine-tuning\n" + "".join(f"Epoch {n}/3: loss=0.5\n" for n in N)
            for stage in (1, 2)
        ),
        {"loss": [1, 2, 3], "loss/phase=2": [1, 2, 3]},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_trainings_in_turn_are_told_apart(tmp_path: Path, case: str) -> None:
    assert_steps(tmp_path, *CASES[case])


def test_the_rate_of_each_epoch_names_no_training(tmp_path: Path) -> None:
    training = "".join(f"Epoch {n}/4\nLR: {0.1 / n}\nTrain Loss: 2.{n}, Val Loss: 2.4\n" for n in range(1, 5))
    run = read_log(tmp_path, f"{training}\nTraining finished\n{training}")
    assert {*steps_of(run)} == {"LR", "Train Loss", "Val Loss"}


@pytest.mark.parametrize(
    "heading",
    ["[1D] job {}/45 | layers=2 | fold=2/5 | seed=53002", "开始训练第 {}/5 折..."],
    ids=["job", "折"],
)
def test_trainings_of_a_study_are_one_launch(heading: str, tmp_path: Path) -> None:
    text = "".join(
        heading.format(n) + "\n" + "".join(f"epoch={epoch}/3 loss=7.{epoch}\n" for epoch in range(1, 4))
        for n in range(1, 4)
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    label = "job" if "job" in heading else "fold"
    assert steps_of(run) == {name: [1, 2, 3] for name in ("loss", f"loss/{label}=2", f"loss/{label}=3")}


def test_folds_below_which_epochs_are_announced_are_trainings(tmp_path: Path) -> None:
    text = "".join(
        f"FOLD {fold}\n--------------------------------\n"
        + "".join(
            f"Starting epoch {epoch}\nLoss after mini-batch   500: 2.{epoch}\n"
            "Loss after mini-batch  1000: 1.9\n"
            for epoch in (1, 2)
        )
        for fold in range(3)
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    steps = [500, 1000, 1500, 2000]
    assert steps_of(run) == {name: steps for name in ("Loss", "Loss/fold=1", "Loss/fold=2")}


def test_a_heading_names_the_training_of_epochs_below_it(tmp_path: Path) -> None:
    def training(name: str) -> str:
        return f"Training {name}...\n" + "".join(
            f"Epoch: {n}\nLoss: 0.{n}\nAcc: 44.5%\n" for n in range(1, 5)
        )

    run = read_log(tmp_path, "Reading the embedding\n" + training("RNN") + training("CNN"))
    assert run.attempts == 1
    assert {name for name in steps_of(run) if re.match("Loss", name)} == {"Loss", "Loss/model=CNN"}


def test_rows_of_folds_that_end_with_their_best_epoch(tmp_path: Path) -> None:
    text = "".join(
        f"fold {n}: train acc: 8{n}.5, valid acc: 7{n}.25, train loss: 0.{n}1, best epoch: {3 * n}\n"
        for n in range(1, 6)
    )
    steps = steps_of(read_log(tmp_path, text))
    assert [steps[name] for name in ("train acc", "valid acc", "train loss")] == [[*range(1, 6)]] * 3


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


def test_tables_of_models_in_turn_are_one_launch(tmp_path: Path) -> None:
    rows = "".join(f"{n}         2.{n}92867    0.{n}42270  00:02\n" for n in range(4))
    text = "".join(
        f"Training small model {model}/3 with a cycle, lr 0.01\nepoch     train_loss  mae       time\n{rows}"
        for model in (1, 2, 3)
    )
    names = [f"{name}{label}" for name in ("train_loss", "mae") for label in ("", "/model=2", "/model=3")]
    assert_steps(tmp_path, text, {name: [*range(4)] for name in names})


OPENING = (
    "Seed set to 42\nUsing the device cuda:0\nLoaded the encoder from checkpoint\nBuilt the model of 12M\n"
)


def test_two_fits_of_lightning_in_one_launch_are_told_apart(tmp_path: Path) -> None:
    fits = [
        "Loading the data\n"
        + "".join(
            f"\rEpoch {epoch}: 100%|##| {at}/2 [00:01<00:01, 4.8it/s, v_num={fit}, train_loss=0.{epoch}{at}]"
            for epoch in range(2)
            for at in (1, 2)
        )
        + "\n"
        for fit in (28, 29)
    ]
    run = read_log(tmp_path, OPENING + "".join(fits))
    assert run.attempts == 1
    assert steps_of(run) == {"train_loss": [1, 2, 3, 4], "train_loss/trainer=2": [1, 2, 3, 4]}
    assert read_log(tmp_path, (OPENING + fits[0]) + (OPENING + fits[1])).attempts == 2


def test_rounds_begin_again_behind_epochs_that_were_counted_in_the_last_one(tmp_path: Path) -> None:
    def rounds(plan: int) -> str:
        return "".join(
            f"Starting round {n + 1}/3 for group 1\n"
            + "".join(f"Client {c} - Round {n} - Loss: {plan}.{n}{c}\n" for c in (0, 1))
            + f"Round {n} - Global Accuracy: 0.{plan}{n}\n"
            for n in range(3)
        )

    def epochs_of_student(plan: int) -> str:
        return "".join(f"Epoch {n}/4, Student Loss: 0.{plan}{n}\n" for n in range(1, 5))

    opening = "Using device: cpu\nLoading data\nBuilt the model\n"
    text = opening + "".join(f"Running plan {k}\n" + rounds(k) + epochs_of_student(k) for k in (1, 2))
    of_rounds = ("Loss/client=0", "Loss/client=1", "Global Accuracy")
    assert steps_of(read_log(tmp_path, text)) == {
        f"{name}{of}": steps
        for of in ("", "/training=2")
        for name, steps in (*((each, [0, 1, 2]) for each in of_rounds), ("Student Loss", [1, 2, 3, 4]))
    }


def test_clients_named_right_below_one_another_are_of_no_values_of_the_next_launch(tmp_path: Path) -> None:
    def launch(number: int) -> str:
        clients = "".join(f"-----client {client} begins to train-----\n" for client in range(3))
        rounds = (
            f"Round {n}/8: lr 0.01\n{clients}Train loss: 0.{number}{n} acc: 0.8{n}\nClean accuracy: 0.7{n}\n"
            for n in range(5, 9)
        )
        return f"[run] /home/oak/bin/python /home/oak/case{number}.py\nData verified\n" + "".join(rounds)

    run = read_log(tmp_path, "".join(map(launch, range(3))))
    assert run.attempts == 3
    names = ("lr", "Train loss", "acc", "Clean accuracy")
    assert steps_of(run) == {name: 3 * [5, 6, 7, 8] for name in names}


def test_the_name_of_a_part_does_not_hold_for_the_next_experiment(tmp_path: Path) -> None:
    frame = "=" * 20

    def experiment(number: int, kind: str) -> str:
        epochs = "".join(f"Epoch {n} | Loss: {number}.{n} | Time: 0.5s\n" for n in (1, 2, 3))
        return (
            f"{frame}\nEXPERIMENT {number}: {kind} NET\n{frame}\n{epochs}"
            f"--- Training head on {kind} net ---\n{epochs.replace('Loss', 'Head loss')}"
        )

    text = experiment(2, "OAK") + experiment(1, "ELM")
    of_head = "Head loss/{}training=Training head on {} net"
    assert {name: steps for name, steps in steps_of(read_log(tmp_path, text)).items() if "oss" in name} == {
        "Loss": [1, 2, 3],
        "Loss/experiment=1": [1, 2, 3],
        of_head.format("", "OAK"): [1, 2, 3],
        of_head.format("experiment=1/", "ELM"): [1, 2, 3],
    }


def test_clients_below_rounds_behind_a_logger_without_seconds(tmp_path: Path) -> None:
    messages = ["Reading the data", "Initializing nets"]
    for number in range(4):
        messages.append(f"in comm round:{number}")
        for net in range(3):
            messages += [f"Training network {net}.", f"Epoch: 0 Loss: 1.{net}5", f"Epoch: 1 Loss: 0.{net}5"]
            messages += [f">> Test accuracy: 0.4{net}", " ** Training complete **"]
        messages.append(f">> Global Model Test accuracy: 0.5{number}")
    text = "".join(f"05-04 10:{at // 9:02} INFO     {message}\n" for at, message in enumerate(messages))
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    assert steps_of(run) == {
        "Loss": [*range(24)],
        "Test accuracy": [*range(1, 24, 2)],
        "Global Model Test accuracy": [*range(5, 24, 6)],
    }
