"""Lines of particular libraries and tutorials, whose names and places are known."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log, steps_of

N = range(1, 5)

CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "the size of a batch behind a tick": (
        "".join(f"tick {n}     kimg {n}.1      lod 0.00  minibatch 32   sec/tick 12.1\n" for n in N),
        {name: [*N] for name in ("tick", "kimg", "lod", "sec/tick")},
    ),
    "results of KITTI": (
        "".join(
            f"2026-03-25 17:51:57,243   INFO  Test Epoch {n}\n2026-03-25 17:53:24   INFO  ==> Saving\n"
            f"2026-03-25 17:53:52,875   INFO  Car AP_R40@0.70, 0.50, 0.50:\nbev  AP:1.78, 2.35, 2.3{n}\n"
            "2026-03-25 17:53:54,881   INFO  Best Result:0.0006, epoch:1\n"
            for n in N
        ),
        {
            "Best Result": [1],
            **{
                f"val/Car AP_R40@0.70,0.50,0.50/bev {difficulty}": [*N]
                for difficulty in ("easy", "moderate", "hard")
            },
        },
    ),
    "metrics of StyleGAN in JSON between its ticks": (
        "".join(
            f"tick {n}     kimg {n}.0      sec/tick 21.1    augment 0.000\nEvaluating metrics...\n"
            f'{{"results": {{"fid50k_full": 24{n}.7}}, "metric": "fid50k_full", "total_time": 98.05}}\n'
            for n in N
        ),
        {name: [*N] for name in ("tick", "kimg", "sec/tick", "augment", "eval/fid50k_full")},
    ),
    "results of Pascal VOC": (
        "".join(f"Epoch {n}: loss 0.{n}\n" for n in N) + "AP for car = 0.7123\nMean AP = 0.6512\n",
        {"loss": [*N], "test/car/AP": [4], "test/Mean AP": [4]},
    ),
    "batches of a search without names": (
        "".join(
            f"11/25 12:00:00 PM epoch {n} lr 2.5e-02\n"
            "11/25 12:00:01 PM train 000 2.3e+00 12.500000 50.000000\n"
            "11/25 12:00:02 PM train 050 2.1e+00 14.500000 52.000000\n"
            "11/25 12:00:03 PM valid 000 2.2e+00 13.500000 51.000000\n"
            "11/25 12:00:04 PM valid_acc 13.5\n"
            for n in range(2)
        ),
        {
            "lr": [0, 51],
            **{name: [0, 50, 51, 101] for name in ("loss", "top1", "top5")},
            **{name: [50, 101] for name in ("valid/loss", "valid/top1", "valid/top5", "valid_acc")},
        },
    ),
    "rounds of Flower": (
        "".join(
            f"INFO flwr 2021-11-25 12:00:00,123 | server.py:125 | fit progress: ({n}, 0.5, "
            f"{{'accuracy': 0.7{n}}}, 36.1)\n"
            for n in N
        ),
        {"loss": [*N], "accuracy": [*N]},
    ),
    "data sets of faces": (
        "".join(
            f"Training: 2021-11-25 12:00:00,123-[lfw][{n}000]XNorm: 12.{n}\n"
            f"Training: 2021-11-25 12:00:00,123-[lfw][{n}000]Accuracy-Flip: 0.98{n}+-0.006\n"
            for n in N
        ),
        {f"lfw/{name}": [1000, 2000, 3000, 4000] for name in ("XNorm", "Accuracy-Flip")},
    ),
    "fairseq before it had names of its parts": (
        "".join(
            f"| epoch 00{n}:   500 / 1000 loss=9.{n}, num_updates={n}500, lr=1e-5\n"
            f"| epoch 00{n} | loss 9.1 | num_updates {n}999\n"
            f"| epoch 00{n} | valid on 'valid' subset | loss 8.{n} | num_updates {n}999\n"
            for n in N
        ),
        {
            "loss": [1500, 2500, 3500, 4500],
            "lr": [1500, 2500, 3500, 4500],
            "train_loss": [1999, 2999, 3999, 4999],
            "valid_loss": [1999, 2999, 3999, 4999],
        },
    ),
    "the best iteration of LightGBM": (
        "".join(f"[{n}0]\tvalid_0's l2: 0.2{n}\n" for n in N)
        + "Early stopping, best iteration is:\n[31]\tvalid_0's l2: 0.219\n",
        {"valid_0's l2": [10, 20, 30, 40], "best/valid_0's l2": [31]},
    ),
    "generations of neat": (
        "".join(
            f"\n ****** Running generation {n} ****** \n\nPopulation's average fitness: 5.3{n} stdev: 5.2\n"
            f"Best fitness: 2{n}.0 - size: (1, 3) - species 1 - id 2\n"
            "   ID   age  size  fitness  adj fit  stag\n  ====  ===  ====  =======  =======  ====\n"
            f"     1    {n}    10     20.0    0.174     0\n"
            for n in N
        ),
        {name: [*N] for name in ("Population's average fitness", "stdev", "Best fitness")},
    ),
    "the tutorial of PyTorch": (
        "".join(
            f"EPOCH {n}:\n"
            + "".join(f"  batch {batch}000 loss: 2.{batch}\n" for batch in (1, 2, 3))
            + f"LOSS train 2.{n} valid 3.{n}\n"
            for n in (1, 2)
        ),
        {"loss": [*range(1000, 7000, 1000)], "LOSS train": [3000, 6000], "LOSS/valid": [3000, 6000]},
    ),
    "the tutorial of image captioning": (
        "".join(
            "".join(f"Epoch: [{n}][{batch}/500]\tLoss 8.9 (8.9)\n" for batch in (0, 100))
            + f" * Training: Time - 912.1, LOSS - 8.{n}, TOP-5 ACCURACY - 30.{n}\n"
            + f" * LOSS - 7.{n}, TOP-5 ACCURACY - 28.{n}, BLEU-4 - 0.0{n}\n"
            for n in (0, 1)
        ),
        {
            **{name: [0, 100, 500, 600] for name in ("Epoch", "Loss")},
            **{name: [100, 600] for name in ("LOSS", "TOP-5 ACCURACY")},
            **{f"eval/{name}": [100, 600] for name in ("LOSS", "TOP-5 ACCURACY", "BLEU-4")},
        },
    ),
    "the language model of TensorFlow's tutorial": (
        "".join(
            f"Epoch: {n} Learning rate: 1.000\n"
            + "".join(f"0.{part}04 perplexity: 5{part}9.2 speed: 9100 wps\n" for part in range(5))
            + f"Epoch: {n} Train Perplexity: 28{n}.4\n"
            for n in (1, 2)
        ),
        {
            **{name: [*range(1, 11)] for name in ("perplexity", "speed")},
            "Learning rate": [1, 6],
            "Train Perplexity": [5, 10],
        },
    ),
    "the outputs of the nets of Caffe": (
        "".join(
            f"I0101 10:00:0{n}.13  77 solver.cpp:228] Iteration {n}00 (3 iter/s, 31s/100 iters), loss = 2.5\n"
            f"I0101 10:00:0{n}.14  77 solver.cpp:244]     Train net output #0: top/acc = 0.5\n"
            f"I0101 10:00:0{n}.15  77 solver.cpp:244]     Train net output #1: aux = 1.4 (* 1 = 1.4 loss)\n"
            f"I0101 10:00:0{n}.16  77 sgd_solver.cpp:106] Iteration {n}00, lr = 0.01\n"
            + "".join(
                f"I0101 10:00:0{n}.17  77 solver.cpp:337] Iteration {n}00, Testing net (#{net})\n"
                f"I0101 10:00:0{n}.18  77 solver.cpp:404]     Test net output #0: top/acc = 0.{n}\n"
                for net in range(2)
            )
            for n in range(1, 4)
        ),
        {
            name: [100, 200, 300]
            for name in ("loss", "train/top/acc", "train/aux", "lr", "test/top/acc", "test 1/top/acc")
        },
    ),
    "what a layer and a program print between the lines of Caffe": (
        "I0101 10:00:00.10  77 box_layer.cpp:88] iou: 0.1 count: 3\n"  # before the first iteration
        + "".join(
            f"I0101 10:00:0{n}.13  77 solver.cpp:228] Iteration {n}00, loss = 2.5\n"
            f"I0101 10:00:0{n}.14  77 box_layer.cpp:88] iou: 0.{n} far: 1e-0{n} count: 3\n"
            f"I0101 10:00:0{n}.14  77 main.cpp:17] episode reward({n}): 3\n"
            f"I0101 10:00:0{n}.15  77 net.cpp:165] Memory required for data: 4096\n"
            f"I0101 10:00:0{n}.15  77 data_layer.cpp:40] loss: {n} of 3 images\n"
            f"I0101 10:00:0{n}.17  77 solver.cpp:337] Iteration {n}00, Testing net (#0)\n"
            f"I0101 10:00:0{n}.17  77 box_layer.cpp:88] iou: 0.{n}5 count: 3\n"
            f"I0101 10:00:0{n}.18  77 solver.cpp:404]     Test net output #0: top/acc = 0.{n}\n"
            for n in range(1, 4)
        )
        + "I0101 10:00:09.18  77 caffe.cpp:330] accuracy = 0.5\n",
        {
            name: [100, 200, 300]
            for name in (
                *("loss", "iou", "far", "count", "episode reward"),
                *("test/iou", "test/count", "test/top/acc"),
            )
        },
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_lines_of_libraries_are_at_their_steps(tmp_path: Path, case: str) -> None:
    assert_steps(tmp_path, *CASES[case])


def test_results_to_copy_are_of_their_task(tmp_path: Path) -> None:
    prefix = "[03/05 14:02:51 d2.evaluation.testing]: copypaste: "
    text = "".join(
        f"[03/05 14:02:11 d2.utils.events]:  eta: 0:12:31  iter: {n}99  total_loss: 2.{n}  lr: 0.0{n}\n"
        + "".join(
            f"{prefix}Task: {task}\n{prefix}AP,AP50,AP75\n{prefix}3{n}.{share},4{n}.5,nan\n"
            for task, share in (("bbox", 25), ("segm", 75))
        )
        for n in N
    )
    run = read_log(tmp_path, text)
    steps = [199, 299, 399, 499]
    names = {f"val/{task}/{name}" for task in ("bbox", "segm") for name in ("AP", "AP50", "AP75")}
    assert steps_of(run) == {name: steps for name in {*names, "total_loss", "lr"}}
    values = {key.metric: points.value.tolist() for key, points in run.data.series.items()}
    assert values["val/segm/AP"] == [31.75, 32.75, 33.75, 34.75]


def test_the_loss_of_an_evaluation_hides_none_of_the_training_of_nanogpts_lines(tmp_path: Path) -> None:
    lines = [
        f"iter {n}: loss 3.{n}, time 19.{n}ms, mfu 0.19%, lr {n}.00e-04, grad_norm 1.{n}(clipped to 1.0)\n"
        f"iter {n}: loss(train) nan, loss(val) 2.{n}, best_loss(val) 2.{n}\n"
        for n in N
    ]
    run = read_log(tmp_path, "".join(lines))
    values = {key.metric: series.value.tolist() for key, series in run.data.series.items()}
    assert values.keys() == {
        *("loss", "step_time (ms)", "mfu(%)", "lr", "grad_norm"),
        *("eval/train_loss", "val/loss", "val/best_loss"),
    }
    assert values["loss"] == [3.1, 3.2, 3.3, 3.4]
    assert values["lr"] == [1e-4, 2e-4, 3e-4, 4e-4]
    assert values["grad_norm"] == [1.1, 1.2, 1.3, 1.4]
    assert len(values["eval/train_loss"]) == len(N)
