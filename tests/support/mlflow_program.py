"""A training that logs with MLflow's client: `python mlflow_program.py TASK`, with MLFLOW_TRACKING_URI set.

Prints one JSON object. Knows nothing of Holter.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlflow


def everything() -> dict[str, Any]:
    """Log all that a training logs, and read it back."""
    mlflow.set_experiment("demo")
    with mlflow.start_run(run_name="first", tags={"team": "nlp"}, description="a note") as run:
        mlflow.log_params({"lr": 3e-4, "layers": 12, "api_key": "sk-abcdefghijklmnop"})
        for step in range(30):
            mlflow.log_metric("loss", 2 / (step + 1), step=step)
        mlflow.log_metrics({"nan": math.nan, "infinite": -math.inf}, step=30)
        for step in range(20):
            mlflow.log_metric("later", step, step=step, synchronous=False)
        with mlflow.start_run(run_name="child", nested=True) as child:
            mlflow.log_metric("loss", 1.0)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "notes.txt"
            file.write_text("large")
            mlflow.log_artifact(str(file))
        mlflow.log_dict({"a": 1}, "a.json")
    mlflow.flush_async_logging()
    client = mlflow.MlflowClient()
    read = client.get_run(run.info.run_id)
    losses = client.get_metric_history(run.info.run_id, "loss")
    with mlflow.start_run(run_id=run.info.run_id):  # launched again, from an older checkpoint
        for step in range(20, 40):
            mlflow.log_metric("loss", 5.0, step=step)
    found = mlflow.search_runs(
        experiment_names=["demo"], filter_string="metrics.loss > 0.5", order_by=["metrics.loss DESC"]
    )
    return {
        "run": run.info.run_id,
        "child": child.info.run_id,
        "status": read.info.status,
        "params": read.data.params,
        "tags": read.data.tags,
        "metrics": {name: str(value) for name, value in read.data.metrics.items()},
        "losses": [(point.step, point.value) for point in losses],
        "later": len(client.get_metric_history(run.info.run_id, "later")),
        "found": found["tags.mlflow.runName"].tolist(),
        "experiments": [experiment.name for experiment in client.search_experiments()],
    }


def steadily() -> dict[str, Any]:
    """Log some points in 4 s."""
    with mlflow.start_run(run_name="steady") as run:
        for step in range(80):
            mlflow.log_metric("loss", float(step), step=step)
            time.sleep(0.05)
    return {"run": run.info.run_id}


def logging_only() -> dict[str, Any]:
    """Log with a token that may only log, and try to read."""
    with mlflow.start_run(run_name="job") as run:
        mlflow.log_metric("loss", 1.5, step=3)
        mlflow.log_param("lr", 0.1)
    errors = []
    client = mlflow.MlflowClient()
    for attempt in (
        lambda: client.search_runs([run.info.experiment_id]),
        lambda: client.get_metric_history(run.info.run_id, "loss"),
    ):
        try:
            attempt()
        except mlflow.MlflowException as error:
            errors.append(error.error_code)
    return {"run": run.info.run_id, "metrics": client.get_run(run.info.run_id).data.metrics, "errors": errors}


TASKS: dict[str, Callable[[], dict[str, Any]]] = {
    "everything": everything,
    "steadily": steadily,
    "logging_only": logging_only,
}

if __name__ == "__main__":
    sys.stdout.write(json.dumps(TASKS[sys.argv[1]]()) + "\n")
