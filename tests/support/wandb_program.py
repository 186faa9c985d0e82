"""A training that logs with wandb's client, of any version: `python wandb_program.py PLAN`, a JSON object.

The plan has the run's `id`, its `launches`, `metrics` of a row, and a `pause` in seconds after each row. A
launch has `first`, the training step of its first row, `rows`, and what `wandb.init` is given, as `init`;
`step_metric`: the row has its step as `train/global_step`; `kill_after`: rows after which the process kills
itself; `shared`: the label of one of several writers, `primary`: the one that ends the run.
Knows nothing of Holter.
"""

from __future__ import annotations

import json
import math
import os
import random
import signal
import sys
import time
from typing import Any


def row(step: int, metrics: int) -> dict[str, float]:
    """What is logged at a step: a falling loss, and metrics whose values are found nowhere else."""
    values = {f"metric_{number}": step + number / 16 for number in range(1, metrics)}
    noise = random.Random(step).gauss(0, 0.01)
    return {"loss": 1 + 2 * math.exp(-step / 300) + noise, **values}


def launch(plan: dict[str, Any], one: dict[str, Any]) -> None:
    """One launch of the training."""
    import wandb  # noqa: PLC0415 - others use `row`, without the client

    given = dict(one.get("init", {}))
    if label := one.get("shared"):
        given["settings"] = wandb.Settings(mode="shared", x_label=label, x_primary=bool(one.get("primary")))
    if "resume_from" not in given:
        given["id"] = plan["id"]
    run = wandb.init(project="faults", config={"lr": 0.1}, **given)
    for number, step in enumerate(range(one["first"], one["first"] + one["rows"]), 1):
        values = {one.get("prefix", "") + name: value for name, value in row(step, plan["metrics"]).items()}
        run.log(values | ({"train/global_step": step} if one.get("step_metric") else {}))
        time.sleep(plan.get("pause", 0))
        if number == one.get("kill_after"):
            os.kill(os.getpid(), signal.SIGKILL)
    run.finish()


if __name__ == "__main__":
    # the client stops a training by this signal, which a shell script turns off for what it starts with `&`
    signal.signal(signal.SIGINT, signal.default_int_handler)
    stated = json.loads(sys.argv[1])
    for each in stated["launches"]:
        launch(stated, each)
