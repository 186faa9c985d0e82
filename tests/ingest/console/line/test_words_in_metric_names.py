"""Names of metrics are read by their words: `value_loss` is no loss of a validation."""

from __future__ import annotations

from pathlib import Path

import pytest

from holter.ingest.console.line.data_names import is_of_evaluation, names_data
from holter.ingest.console.line.evaluation_names import metric_name
from holter.ingest.metric_names import is_metric_name
from tests.support.log_runs import assert_steps, read_log, steps_of

N = range(1, 6)


@pytest.mark.parametrize(
    "name",
    ["val_loss", "valLoss", "ValLoss", "valacc", "VAL loss", "evaluation/return", "testAcc", "test1_acc",
     "validation_0-auc", "dev/f1", "验证损失"],
)  # fmt: skip
def test_the_first_word_of_a_name_is_data_of_an_evaluation(name: str) -> None:
    assert is_of_evaluation(name)
    assert metric_name(name, "val") == name


@pytest.mark.parametrize(
    "name",
    ["value_loss", "value", "valence", "validity", "latest_acc", "tested", "device_memory", "deviation",
     "constrained_loss", "trainer/loss", "trainable"],
)  # fmt: skip
def test_a_word_that_begins_like_data_is_no_data(name: str) -> None:
    assert not is_of_evaluation(name)
    assert not names_data(name)
    assert metric_name(name, "val") == f"val/{name}"


def test_names_of_the_training_say_so_in_an_evaluation() -> None:
    assert not is_of_evaluation("train_loss")
    assert metric_name("trainLoss", "val") == "trainLoss"


@pytest.mark.parametrize(
    ("name", "is_one"),
    [("UAS", True), ("LAS", True), ("dev UAS", True), ("EM", True), ("val_EM", True), ("exact_match", True),
     ("minDCF", True), ("min_dcf", True), ("DER", True), ("MCD", True), ("bits_per_byte", True),
     ("KLD", True), ("las", False), ("ITEM", False), ("EM steps", False), ("ORDER", False),
     ("max exactness", False)],
)  # fmt: skip
def test_scores_of_language_and_speech_are_metrics_by_their_short_names(name: str, is_one: bool) -> None:
    assert is_metric_name(name) == is_one


CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "the loss of the values of a validation": (
        "".join(
            f"Epoch {n} value_loss 1.{9 - n} loss 2.{n}\nVal: value_loss 0.{n}, loss 0.{n}5\n" for n in N
        ),
        {name: [*N] for name in ("value_loss", "loss", "val/value_loss", "val/loss")},
    ),
    "losses of values above the first iteration are none of an evaluation": (
        "value_loss: 5.0\nvalue_error: 3.0\n"
        + "".join(f"Iteration {n} policy_loss 1.{n} value_loss 2.{n}\n" for n in N),
        {name: [*N] for name in ("policy_loss", "value_loss")},
    ),
    "the count is in brackets behind the name": (
        "".join(f"score({n}): {n * 3 % 7}\n" for n in range(29, 41)),
        {"score": [*range(29, 41)]},
    ),
    "the count of two names, with a line above": (
        "started\n" + "".join(f"loss [{n}]: {3 / n:.3f}\nwins [{n}] = {n // 3}\n" for n in range(4, 60, 4)),
        {name: [*range(4, 60, 4)] for name in ("loss", "wins")},
    ),
    "what is in brackets tells values of an epoch apart": (
        "".join(f"Epoch {n} loss 0.{n}\n" + "".join(f"acc[{i}]: 0.{n}{i}\n" for i in range(6)) for n in N),
        {name: [*N] for name in ("loss", *(f"acc[{i}]" for i in range(6)))},
    ),
    "a heading of the epoch, and pairs with a word between": (
        "".join(f"epoch {n}\nrecon: 0.{n}1 kl: 0.{n}2 beta: 0.5\n" for n in N),
        {name: [*N] for name in ("recon", "kl", "beta")},
    ),
    "a sentence behind a number is no name": (
        "".join(f"Epoch {n} loss 0.{n}\ntested on the 500 images seen: 0.{n}\n" for n in N),
        {"loss": [*N]},
    ),
    "names with a number behind a sign, in nothing but such lines": (
        "Loading\n" + "".join(f"Rank-1: 0.{n}1, Rank-5: 0.{n}5, mAP: 0.{n}3\n" for n in N),
        {name: [n - 1 for n in N] for name in ("Rank-1", "Rank-5", "mAP")},
    ),
    "the same with other signs": (
        "Loading\n" + "".join(f"P@5: 0.{n}1, R@10: 0.{n}5, HR@10: 0.{n}6\n" for n in N),
        {name: [n - 1 for n in N] for name in ("P@5", "R@10", "HR@10")},
    ),
    "letters of an epoch and its batch": (
        "".join(
            f"[10:00:0{n}:INFO:speed] E={n} B={b}\ttok/sec=300.1\tppl=20.{n}\n" for n in N for b in (50, 100)
        ),
        {name: [*range(50, 501, 50)] for name in ("Epoch", "tok/sec", "ppl")},
    ),
    "letters without signs, also of an evaluation": (
        "".join(
            f"E {n} B {b} loss rc:0.{n}{b} t:1.{n}  lr 0.0001\n"
            + (f"*** Eval: E {n} B {b} loss rc:0.3{n}  lr \nsaving\npsnr 2{n}.5\n" if b == 4 else "")
            for n in N
            for b in (2, 4)
        ),
        {
            **{name: [*range(2, 21, 2)] for name in ("Epoch", "loss rc", "t", "lr")},
            **{name: [*range(4, 21, 4)] for name in ("eval/loss rc", "psnr")},
        },
    ),
    "a process is no metric": (
        "".join(f"rank-1: epoch {n}, loss 0.{n}\n" for n in N),
        {"loss": [*N]},
    ),
    "what is in brackets tells values apart, over and over": (
        "".join(f"acc[{i}]: 0.{n}{i}\n" for n in N for i in range(3)),
        {f"acc[{i}]": [n - 1 for n in N] for i in range(3)},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_names_whose_words_look_like_others_are_read(case: str, tmp_path: Path) -> None:
    text, expected = CASES[case]
    assert_steps(tmp_path, text, expected)


@pytest.mark.parametrize(
    "name",
    ["HITS10", "hits_10", "Hits@10", "bpd", "NMI", "abs_rel", "F-measure", "AUPR",
     "auroc", "CRPS", "WAPE", "MASE", "C-index", "Hit_Rate", "hit", "mean rank", "RMSD", "lddt",
     "Highest Valid", "final_test"],
)  # fmt: skip
def test_scores_of_graphs_images_and_clusters_are_metrics(name: str) -> None:
    assert is_metric_name(name)


@pytest.mark.parametrize(
    "name", ["hits", "hits_total", "cache hits", "bpdu", "anmi", "hit the limit", "swape", "final tests"]
)
def test_words_with_the_same_letters_are_none(name: str) -> None:
    assert not is_metric_name(name)


@pytest.mark.parametrize(
    "line",
    [
        "当前步：{0}／300；当前轮次：{1}；损失：0.{0}；准确率：5{1}.00%",
        "当前Batch：{0}/300 | 当前epoch:{1}/9 | 当前损失值：0.{0} | 当前准确率：5{1}.00%",
        "目前轮次（{1}/9），目前步（{0}/300），损失＝0.{0}，准确率＝5{1}.00%",
        "current epoch: {1}, this step: {0}/300, loss: 0.{0}, acc: 5{1}.00%",
        "this epoch: {1} | current batch: {0}/300 | this loss: 0.{0} | this acc: 5{1}.00%",
        "현재 에포크: {1}, 현재 스텝: {0}/300, 손실: 0.{0}, 정확도: 5{1}.00%",
    ],
)
def test_what_counts_may_be_said_to_be_the_current_one(tmp_path: Path, line: str) -> None:
    text = "".join(line.format(step, epoch) + "\n" for epoch in (1, 2, 3) for step in range(50, 301, 50))
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    measured = [name for name in steps_of(run) if is_metric_name(name)]
    assert len(measured) == 2
    assert all(steps_of(run)[name] == [*range(50, 901, 50)] for name in measured)


def test_punctuation_as_wide_as_a_letter_is_that_of_ascii_in_rows_of_any_names(tmp_path: Path) -> None:
    rows = "".join(f"树：{n} | 深度：{n % 3} | 增益：0.{n}\n" for n in range(1, 9))
    assert {*steps_of(read_log(tmp_path, rows))} == {"深度", "增益"}


@pytest.mark.parametrize("name", ["R^2", "R²", "Test R^2", "Val R² score"])
def test_a_square_of_r_is_a_metric(name: str, tmp_path: Path) -> None:
    text = "".join(f"Epoch {n} | Train Loss: 0.{n}\n{name}: -0.{n}\n" for n in range(1, 4))
    assert steps_of(read_log(tmp_path, text)) == {"Train Loss": [1, 2, 3], name: [1, 2, 3]}


def test_names_that_state_their_data_are_of_no_data_before_them(tmp_path: Path) -> None:
    line = "Epoch [{n}/3] | Train Loss: 0.{n} | Val Loss: 1.{n} | Train_PSNR: 2{n}.5 | Val_PSNR: 2{n}.1\n"
    names = ("Train Loss", "Val Loss", "Train_PSNR", "Val_PSNR")
    assert_steps(tmp_path, "".join(line.format(n=n) for n in (1, 2, 3)), {name: [1, 2, 3] for name in names})
