"""What the numbers of a line are, by the text around them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of

N = range(1, 4)


@pytest.mark.parametrize(
    "prefix",
    [
        "[2026-01-02 10:00:0{}] INFO - ",
        "[2026-01-02 10:00:0{}] ",
        "2026-01-02 10:00:0{},123 | INFO | ",
        "[10:00:0{}] ",
        "(2026-01-02T10:00:0{}) ",
    ],
)
def test_metrics_behind_a_time_belong_to_the_epoch_above(tmp_path: Path, prefix: str) -> None:
    lines = [
        line
        for n in N
        for line in (f"Epoch {n}/3", f"  Train loss: 0.{n}  acc: 0.5", f"  Eval  acc: 0.{n}  loss: 0.7")
    ]
    text = "".join(f"{prefix.format(second)}{line}\n" for second, line in enumerate(lines))
    steps = steps_of(read_log(tmp_path, text))
    assert steps == {name: [*N] for name in ("Train loss", "acc", "eval/acc", "eval/loss")}


@pytest.mark.parametrize("name", ["Epoch", "Episode", "Round"])
@pytest.mark.parametrize("time", ["", "2026_01_02_10_00_0{0} ", "2026-01-02-10-00-0{0} ", "10:00:0{0} "])
def test_names_in_brackets_are_those_of_the_numbers_behind_them(tmp_path: Path, name: str, time: str) -> None:
    text = "".join(f"{time.format(n)}[{name}] 00{n} [Loss] total_loss 0.{n} box_loss 1.0\n" for n in N)
    assert steps_of(read_log(tmp_path, text)) == {"total_loss": [*N], "box_loss": [*N]}


@pytest.mark.parametrize("part", ["last 100", "last 100 episodes", "100 ep avg", "over last 5"])
def test_a_number_may_be_a_part_of_a_name_with_words_around_it(tmp_path: Path, part: str) -> None:
    text = "".join(f"Episode {n}\tMean reward ({part}): 0.{n}\n" for n in N)
    assert steps_of(read_log(tmp_path, text)) == {"Mean reward": [*N]}


def test_a_bar_without_counts_names_its_data(tmp_path: Path) -> None:
    text = "".join(
        f"Epoch {n}/3\nEpoch {n} - Train: 100%|####| [-sisdr=-8.{n}, sdr=8.1]\nTrain  -SI-SDRi: -8.{n}\n"
        f"Epoch {n} - Valid: 100%|####| [-sisdr=-9.{n}, sdr=9.1]\nValid  -SI-SDRi: -9.{n}\n"
        f"Save the best model (SI-SDRi=10.{n})\n"
        for n in N
    )
    run = read_log(tmp_path, text)
    names = {"sisdr", "sdr", "SI-SDRi", "valid/sisdr", "valid/sdr", "valid/SI-SDRi", "best/SI-SDRi"}
    assert steps_of(run) == {name: [*N] for name in names}
    values = {key.metric: series.value.tolist() for key, series in run.data.series.items()}
    assert values["SI-SDRi"] == [-8.1, -8.2, -8.3]


def test_lines_between_bars_that_count_less_than_these_are_of_epochs(tmp_path: Path) -> None:
    bars = [
        "".join(
            f"\r{at / 3:.0f}%|##| {at}/300 [00:01<00:10,  1.00it/s, loss={epoch}.{at}]"
            for at in (0, 150, 300)
        )
        for epoch in range(1, 7)
    ]
    text = "".join(f"{bar}\n[{n}] loss: 2.{n}\ntest average ELBO= -3.{n}\n" for n, bar in enumerate(bars, 1))
    run = read_log(tmp_path, text)
    ends = [300 * n for n in range(1, 7)]
    assert run.attempts == 1
    assert steps_of(run) == {
        "loss": [*range(0, 1801, 150)],
        "epoch/loss": ends,
        "test average ELBO": ends,
    }


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


def test_weights_of_losses_are_settings(tmp_path: Path) -> None:
    text = '{\n  "qa_loss_factor": 1.0,\n  "CENTER_LOSS_WEIGHT": 0.5,\n  "reward coef": 0.1\n}\n'
    lines = "".join(f"Epoch {n}, loss: 0.{n}\n" for n in N)
    assert steps_of(read_log(tmp_path, lines + text)) == {"loss": [*N]}


def test_averaged_statistics_are_of_the_evaluation_whose_batches_are_above(tmp_path: Path) -> None:
    text = "".join(
        f"Epoch: [{n}]  [ 0/20]  eta: 0:00:03  lr: 0.1  loss: 2.{n} (2.1)\n"
        f"Epoch: [{n}]  [19/20]  eta: 0:00:00  lr: 0.1  loss: 2.{n} (2.1)\n"
        f"Averaged stats: lr: 0.1  loss: 2.{n} (2.1)\n"
        f"Test:  [0/5]  eta: 0:00:00  loss: 9.{n} (9.1)  myo: 0.5 (0.5)\n"
        f"Test: Total time: 0:00:00 (0.01 s / it)\n"
        f"Averaged stats: loss: 9.{n} (9.1)  myo: 0.5 (0.5)\n"
        for n in range(3)
    )
    run = read_log(tmp_path, text)
    ends = [19, 39, 59]
    assert steps_of(run)["epoch/loss"] == steps_of(run)["test/loss"] == steps_of(run)["test/myo"] == ends
    values = {key.metric: series.value.tolist() for key, series in run.data.series.items()}
    assert values["epoch/loss"] == [2.0, 2.1, 2.2]
    assert values["test/loss"] == [9.0, 9.1, 9.2]


def test_averaged_times_alone_are_of_the_evaluation_too(tmp_path: Path) -> None:
    text = "".join(
        f"Epoch: [{n}]  [ 0/20]  loss: 2.{n} (2.1)  wait: 0.3 (0.3)\n"
        f"Epoch: [{n}]  [19/20]  loss: 2.{n} (2.1)  wait: 0.3 (0.3)\n"
        f"Test:  [0/9]  box_wait: 0.1{n} (0.2)  wait: 0.3\n"
        f"Test:  [8/9]  box_wait: 0.2{n} (0.2)  wait: 0.3\n"
        f"Averaged stats: box_wait: 0.2{n} (0.2)\n"
        for n in range(3)
    )
    steps = steps_of(read_log(tmp_path, text))
    assert steps["test/epoch/box_wait"] == [19, 39, 59]
    assert "box_wait" not in steps


def test_names_may_have_parts_with_dots(tmp_path: Path) -> None:
    lines = "".join(f"runtime.step={n}0, runtime.steptime=2.1, loss.cls_loss=0.{n}\n" for n in N)
    steps = steps_of(read_log(tmp_path, lines))
    assert steps["loss.cls_loss"] == [10, 20, 30]
    lines = "".join(f"Epoch {n}\nSegment Type@Avg. F1: 40.{n}\nEvent Type@Avg. F1: 39.{n}\n" for n in N)
    assert steps_of(read_log(tmp_path, lines)) == {f"{x} Type@Avg. F1": [*N] for x in ("Segment", "Event")}


def test_losses_may_be_named_by_a_letter_and_what_they_are_of(tmp_path: Path) -> None:
    text = "".join(f"[Epoch {n}] A | t_pos:0.10{n} L_cons:0.0{n} L_sup:0.006\n" for n in N)
    assert steps_of(read_log(tmp_path, text)) == {name: [*N] for name in ("t_pos", "L_cons", "L_sup")}


@pytest.mark.parametrize("left", ["", "(- 7m {0}s) "])
@pytest.mark.parametrize("name", ["", "training loss = "])
@pytest.mark.parametrize("prefix", ["", "INFO-->2026-01-02 10:00:00,123-->"])
def test_losses_behind_times_a_step_and_its_per_cent(
    tmp_path: Path, left: str, name: str, prefix: str
) -> None:
    text = "".join(f"{prefix}0m 2{n}s {left.format(n)}({n}000 {n}0%) {name}3.{n}\n" for n in N)
    assert steps_of(read_log(tmp_path, text)) == {"loss": [1000, 2000, 3000]}


def test_a_line_of_names_and_numbers_alone_belongs_to_the_step_above(tmp_path: Path) -> None:
    text = "".join(
        f"iter {n}0 || BOX_L: 0.{n} BOX_C: 1.1 SEG_L: 0.5 loss: 3.0 || \nall:269.5{n}  small:133.5 lr:0.003\n"
        for n in N
    )
    steps = steps_of(read_log(tmp_path, text))
    assert steps["BOX_L"] == steps["all"] == steps["small"] == steps["lr"] == [10, 20, 30]


def test_ordinals_count_what_follows_them(tmp_path: Path) -> None:
    text = "".join(
        f"{epoch}th epoch, {batch}th mini-batch, loss is 9.{batch}, lreg is 5.9, outputs are\n"
        for epoch in range(3)
        for batch in (9, 19, 29)
    )
    steps = steps_of(read_log(tmp_path, text))
    assert steps["loss"] == steps["lreg"]
    assert steps["loss"] == sorted(set(steps["loss"]))
    assert len(steps["loss"]) == 9


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


def test_a_pair_before_a_name_counts_the_batches_of_an_epoch(tmp_path: Path) -> None:
    text = "".join(
        "".join(f"2026-01-02 10:00:00,123 INFO {at}/2 MIL Loss: 0.{at}\n" for at in range(3))
        + f"2026-01-02 10:00:00,456 INFO Epoch {n}/9: auc:0.{n} | m=0.5\n"
        for n in range(2)
    )
    steps = steps_of(read_log(tmp_path, text))
    assert steps == {"MIL Loss": [0, 1, 2, 3, 4, 5], "auc": [2, 5], "m": [2, 5]}


@pytest.mark.parametrize(
    "line",
    [
        "Best Performance in Epoch 2: auc: 0.7{0}, acc: 0.5",
        "Best so far (epoch 2): auc: 0.7{0}, acc: 0.5",
        "INFO best model at epoch 2 | auc: 0.7{0} | acc: 0.5",
    ],
)
def test_the_best_step_is_repeated_at_its_place_and_begins_no_launch(tmp_path: Path, line: str) -> None:
    text = "".join(f"Epoch {n}/9: auc: 0.{n}\n" for n in N)
    run = read_log(tmp_path, text + line.format(2) + "\nEpoch 4/9: auc: 0.4\n")
    assert run.attempts == 1
    assert steps_of(run) == {"auc": [1, 2, 3, 4], "best/auc": [2], "best/acc": [2]}


@pytest.mark.parametrize("writer", ["DEBUG:root:@rank0 ", "(worker3) ", "GPU1 "])
def test_who_prints_may_be_before_the_epoch(tmp_path: Path, writer: str) -> None:
    text = "".join(f"{writer}Epoch: {n}\t<2026-01-14 15:08:4{n}> loss: 0.{n}\n" for n in N)
    (steps,) = steps_of(read_log(tmp_path, text)).values()
    assert steps == [*N]


def test_a_metric_that_is_repeated_is_of_the_data_in_the_name_before_it(tmp_path: Path) -> None:
    text = "".join(f"[Epoch {n}] Train-acc: 0.2, loss: 1.{n} | Val-acc: 0.3, loss: 1.5\n" for n in N)
    assert steps_of(read_log(tmp_path, text)).keys() == {"Train-acc", "loss", "Val-acc", "Val loss"}


def test_epochs_and_iterations_in_all_are_settings(tmp_path: Path) -> None:
    text = "Optimizer: AdamW, LR: 0.001, Batch: 256, Epochs: 25, Iters: 4675, L2: 0.1\n"
    text += "".join(f"Epoch {n}/25 | Loss: 0.{n}\n" for n in N)
    assert steps_of(read_log(tmp_path, text)) == {"Loss": [*N]}


def test_metrics_of_the_best_model_are_no_points_of_the_training(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n}/60\nTrain SDR: 8.{n}\n" for n in N)
    text += "===== Best-Model Metrics (validation set) =====\nSDR   : 15.9 dB\nPESQ  : 2.3\n"
    steps = steps_of(read_log(tmp_path, text))
    assert steps == {"Train SDR": [*N], "validation/best/SDR": [3], "validation/best/PESQ": [3]}


def test_data_without_a_sign_are_names_between_bars(tmp_path: Path) -> None:
    text = "".join(f"step   {n}50 | train 4.{n} | val 4.5 |     {n}s\n" for n in N)
    assert steps_of(read_log(tmp_path, text)) == {name: [150, 250, 350] for name in ("train", "val")}


def test_a_rate_names_the_number_before_it(tmp_path: Path) -> None:
    text = "".join(f"Step {n}00/900; acc: 95.{n}; 44580/39616 tok/s;   {n} sec;\n" for n in N)
    assert steps_of(read_log(tmp_path, text)).keys() == {"acc", "tok/s", "tok/s 2"}


@pytest.mark.parametrize("between", ["][", "] [", "]  ["])
def test_batches_of_a_test_may_be_far_from_its_epoch(tmp_path: Path, between: str) -> None:
    text = "".join(
        "".join(f"Epoch: [{n}]  [{at:3d}/30]  eta: 0:49:12  loss: 0.5 (0.3)\n" for at in (0, 20))
        + "".join(f"Test: [{n}{between}{at:3d}/9]  eta: 0:00:02  f1: 0.6 (0.7)\n" for at in (0, 8))
        for n in range(3)
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    steps = steps_of(run)
    assert steps["loss"] == [0, 20, 30, 50, 60, 80]
    assert steps["test/f1"] == [20, 21, 50, 51, 80, 81]


def test_the_data_in_the_name_of_a_metric_are_of_it_alone(tmp_path: Path) -> None:
    text = "".join(f"step: {n}000, Loss(train): 6.{n}, Loss(val): 6.4, alpha:0.03\n" for n in N)
    assert steps_of(read_log(tmp_path, text)).keys() == {"Loss", "val/Loss", "alpha"}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1m 2s", 62), ("12m 44.5s", 764.5), ("1h 2m 3s", 3723), ("2 min 5 sec", 125), ("01h02m03s", 3723)],
)
def test_durations_in_several_units_are_in_seconds(tmp_path: Path, text: str, seconds: float) -> None:
    run = read_log(tmp_path, "".join(f"Epoch {n}, loss: 0.5, epoch time {text}\n" for n in range(8)))
    [series] = [series for key, series in run.data.series.items() if key.metric == "epoch time"]
    assert series.value.tolist() == [seconds] * 8


def test_the_time_of_a_bar_is_no_metric_whatever_its_units_are(tmp_path: Path) -> None:
    times = ("45s885ms", "1m25s", "59s12ms", "1h2m", "1m2s")
    text = "".join(
        f"\nEpoch: {n}\n [=====>]  Step: 7{n}ms | Tot: {time} | Loss: 1.{n}83 | Acc: 5{n}.122% (2{n}/50)\n"
        for n, time in enumerate(times)
    )
    assert steps_of(read_log(tmp_path, text)).keys() == {"Loss", "Acc"}


def test_dates_are_no_metrics(tmp_path: Path) -> None:
    text = "".join(f"Episode {n} reward: 1.0 Time: 02/05/2018--11:4{n} Frame: {n}\n" for n in range(8))
    assert steps_of(read_log(tmp_path, text)).keys() == {"reward", "Frame"}


def test_a_bar_of_any_program_may_have_its_counts_behind_a_per_cent(tmp_path: Path) -> None:
    text = "".join(f"Training [==   ] {n}.5% {n}00/9000 | 4.6 it/s | ETA: 84.2 s | loss=3.{n}\n" for n in N)
    assert steps_of(read_log(tmp_path, text)) == {"loss": [100, 200, 300]}


def test_the_step_at_which_an_episode_ended_is_its_length(tmp_path: Path) -> None:
    text = "".join(f"[DQN] Episode {n} - Truncated at step 1000. Reward: 101{n}.5\n" for n in N)
    assert steps_of(read_log(tmp_path, text)) == {"Reward": [*N]}


def test_a_loss_behind_that_of_the_evaluation_is_of_the_training(tmp_path: Path) -> None:
    text = "".join(
        f"Epoch: [{n}][900]\tVal Loss 6.0 (6.1)\tBatch Time 1.2 (3.8)\tLoss 6.{n} (8.9)\n" for n in N
    )
    names = {"Epoch", "Val Loss", "Val Loss/mean", "Batch Time", "Loss"}
    assert steps_of(read_log(tmp_path, text)).keys() == names


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


def test_a_ratio_behind_a_per_cent_is_a_position(tmp_path: Path) -> None:
    text = "".join(
        f"Training [==   ] {n}0.0% {n}00/1000 | 4.6 it/s | ETA: 9.5 s | loss=0.{n} | val_loss=1.{n}\n"
        for n in N
    )
    assert steps_of(read_log(tmp_path, text)) == {"loss": [100, 200, 300], "val_loss": [100, 200, 300]}


def test_the_first_epoch_of_keras_may_lack_its_heading(tmp_path: Path) -> None:
    epoch = "9/9 ━━━━━━━━━━ 3s 49ms/step - loss: 1.{0} - val_loss: 1.5\n"
    text = epoch.format(1) + "".join(f"Epoch {n}/3\n{epoch.format(n)}" for n in (2, 3))
    assert steps_of(read_log(tmp_path, text)) == {"loss": [0, 1, 2], "val_loss": [0, 1, 2]}
    assert steps_of(read_log(tmp_path, "".join(map(epoch.format, N))))["loss"] == [0, 1, 2]


def test_words_before_an_epoch_are_no_list_of_names(tmp_path: Path) -> None:
    text = "".join(f"Training.., epoch: {n}, 5/10, acc: 6.25, loss: 2.3\n" for n in N)
    assert steps_of(read_log(tmp_path, text)) == {name: [5, 15, 25] for name in ("epoch", "acc", "loss")}


def test_exponents_of_mangled_numbers_are_no_metrics(tmp_path: Path) -> None:
    text = "".join(f"<epoch: 0, iter: {n}> PSNR_A: 38.1, PSNR_B: _3.77e+01, PSNR_C: 36.0\n" for n in N)
    assert steps_of(read_log(tmp_path, text)).keys() == {"epoch", "PSNR_A", "PSNR_C"}


def test_rows_before_arrows_keep_their_names(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n}\nbird --> mAP : 0.{n}\nboat --> mAP : 0.{n}\nmAP:0.{n}\n" for n in N)
    assert steps_of(read_log(tmp_path, text)) == {name: [*N] for name in ("bird/mAP", "boat/mAP", "mAP")}


def test_reports_on_classes_may_end_in_another_column(tmp_path: Path) -> None:
    text = (
        "Epoch 1 loss: 0.5\nEpoch 2 loss: 0.4\n\n              precision    recall   f1-score   tests\n\n"
        "           A       0.98      0.97      0.96      2774\n"
        "           0       0.59      0.86      0.70      1381\n"
    )
    assert steps_of(read_log(tmp_path, text))["eval/A/precision"] == [2]


@pytest.mark.parametrize(
    "settings",
    [
        "Epochs: 3, Learning Rate: 0.005, Samples/Epoch: 1000",
        "learning_rate:1e-05,epoch:3,batch_size:32,weight_decay:0.1",
        "amp=True, batch=8, box=7.5, cfg=None, epochs=9, imgsz=640, iou=0.7, lr0=0.01, layers=8",
    ],
)
def test_lines_of_settings_have_no_step(tmp_path: Path, settings: str) -> None:
    text = f"{settings}\n" * 2 + "".join(f"Epoch {n}/3 | Loss: 0.{n}\n" for n in N)
    assert steps_of(read_log(tmp_path, text)) == {"Loss": [*N]}


def test_a_date_may_have_two_dashes_before_its_time(tmp_path: Path) -> None:
    text = "".join(f"Episode {n} reward: 1.{n} Time: 02/05/2026--11:4{n} Frame: {n}78\n" for n in N)
    assert steps_of(read_log(tmp_path, text)).keys() == {"reward", "Frame"}


def test_a_heading_of_an_evaluation_may_be_behind_what_a_logger_prints(tmp_path: Path) -> None:
    text = "".join(f"[LINE:148] INFO     [2026-01-02 10:00:0{n},123]  Step 34{n}: Loss = 0.{n}\n" for n in N)
    text += "[LINE:32] INFO     [2026-01-02 10:00:09,123]  valid: metrics for gestures\n"
    text += "[LINE:33] INFO     [2026-01-02 10:00:09,123]  {'accuracy': 0.85, 'f1_score': 0.86}\n"
    assert steps_of(read_log(tmp_path, text)).keys() == {"Loss", "valid/accuracy", "valid/f1_score"}


def test_data_before_the_epoch_are_those_of_its_metrics(tmp_path: Path) -> None:
    text = "".join(
        f"DEBUG - Training Epoch: {n}, Loss: 0.{n}.\nINFO - Validating Epoch: {n}, accuracy: 0.9, Pk: 0.3 .\n"
        f"INFO - Testing Epoch: {n}, accuracy: 0.9, Pk: 0.3 .\n"
        for n in N
    )
    names = ["Loss", *(f"{data}/{name}" for data in ("validating", "testing") for name in ("accuracy", "Pk"))]
    assert steps_of(read_log(tmp_path, text)) == {name: [*N] for name in names}


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("Epoch: {0}/9 val loss: 2.5 HR@1: 0.1, HR@5: 0.2", {"val loss", "val HR@1", "val HR@5"}),
        (
            "[Epoch {0}] Train-acc: 0.2, loss: 1.7 | Val-acc: 0.3, loss: 1.5 | lr 0.1",
            {"Train-acc", "loss", "Val-acc", "Val loss", "lr"},
        ),
        ("[Step {0}/99] Train 9.68 | Val 9.69", {"Train", "Val"}),
        ("DEBUG:root:@rank1 Epoch: {0}\t<2021-11-26 13:39:23> loss: 0.5", {"loss"}),
        ("Epoch {0}, HellaSwag accuracy: 2486/10042=0.2476", {"HellaSwag accuracy"}),
    ],
)
def test_names_say_of_which_data_they_are(tmp_path: Path, line: str, names: set[str]) -> None:
    text = "".join(line.format(n) + "\n" for n in N)
    assert steps_of(read_log(tmp_path, text)) == {name: [*N] for name in names}


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


def test_an_iteration_in_brackets_before_batches_is_an_epoch(tmp_path: Path) -> None:
    text = "".join(
        f"[10:00:0{n}] - Iter: [{n}][{at}/4]\tLoss 0.{n}{at} (0.5)\n" for n in range(3) for at in (0, 2)
    )
    assert steps_of(read_log(tmp_path, text))["Loss"] == [0, 2, 4, 6, 8, 10]


@pytest.mark.parametrize("between", ["\t", "  ", ","])
def test_the_first_column_of_a_table_may_name_the_data(tmp_path: Path, between: str) -> None:
    rows = [("Split", "Epoch", "F1", "Accuracy")]
    rows += [(split, str(n), "0.8", f"0.{n}") for n in N for split in ("train", "val")]
    text = "".join(f"{between.join(row)}\n" for row in rows)
    names = [f"{split}{name}" for split in ("", "val/") for name in ("F1", "Accuracy")]
    assert steps_of(read_log(tmp_path, text)) == {name: [*N] for name in names}


def test_records_that_are_glued_to_one_another_are_all_read(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n}, Loss: 0.{n}5" + "\n" * (n % 3 == 0) for n in range(1, 9))
    run = read_log(tmp_path, text)
    assert steps_of(run) == {"Loss": [*range(1, 9)]}
    [losses] = run.data.series.values()
    assert losses.value.tolist() == pytest.approx([n / 10 + 0.05 for n in range(1, 9)])


def test_a_record_that_processes_print_into_one_line_is_one_of_a_launch(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n}, Loss: 0.{n}5" * (1 + n % 2) + "\n" for n in range(1, 7))
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    assert steps_of(run) == {"Loss": [*range(1, 7)]}


@pytest.mark.parametrize("dash", ["-", "\u2014", "\u00f9", "\u00fb"])
def test_a_dash_in_another_code_page_is_no_word_of_a_name(tmp_path: Path, dash: str) -> None:
    epochs = "".join(
        f"Epoch {n}/5 Loss: 1.{n} | Val Acc: 0.3{n}\n  Best weights kept {dash} Val Acc: 0.3{n}\n"
        for n in range(1, 6)
    )
    steps = steps_of(read_log(tmp_path, epochs))
    assert steps == {name: [*range(1, 6)] for name in ("Loss", "Val Acc", "best/Val Acc")}


def test_the_best_value_that_a_line_of_a_checkpoint_repeats_is_none_of_the_last_epoch(tmp_path: Path) -> None:
    epochs = "".join(f"Epoch {n}/5\nVal Loss = 1.{n}, Val Acc = 0.3{n}\n" for n in range(1, 6))
    steps = steps_of(read_log(tmp_path, epochs + "Loaded best model with val loss: 1.1\n"))
    assert steps == {"Val Loss": [*range(1, 6)], "Val Acc": [*range(1, 6)], "best/val loss": [5]}
