"""Rows below `Epoch  gpu_mem  ...`, with or without a progress bar behind them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of

NAMES = "     Epoch   gpu_mem       box       obj     total    labels  img_size\n"
ROW = "     {n}/2      3.1G   0.0{n}12   {n}.31e-05       nan        17       320{bar}\n"
CLASSES = "               Class      Images     {instances}           P           R      mAP@.5\n"
ALL = "                 all          64         301   {n}.5e-05       0.2{n}1       0.1{n}7\n"


@pytest.mark.parametrize("bar", ["", ": 100%|##########| 4/4 [00:02<00:00,  1.9it/s]"])
@pytest.mark.parametrize("instances", ["Labels", "Targets", "Instances"])
@pytest.mark.parametrize("prefix", ["", "[logger] "])
def test_rows_of_epochs_have_the_names_above_them(
    bar: str, instances: str, prefix: str, tmp_path: Path
) -> None:
    text = "".join(
        prefix + NAMES + ROW.format(n=n, bar=bar) + CLASSES.format(instances=instances) + ALL.format(n=n)
        for n in range(3)
    )
    names = ("train/gpu_mem", "train/box", "train/obj", "train/total", "val/P", "val/R", "val/mAP@.5")
    assert steps_of(read_log(tmp_path, text)) == {name: [0, 1, 2] for name in names}


def test_scores_of_masks_are_not_those_of_boxes(tmp_path: Path) -> None:
    scores = "P          R      mAP50  mAP50-95"
    text = "".join(
        "      Epoch    GPU_mem   box_loss   seg_loss  Instances       Size\n"
        f"        {n}/4      4.12G      1.{n}      2.461         17        640: 100%|####| 20/20\n"
        f"           Class     Images  Instances      Box({scores})     Mask({scores}): 100%|##| 2/2\n"
        f"             all         64        128      0.{n}1  0.{n}2  0.{n}3  0.{n}4"
        f"  0.{n}5  0.{n}6  0.{n}7  0.{n}8\n"
        for n in range(1, 5)
    )
    run = read_log(tmp_path, text)
    assert {"val/P", "val/mAP50-95", "val/Mask/P", "val/Mask/mAP50-95"} < steps_of(run).keys()
    values = {key.metric: points.value.tolist() for key, points in run.data.series.items()}
    assert values["val/R"] == [0.12, 0.22, 0.32, 0.42]
    assert values["val/Mask/R"] == [0.16, 0.26, 0.36, 0.46]


def test_rows_of_classes_below_the_last_evaluation(tmp_path: Path) -> None:
    classes = CLASSES.format(instances="Instances")
    text = "".join(NAMES + ROW.format(n=n, bar="") + classes + ALL.format(n=n) for n in range(3))
    text += (
        f"\n3 epochs completed in 0.2 hours.\nValidating best.pt...\n{classes}{ALL.format(n=3)}"
        "              pebble          31         201        0.41       0.271       0.163\n"
        "          red gravel          33         100       0.291       0.311       0.244\n"
        "Speed: 0.3 ms per image\n"
    )
    values = {key.metric: each.value.tolist() for key, each in read_log(tmp_path, text).data.series.items()}
    assert [values[f"val/pebble/{name}"] for name in ("P", "R", "mAP@.5")] == [[0.41], [0.271], [0.163]]
    assert values["val/red gravel/mAP@.5"] == [0.244]
    assert steps_of(read_log(tmp_path, text))["val/red gravel/R"] == [2]
