"""The runs that every tool is given: settings, losses and tokens, the same for all."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import TypedDict

RUNS = 200
POINTS = 300
STEPS_BETWEEN = 10
SEQUENCE = 2048
LEARNING_RATES = (1e-4, 2e-4, 3e-4, 6e-4, 1e-3)
FIRST, SECOND = "run-017", "run-118"
"""The two runs that the tasks are about: another rate, batch size and warm-up. At equal tokens the loss is
1.5 % lower, at equal steps three times as much, since a step has twice the tokens."""
WANTED_RATE = 3e-4


class WorkloadRun(TypedDict):
    """One run: settings, and for each logged step its tokens, loss and Unix seconds."""

    name: str
    settings: dict[str, float | int | str]
    steps: list[int]
    tokens: list[int]
    losses: list[float]
    times: list[float]


def make_runs(count: int = RUNS, start: float = 1.78e9) -> list[WorkloadRun]:
    """Runs that differ by rate, batch, warm-up, decay and seed."""
    return [_make_run(number, start + 4000 * number) for number in range(count)]


def _make_run(number: int, start: float) -> WorkloadRun:
    name = f"run-{number:03d}"
    rate = LEARNING_RATES[number % 5] if name not in (FIRST, SECOND) else (3e-4, 6e-4)[name == SECOND]
    batch = 128 if name == FIRST else 256 if name == SECOND else (64, 128, 256)[number % 3]
    draw = random.Random(number)
    steps = [STEPS_BETWEEN * index for index in range(POINTS)]
    tokens = [(step + 1) * batch * SEQUENCE for step in steps]
    level = 0.985 if name == SECOND else 1 + 0.004 * draw.gauss(0, 1)
    losses = [level * (1.9 + 5 * (count / 2.6e5 + 20) ** -0.32) + 0.02 * draw.gauss(0, 1) for count in tokens]
    return {
        "name": name,
        "settings": {
            "lr": rate,
            "global_batch_size": batch,
            "seq_length": SEQUENCE,
            "warmup_steps": 200 if name == SECOND else 100,
            "weight_decay": 0.1,
            "seed": number,
            "optimizer": "adamw",
            "beta1": 0.9,
            "beta2": 0.95,
            "eps": 1e-8,
            "grad_clip": 1.0,
            "precision": "bf16",
            "num_layers": 24,
            "hidden_size": 1024,
            "num_heads": 16,
            "vocab_size": 50304,
            "dropout": 0.0,
            "schedule": "cosine",
            "train_steps": STEPS_BETWEEN * POINTS,
            "data": "fineweb",
        },
        "steps": steps,
        "tokens": tokens,
        "losses": losses,
        "times": [start + 2.0 * step for step in steps],
    }


def runs_with_rate(runs: list[WorkloadRun], rate: float) -> list[str]:
    """The names of the runs with this learning rate: the right answer of a task."""
    return [run["name"] for run in runs if math.isclose(float(run["settings"]["lr"]), rate)]


def save_runs(runs: list[WorkloadRun], file: Path) -> None:
    """Write them for the writers, which run in the environments of the tools."""
    file.write_text(json.dumps(runs))
