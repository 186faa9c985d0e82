"""Lines in the form that training programs print: boosting, tables, speech, translation, detection."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holter.ingest.offline.read_run import read_run
from holter.types import SeriesKey

N = range(1, 8)
TABLE = """\
---------------------------------
| rollout/            |         |
|    ep_rew_mean      | 21.{0}    |
| time/               |         |
|    total_timesteps  | {1}    |
| train/              |         |
|    loss             | 6.{0}     |
---------------------------------
"""
YOLO = """\
      Epoch    GPU_mem   box_loss   cls_loss  Instances       Size
      {0}/100      2.5G      1.2{0}      3.4         16        640:  50%|█████     | 2/4 [00:01<00:01]
      {0}/100      2.5G      1.3{0}      3.4         16        640: 100%|██████████| 4/4 [00:02<00:00]
                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100%|██| 2/2
                   all          4         17      0.5{0}      0.6      0.7      0.4
"""
NNUNET = """\
2026-01-01 10:0{0}:00.123456: Epoch {0}
2026-01-01 10:0{0}:30.2: train_loss -0.5{0}
2026-01-01 10:0{0}:30.3: val_loss -0.4{0}
2026-01-01 10:0{0}:31.1: Epoch time: 31.2 s
"""
PROGRAMS = {
    "nnU-Net": (NNUNET, 1, {"train_loss", "val_loss"}),
    "Stable-Baselines3": (TABLE, 4096, {"rollout/ep_rew_mean", "train/loss"}),
    "Ultralytics": (
        YOLO,
        1,
        {"train/box_loss", "train/cls_loss", "train/GPU_mem", "val/P", "val/R", "val/mAP50", "val/mAP50-95"},
    ),
    "XGBoost": ("[{0}]\ttrain-logloss:0.4{0}\tvalid-logloss:0.5{0}\n", 1, {"train-logloss", "valid-logloss"}),
    "LightGBM": ("[{1}]\ttraining's l2: 0.4\tvalid_1's l2: 0.5\n", 100, {"training's l2", "valid_1's l2"}),
    "CatBoost": (
        "{0}:\tlearn: 0.6{0}\ttest: 0.65\tbest: 0.64 ({0})\ttotal: 1.5s\tremaining: 2m 3s\n",
        1,
        {"learn", "test", "best/test", "total"},
    ),
    "Marian": (
        "[2021-01-01 10:00:00] Ep. 1 : Up. {1} : Sen. 64,000 : Cost 5.{0} * 1,200,000 @ 3,840"
        " after 12,000,000 : Time 120.5s : 12345.67 words/s : gNorm 1.2\n",
        1000,
        {"Ep.", "Sen.", "Cost", "Time", "gNorm"},
    ),
    "ESPnet": (
        "[host] 2026-01-01 10:00:00,123 (trainer:737) INFO: 1epoch:train:{0}01-{0}99batch: iter_time=0.1, "
        "loss=5.{0}, acc=0.3\n",
        None,
        {"epoch", "iter_time", "loss", "acc"},
    ),
    "icefall": (
        "2022-01-01 10:00:00,123 INFO [train.py:900] (0/8) Epoch 1, batch {1}, loss[loss=0.3{0}, "
        "simple_loss=0.4, over 2048.00 frames.], tot_loss[loss=0.35, simple_loss=0.4, over 4096.00 frames.], "
        "batch size: 12, lr: 3.00e-03\n",
        50,
        {"Epoch", "loss", "loss/simple_loss", "tot_loss/loss", "tot_loss/simple_loss", "batch size", "lr"},
    ),
    "MXNet": (
        "INFO:root:Epoch[0] Batch [{1}]\tSpeed: 1000.12 samples/sec\taccuracy=0.5{0}\n",
        100,
        {"Epoch", "Speed", "accuracy"},
    ),
    "StyleGAN": (
        "tick {0}     kimg 4.0      time 12s       sec/tick 10.5    sec/kimg 20.00   augment 0.00{0}\n",
        1,
        {"tick", "kimg", "time", "sec/tick", "sec/kimg", "augment"},
    ),
    "MMEngine": (
        "2024/01/01 10:00:00 - mmengine - INFO - Epoch(train)  [1][{1}/445]  lr: 1.0e-02  eta: 1:20:30  "
        "time: 0.5  loss: 3.{0}  loss_cls: 1.1\n",
        50,
        {"Epoch", "lr", "time", "loss", "loss_cls"},
    ),
}


BLOCKS: dict[str, tuple[str, dict[str, list[int]]]] = {
    "two brackets": (  # the mean replaces the value of the only batch
        "INFO Train: [{0}/9][0/20]\tlr 0.1\tloss 6.9 (6.9)\n"
        "INFO Train: [{0}/9][10/20]\tlr 0.1\tloss 6.8 (6.9)\n"
        "INFO Test: [0/9]\tLoss 5.1 (5.1)\tAcc@1 1.5 (1.5)\n"
        "INFO  * Acc@1 2.5\n",
        {"loss": [0, 10, 20, 30], "test/Acc@1": [10, 10, 30, 30]},
    ),
    "numbered data": (
        "Train: {0} [   0/20 (  0%)]  Loss: 6.9 (6.9)  LR: 0.1\n"
        "Train: {0} [  10/20 ( 50%)]  Loss: 6.8 (6.9)  LR: 0.1\n"
        "Test: [   9/9]  Loss:  5.1 (5.0)\n",
        {"Loss": [0, 10, 20, 30], "epoch": [0, 10, 20, 30], "test/Loss": [10, 30]},
    ),
    "means of an epoch": (
        "epoch {0} - iter 10/20 - loss 2.0 - lr: 0.1\nepoch {0} - iter 20/20 - loss 1.5 - lr: 0.1\n"
        "EPOCH {0} done: loss 1.75\nDEV : loss 0.5 - f1-score 0.7\n",
        {"loss": [10, 20, 30, 40], "epoch/loss": [20, 40], "dev/loss": [20, 40]},
    ),
    "batches behind their number": (
        "| epoch   {0} |    10/   20 batches | lr 20.00 | loss  7.12\n"
        "| end of epoch   {0} | valid loss  5.1\n",
        {"loss": [10, 30], "valid loss": [10, 30]},
    ),
    "an evaluation without a step": (
        "Step {0}0/100; acc: 5.2; xent: 9.1\nValidation perplexity: 102.5\n",
        {"xent": [10, 20], "Validation perplexity": [10, 20]},
    ),
    "a step above": (
        "  --> TIME: 2026-01-01 10:00:00 -- STEP: 5/9 -- GLOBAL_STEP: {0}00\n   | > loss: 4.1 (4.2)\n"
        "step: {0}50, loss: 2.0\n",
        {"loss": [100, 150, 200, 250]},
    ),
    "two kinds of data in a line": (
        "{0}epoch results: [train] loss=1.5, acc=0.4, [valid] loss=1.7, acc=0.3\n",
        {"loss": [1, 2], "valid/loss": [1, 2], "valid/acc": [1, 2]},
    ),
    "unknown names": (
        "(epoch: {0}, iters: 10, time: 0.1) D_A: 0.5 G_A: 0.4 idt_A: 0.3\n",
        {"D_A": [10, 20], "idt_A": [10, 20]},
    ),
    "a step in brackets": ("[{0}0] model_loss 1.5 / actor_loss 0.4\n", {"actor_loss": [10, 20]}),
    "a table of two columns": (
        "------------------------\n| loss     | 1.5       |\n"
        "| Epoch    | {0}         |\n------------------------\n",
        {"loss": [1, 2]},
    ),
    "columns": (
        "epoch     train_loss  valid loss  time\n0         1.5         1.6         00:12\n"
        "1         1.4         1.5         00:12\n",
        {"train_loss": [0, 1, 0, 1], "valid loss": [0, 1, 0, 1]},
    ),
}


@pytest.mark.parametrize("form", BLOCKS)
def test_lines_that_belong_together_are_read_at_one_step(reading: Any, form: str) -> None:
    template, expected = BLOCKS[form]
    result = reading.read_complete("train.log", "".join(template.format(epoch) for epoch in (1, 2)).encode())
    found = {name: [step for step, _ in result.values(name)] for name in expected}
    assert found == expected


MLLOG = ':::MLLOG {{"time_ms": 1000, "key": "{key}", "value": 0.{n}, "metadata": {{{position}}}}}\n'
MLL = ':::MLL 1550000000.1 {key}: {{"value": 0.{n}, "metadata": {{{position}}}}}\n'


@pytest.mark.parametrize("form", [MLLOG, MLL])
def test_records_of_a_benchmark_are_at_their_step_or_else_epoch(reading: Any, form: str) -> None:
    losses = [form.format(key="train_loss", n=n, position=f'"epoch_num": 1, "step_num": {10 * n}') for n in N]
    result = reading.read_complete("train.log", "".join(losses).encode())
    assert [step for step, _ in result.values("train_loss")] == [10 * n for n in N]
    evaluations = [form.format(key="eval_accuracy", n=n, position=f'"epoch_num": {n}') for n in N]
    result = reading.read_complete("train.log", "".join(evaluations).encode())
    assert result.values("eval_accuracy") == [(n, float(f"0.{n}")) for n in N]


def test_one_line_with_two_positions_is_no_log(reading: Any) -> None:
    with pytest.raises(AssertionError, match=r"claimed by \[\]"):
        reading.format_of("train.log", b"epoch: 1, step: 5, loss: 2.5\nother text\n")


def test_numbers_before_a_bar_are_read(reading: Any) -> None:
    bars = (f"\racc: 0.{n}, loss: 1.{n} ||:   {n}%|1         | {n}/100 [00:01<00:10,  9it/s]" for n in N)
    result = reading.read_complete("train.log", "".join(bars).encode() + b"\n")
    assert result.values("loss") == [(n, float(f"1.{n}")) for n in N]


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_record_is_read_at_its_step(tmp_path: Path, program: str) -> None:
    template, interval, names = PROGRAMS[program]
    file = tmp_path / "train.log"
    file.write_text("".join(template.format(number, number * (interval or 1)) for number in N))
    run = read_run(file)
    assert {key.metric for key in run.data.series} == names
    assert run.attempts == 1
    for series in run.data.series.values():
        assert len(series) == len(N)
        if interval is not None:
            assert series.step.tolist() == [number * interval for number in N]


def test_the_values_of_an_epoch_are_the_last_of_its_bar(tmp_path: Path) -> None:
    file = tmp_path / "train.log"
    file.write_text("".join(YOLO.format(number) for number in N))
    losses = read_run(file).data.series[SeriesKey("train/box_loss", ())]
    assert losses.value.tolist() == [1.3 + number / 100 for number in N]


def test_metrics_without_any_other_number_belong_to_the_epoch_above(tmp_path: Path) -> None:
    file = tmp_path / "train.log"
    file.write_text("".join(f"Epoch {number}\ntrain_loss -0.5{number}\nval_loss -0.4\n" for number in N))
    series = read_run(file).data.series
    assert {key.metric: values.step.tolist() for key, values in series.items()} == {
        "train_loss": [*N],
        "val_loss": [*N],
    }


def test_ranks_that_a_program_states_itself_are_told_apart(tmp_path: Path) -> None:
    file = tmp_path / "train.log"
    file.write_text(
        "".join(f"[GPU{rank}] Epoch {epoch} | Loss: {rank}.5\n" for epoch in N for rank in (0, 1))
    )
    series = read_run(file).data.series
    assert len(series[SeriesKey("Loss", ())]) == 7
    assert set(series[SeriesKey("Loss", (("rank", "1"),))].value.tolist()) == {1.5}


def test_a_log_whose_first_line_has_settings_is_read(tmp_path: Path) -> None:
    file = tmp_path / "20240101.log.json"
    rows = "".join(f'{{"mode": "train", "epoch": 1, "iter": {50 * number}, "loss": 3.1}}\n' for number in N)
    file.write_text('{"env_info": "x", "seed": 1}\n' + rows)
    assert len(read_run(file).data.series[SeriesKey("loss", ())]) == 7


BY_PLACE = {
    "darknet": (
        " {0}: 812.{0}, 805.{0} avg loss, 0.001000 rate, 3.4 seconds, {0}64 images, 2.1 hours left\n",
        {"loss", "avg_loss", "rate", "seconds", "images"},
    ),
    "Tacotron 2": (
        "Epoch: 0\nTrain loss {0} 0.4{0} Grad Norm 1.2 1.23s/it\nValidation loss {0}:  0.5  \n",
        {"loss", "grad_norm", "seconds", "val_loss"},
    ),
    "Kaldi": (
        "LOG (nnet3-train[5.5.1~1-a]:PrintStatsForThisPhase():nnet-training.cc:270) Average objective "
        "function for 'output' for minibatches 0-{0} is -5.1{0} over 1280 frames.\n",
        {"objective function/output"},
    ),
    "fastText": (
        "\rProgress:   0.{0}% words/sec/thread:   53466 lr:  0.08 avg.loss:  4.1{0} ETA:   0h 1m12s",
        {"words/sec/thread", "lr", "loss"},
    ),
}


@pytest.mark.parametrize("program", BY_PLACE)
def test_numbers_are_known_by_their_places(tmp_path: Path, program: str) -> None:
    template, names = BY_PLACE[program]
    file = tmp_path / "train.log"
    file.write_text("Reading the data\n" + "".join(map(template.format, N)) + "\n")
    run = read_run(file)
    assert {key.metric for key in run.data.series} == names
    assert run.attempts == 1
    for key, series in run.data.series.items():
        assert key.labels == ()
        assert series.step.tolist() == [*N]


def test_epochs_of_a_benchmark_are_at_the_last_of_its_steps(reading: Any) -> None:
    lines = []
    for epoch in N:
        for key, position, value in (
            ("train_loss", {"step_num": 100 * epoch}, 3.0),
            ("eval_accuracy", {"epoch_num": epoch, "metric": "mAP"}, 0.5),
        ):
            record = {"key": key, "value": value, "metadata": position, "time_ms": epoch}
            lines.append(f":::MLLOG {json.dumps(record)}\n")
    result = reading.read_complete("result_0.txt", "".join(lines).encode())
    assert [step for step, _ in result.values("eval_accuracy/mAP")] == [100 * epoch for epoch in N]


def test_parts_of_epochs_of_a_benchmark_are_counted(reading: Any) -> None:
    records = (
        {"key": "eval_accuracy", "value": 0.5, "metadata": {"epoch_num": 0.05 * n}, "time_ms": n} for n in N
    )
    text = "".join(f":::MLLOG {json.dumps(record)}\n" for record in records)
    assert [
        step for step, _ in reading.read_complete("result_0.txt", text.encode()).values("eval_accuracy")
    ] == [*N]


def test_iterations_that_restart_with_each_epoch_continue_in_json_too(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"env_info": "x", "seed": 1}]
    for epoch in (1, 2, 3):
        rows += [{"mode": "train", "epoch": epoch, "iter": 50 * n, "loss": 3.1} for n in N]
        rows.append({"mode": "val", "epoch": epoch, "iter": 17, "lr": 0.1, "bbox_mAP": 0.1 * epoch})
    file = tmp_path / "20240101.log.json"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = read_run(file)
    assert run.attempts == 1
    assert run.data.series[SeriesKey("loss", ())].step.tolist() == [50 * n for n in range(1, 22)]
    assert run.data.series[SeriesKey("val/bbox_mAP", ())].step.tolist() == [350, 700, 1050]


STEPS_BY_FORM: dict[str, tuple[str, dict[str, list[int]]]] = {
    "batches behind an epoch without a name": (
        "Epoch  {0},    50/  200; acc:   0.1{0}; ppl:  11.8; 5187 src tok/s\n"
        "Epoch  {0},   200/  200; acc:   0.2{0}; ppl:  10.1; 5187 src tok/s\n"
        "Train perplexity: 14.9\nValidation perplexity: 11.5\n",
        {"ppl": [50, 200, 250, 400], "Train perplexity": [200, 400], "Validation perplexity": [200, 400]},
    ),
    "two brackets without a name": (
        "[{0}/9][0/20]\tLoss_D: 1.6\tLoss_G: 4.{0}\n[{0}/9][10/20]\tLoss_D: 1.5\tLoss_G: 4.{0}\n",
        {"Loss_D": [0, 10, 20, 30]},
    ),
    "batches at the beginning": (
        "epoch {0}/2\n1/2, train_loss: 0.6{0}\n2/2, train_loss: 0.5{0}\n",
        {"train_loss": [1, 2, 3, 4]},
    ),
    "steps before brackets": ("{0} [D loss: 0.6, acc.: 50.0%] [G loss: 0.{0}]\n", {"G loss": [1, 2]}),
    "episodes": ("Episode {0}\tLast reward: 1{0}.0\tAverage reward: 9.5\n", {"Average reward": [1, 2]}),
    "blocks below a heading": (
        "########\n   Learning iteration {0}/300   \n\n        Total steps: 96\n"
        "   Mean value loss: 0.4{0}\n   Mean episode length: 59.{0}\n--------\n",
        {"Mean value loss": [1, 2], "Mean episode length": [1, 2]},
    ),
    "batches of an evaluation": (
        "2024-01-01 10:00:00,093 - lib - INFO - Iter [{0}0/800]\tlr: 9.9e-03, loss_ce: 2.5, loss: 3.{0}\n"
        "2024-01-01 10:00:09,093 - lib - INFO - Iter(val) [500]\tmIoU: 0.4{0}\n",
        {"loss": [10, 20], "val/mIoU": [10, 20]},
    ),
    "epochs in parts": (
        "[    INFO] - loss: 0.1{0}, global_step: {0}0, epoch: 0.{0}\n"
        "[    INFO] - eval_loss: 0.5{0}, eval_accuracy: 0.8, epoch: 0.{0}\n",
        {"loss": [10, 20], "eval_loss": [10, 20]},
    ),
    "steps of a dictionary": (
        "{{'loss': 0.1{0}, 'learning_rate': 4.5e-05, 'global_step': {0}60, 'epoch': 2.{0}}}\n",
        {"train/loss": [160, 260]},
    ),
    "the summary of COCO": (
        "Epoch: [{0}]  [  0/50]  eta: 0:01:00  lr: 0.0001  loss: 36.{0} (37.1)\n"
        " Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = 0.2{0}\n",
        {"loss": [0, 50], "val/AP@0.50:0.95 all maxDets=100": [0, 50]},
    ),
    "metrics of a ranking": (
        "INFO  epoch {0} training [time: 0.9s, train loss: 74.{0}]\nINFO  valid result: \n"
        "recall@5 : 0.04    ndcg@5 : 0.05{0}    hit@20 : 0.4\n",
        {"train loss": [1, 2], "valid/ndcg@5": [1, 2]},
    ),
    "braces that are no object": (
        "{{| Epoch: {0} (58/58) | Loss: 4.{0} | 1.4 steps/s | Step: {0}k | }}\n",
        {"Loss": [1000, 2000]},
    ),
}


@pytest.mark.parametrize("form", STEPS_BY_FORM)
def test_values_are_at_their_steps(tmp_path: Path, form: str) -> None:
    """Every metric has a point at each step of the training that its line or the lines above state."""
    lines, expected = STEPS_BY_FORM[form]
    path = tmp_path / "out.log"
    path.write_text("".join(lines.format(number) for number in (1, 2)))
    series = read_run(path).data.series
    found = {key.metric: column.step.tolist() for key, column in series.items()}
    assert {name: found.get(name) for name in expected} == expected
