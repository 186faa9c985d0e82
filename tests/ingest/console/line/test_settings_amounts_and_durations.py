"""Numbers that are no position: settings, amounts, lengths of episodes, durations and dates."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log, steps_of

N = range(1, 4)

CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "the number of a device is no metric": (
        "".join(
            f"epoch {n}/9: loss 1.{n}, 12{n}.5 examples/sec on [device(type='cuda', index=1)]\n"
            for n in range(1, 6)
        ),
        {"loss": [*range(1, 6)], "examples/sec": [*range(1, 6)]},
    ),
    "a number of epochs and what stops them are settings": (
        "  50 epochs | patience=20\n" + "".join(f"Epoch {n}/50:\n  loss: 1.{n}\n" for n in range(1, 6)),
        {"loss": [*range(1, 6)]},
    ),
    "sizes of arrays are no metrics": (
        "".join(
            f"step: {n}, loss: 1.{n}, x: torch.Size([4, {n}, 8]), y shape: [4, {n}], dt: 0.{n}2\n"
            for n in range(1, 6)
        ),
        {"loss": [*range(1, 6)], "dt": [*range(1, 6)]},
    ),
    "what stops a training is no metric": (
        "".join(
            f"Epoch {n}\nLoss: 2.{n}\nEarlyStopping counter: {n} out of 5\nPatience: {n}\n"
            f"early_stop/val_loss: 1.{n}\n"
            for n in range(6)
        ),
        {name: [*range(6)] for name in ("Loss", "early_stop/val_loss")},
    ),
    "a patience is no batch": (
        "".join(f"Epoch {n}/9, Patience {n}/9, Loss: 2.{n}\n" for n in range(6)),
        {"Loss": [*range(6)]},
    ),
    "a mean number of steps that is sometimes whole": (
        "".join(f"[ {n}] ep={n}0 r= 2{n}.5 steps=1{n}{n}.{n % 2} vloss=1.{n}\n" for n in range(1, 7)),
        {name: [10 * n for n in range(1, 7)] for name in ("r", "steps", "vloss")},
    ),
    "counts of tags in what a model answered": (
        "".join(
            f"step:{n} - actor/pg_loss:0.{n} - critic/score:1.{n}\n"
            + "".join(
                f"  <{tag}>: count={k}, position={n}{k}3\n Format score: -{k}\n"
                for k, tag in enumerate("abc", n)
            )
            for n in range(8)
        ),
        {name: [*range(8)] for name in ("actor/pg_loss", "critic/score")},
    ),
    "the length of a step": (
        "".join(f"Iteration {n}\n  gnorm = 80{n}.5, xnorm = 3.{n}, step = 0.9{n}\n" for n in range(6)),
        {"gnorm": [*range(6)], "xnorm": [*range(6)], "step": [*range(6)]},
    ),
    "the length of an episode": (
        "".join(f"Episode: {n}, reward: 3{n}, it: {50 - n * (-1) ** n}, loss= 8.{n}\n" for n in range(6)),
        {"reward": [*range(6)], "it": [*range(6)], "loss": [*range(6)]},
    ),
    "the number of steps of an episode": (
        "".join(f"Episode: {n}, Number of Steps : {90 - n * (-1) ** n}, Reward: 2.{n}\n" for n in range(6)),
        {"Number of Steps": [*range(6)], "Reward": [*range(6)]},
    ),
    "the step at which an episode ended": (
        "".join(f"Episode: {n}, name: W_0, reward: 3.{n}, step:200.\n" for n in range(6)),
        {"reward": [*range(6)], "step": [*range(6)]},
    ),
    "an amount of updates below an epoch": (
        "".join(
            f"Epoch {n}\n  Total weight updates {n + 1}00\nTarget updates {n}7\nLoss: 2.{n}\n"
            for n in range(6)
        ),
        {"Loss": [*range(6)]},
    ),
    "durations of what is counted": (
        "".join(
            f'Train Epoch {n}\n{{\n    "Loss": 2.{n},\n    "Time_Epoch": 3.{n},\n'
            f'    "Time_Train_Batch": 0.{n}\n}}\n'
            for n in range(6)
        ),
        {name: [*range(6)] for name in ("Loss", "Time_Epoch", "Time_Train_Batch")},
    ),
    "the same in a line": (
        "".join(f"Epoch {n} | loss: 2.{n} | time_epoch: 9.{n} | max time steps: 500\n" for n in range(6)),
        {name: [*range(6)] for name in ("loss", "time_epoch")},
    ),
    "settings below the heading of each epoch": (
        "".join(
            f"Epoch {n}/4\n----------Current Parameters----------\nis use GPU: True\nmodel_type: resnet50\n"
            f"name of the data set: cifar\n[12:13:0{n}]\tTraining Batch[5/5]\t Class Loss: 7.0{n}\t\n"
            for n in range(1, 5)
        ),
        {"Class Loss": [5, 10, 15, 20]},
    ),
    "the checkpoint that was loaded": (
        "Initialized from checkpoints/best.pt  (epoch 19, val MSE 0.027752)\n"
        + "".join(f"Epoch {n}: loss 0.{n}\n" for n in range(1, 5)),
        {"loss": [*range(1, 5)]},
    ),
    "the parts of a model and their sizes": (
        "".join(f"Epoch {n}: loss 0.{n}\n" for n in range(1, 5))
        + "   | Name | Type           | Params | Mode\n2  | acc  | BinaryAccuracy | 0      | train\n",
        {"loss": [*range(1, 5)]},
    ),
    "settings with a size of batches": (
        "training : 15000 iters, batch 64, crop 64->128, lr 0.0002\n"
        + "".join(f"  step  {n:5}/15000  loss 0.0{n}  lr 4.0e-07  0.01 it/s\n" for n in range(1, 5)),
        {"loss": [*range(1, 5)], "lr": [*range(1, 5)]},
    ),
    "a command line": (
        "INFO:train.py --gpus 1,2 --batch_size 16 --load_epoch 26 --lr 0.001 --prefix test\n"
        + "".join(f"Epoch {n}: loss 0.{n}\n" for n in range(1, 5)),
        {"loss": [1, 2, 3, 4]},
    ),
    "the time that the generation of texts took": (
        "".join(f"step {n}00, loss: 0.5\n" for n in range(1, 5))
        + "Decoding on dev set...\nEvaluation result (beam) bleu: 1.5, generation: 9.7[sec]\n"
        + "Decoding on test set...\nEvaluation result (beam) bleu: 1.4, generation: 9.5[sec]\n",
        {"loss": [100, 200, 300, 400]}
        | {name: [400] for name in ("dev/bleu", "dev/generation", "test/bleu", "test/generation")},
    ),
    "settings below a record are none": (
        "".join(f"step {n}: loss 0.5\nlearning rate: 0.1\nsaved to model.pt, accuracy: 0.5\n" for n in N),
        {"loss": [1, 2, 3]},
    ),
    "how long the training of an epoch took": (
        "".join(f"Epoch {n:02} loss 2.{n} | train 1.{n}s | Acc 9.{n}%\n" for n in range(1, 6)),
        {name: [*range(1, 6)] for name in ("loss", "train time", "Acc")},
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
    "shares that are no batches": (
        "".join(f"Epoch {n}\ntrain: 4{n}/50, acc 0.5{n}\n" for n in N),
        {"acc": [1, 2, 3]},
    ),
    "a list of settings that goes on": (
        "".join(f"epoch {n} loss 0.{n}\n" for n in N) + "{'loss': {'mean': [0.462,\n   0.45,\n   0.44],\n",
        {"loss": [1, 2, 3]},
    ),
    "settings of when a training begins and ends": (
        "TRAIN:\n  BEGIN_EPOCH: 0\n  END_EPOCH: 520\n  EXTRA_LR: 0.1\n  LR: 0.05\n  end_epoch: 52\n"
        + "".join(f"Epoch: [{n}/520] Iter:[{at}/90], Loss: 0.{at}\n" for n in (0, 1) for at in (0, 30, 60)),
        {name: [0, 30, 60, 90, 120, 150] for name in ("Epoch", "Loss")},
    ),
    "games of a test that are counted alone": (
        "".join(f"step {n}: loss 1.{n}\nTest on 10 games: {n} won, 2 lost\n" for n in range(6)),
        {"loss": [*range(6)]},
    ),
    "sizes in braces, which are settings": (
        "".join(
            f"Input size: {{'node': 2{n}, 'edge': 1{n}}}\nLoaded 19 rows\nepoch: {n}, score 0.{n}\n"
            for n in range(6)
        ),
        {"score": [*range(6)]},
    ),
    "a schedule that counts epochs from 1": (
        "".join(
            f"Epoch: {n}\nTraining: 4.{n}\n"
            + f"Epoch    {n + 1}: reducing learning rate of group 0 to 1.0000e-04.\n" * (n % 2)
            + f"Validation: 3.{n}\n"
            for n in range(6)
        ),
        {"Training": [*range(6)], "Validation": [*range(6)]},
    ),
    "steps of a game in an iteration": (
        "".join(f"iteration: {n}0 | loss: 94.{n} | steps: 14{n} | avg_reward: 1.0\n" for n in range(6)),
        {name: [10 * n for n in range(6)] for name in ("loss", "steps", "avg_reward")},
    ),
    "steps of a game in parentheses": (
        "".join(
            f"Iter {n}: SR 66.9%, Q 21.7, Pi -6.3, CE 4.6, Buffer 11\n  Ex 1: Won (Steps: 6)\n"
            for n in range(6)
        ),
        {name: [*range(6)] for name in ("SR", "Q", "Pi", "CE", "Buffer")},
    ),
    "the length of a game": (
        "".join(f"Episode {n}\n  Average game length: {n}7.5\n  Average reward: 0.{n}\n" for n in range(6)),
        {"Average game length": [*range(6)], "Average reward": [*range(6)]},
    ),
    "a line that says that an epoch is done, behind its record": (
        "".join(
            f"Epoch = {n}, Loss = 2.{9 - n}\nRun-up = 1.{n}\nEpoch {n} done in 3.{n}.\n" for n in range(1, 7)
        ),
        {"Loss": [*range(1, 7)], "Run-up": [*range(1, 7)]},
    ),
    "amounts before the steps": (
        "[train] tokens/iter = 393,216 | train tokens = 239,182,819 | vocab = 16384\n"
        + "".join(f"[eval] iter {n}0: val 9.{n} lr 7.50e-07\n[train] iter {n}1: loss 8.5\n" for n in N),
        {"val": [10, 20, 30], "eval/lr": [10, 20, 30], "loss": [11, 21, 31]},
    ),
    "the stages of a script": (
        "".join(f"[{n}/5] Building the model...\n  Total parameters: 125,433,088\n" for n in N)
        + "".join(f"Epoch {n}/3\n  Train loss: 0.5\n" for n in N),
        {"Train loss": [1, 2, 3]},
    ),
    "the steps of an episode behind its total reward": (
        "".join(f"Episode: {n}, total reward: 1{n}.0, steps: 120, epsilon: 0.9\n" for n in N),
        {name: [1, 2, 3] for name in ("total reward", "steps", "epsilon")},
    ),
    "settings behind the name of a stage": (
        "".join(f"Epoch {n}/3: loss=0.5\n" for n in N)
        + "Evaluate\nPhase 2: tune (LR=0.0005, enc_scale=0.1)\n",
        {"loss": [1, 2, 3]},
    ),
    "settings next to a number of epochs": (
        "{'batch_size': 1024, 'epochs': 200, 'learning_rate': 0.005, 'weight_decay': 0.1}\n"
        + "".join(f"epoch: {n}/200\tbatch: 4/11\tloss: 0.5\n" for n in N),
        {"epoch": [4, 15, 26], "loss": [4, 15, 26]},
    ),
    "a setting with the name of a metric below an epoch": (
        "".join(f"epoch {n} | FID=20.5\n" for n in N) + "n_epochs: 18\nfid_every: 3\n",
        {"FID": [1, 2, 3]},
    ),
    "settings that look like steps": (
        "[START] 3/4 args: Namespace(step=10, loss=1.5)\n[INFO] check_every=10  val_iter=10\nnum_epochs: 50\n"
        + "".join(f"Epoch {n}/199  train_loss=0.{n}\n" for n in N),
        {"train_loss": [1, 2, 3]},
    ),
    "amounts announce nothing": (
        "num_epochs: 50\ntraining_steps: 1882\nSTEPS: (10000, 16000)\n"
        + "".join(f"Epoch: {n} | loss: 0.{n}\nBest Loss: 0.{n}5 | Best Dice: 0.5\n" for n in N),
        {"loss": [1, 2, 3], "Best Loss": [1, 2, 3], "Best Dice": [1, 2, 3]},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_settings_and_amounts_are_neither_positions_nor_results(tmp_path: Path, case: str) -> None:
    assert_steps(tmp_path, *CASES[case])


def test_no_amount_is_a_step(tmp_path: Path) -> None:
    assert read_log(tmp_path, "Total weight updates 300\nmean reward 1.5, max reward 2.5\n").points == 0


def test_settings_behind_a_training_are_no_results(tmp_path: Path) -> None:
    records = "".join(f"[Train] epoch:{n}, lr:0.1, total:0.4\n" for n in range(1, 5))
    settings = "".join(
        f"INFO - \t{setting}\n"
        for setting in ("hidden_dim: 64", "dropout: 0.1", "lr: 0.001", "alpha: 0.5", "beta: 0.3")
    )
    series = steps_of(read_log(tmp_path, f"{records}INFO - Args:\n{settings}"))
    assert {*series} == {"lr", "total"}


YAML = """\
  DATASETS:
    TEST: ("city_val",)
  SOLVER:
    BASE_LR: 0.004
    GAMMA: 0.1
  TEST:
    SCORE_THRESH: 0.05
    NMS_TH: 0.5
