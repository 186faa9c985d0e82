"""Texts around the names of numbers that are no part of them: files, stamps, loggers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log, steps_of

N = range(1, 6)
EPOCHS = [*N]

CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "the file of an image before the step": (
        "".join(
            f"sample: 20{n}_00{n}7.png step: {10 * n} / 500, sum loss: 3.{n}, box_loss: 0.{n}, lr: 0.001\n"
            f"pace: 0.{n}s / step\n"
            for n in N
        ),
        {name: [10 * n for n in N] for name in ("sum loss", "box_loss", "lr", "pace")},
    ),
    "shares in per cent right before bars": (
        "".join(
            f"Epoch {n}: loss 0.{n}\nRank-1: 3{n}.20% | Rank-10: 6{n}.70%| Rank-20: 7{n}.10%| mAP: 2{n}.40%\n"
            for n in N
        ),
        {name: EPOCHS for name in ("loss", "Rank-1", "Rank-10", "Rank-20", "mAP")},
    ),
    "the time of a batch behind its number": (
        "".join(f"step {n}, loss = 0.{n}1 (8.{n} examples/sec; 0.4{n} sec/batch)\n" for n in N),
        {name: EPOCHS for name in ("loss", "examples/sec", "sec/batch")},
    ),
    "times of a number of things": (
        "".join(
            f"Epoch {n}: loss 0.{n}\ntime to fit 1 sample = 0.3{n}ms\nTime for 100 iterations: 5.{n}\n"
            for n in N
        ),
        {name: EPOCHS for name in ("loss", "time to fit", "Time")},
    ),
    "a file whose name has no number": (
        "".join(
            f"clip: {word}.wav step: {10 * n} / 500, loss: 3.{n}\n"
            for n, word in zip(N, ("bee", "owl", "fox", "elk", "ant"), strict=True)
        ),
        {"loss": [10 * n for n in N]},
    ),
    "a file of nothing but a number": (
        "".join(f"page: 00{n}3.tif step: {10 * n} / 500, loss: 3.{n}\n" for n in N),
        {"loss": [10 * n for n in N]},
    ),
    "two stamps, a batch with its per cent, and words in Chinese": (
        "[08:10:05] [耗时:00:00:01] Epoch   1 with Lr 2.00e-4\n"
        + "".join(
            f"[08:1{n}:21] [耗时:00:0{n}:16] [{50 * n}/400 ({12.5 * n:.1f}%)]\t进度: [{200 * n}/1600]\t"
            f"剩余时间: {9 - n}.5分钟\tSSIM: 0.8{n}\tLoss: [sum: 0.0{n}][edge: 0.01{n}]\n"
            for n in N
        )
        + "[08:19:46] [耗时:00:09:41] 训练Epoch完成: 耗时 581.5秒, 平均SSIM: 0.87\n",
        {"Lr": [1], **{name: [50 * n for n in N] for name in ("SSIM", "sum", "edge")}, "平均SSIM": [250]},
    ),
    "pairs of which some have no colon": (
        "".join(
            f"[2026-03-0{n} 10:20:30,125][INFO] Epoch {n}/5\n"
            f"[2026-03-0{n} 10:20:43,250][INFO] Loss: 2.{n} Cls_Loss:1.{n} Pair_Loss 0.{n} "
            f"rate_body:0.0009 rate_rest 0.00{n}\n"
            for n in N
        ),
        {name: EPOCHS for name in ("Loss", "Cls_Loss", "Pair_Loss", "rate_body", "rate_rest")},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_names_are_without_the_texts_around_them(case: str, tmp_path: Path) -> None:
    assert_steps(tmp_path, *CASES[case])


def test_best_scores_behind_a_logger_count_where_nothing_else_does(tmp_path: Path) -> None:
    text = "Using the GPU 0\n" + "".join(
        f"2026-05-04 10:{n:02}:42.440 INFO in 'tagger.core.fit'['fit'] at line 205: "
        f"New best token_f1 of {40 + n}.75\n"
        f"2026-05-04 10:{n:02}:43.125 INFO in 'tagger.core.fit'['fit'] at line 207: Saving the model\n"
        "saved in /models/tagger\n"
        for n in range(12)
    )
    assert steps_of(read_log(tmp_path, text)) == {"New best token_f1": [*range(12)]}


def test_a_heading_goes_on_with_no_other_sentence(tmp_path: Path) -> None:
    text = "--- STEP 3: Training ---\nTraining with word vectors. Shape of one: (120, 30)\n" + "".join(
        f"Epoch {n}/5 - loss: 2.{n} - accuracy: 0.{n}\n" for n in N
    )
    assert steps_of(read_log(tmp_path, text)) == {"loss": EPOCHS, "accuracy": EPOCHS}
