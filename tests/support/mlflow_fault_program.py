"""Trainings that log with MLflow's client, of any version: `python mlflow_fault_program.py TASK ROWS PAUSE`.

Logs to MLFLOW_TRACKING_URI and prints a JSON object. Knows nothing of Holter.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from typing import Any


def value(step: int) -> float:
    """The loss at a step."""
    return 1 + 2 * math.exp(-step / 300)


def log(mlflow: Any, first: int, rows: int, pause: float, *, synchronous: bool = True) -> None:
    """Log the loss of some steps, asynchronously where asked."""
    operations = []
    for step in range(first, first + rows):
        more = {} if synchronous else {"synchronous": False}
        operations.append(mlflow.log_metric("loss", value(step), step=step, **more))
        time.sleep(pause)
    for operation in operations:
        if hasattr(operation, "wait"):
            operation.wait()


def steadily(mlflow: Any, rows: int, pause: float) -> dict[str, Any]:
    """One run."""
    with mlflow.start_run(run_name="steady") as run:
        log(mlflow, 0, rows, pause)
    return {"run": run.info.run_id}


def asynchronously(mlflow: Any, rows: int, pause: float) -> dict[str, Any]:
    """One run whose points are sent in the background."""
    with mlflow.start_run(run_name="asynchronous") as run:
        log(mlflow, 0, rows, pause, synchronous=False)
    return {"run": run.info.run_id}


def reopened(mlflow: Any, rows: int, pause: float) -> dict[str, Any]:
    """A run that ends, gets a test metric, and is trained further from an older checkpoint."""
    with mlflow.start_run(run_name="reopened") as run:
        mlflow.log_params({"lr": 3e-4, "layers": 12})
        mlflow.set_tag("team", "nlp")
        log(mlflow, 0, rows, pause)
    with mlflow.start_run(run_id=run.info.run_id):
        mlflow.log_metric("test_accuracy", 0.9)
    with mlflow.start_run(run_id=run.info.run_id):
        log(mlflow, rows // 2, rows, pause)
    return {"run": run.info.run_id}


def others(mlflow: Any, rows: int, pause: float) -> dict[str, Any]:
    """Nested runs, batches, system metrics, artifacts, datasets where there are any, and searches."""
    mlflow.set_experiment("others")
    with mlflow.start_run(run_name="parent", log_system_metrics=True) as run:
        for number in range(2):
            with mlflow.start_run(run_name=f"child-{number}", nested=True):
                mlflow.log_param("number", number)
                mlflow.log_metrics({"loss": value(number), "accuracy": number / 10}, step=1)
        log(mlflow, 0, rows, pause)
        time.sleep(2.5)  # two samples of the machine
        mlflow.log_text("text", "notes/text.txt")
        mlflow.log_dict({"a": 1}, "a.json")
    client = mlflow.MlflowClient()
    found = client.search_runs(
        [run.info.experiment_id],
        filter_string="metrics.accuracy >= 0.1 and params.number = '1'",
        order_by=["metrics.loss DESC"],
    )
    everything = client.search_runs([run.info.experiment_id], order_by=["attributes.start_time ASC"])
    history = client.get_metric_history(run.info.run_id, "loss")
    return {
        "run": run.info.run_id,
        "found": [each.info.run_name for each in found],
        "all": [each.info.run_name for each in everything],
        "history": [point.step for point in history],
        "parent": everything[1].data.tags.get("mlflow.parentRunId") == run.info.run_id,
    }


def autologged(mlflow: Any, rows: int, pause: float) -> dict[str, Any]:
    """A model of scikit-learn that MLflow logs by itself, with the model as an artifact."""
    import mlflow.sklearn  # noqa: PLC0415 - not every environment has it
    from sklearn.datasets import load_iris  # noqa: PLC0415
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415

    mlflow.sklearn.autolog()
    with mlflow.start_run(run_name="autologged") as run:
        LogisticRegression(max_iter=200).fit(*load_iris(return_X_y=True))
    read = mlflow.MlflowClient().get_run(run.info.run_id)
    return {
        "run": run.info.run_id,
        "status": read.info.status,
        "params": len(read.data.params),
        "metrics": len(read.data.metrics),
    }


TASKS: dict[str, Callable[[Any, int, float], dict[str, Any]]] = {
    "steadily": steadily,
    "asynchronously": asynchronously,
    "reopened": reopened,
    "others": others,
    "autologged": autologged,
}


def run_task(task: str, rows: int, pause: float) -> None:
    """Run a task and print its result."""
    import mlflow  # noqa: PLC0415 - others use `value`, without the client

    sys.stdout.write(json.dumps(TASKS[task](mlflow, rows, pause)) + "\n")


if __name__ == "__main__":
    run_task(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
