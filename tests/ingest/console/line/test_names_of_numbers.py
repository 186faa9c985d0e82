"""The names of the numbers of a line, wherever programs print these: before, behind, or around them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log

N = range(1, 7)

LINES: dict[str, list[str]] = {
    # behind the numbers
    "E{n} trn 1.{n} loss, 0.5{n} precision, 0.9{n} recall": ["trn loss", "trn precision", "trn recall"],
    "E{n} trn 1.{n} loss,  9{n}.2% correct (59{n} of 600)": ["trn loss", "trn correct"],
    "epoch {n}: 0.5{n} loss | 0.9{n} acc": ["loss", "acc"],
    "2024-01-02 10:00:00,532 INFO     pid:423 __main__:480:log E{n} trn      1.{n} loss, 0.5{n} f1 score": [
        "trn loss",
        "trn f1 score",
    ],
    "epoch {n} 50% | 0.5{n} loss, 0.9{n} acc": ["loss", "acc"],
    "Epoch {n}: 0.5{n} (train), 0.6{n} (val)": ["train", "val"],
    "epoch {n} | loss 0.5{n} | 17{n}.2 tok/s | 34.{n}% MFU": ["loss", "tok/s", "MFU"],
    "epoch {n} : loss 0.5{n} : 17{n}.2 words/s : 4{n}.5 sents/s": ["loss", "words/s", "sents/s"],
    "epoch {n} : loss 0.5{n} words/s: 17{n}.2 sents/s: 4{n}.5": ["loss", "words/s", "sents/s"],
    # of what took a time
    "epoch {n} cost 1{n}.2 s, loss 0.5{n}": ["cost time", "loss"],
    "epoch {n} loss 0.5{n} Cost: 1{n}.2s": ["loss", "Cost time"],
    "epoch {n} cost 0.5{n} time cost 1{n}.2": ["cost", "time cost"],
    # at the end of a sentence
    "epoch {n} done and the best AP is 0.{n}": ["best AP"],
    "epoch {n}: loss 0.5{n}, so far our best score: 0.{n}": ["loss", "best score"],
    "epoch {n}: precision and recall: 0.{n}": ["precision and recall"],
    # with numbers in them
    "Episode {n} | 10-avg reward: 2{n} | epsilon: 0.{n}": ["10-avg reward", "epsilon"],
    "Epoch {n} | EPE: 6.{n} | 0.5PER: 96.{n}% | 1PER: 92.{n}%": ["EPE", "0.5PER", "1PER"],
    "Episode {n}/300 | 10局平均: 23.{n} | Loss: 0.{n}": ["10局平均", "Loss"],
    "epoch {n}: 1-NN acc: 3{n}.5, 5-NN acc: 4{n}.5": ["1-NN acc", "5-NN acc"],
    "epoch {n}: 3D loss: 0.{n}, 2nd order loss: 1.{n}": ["3D loss", "2nd order loss"],
    "@0.5s (step {n}): 3D=0.{n}m, 2D=1.{n}m": ["3D", "2D"],
    "epoch {n}: 10% quantile loss: 0.{n}, 90% quantile loss: 1.{n}": [
        "10% quantile loss",
        "90% quantile loss",
    ],
    "epoch {n} acc[0]: 0.{n}, acc[1]: 0.5{n}": ["acc[0]", "acc[1]"],
    "Epoch {n}, Hits (0.5%): {n}.5%, Hits (5%): 1{n}.5%": ["Hits (0.5%)", "Hits (5%)"],
    "epoch {n} | acc with tau = 0.25: 0.{n} | acc with tau = 1.0: 0.5{n}": [
        "acc with tau = 0.25",
        "acc with tau = 1.0",
    ],
    "step {n}, acc for thr=.5: 0.{n}, acc for thr=.75: 0.5{n}": ["acc for thr=.5", "acc for thr=.75"],
    "Epoch: {n} | Recall @ 10: 0.4{n} | P @ 5 = 0.3{n} | Hits@ 3: 0.2{n}": ["Recall@10", "P@5", "Hits@3"],
    "epoch {n}, Hits (filtered) @ 1: 0.1{n}, Hits (filtered) @ 3: 0.2{n}": [
        "Hits (filtered)@1",
        "Hits (filtered)@3",
    ],
    # parts of a metric
    "epoch: {n}, val_dice: LV 0.{n} RV 0.2{n} MY 0.3{n}": ["val_dice/LV", "val_dice/RV", "val_dice/MY"],
    "Epoch {n} loss: total 1.{n} box 0.2{n} | accuracy: cat 5{n}.5% dog 6{n}.5%": [
        "loss/total",
        "loss/box",
        "accuracy/cat",
        "accuracy/dog",
    ],
    "epoch {n} dice: LV 0.{n}, RV 0.2{n}, loss: 0.3{n}, lr 0.1": ["dice/LV", "dice/RV", "loss", "lr"],
    "epoch {n} loss #1: 0.{n}, loss #2: 0.5{n}": ["loss #1", "loss #2"],
    "Epoch {n}, Recall@1/5/10: 1{n}.5/2{n}.5/3{n}.5": ["Recall@1", "Recall@5", "Recall@10"],
    "epoch {n}, top1 - ... - top3 accuracy: [0.1{n}, 0.2{n}, 0.3{n}]": [
        "top1 accuracy",
        "top2 accuracy",
        "top3 accuracy",
    ],
    "epoch {n} ROUGE-1/2/L: 38.{n}/16.{n}/35.{n}": ["ROUGE-1", "ROUGE-2", "ROUGE-L"],
    "Epoch {n} mAP@.5: 0.3{n} mAP@.5:.95: 0.2{n}": ["mAP@.5", "mAP@.5:.95"],
    "Epoch {n} AP@[0.5:0.95]: 0.3{n} mAP50-95: 0.2{n}": ["AP@[0.5:0.95]", "mAP50-95"],
    "Epoch {n} delta<1.25: 0.3{n}, abs_rel: 0.2{n}": ["delta<1.25", "abs_rel"],
    "Epoch {n} TAR@FAR=1e-4: 0.9{n}": ["TAR@FAR=1e-4"],
    "Epoch {n}, 24h MAE: 0.{n}, 15min RMSE: 1.{n}, 10-step MSE: 2.{n}": [
        "24h MAE",
        "15min RMSE",
        "10-step MSE",
    ],
    "Episode {n} - avg(100): 2.{n} - last 100 avg: 3.{n}": ["avg(100)", "last 100 avg"],
    # with brackets
    "Epoch {n} Acc(%): 3{n}.5 RMSE (°C): 0.{n}": ["Acc(%)", "RMSE (°C)"],
    "iter {n} KL(q||p): 2.{n} H(z): 1.{n}": ["KL(q||p)", "H(z)"],
    "Iter {n}: ELBO = -36.{n}, E[μ] = 0.{n}, E[τ] = 0.1{n}": ["ELBO", "E[μ]", "E[τ]"],
    "Iter {n}: f(x) = 3.{n}, ||∇f|| = {n}e-3, max|Δτ|: {n}e-4": ["f(x)", "||∇f||", "max|Δτ|"],
    "Epoch {n} loss [nats]: 2.{n} acc [%]: 3{n}.5": ["loss [nats]", "acc [%]"],
    "Epoch {n}: loss(ce)=2.{n}, speed [it/s]: 3.{n}": ["loss(ce)", "speed [it/s]"],
    "Epoch {n} *loss*: 2.{n}, *acc*: 0.{n}": ["loss", "acc"],
    "Metrics(epoch={n}, loss=2.{n}, acc=0.{n})": ["loss", "acc"],
    # between others
    "Epoch {n} | Dev acc. 0.3{n} | Loss train 6{n}.2 | Loss dev 7{n}.8": [
        "Dev acc.",
        "Loss train",
        "Loss dev",
    ],
    "Step {n}: train/loss 2.{n} train/norm 0.{n} val/loss 1.{n}": ["train/loss", "train/norm", "val/loss"],
    "Iteration {n} reward mean -1.{n} max 2.{n} min -7.{n}": ["reward mean", "max", "min"],
    "Epoch {n} ELBO -18.{n} = recon 2.{n} + KL 1.{n}": ["ELBO", "recon", "KL"],
    "Episode {n} ended with reward -1.{n} and epsilon 0.{n}": ["reward", "epsilon"],
    "Epoch {n}, GPU mem 10.2GB, loss 2.{n}, 3.4 it/s": ["GPU mem", "loss"],
    "epoch {n}: acc train/val: 0.3{n}/0.2{n}": ["acc/train", "acc/val"],
    "epoch {n} IS 2.{n} PER 3{n}.2": ["IS", "PER"],
    "loss @ step {n}: 2.{n}": ["loss"],
    "Training acc over epoch {n}: 0.{n}": ["Training acc"],
    "Training loss (for one batch) at step {n}: 2.{n}": ["Training loss"],
    "Episode {n}: profit: $1,5{n}0.25, cash=$+3,0{n}2.72": ["profit", "cash"],
    "Epoch {n} loss: 0.{n} train time: 70{n}.26 [s]": ["loss", "train time"],
    "Epoch {n}: training loss of 2.{n} and validation loss of 1.{n}": ["training loss", "validation loss"],
    "In epoch {n}: average loss was 2.{n}": ["average loss"],
    # behind what they count
    "Epoch /{n}.. Train loss: 2.{n}.. Val loss: 1.{n}": ["Train loss", "Val loss"],
    "Epoch-{n}: loss=0.{n}": ["loss"],
    "Epoch no.{n} loss: 0.{n}": ["loss"],
    "Game {n} Score 1{n} Record: 45": ["Score", "Record"],
    "e{n}: loss=2.{n} acc=0.{n}": ["loss", "acc"],
}


@pytest.mark.parametrize("line", LINES)
def test_each_number_has_its_name(line: str, tmp_path: Path) -> None:
    text = "".join(line.format(n=n) + "\n" for n in N)
    assert_steps(tmp_path, text, {name: [*N] for name in LINES[line]})


def test_a_value_before_its_name_is_that_of_this_name(tmp_path: Path) -> None:
    run = read_log(tmp_path, "".join(f"epoch {n}: 0.5{n} loss | 0.9{n} acc\n" for n in N))
    values = {key.metric: [*series.value] for key, series in run.data.series.items()}
    assert values == {"loss": [float(f"0.5{n}") for n in N], "acc": [float(f"0.9{n}") for n in N]}


def test_all_extremes_of_an_error_are_measured(tmp_path: Path) -> None:
    names = ("mean u_error", "max u_error", "min u_error")
    lines = (f"epoch {n}\n" + ", ".join(f"{name} : 0.{n}" for name in names) + "\n" for n in N)
    assert_steps(tmp_path, "".join(lines), {name: [*N] for name in names})


BLOCKS: dict[str, list[str]] = {
    "epoch {n}\n1.{n} loss, 0.5{n} acc\n": ["loss", "acc"],
    "epoch {n}\nmAP50: 0.5{n}  mAP50-95: 0.3{n}\n": ["mAP50", "mAP50-95"],
    "epoch {n}\nbleu1 0.5{n} bleu2 0.4{n} bleu4 0.3{n}\n": ["bleu1", "bleu2", "bleu4"],
    "epoch {n}\nFID: 1{n}.5, IS: 2.{n} ± 0.12\n": ["FID", "IS", "IS (std)"],
    "epoch {n}\n%WER 3{n}.25 [ 12 / 345, 1 ins, 2 del, 3 sub ]\n": ["WER"],
    "epoch {n}\nMetrics: auc=0.{n} f1=0.5{n}\n": ["auc", "f1"],
}


@pytest.mark.parametrize("block", BLOCKS)
def test_each_number_below_an_epoch_has_its_name(block: str, tmp_path: Path) -> None:
    assert_steps(tmp_path, "".join(block.format(n=n) for n in N), {name: [*N] for name in BLOCKS[block]})


def test_the_best_value_of_one_metric_says_nothing_of_others(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n}, error: 0.{n}\nCurr Best: 1.{n}, Avg Error: 0.{n}\n" for n in N)
    assert_steps(tmp_path, text, {name: [*N] for name in ("error", "Curr Best", "Avg Error")})


def test_an_object_with_settings_in_it_has_its_metrics(tmp_path: Path) -> None:
    settings = '"flip":true,"model":"net","seed":4,"fast":false,"batchSize":128,"name":"a","depth":28'
    lines = (
        f"==> online epoch # {n} [batchSize = 128]\n"
        f'stats: {{{settings},"epoch":{n},"train_loss":0.{n},"steps":[6,12]}}\n'
        for n in N
    )
    assert_steps(tmp_path, "".join(lines), {"train_loss": [*N]})


def test_the_per_cent_of_an_epoch_is_its_batch(tmp_path: Path) -> None:
    lines = (f"Train Epoch: {n} ({part}%)]\tLoss: 0.{n}\n" for n in (1, 2) for part in (0, 25, 50, 75))
    steps = [0, 25, 50, 75, 76, 101, 126, 151]
    assert_steps(tmp_path, "".join(lines), {"Train Epoch": steps, "Loss": steps})


def test_indices_of_two_names_are_no_values(tmp_path: Path) -> None:
    lines = (f"| Epoch {n}/9 |\n| Val Dc 1: 0.{n} | Val Dc 2: 0.5{n} |\n" for n in N)
    assert_steps(tmp_path, "".join(lines), {"Val Dc 1": [*N], "Val Dc 2": [*N]})


@pytest.mark.parametrize("prefix", ["", "2024-01-02 10:00:00,123 - INFO - "])
def test_ranks_behind_a_spaced_at_sign_are_of_the_name_on_lines_of_their_own(
    prefix: str, tmp_path: Path
) -> None:
    lines = [
        "Epoch: {n} loss: 2.{n}",
        "Hits (filtered) @ 1: 0.1{n}",
        "Recall @ 10: 0.4{n}",
        "Hits@ 3: 0.2{n}",
    ]
    text = "".join(f"{prefix}{line.format(n=n)}\n" for n in N for line in lines)
    names = ["loss", "Hits (filtered)@1", "Recall@10", "Hits@3"]
    assert_steps(tmp_path, text, {name: [*N] for name in names})


@pytest.mark.parametrize("brackets", ["[{}|{}]", "[ {} | {} ]", "({} | {})"])
def test_the_total_behind_a_bar_in_brackets_is_the_length_of_an_epoch(brackets: str, tmp_path: Path) -> None:
    batches = [(epoch, batch) for epoch in (0, 1) for batch in range(0, 240, 60)]
    lines = [
        f"Epoch:{brackets.format(epoch, 9)}   Batch:{brackets.format(batch, 250)}   loss: 1.{batch}\n"
        for epoch, batch in batches
    ]
    steps = [250 * epoch + batch for epoch, batch in batches]
    assert_steps(tmp_path, "".join(lines), {"Epoch": steps, "loss": steps})


@pytest.mark.parametrize("prefix", ["", "2024-01-02 10:00:00,123 - INFO - "])
@pytest.mark.parametrize(
    "form",
    ["Epoch{e}-train_step{s}-loss=2.{s}", "epoch{e}_iter{s}_loss: 2.{s}", "Epoch{e}-batch{s}-loss: 2.{s}"],
)
def test_what_counts_within_a_chain_behind_its_epoch_is_no_part_of_the_name(
    prefix: str, form: str, tmp_path: Path
) -> None:
    lines = [f"{prefix}{form.format(e=e, s=s)}\n" for e in (1, 2) for s in range(1, 13)]
    epoch = form[:5]
    assert_steps(tmp_path, "".join(lines), {epoch: [*range(1, 25)], "loss": [*range(1, 25)]})


def test_steps_of_a_validation_in_chains_are_its_own(tmp_path: Path) -> None:
    parts = [("train", 11), ("val", 4)]
    lines = [
        f"Epoch{epoch}-{data}_step{step}-loss=1.{step}\n"
        for epoch in (1, 2, 3)
        for data, count in parts
        for step in range(1, count + 1)
    ]
    run = read_log(tmp_path, "".join(lines))
    counts = {key.metric: len(series.step) for key, series in run.data.series.items()}
    assert run.attempts == 1
    assert (counts["loss"], counts["val/loss"]) == (33, 12)


def test_numbers_in_names_outside_of_a_chain_with_an_epoch_stay_in_them(tmp_path: Path) -> None:
    names = ["layer1-loss", "top1-err", "conv2_grad", "step1_time", "step2_time"]
    lines = [f"epoch {n} " + " ".join(f"{name}: 0.{n}" for name in names) + "\n" for n in N]
    assert_steps(tmp_path, "".join(lines), {name: [*N] for name in names})


def test_files_named_by_their_epoch_and_step_are_no_records(tmp_path: Path) -> None:
    lines = [
        f"epoch {n} step {10 * n} loss 1.{n}\nSaved out/epoch{n}-step{10 * n}-loss=1.{n}.ckpt\n" for n in N
    ]
    steps = [10 * n for n in N]
    assert_steps(tmp_path, "".join(lines), {"epoch": steps, "loss": steps})


def test_a_value_may_have_a_sign_of_an_estimate_before_it(tmp_path: Path) -> None:
    text = "".join(f"step {n}: loss ~ 2.{n}, ppl≈1{n}.5 | acc =~0.{n}4\n" for n in range(1, 6))
    assert_steps(tmp_path, text, {name: [*range(1, 6)] for name in ("loss", "ppl", "acc")})