"""


def test_nested_settings_are_neither_results_nor_headings_of_an_evaluation(tmp_path: Path) -> None:
    launch = (
        YAML + "Start training\n" + "".join(f"eta: 1:00:00  iter: {n}0  loss: 0.{n}\n" for n in range(1, 5))
    )
    run = read_log(tmp_path, launch + launch)
    assert {*steps_of(run)} == {"loss"}
    assert run.attempts == 2


def test_weights_of_losses_are_settings(tmp_path: Path) -> None:
    text = '{\n  "qa_loss_factor": 1.0,\n  "CENTER_LOSS_WEIGHT": 0.5,\n  "reward coef": 0.1\n}\n'
    lines = "".join(f"Epoch {n}, loss: 0.{n}\n" for n in N)
    assert steps_of(read_log(tmp_path, lines + text)) == {"loss": [*N]}


def test_epochs_and_iterations_in_all_are_settings(tmp_path: Path) -> None:
    text = "Optimizer: AdamW, LR: 0.001, Batch: 256, Epochs: 25, Iters: 4675, L2: 0.1\n"
    text += "".join(f"Epoch {n}/25 | Loss: 0.{n}\n" for n in N)
    assert steps_of(read_log(tmp_path, text)) == {"Loss": [*N]}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1m 2s", 62), ("12m 44.5s", 764.5), ("1h 2m 3s", 3723), ("2 min 5 sec", 125), ("01h02m03s", 3723)],
)
def test_durations_in_several_units_are_in_seconds(tmp_path: Path, text: str, seconds: float) -> None:
    run = read_log(tmp_path, "".join(f"Epoch {n}, loss: 0.5, epoch time {text}\n" for n in range(8)))
    [series] = [series for key, series in run.data.series.items() if key.metric == "epoch time"]
    assert series.value.tolist() == [seconds] * 8


@pytest.mark.parametrize(
    "line", ["Round {n} Time: 1{n}.5s", "Epoch {n} - time: 1{n}.5", "Epoch: {n} | Time: 0m 1{n}s"]
)
def test_how_long_an_epoch_took_may_be_on_a_line_of_its_own(tmp_path: Path, line: str) -> None:
    unit = line.split()[0].strip(":")
    text = "".join(f"{unit} {n}: loss 0.{n}, acc 0.5{n}\n{line.format(n=n)}\n" for n in N)
    steps = {name.lower(): steps for name, steps in steps_of(read_log(tmp_path, text)).items()}
    assert steps == {name: [*N] for name in ("loss", "acc", "time")}


def test_dates_are_no_metrics(tmp_path: Path) -> None:
    text = "".join(f"Episode {n} reward: 1.0 Time: 02/05/2018--11:4{n} Frame: {n}\n" for n in range(8))
    assert steps_of(read_log(tmp_path, text)).keys() == {"reward", "Frame"}


def test_the_step_at_which_an_episode_ended_is_its_length(tmp_path: Path) -> None:
    text = "".join(f"[DQN] Episode {n} - Truncated at step 1000. Reward: 101{n}.5\n" for n in N)
    assert steps_of(read_log(tmp_path, text)) == {"Reward": [*N]}


@pytest.mark.parametrize(
    "settings",
    [
        "trainer: amp=True, cache=False, cfg=None, epochs=5, lr0=0.01, iou=0.7",
        "regime: [{'epoch': 0, 'optimizer': 'SGD', 'lr': 0.1, 'name': 'WeightDecay', 'log': False}]",
    ],
)
def test_lists_with_many_words_as_values_are_settings(tmp_path: Path, settings: str) -> None:
    text = settings + "\n" + "".join(f"Epoch: [{n}] Loss 0.{n}\n" for n in N)
    assert steps_of(read_log(tmp_path, text)) == {"Loss": [*N]}


@pytest.mark.parametrize(
    "settings",
    [
        "Epochs: 3, Learning Rate: 0.005, Samples/Epoch: 1000",
        "learning_rate:1e-05,epoch:3,batch_size:32,weight_decay:0.1",
        "amp=True, batch=8, box=7.5, cfg=None, epochs=9, imgsz=640, iou=0.7, lr0=0.01, layers=8",
        "Training: 4800 rows, Val: 600 rows, batch=32, epochs=3, device=cpu",
        "[setup] samples=4800 batch=32 epochs=3",
    ],
)
def test_lines_of_settings_have_no_step(tmp_path: Path, settings: str) -> None:
    text = f"{settings}\n" * 2 + "".join(f"Epoch {n}/3 | Loss: 0.{n}\n" for n in N)
    assert steps_of(read_log(tmp_path, text)) == {"Loss": [*N]}


OUTCOMES = (
    "Number of correct items",
    "Num correct",
    "num_correct",
    "Number of misclassified samples",
    "num wins",
)


@pytest.mark.parametrize("name", OUTCOMES)
def test_numbers_of_outcomes_are_no_settings(name: str, tmp_path: Path) -> None:
    text = "".join(f"Epoch {n}\nLoss: 0.{n}\n{name}: {3 * n}\n" for n in range(1, 7))
    assert steps_of(read_log(tmp_path, text)) == {"Loss": [*range(1, 7)], name: [*range(1, 7)]}


def test_numbers_of_other_things_are_settings(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n}\nLoss: 0.{n}\nNumber of workers: {3 * n}\n" for n in range(1, 7))
    assert steps_of(read_log(tmp_path, text)) == {"Loss": [*range(1, 7)]}


def test_an_epoch_before_a_colon_is_no_time(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n}:20 Loss: 0.{n}\n" for n in range(1, 7))
    assert steps_of(read_log(tmp_path, text)) == {"Loss": [*range(1, 7)]}
