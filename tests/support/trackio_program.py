"""Trainings that log with trackio's client, of any version: `python trackio_program.py TASK ROWS PAUSE`.

Logs to TRACKIO_SERVER_URL and prints a JSON object. Knows nothing of Holter.
"""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CONFIG = {"lr": 3e-4, "model": {"layers": 12}, "api_key": "sk-abcdefghijklmnop"}


def row(step: int) -> dict[str, float]:
    """What is logged at a step."""
    return {"loss": 1 + 2 * math.exp(-step / 300), "lr": 3e-4 / (step + 1), "number": float(step)}


def log(trackio: Any, first: int, rows: int, pause: float) -> None:
    """Log some steps, by number."""
    for step in range(first, first + rows):
        trackio.log(row(step), step=step)
        time.sleep(pause)


def steadily(trackio: Any, rows: int, pause: float) -> dict[str, Any]:
    """One run."""
    run = trackio.init(project="demo", name=_name("steady"), config=CONFIG)
    log(trackio, 0, rows, pause)
    trackio.finish()
    return {"run": run.name}


def resumed(trackio: Any, rows: int, pause: float) -> dict[str, Any]:
    """A run that is resumed twice: where it ended, by the client's counter, and from an older checkpoint."""
    name = _name("resumed")
    trackio.init(project="demo", name=name, config=CONFIG)
    log(trackio, 0, rows, pause)
    trackio.finish()
    trackio.init(project="demo", name=name, resume="must", config=CONFIG)
    for step in range(rows, 2 * rows):
        trackio.log(row(step))
    trackio.finish()
    trackio.init(project="demo", name=name, resume="allow", config=CONFIG | {"lr": 1e-4})
    log(trackio, rows, rows, pause)
    trackio.finish()
    return {"run": name}


def several(trackio: Any, rows: int, pause: float) -> dict[str, Any]:
    """Three runs of one name, one after another in one process, and one without a name."""
    name = _name("several")
    for _ in range(3):
        trackio.init(project="demo", name=name)
        log(trackio, 0, rows, pause)
        trackio.finish()
    unnamed = trackio.init(project="demo")
    log(trackio, 0, rows, pause)
    trackio.finish()
    return {"run": name, "unnamed": unnamed.name}


def everything(trackio: Any, rows: int, pause: float) -> dict[str, Any]:
    """All that a training logs: numbers that JSON does not have, nested ones, the machine, alerts, files."""
    import numpy as np  # noqa: PLC0415 - trackio's own dependency

    name = _name("everything")
    run = trackio.init(project="demo", name=name, group="sweep", config=CONFIG)
    log(trackio, 0, rows, pause)
    trackio.log({"special": math.nan, "bound": -math.inf, "nested": {"deep": {"value": 1.5}}}, step=rows)
    trackio.log({"histogram": trackio.Histogram([1.0, 2.0]), "seen": 1}, step=rows + 1)
    trackio.log({"image": trackio.Image(np.zeros((8, 8, 3), dtype=np.uint8))}, step=rows + 2)
    if hasattr(run, "log_system"):
        run.log_system({"gpu/0/utilization": 97, "memory/percent": 12.5})
    trackio.alert("Loss is odd", text="look at it", level=trackio.AlertLevel.ERROR)
    trackio.alert("Loss is odd", text="look at it", level=trackio.AlertLevel.ERROR)
    if hasattr(trackio, "log_artifact"):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "model.bin"
            file.write_bytes(b"weights")
            logged = trackio.log_artifact(str(file), name="model", type="model")
            assert logged.version is not None
    trackio.finish()
    return {"run": name}


def by_counter(trackio: Any, rows: int, pause: float) -> dict[str, Any]:
    """A run whose training step is a metric, as with the callback of transformers."""
    name = _name("global-step")
    trackio.init(project="demo", name=name, resume="allow")
    for number in range(rows):
        trackio.log({"train/loss": 1 / (number + 1), "train/global_step": 10 * number})
        time.sleep(pause)
    trackio.finish()
    return {"run": name}


def _name(task: str) -> str:
    return os.environ.get("TRACKIO_TEST_RUN", task)


TASKS: dict[str, Callable[[Any, int, float], dict[str, Any]]] = {
    "steadily": steadily,
    "resumed": resumed,
    "several": several,
    "everything": everything,
    "by_counter": by_counter,
}


def run_task(task: str, rows: int, pause: float) -> None:
    """Run a task and print its result."""
    import trackio  # noqa: PLC0415 - others use `row`, without the client

    result = TASKS[task](trackio, rows, pause)
    sys.stdout.write("\n" + json.dumps(result) + "\n")


if __name__ == "__main__":
    run_task(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
