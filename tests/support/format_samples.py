"""Logs of each format, by a name: the file's name and its content. Real ones are in tests/data."""

from __future__ import annotations

import gzip
from pathlib import Path

DATA = Path(__file__).parents[1] / "data"

LIGHTNING = b"epoch,step,train_loss,val_loss\n0,49,9.44075870513916,\n0,99,8.5,\n0,99,,8.25\n1,149,nan,\n"

KERAS = b"epoch,accuracy,loss,val_loss\n0,0.5,2.25,NA\n1,0.625,1.5,1.75\n"

DOWNLOAD = b"Wall time,Step,Value\n1714469542.5,0,3.5\n1714469543.5,10,3.25\n"

MIXED = (
    b'step,time,phase,loss,lr\r\n0,1700000000.5,warm,2.5,1e-3\r\n1,1700000001.5,warm,"2,4",1e-3\r\n'
    b"2,1700000002.5,main,inf,\r\n3,1700000003.5\r\n\r\nfour,1700000004.5,main,2.0,1e-3\r\n"
    b"5,1700000005.5,main,-inf,1e-4\r\n"
)

LINES = (
    b'{"step": 1, "_timestamp": 1700000000.5, "train": {"loss": 2.5, "lr": 0.001}, "note": "warm"}\n'
    b'{"step": 2, "_timestamp": 1700000001.5, "train": {"loss": NaN}}\nnot json\n{"config": {"layers": 2}}\n'
    b'{"step": 3.0, "train": {"loss": "Infinity"}, "rank": 3, "attempt": 1}\n\n'
    b'{"step": 4, "ok": true, "loss": 1}\n'
)

ULTRALYTICS = "".join(
    "      Epoch    GPU_mem   box_loss   cls_loss  Instances       Size\n"
    f"      {epoch}/100      2.5G      1.2{epoch}      3.4         16        640:  50%|██  | 2/4\n"
    f"      {epoch}/100      2.5G      1.3{epoch}      3.4         16        640: 100%|████| 4/4\n"
    "                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100%|██| 2/2\n"
    f"                   all          4         17      0.5{epoch}      0.6      0.7      0.4\n"
    for epoch in (1, 2, 3)
).encode()

COLUMNS = b"epoch     train_loss  valid loss  time\n" + b"".join(
    b"%d         1.%d         1.6         00:12\n" % (epoch, epoch) for epoch in range(8)
)
LISTS_IN_COLUMNS = b"Step      Train loss              Test loss               Test metric\n" + b"".join(
    b"%d000      [1.%de+00, 2.1e-01]    [1.5e+00, 3.1e-01]    []\n" % (n, n) for n in range(8)
)
TABLE = "".join(
    "---------------------------------\n"
    "| rollout/           |          |\n"
    f"|    ep_rew_mean     | {reward}.5     |\n"
    "| time/              |          |\n"
    "|    fps             | 1000     |\n"
    f"|    total_timesteps | {2048 * reward}     |\n"
    "| train/             |          |\n"
    f"|    loss            | 0.{reward}      |\n"
    "---------------------------------\n"
    for reward in (1, 2, 3)
).encode()

CELLS = b"| Epoch | Train Loss | Val Loss |\n|-------|------------|----------|\n" + b"".join(
    b"| %d | 1.%d | 1.6 |\n" % (epoch, epoch) for epoch in range(8)
)
GROUPS = (
    b"            |----- VALID -----|----- TRAIN -----|----------|\n"
    b"lr   epoch  | loss   top-1    | loss   top-1    | time     |\n"
) + b"".join(
    b"0.1   %d.0  | 0.5%d   80.3   | 0.65   66.6    | 0 hr 0%d min\n" % (epoch, epoch, epoch)
    for epoch in range(8)
)
TRIALS = "".join(
    "Trial status: 2 RUNNING\n"
    "│ Trial name            status       iter     total time (s)      loss │\n"
    f"│ train_mnist_1_00000   RUNNING      {step}        3.2                 0.{step}  │\n"
    f"│ train_mnist_1_00001   RUNNING      {step}        3.2                 0.4  │\n"
    for step in (1, 2, 3)
).encode()

DOCKER = b"".join(
    b'{"log":"step %d | loss 1.%d | lr 1e-4\\n","stream":"stdout","time":"2024-01-05T10:00:0%d.12Z"}\n'
    % (n, n, n)
    for n in range(9)
)
RUNTIME = b"".join(
    b"2024-01-05T10:00:0%d.12Z stdout F step %d | loss 1.%d | lr 1e-4\n" % (n, n, n) for n in range(9)
)

SAMPLES: dict[str, tuple[str, bytes]] = {
    "csv/lightning": ("metrics.csv", LIGHTNING),
    "csv/keras": ("training.csv", KERAS),
    "csv/tensorboard-download": ("run-tag-loss.csv", DOWNLOAD),
    "csv/mixed": ("train.csv", MIXED),
    "table": ("train.log", TABLE),
    "columns": ("train.log", COLUMNS),
    "cells": ("train.log", CELLS),
    "grouped-table": ("train.log", GROUPS),
    "fixed-tables": ("train.log", LISTS_IN_COLUMNS),
    "wrapped/docker": ("5f3a-json.log", DOCKER),
    "wrapped/runtime": ("0.log", RUNTIME),
    "trials": ("train.log", TRIALS),
    "ultralytics": ("train.log", ULTRALYTICS),
    "jsonl/nested": ("log.jsonl", LINES),
    "jsonl/maxtext": (
        "metrics.txt",
        b'{"step": 0.0, "learning/loss": 10.5}\n{"step": 1.0, "learning/loss": 9.5}\n',
    ),
}
for _path in sorted(DATA.rglob("*")):
    if _path.is_file() and _path.name != "SOURCE":
        _name = _path.name.removesuffix(".gz")
        _content = gzip.decompress(_path.read_bytes()) if _path.suffix == ".gz" else _path.read_bytes()
        SAMPLES[str(_path.relative_to(DATA))] = (_name, _content)
