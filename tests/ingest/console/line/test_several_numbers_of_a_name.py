"""Several numbers at one name: lists, pairs, dictionaries, ratios, and numbers in brackets."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log, steps_of

N = range(1, 4)


def _at(steps: list[int], *names: str) -> dict[str, list[int]]:
    return {name: steps for name in names}


CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "several numbers with per cent signs": (
        "".join(f"Epoch: {n}\n\tTrain Acc: 5{n}.5% 6{n}.5% 7{n}.5%\n" for n in range(6)),
        {name: [*range(6)] for name in ("Train Acc", "Train Acc 2", "Train Acc 3")},
    ),
    "values in braces behind the name of their sum": (
        "".join(f"[E 0 | it {n}] loss {{total 1.{n}E+00, nll 9.{n}E-01, pos 1.5E+00}}\n" for n in range(6)),
        {name: [*range(6)] for name in ("E", "loss/total", "loss/nll", "loss/pos")},
    ),
    "rows that end with other words each time": (
        "".join(f"({n}, 0.5{n}, {['cat', 'dog'] if n % 2 else ['dog', 'cat']})\n" for n in range(6)),
        {"column 2": [*range(6)]},
    ),
    "what was computed of a value, in brackets behind it": (
        "".join(
            f"Epoch {n} train loss 2.{n}\n Recall@9: 0.{n} (window: 0.{n})\n"
            f" Place: 60{n}.0 (window: 61{n}.0)\n"
            for n in range(6)
        ),
        {
            name: [*range(6)]
            for name in ("train loss", "Recall@9", "Recall@9 (window)", "Place", "Place (window)")
        },
    ),
    "several of these": (
        "".join(
            f"Epoch {n} reward: 2.{n} (mean: 1.{n}, std: 0.{n}) loss: 0.{n} (mean: 0.5)\n" for n in range(6)
        ),
        {name: [*range(6)] for name in ("reward", "reward (mean)", "reward (std)", "loss", "loss (mean)")},
    ),
    "a number before a value in brackets, with a colon": (
        "".join(f"Epoch {n}\nTraining loss (progress: 0.50): 1.{n}\n" for n in range(6)),
        {"Training loss": [*range(6)]},
    ),
    "a dictionary whose keys are numbers": (
        "".join(
            f"epoch {n}, loss 1.{n}\nper class iou: {{0: 0.6{n}, 1: 0.{n}, 2: 0.3}} mean iou 0.33\n"
            for n in range(1, 5)
        ),
        {
            name: [*range(1, 5)]
            for name in ("loss", "per class iou/0", "per class iou/1", "per class iou/2", "mean iou")
        },
    ),
    "amounts of money": (
        "".join(f"step=   {n}000 | capital=$ 1286.2{n} | loss=0.0057{n}\n" for n in range(1, 5)),
        {name: [1000, 2000, 3000, 4000] for name in ("capital", "loss")},
    ),
    "the number before a change and that after it": (
        "".join(
            f"[{n}00/9000] batch loss : 6.3{n} | time : 0.16s\n"
            f"[{n}00/9000] mean test loss : 6.3{n} -> 5.7{n} by 1 grad steps\n"
            for n in range(1, 5)
        ),
        {name: [100, 200, 300, 400] for name in ("batch loss", "time", "mean test loss", "mean test loss 2")},
    ),
    "tuples of names and numbers": (
        "".join(f"('Epoch: ', {n}, ' Loss: ', 1.0{n}, 'acc', 0.{n})\n" for n in range(1, 5)),
        {name: [*range(1, 5)] for name in ("Loss", "acc")},
    ),
    "tuples of a name and a number": (
        "".join(
            f"epoch: 0/50, data_slice: 0/1, step_in_epoch: {n}0, total step: {n}0, (lr: 1.0e-05), "
            f"[('loss_att', 1.{n}), ('acc', 0.7)]\n"
            for n in range(1, 5)
        ),
        {name: [10, 20, 30, 40] for name in ("epoch", "lr", "loss_att", "acc")},
    ),
    "lists of several evaluations": (
        "".join(f"step: {n}0 \ttraining acc: [0.1 0.2]\nTest acc: [0.{n} 0.4]\n" for n in range(1, 5)),
        {name: [10, 20, 30, 40] for name in ("training acc", "training acc 2", "Test acc", "Test acc 2")},
    ),
    "numbers in brackets behind a name": (
        "".join(
            f"[Update {n}/4] PolicyLoss=0.8 Adv(mean=0.{n}, std=1.0) GradNorm(P=23.9, V=76.6)\n"
            for n in range(1, 5)
        ),
        {name: [*range(1, 5)] for name in ("PolicyLoss", "Adv/mean", "Adv/std", "GradNorm/P", "GradNorm/V")},
    ),
    "names in brackets before the numbers": (
        "".join(f"INFO - Epoch {n}0    [Avg. Loss, Loss]: [10.4{n}, 7.1], 0\n" for n in range(1, 5)),
        {"Avg. Loss": [10, 20, 30, 40], "Loss": [10, 20, 30, 40]},
    ),
    "a dictionary of dictionaries": (
        "".join(f"Epoch {n}, loss: 0.5\n" for n in range(1, 5))
        + "INFO - {'daily': {'MASE': 3.12, 'SMAPE': 2.93}, 'hourly': {'MASE': 4.1, 'SMAPE': 1.5}}\n",
        {
            "loss": [1, 2, 3, 4],
            **{f"{of}/{name}": [4] for of in ("daily", "hourly") for name in ("MASE", "SMAPE")},
        },
    ),
    "an ordered dictionary": (
        "".join(f"Epoch {n}, loss: 0.5\n" for n in range(1, 5))
        + "INFO: OrderedDict([('bbox', OrderedDict([('AP', 0.43), ('AP50', 0.7)])), "
        "('segm', OrderedDict([('AP', 0.4)]))])\n",
        {"loss": [1, 2, 3, 4], "bbox/AP": [4], "bbox/AP50": [4], "segm/AP": [4]},
    ),
    "a share and what it is of": (
        "".join(
            f"[Seq 1, Epoch {n}] val accuracy: 0.7{n} (323 / 423), avg loss: 0.13 .\n" for n in range(1, 5)
        ),
        {name: [1, 2, 3, 4] for name in ("Seq", "val accuracy", "val avg loss")},
    ),
    "dictionaries over several lines": (
        "".join(
            f'Epoch {n}, loss: 0.5\nTest Metrics:\n{{\n    "Ulcer": {{\n        "precision": 0.77{n},\n'
            '        "specificity": 0.97\n    },\n    "Polyp": {\n        "precision": 0.8\n    },\n'
            '    "accuracy": 0.7\n}\n'
            for n in range(1, 5)
        ),
        {
            "loss": [1, 2, 3, 4],
            **{
                f"test/{name}": [1, 2, 3, 4]
                for name in ("Ulcer/precision", "Ulcer/specificity", "Polyp/precision", "accuracy")
            },
        },
    ),
    "parts of a loss in brackets": (
        "".join(f"[FT] Ep 00{n} | Loss 1.6{n} (R:116.3 M:0.80) | AUC 0.6\n" for n in range(1, 5)),
        {name: [1, 2, 3, 4] for name in ("Loss", "R", "M", "AUC")},
    ),
    "tensors of TensorFlow": (
        "".join(f"Epoch {n}, loss: tf.Tensor({n}.07, shape=(), dtype=float32)\n" for n in range(1, 5)),
        {"loss": [*range(1, 5)]},
    ),
    "several numbers behind a name": (
        "".join(f"Epoch {n}: acc: [0.9, 0.8, 0.7] loss: 0.{n}\n" for n in N),
        {"acc": [1, 2, 3], "acc 2": [1, 2, 3], "acc 3": [1, 2, 3], "loss": [1, 2, 3]},
    ),
    "numbers at the end of a line": (
        "".join(f"Epoch {n} | loss: 0.5 | IoU: 0.9 0.{n}\n" for n in N),
        {"loss": [1, 2, 3], "IoU": [1, 2, 3], "IoU 2": [1, 2, 3]},
    ),
    "a list of rewards": (
        "".join(f"Episode {n} rewards: (1.5, -2.{n})\n" for n in N),
        {"rewards": [1, 2, 3], "rewards 2": [1, 2, 3]},
    ),
    "means in a row": (
        "".join(f"Iter [{n}/900], loss: 0.5, mean_loss: 0.5/0.4/0.{n}\n" for n in N),
        {name: [1, 2, 3] for name in ("loss", "mean_loss", "mean_loss 2", "mean_loss 3")},
    ),
    "names in brackets": (
        "".join(
            f"({n}/9) LR: 0.1 | Loss: 0.6 | Loss(text/kernel): 0.4/0.{n} | IoU(text/kernel): 0.2/0.3\n"
            for n in N
        ),
        {name: [1, 2, 3] for name in ("LR", "Loss", "Loss/text", "Loss/kernel", "IoU/text", "IoU/kernel")},
    ),
    "numbers of single precision in Julia": (
        "".join(f"Epoch: {n}   (loss = 0.{n}5f0, acc = 9{n}.5)   rate = 1.{n}f-5\n" for n in range(6)),
        {"loss": [*range(6)], "acc": [*range(6)], "rate": [*range(6)]},
    ),
    "sums with their terms": (
        "".join(
            f"Epoch {n} [9.1s]: train==[0.5{n}=0.4{n} + 0.1]\n"
            if n % 3
            else f"Epoch {n} [9.1s + 1.2s]: test==[0.6{n}=0.5{n} + 0.1], recall=[0.1{n}, 0.2{n}]\n"
            for n in range(1, 10)
        )
        + "Best Iter=[3]@[99.1]\trecall=[0.16\t0.26]\n",
        _at([1, 2, 4, 5, 7, 8], "train", "train 2", "train 3")
        | _at([3, 6, 9], "test", "test 2", "test 3", "recall", "recall 2")
        | _at([9], "best/recall", "best/recall 2"),
    ),
    "numbers of a list in quotes": (
        "".join(
            f"[epoch: {n}]\ntrain_loss: 2.{n}\nrow hits: ['9{n}.2', '8{n}.5']\nIoU: ['7{n}', '6{n}', '50']\n"
            for n in range(1, 6)
        ),
        {name: [*range(1, 6)] for name in ("train_loss", "row hits", "row hits 2", "IoU", "IoU 2", "IoU 3")},
    ),
    "rows of horizons before their word, with a value for each of two data": (
        "".join(
            f"Epoch {n}: \n"
            + "".join(
                f"| {h:<2} Horizon | RMSE: {h}.{n}, {h}.{n}5; MAE: {h - 1}.{n}, {h - 1}.{n}5;\n"
                for h in (3, 12)
            )
            for n in range(1, 6)
        ),
        {
            f"{name}/horizon={h}": [*range(1, 6)]
            for name in ("RMSE", "RMSE 2", "MAE", "MAE 2")
            for h in (3, 12)
        },
    ),
    "an array of one value, and one in a tensor": (
        "".join(
            f"Epoch {n}: Loss = {9 - n}.5, Theta = [[{n}.25]], Bias = tensor([[0.{n}]])\n" for n in range(6)
        ),
        {"Loss": [*range(6)], "Theta": [*range(6)], "Bias": [*range(6)]},
    ),
    "two names and two numbers with a slash between blanks": (
        "".join(f"Epoch {n}, loss / acc: 1.{n} / 0.{n}\n" for n in range(6)),
        {"loss": [*range(6)], "acc": [*range(6)]},
    ),
    "correct ones of all": (
        "".join(
            f"Epoch {n}, loss = 1.{n}\nChecking accuracy on training data\nGot 97 / 100 correct (97.00)\n"
            f"Checking accuracy on test data\nGot 396 / 1000 with accuracy 39.6{n}\n\n"
            for n in (1, 2)
        ),
        {"loss": [1, 2], "eval/train/accuracy": [1, 2], "test/accuracy": [1, 2]},
    ),
    "correct ones and nothing else": (
        "".join(f"Epoch {n}: {3077 + n}/10000\n" for n in range(6)),
        {"correct": [*range(6)]},
    ),
    "how many of a batch are right": (
        "".join(f"Epoch {n} step {n}0 loss 2.{n} valid acc {n}/16\n" for n in range(6)),
        {name: [10 * n for n in range(6)] for name in ("Epoch", "loss", "valid acc")},
    ),
    "ranks in a list before that of the values at them": (
        "".join(
            f"| epoch {n} | loss: {9 - n}.5 Hit@[5, 10]: [0.{n}1, 0.{n}3], NDCG@[5, 10]: [0.{n}2, 0.{n}4]\n"
            for n in range(1, 7)
        ),
        {name: [*range(1, 7)] for name in ("loss", "Hit@5", "Hit@10", "NDCG@5", "NDCG@10")},
    ),
    "parts of a loss in brackets between commas": (
        "".join(f"epoch   {n}00 | loss 2.3e-01 (pde 2.2e-01, bc 0.0e+00) | lr 9.50e-05\n" for n in N),
        {name: [100, 200, 300] for name in ("loss", "pde", "bc", "lr")},
    ),
    "ranks within the name of a metric": (
        "".join(
            f"Epoch {n}/3, loss: 0.{n}\nPrecision of top-[2, 7] guesses on test set is 4{n}.5, 3{n}.5\n"
            for n in N
        ),
        {
            "loss": [1, 2, 3],
            "Precision of top-2 guesses on test set": [1, 2, 3],
            "Precision of top-7 guesses on test set": [1, 2, 3],
        },
    ),
    "three ranks, behind batches": (
        "".join(f"Epoch: [{n}][{batch}/20] Loss 0.{n}\n" for n in (0,) for batch in (0, 10))
        + "Recall of top-[1,4,9]: 4.5, 3.5, 2.5\n",
        {"Epoch": [0, 10], "Loss": [0, 10], **{f"Recall of top-{rank}": [10] for rank in (1, 4, 9)}},
    ),
    "arrays of one number": (
        "".join(f"Epoch {n}\ntrain loss: 0.5\n[TEST]\n{{'precision': array([0.0{n}])}}\n" for n in N),
        {"train loss": [1, 2, 3], "test/precision": [1, 2, 3]},
    ),
    "a dictionary over several lines": (
        "".join(
            f"Step {n}00 per-step time 0.5s\nI01 lib.py:7] {{'Loss/total': 0.{n},\n 'learning_rate': 0.1}}\n"
            for n in N
        ),
        {"Loss/total": [100, 200, 300], "learning_rate": [100, 200, 300]},
    ),
    "keys of a dictionary with numbers": (
        "".join(
            f"iter: {n}00, total_loss: 0.5\nEvaluating...\n"
            f"Evaluation result: {{'Dice - all, class 1': 0.{n}, 'Dice - all, class 2': 0.5, 'loss': 0.4}}\n"
            for n in N
        ),
        {
            "total_loss": [100, 200, 300],
            "evaluation/Dice - all, class 1": [100, 200, 300],
            "evaluation/Dice - all, class 2": [100, 200, 300],
            "evaluation/loss": [100, 200, 300],
        },
    ),
    "parts of the losses of the data": (
        "".join(
            f"epoch {n} | train 1.1 (seg 0.7, thick 1.0) | val 1.3 (seg 0.8, thick 1.2) | lr 1e-5\n"
            for n in N
        ),
        {name: [1, 2, 3] for name in ("train", "seg", "thick", "val", "val seg", "val thick", "lr")},
    ),
    "a list of numpy's numbers": (
        "".join(f"Epoch {n}\nval_loss 0.5\nPseudo dice [np.float32(0.5), np.float32(0.{n})]\n" for n in N),
        {"val_loss": [1, 2, 3], "Pseudo dice": [1, 2, 3], "Pseudo dice 2": [1, 2, 3]},
    ),
    "means that are not a number": (
        "".join(f"Training epoch: {n}\n\tmean_loss: nan\nEval epoch: {n}\n\tTop1: 20.00%\n" for n in N),
        {"mean_loss": [1, 2, 3], "eval/Top1": [1, 2, 3]},
    ),
    "lists of names": (
        "".join(f"Epoch: [{n}][10/10] Loss 2.{n}\nloss_a_s,loss_b_s 7.1 5.{n}\n" for n in range(3)),
        {"Epoch": [10, 20, 30], "Loss": [10, 20, 30], "loss_a_s": [10, 20, 30], "loss_b_s": [10, 20, 30]},
    ),
    "pairs of names": (
        "".join(f"step {n}: loss/acc: 0.5/0.{n}\n" for n in N),
        {"loss": [1, 2, 3], "acc": [1, 2, 3]},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_of_several_numbers_has_its_name(tmp_path: Path, case: str) -> None:
    assert_steps(tmp_path, *CASES[case])


def test_a_dictionary_that_does_not_end_names_nothing_behind_the_next_record(tmp_path: Path) -> None:
    text = (
        "".join(f'Epoch {n}, loss: 0.5\n"scores": {{\n    "precision": 0.77{n},\n' for n in range(1, 5))
        + "Epoch 5, loss: 0.4\nTest accuracy: 0.9\n"
    )
    assert {*steps_of(read_log(tmp_path, text))} == {"loss", "scores/precision", "Test accuracy"}


def test_a_number_of_single_precision_has_its_exponent(tmp_path: Path) -> None:
    run = read_log(tmp_path, "".join(f"(epoch = {n}, loss = 2.5f-3, acc = 1.25f0)\n" for n in range(6)))
    assert {key.metric: series.value.tolist()[0] for key, series in run.data.series.items()} == {
        "loss": 0.0025,
        "acc": 1.25,
    }


@pytest.mark.parametrize("name", ["Epoch", "Episode", "Round"])
@pytest.mark.parametrize("time", ["", "2026_01_02_10_00_0{0} ", "2026-01-02-10-00-0{0} ", "10:00:0{0} "])
def test_names_in_brackets_are_those_of_the_numbers_behind_them(tmp_path: Path, name: str, time: str) -> None:
    text = "".join(f"{time.format(n)}[{name}] 00{n} [Loss] total_loss 0.{n} box_loss 1.0\n" for n in N)
    assert steps_of(read_log(tmp_path, text)) == {"total_loss": [*N], "box_loss": [*N]}


def test_numbers_of_nested_lists_are_no_metrics(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n}, loss is 9.{n}, outputs are tensor([[[ 0.46,  0.{n}, 0.7],\n" for n in N)
    assert steps_of(read_log(tmp_path, text)) == {"loss": [*N]}


@pytest.mark.parametrize(
    "ratio", ["Accuracy: 982{0}/10000 (9{0}%)", "Accuracy: 982{0}/10000=9{0}.0", "Accuracy: 9{0}/100"]
)
def test_of_a_ratio_the_quotient_is_the_metric_else_what_it_counts(tmp_path: Path, ratio: str) -> None:
    text = "".join(f"step {n} loss: 0.{n}\nTest set: {ratio.format(n)}\n" for n in N)
    run = read_log(tmp_path, text)
    assert steps_of(run) == {"loss": [*N], "test/Accuracy": [*N]}
    values = {key.metric: series.value.tolist() for key, series in run.data.series.items()}
    assert values["test/Accuracy"] == [91, 92, 93]


def test_exponents_of_mangled_numbers_are_no_metrics(tmp_path: Path) -> None:
    text = "".join(f"<epoch: 0, iter: {n}> PSNR_A: 38.1, PSNR_B: _3.77e+01, PSNR_C: 36.0\n" for n in N)
    assert steps_of(read_log(tmp_path, text)).keys() == {"epoch", "PSNR_A", "PSNR_C"}


def test_names_nobody_knows_in_a_dictionary_of_metrics(tmp_path: Path) -> None:
    text = (
        "".join(f"Epoch {n}, loss: 0.{n}\n" for n in N)
        + "==> Unet Test metrics: {'unet_dc': 0.6, 'hd': 4.3}\n"
    )
    assert steps_of(read_log(tmp_path, text)) == {"loss": [*N], "test/unet_dc": [3], "test/hd": [3]}


def test_keys_of_dictionaries_are_names_as_they_are(tmp_path: Path) -> None:
    text = "".join(
        f"Epoch {n} | {{'Dice, class 1': 0.{n}, 'Dice, class 2': 0.6, 'lr': [0.1, 0.2]}}\n" for n in N
    )
    names = ("Dice, class 1", "Dice, class 2", "lr", "lr 2")
    assert steps_of(read_log(tmp_path, text)) == {name: [*N] for name in names}


SIGNS_BETWEEN = (
    "Epoch {n} loss: 0.{n} | 0.{n}5\n",
    "Epoch {n} loss: 0.{n}/0.{n}5, lr: 0.1\n",
    "Epoch {n} | loss 0.{n} / 0.{n}5 | lr 0.1\n",
    "Epoch {n} loss = 1{n}.5% / 2{n}.5%\n",
    "Epoch {n} loss = 1{n}.5%, 2{n}.5%\n",
)


@pytest.mark.parametrize("line", SIGNS_BETWEEN)
def test_two_losses_at_one_name_may_have_any_sign_between_them(line: str, tmp_path: Path) -> None:
    steps = steps_of(read_log(tmp_path, "".join(line.format(n=n) for n in N)))
    assert steps == {name: [*N] for name in ("loss", "loss 2", *(["lr"] if "lr" in line else []))}


def test_names_with_commas_in_brackets_are_those_of_numbers_with_a_slash(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n} loss (train, val): 0.{n} / 0.{n}5\n" for n in N)
    assert steps_of(read_log(tmp_path, text)) == {"loss/train": [*N], "loss/val": [*N]}


CORRECT = (
    "Epoch {n} loss 0.{n} correct {n}1/100\n",
    "Epoch {n}: {n}1/100 correct, loss 0.{n}\n",
    "Epoch {n}\nloss 0.{n}\ncorrect: {n}1 out of 100\n",
)


@pytest.mark.parametrize("line", CORRECT)
def test_how_many_of_all_were_correct_is_a_metric(line: str, tmp_path: Path) -> None:
    run = read_log(tmp_path, "".join(line.format(n=n) for n in N))
    assert steps_of(run) == {"loss": [*N], "correct": [*N]}
    [counts] = [series for key, series in run.data.series.items() if key.metric == "correct"]
    assert counts.value.tolist() == [11, 21, 31]


@pytest.mark.parametrize("sign", [":", " -", " \N{EM DASH}", " \N{EN DASH}"])
def test_averages_behind_a_metric_have_its_name(sign: str, tmp_path: Path) -> None:
    text = "".join(f"Epoch {n} loss 2.{n}\nROC AUC{sign} macro: 0.{n} | micro: 0.{n}5\n" for n in N)
    steps = steps_of(read_log(tmp_path, text))
    assert steps == {name: [*N] for name in ("loss", "ROC AUC/macro", "ROC AUC/micro")}


def test_three_numbers_with_slashes_between_blanks_are_a_list(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n}: loss = 0.{n} / 0.{n}5 / 0.{n}7\n" for n in N)
    assert steps_of(read_log(tmp_path, text)) == {name: [*N] for name in ("loss", "loss 2", "loss 3")}


def test_numbers_between_semicolons_are_a_list(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n} loss:0.{n};0.{n}5;0.{n}7\n" for n in N)
    assert steps_of(read_log(tmp_path, text)) == {name: [*N] for name in ("loss", "loss 2", "loss 3")}


def test_shares_beside_two_losses_are_two_as_well(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n} loss: 0.{n}/0.{n}5 acc: 0.{n}1/0.{n}2\n" for n in N)
    assert steps_of(read_log(tmp_path, text)) == {name: [*N] for name in ("loss", "loss 2", "acc", "acc 2")}
