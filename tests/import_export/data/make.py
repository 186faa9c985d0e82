"""Writes the stores beside it with the real clients; run once, by hand, each with its client installed.

python make.py mlflow FOLDER | trackio FOLDER | neptune FOLDER (with neptune-exporter's src on PYTHONPATH)
"""

from __future__ import annotations

import importlib
import math
import os
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

START = 1_700_000_000_000  # milliseconds


def odd(step: int) -> float:
    """A gradient norm that is not finite at three steps."""
    return {7: math.nan, 8: math.inf, 9: -math.inf}.get(step, 0.1 * step)


def mlflow(folder: Path) -> None:
    """The same runs in a database and in a folder."""
    os.environ |= {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_ALLOW_FILE_STORE": "true"}
    entities = importlib.import_module("mlflow.entities")
    tracking = importlib.import_module("mlflow.tracking")
    for address in (f"sqlite:///{folder}/mlflow.db", f"file://{folder}/mlruns"):
        _mlflow(tracking.MlflowClient(address), entities)


def _mlflow(client: Any, entities: Any) -> None:
    metric = entities.Metric
    experiment = client.create_experiment("llm pretraining")
    tags = {
        "team": "a b",
        "mlflow.user": "ana",
        "mlflow.source.git.commit": "0123abcd",
        "mail": "ana@example.org",
    }
    run = client.create_run(experiment, start_time=START, run_name="baseline", tags=tags).info.run_id
    params = {"num_layers": "12", "lr": "3e-4", "note": "two\nlines", "api_key": "secret", "fused": "True"}
    client.log_batch(run, params=[entities.Param(name, text) for name, text in params.items()])
    first = [metric("train/loss", 4.0 / (1 + step) + 0.1, START + 1000 * step, step) for step in range(30)]
    client.log_batch(run, metrics=first)
    client.log_batch(
        run, metrics=[metric("grad_norm", odd(step), START + 1000 * step, step) for step in range(30)]
    )
    again = [
        metric("train/loss", 5.0 / (1 + step), START + 100_000 + 1000 * step, step) for step in range(20, 40)
    ]
    client.log_batch(run, metrics=again)  # resumed from step 20
    client.log_batch(
        run, metrics=[metric("val loss", 1.5, START + 5000, 10), metric("val loss", 1.25, START + 6000, 10)]
    )
    machine = "system/gpu_0_utilization_percentage"
    client.log_batch(run, metrics=[metric(machine, 90.0 + at, START + 10_000 * at, at) for at in range(5)])
    client.set_terminated(run, "FINISHED", START + 200_000)
    run = client.create_run(experiment, start_time=START + 1, run_name="baseline").info.run_id
    client.log_batch(
        run, metrics=[metric("train/loss", 2.0 - 0.01 * step, START + step, step) for step in range(10)]
    )
    client.set_terminated(run, "FAILED", START + 50)
    run = client.create_run("0", start_time=START + 2, run_name="only params").info.run_id
    client.log_param(run, "a", 1)
    run = client.create_run("0", start_time=START + 3, run_name="deleted one").info.run_id
    client.log_metric(run, "x", 1.0, timestamp=START, step=0)
    client.delete_run(run)
    run = client.create_run("0", start_time=START + 4, run_name="running").info.run_id
    client.log_batch(run, metrics=[metric("loss", 1.0 + step, START + step, step) for step in range(4)])


def trackio(folder: Path) -> None:
    """Two runs of one project."""
    os.environ |= {"TRACKIO_DIR": str(folder), "TRACKIO_DISABLE_TELEMETRY": "1"}
    client = importlib.import_module("trackio")
    config = {
        "num_layers": 12,
        "lr": 3e-4,
        "optimizer": {"name": "adamw"},
        "betas": [0.9, 0.95],
        "email": "a@b.org",
    }
    client.init(project="llm", name="base", config=config)
    for step in range(20):
        client.log(
            {"train/loss": 4 / (1 + step), "grad_norm": odd(step), "nested": {"a": step}, "text": "x"},
            step=step,
        )
    client.finish()
    client.init(project="llm", name="second")
    for step in range(5):
        client.log({"loss": 1.0 + step})
    for percent in (55.0, 56.0):
        client.log_system({"gpu": percent})
    client.finish()


def neptune(folder: Path) -> None:
    """Two runs, through pandas as the exporter does it, which makes nulls of NaN."""
    pandas, arrow = importlib.import_module("pandas"), importlib.import_module("pyarrow")
    schema = importlib.import_module("neptune_exporter.model").SCHEMA
    writer = importlib.import_module("neptune_exporter.storage.parquet_writer").ParquetWriter(folder)
    for run in ("RUN-1", "RUN-2"):
        with writer.run_writer("workspace/llm", run) as out:
            for rows in (_settings(run), _series(run)):
                frame = pandas.DataFrame([{name: None for name in schema.names} | row for row in rows])
                table = arrow.Table.from_pandas(frame, schema=schema, preserve_index=False).combine_chunks()
                out.save(table.to_batches()[0])


def _row(run: str, path: str, kind: str, **values: Any) -> dict[str, Any]:
    return {
        "project_id": "workspace/llm",
        "run_id": run,
        "attribute_path": path,
        "attribute_type": kind,
        **values,
    }


def _settings(run: str) -> list[dict[str, Any]]:
    time = importlib.import_module("pandas").Timestamp(START, unit="ms", tz="UTC")
    return [
        _row(run, "sys/creation_time", "datetime", datetime_value=time),
        _row(run, "sys/owner", "string", string_value="ana"),
        _row(run, "sys/name", "string", string_value="an experiment"),
        _row(run, "sys/tags", "string_set", string_set_value=["a", "b"]),
        _row(run, "config/num_layers", "int", int_value=12),
        _row(run, "config/lr", "float", float_value=3e-4),
        _row(run, "config/fused", "bool", bool_value=True),
        _row(run, "files/data", "file", file_value={"path": "data.json"}),
    ]


def _series(run: str) -> list[dict[str, Any]]:
    pandas = importlib.import_module("pandas")
    rows = []
    for step in range(20):
        at = {"step": Decimal(step).quantize(Decimal("1.000000")),
              "timestamp": pandas.Timestamp(START + 1000 * step, unit="ms", tz="UTC")}  # fmt: skip
        rows.append(_row(run, "train/loss", "float_series", float_value=4.0 / (1 + step), **at))
        rows.append(_row(run, "grad_norm", "float_series", float_value=odd(step), **at))
        half = at | {"step": at["step"] + Decimal("0.5")}
        if run == "RUN-2":
            rows.append(_row(run, "odd steps", "float_series", float_value=1.0, **(half if step % 2 else at)))
        rows.append(_row(run, "monitoring/cpu", "float_series", float_value=50.0 + step, **at))
        rows.append(_row(run, "log", "string_series", string_value=f"line {step}", **at))
    return rows


if __name__ == "__main__":
    wanted, place = sys.argv[1:]
    {"mlflow": mlflow, "trackio": trackio, "neptune": neptune}[wanted](Path(place).resolve())
