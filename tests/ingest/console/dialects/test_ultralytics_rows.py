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
